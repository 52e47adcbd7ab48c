"""Ends of stored types, as the libraries that store them say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Identifier,
    Integer,
    Real,
    Time,
)
from understudy.schema.columns.storage_types import dtype_range, storage_to_declare

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
        ("U" if sign == "uint" else "")
        + ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")[BITS.index(bits)],
    ]
    assert {dtype_range(name) for name in names} == {expected}


@pytest.mark.parametrize(
    "name", [str(pa.decimal128(5, 2)), str(pl.Decimal(5, 2)), "DECIMAL(5,2)"]
)
def test_decimals_of_every_library(name):
    assert dtype_range(name) == (Fraction(-99999, 100), Fraction(99999, 100))


@pytest.mark.parametrize(
    "name", ["float64", "DOUBLE", "str", "timestamp[us]", "object", "HUGEINT", None]
)
def test_what_has_no_ends(name):
    assert dtype_range(name) is None


@pytest.mark.parametrize(
    ("column", "kept", "dropped"),
    [
        (
            Integer(name="x"),
            ["UInt8", "Int16", "TINYINT", "int8[pyarrow]", "category"],
            ["float64", "object", "VARCHAR", "int64"],
        ),
        (
            Real(name="x"),
            ["float32", "Float64[pyarrow]", "decimal128(9, 2)", "DECIMAL(9,2)"],
            ["int64", "object", "DOUBLE"],
        ),
        (
            Boolean(name="x"),
            ["boolean", "bool[pyarrow]"],
            ["object", "bool", "int8", "float64"],
        ),
        (
            Categorical(name="x"),
            ["category", "Enum", "ENUM", "large_string"],
            ["object", "str", "VARCHAR", "int64"],
        ),
        (
            Date(name="x"),
            ["datetime64[ns]", "date64[ms]"],
            ["object", "DATE", "VARCHAR"],
        ),
        (
            Datetime(name="x"),
            ["timestamp[ms, tz=UTC]", "datetime64[s]", "TIMESTAMP_NS"],
            ["object", "TIMESTAMP", "null"],
        ),
        (Time(name="x"), ["time64[ns]", "time32[s]"], ["object", "TIME", "str"]),
        (Identifier(name="x"), [], ["int64", "UInt8", "object"]),
    ],
)
def test_a_draft_declares_no_storage_type_that_a_cell_decides(column, kept, dropped):
    """Types of a column's own kind are its owner's choice; any other is what a library
    made of an empty or odd cell.
    """
    assert [storage_to_declare(column, stated) for stated in kept] == kept
    assert [storage_to_declare(column, stated) for stated in [*dropped, None]] == [
        None
    ] * (len(dropped) + 1)
