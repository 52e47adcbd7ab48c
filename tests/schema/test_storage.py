"""Ends of stored types, as the libraries that store them say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy.schema.storage import reach

BITS = (8, 16, 32, 64)


@pytest.mark.parametrize("sign", ["int", "uint"])
@pytest.mark.parametrize("bits", BITS)
def test_whole_numbers_of_every_library(sign, bits):
    ends = np.iinfo(f"{sign}{bits}")
    expected = (int(ends.min), int(ends.max))
    titled = sign.replace("uint", "UInt").replace("int", "Int") + str(bits)
    names = [
        str(pa.type_for_alias(f"{sign}{bits}")),
        str(getattr(pl, titled)),
        str(pd.Series([1], dtype=titled).dtype),
        str(pd.Series([1], dtype=f"{sign}{bits}[pyarrow]").dtype),
        ("U" if sign == "uint" else "") + ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")[BITS.index(bits)],
    ]
    assert {reach(name) for name in names} == {expected}


@pytest.mark.parametrize("name", [str(pa.decimal128(5, 2)), str(pl.Decimal(5, 2)), "DECIMAL(5,2)"])
def test_decimals_of_every_library(name):
    assert reach(name) == (Fraction(-99999, 100), Fraction(99999, 100))


@pytest.mark.parametrize("name", ["float64", "DOUBLE", "str", "timestamp[us]", "object", "HUGEINT", None])
def test_what_has_no_ends(name):
    assert reach(name) is None
