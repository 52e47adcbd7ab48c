"""pandas in, pandas out: values and dtypes unchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kit.releases import frames as c
from understudy.releases import to_frame
from understudy.schema import Boolean, Categorical, Integer, Schema

CASES = [
    *(
        (c.whole(c.NATURALS), t)
        for t in (
            "int8",
            "uint8",
            "int16",
            "uint16",
            "int32",
            "uint32",
            "int64",
            "uint64",
        )
    ),
    *(
        (c.NATURALS, t)
        for t in (
            "Int8",
            "UInt8",
            "Int16",
            "Int32",
            "UInt32",
            "Int64",
            "UInt64",
            "float64",
            "float32",
            "Float64",
        )
    ),
    *(
        (c.INTEGERS, t)
        for t in (
            "Int64",
            "int64[pyarrow]",
            "int8[pyarrow]",
            "float64",
            "object",
            "str",
        )
    ),
    *((c.BIG, t) for t in ("Int64", "int64[pyarrow]")),
    (c.whole(c.BIG), "int64"),
    (c.STEPS, "Int32"),
    *(
        (c.REALS, t)
        for t in (
            "float64",
            "float32",
            "Float64",
            "Float32",
            "double[pyarrow]",
            "float[pyarrow]",
        )
    ),
    *((c.THIRDS, t) for t in ("float64", "double[pyarrow]")),
    (c.CENTS, "decimal128(10, 2)[pyarrow]"),
    (c.whole(c.FLAGS), "bool"),
    *((c.FLAGS, t) for t in ("boolean", "bool[pyarrow]", "object")),
    *(
        (c.WORDS, t)
        for t in (
            "str",
            "string",
            "object",
            "category",
            "string[pyarrow]",
            "large_string[pyarrow]",
        )
    ),
    (c.GRADES, "category"),
    *((c.whole(c.CODED), t) for t in ("int64", "uint8", "float64")),
    (c.CODED, "Int64"),
    *(
        (c.DAYS, t)
        for t in (
            "datetime64[s]",
            "datetime64[us]",
            "datetime64[ns]",
            "date32[day][pyarrow]",
            "object",
        )
    ),
    *(
        (c.MOMENTS, t)
        for t in (
            "datetime64[s]",
            "datetime64[ms]",
            "datetime64[us]",
            "datetime64[ns]",
            "timestamp[ns][pyarrow]",
        )
    ),
    *(
        (c.TICKS, t)
        for t in ("datetime64[us]", "datetime64[ns]", "timestamp[us][pyarrow]")
    ),
    *(
        (c.ZONED, t)
        for t in (
            "datetime64[us, Europe/Berlin]",
            "datetime64[ns, Europe/Berlin]",
            "datetime64[us, UTC]",
        )
    ),
    (c.ZONED, "timestamp[us, tz=Europe/Berlin][pyarrow]"),
    *((c.CLOCKS, t) for t in ("object", "time64[us][pyarrow]", "time32[s][pyarrow]")),
]
SCHEMA, COLUMNS = c.plan(CASES)
ARROW = {
    "decimal128(10, 2)": pa.decimal128(10, 2),
    "timestamp[ns]": pa.timestamp("ns"),
    "timestamp[us]": pa.timestamp("us"),
    "timestamp[us, tz=Europe/Berlin]": pa.timestamp("us", "Europe/Berlin"),
    "time64[us]": pa.time64("us"),
    "time32[s]": pa.time32("s"),
    "date32[day]": pa.date32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "bool": pa.bool_(),
}


def series(values: list[Any], column: Any) -> pd.Series:
    """The values as a pandas user would have them."""
    dtype = column.dtype
    if dtype == "category":
        return pd.Series(
            pd.Categorical(
                values, categories=list(column.values), ordered=column.ordered
            )
        )
    if dtype == "object":
        return pd.Series(values, dtype=object)
    if dtype == "str" and isinstance(column, Integer):
        values = [None if v is None else str(v) for v in values]
    if dtype.endswith("[pyarrow]"):
        name = dtype.removesuffix("[pyarrow]")
        kind = ARROW.get(name) or getattr(pa, name)()
        return pd.Series(pd.array(pa.array(values, kind), dtype=pd.ArrowDtype(kind)))
    if "datetime64" in dtype and values and hasattr(values[0] or values[-1], "year"):
        return pd.Series(
            pd.to_datetime(pd.Series(values, dtype=object), utc="," in dtype)
        ).astype(dtype)
    return pd.Series(values, dtype=dtype)


@pytest.mark.parametrize("number", range(c.TABLES))
def test_values_and_dtypes_survive(number):
    columns = c.table(COLUMNS, number)
    assert c.all_unit(SCHEMA)
    frame = pd.DataFrame(
        {n: series(v, SCHEMA[n]) for n, v in zip(SCHEMA, columns, strict=True)}
    )
    assert [str(t) for t in frame.dtypes] == [SCHEMA[n].dtype for n in SCHEMA]
    codes = c.encode(SCHEMA, lambda name: frame[name])
    back = to_frame(SCHEMA, codes, kind="pandas", rng=np.random.default_rng(0))
    pd.testing.assert_frame_equal(back, frame, check_exact=True)


@pytest.mark.parametrize(
    ("column", "dtype", "expected"),
    [
        (Integer(name="x", min=0, max=3), "int8", "Int8"),
        (Integer(name="x", min=0, max=3), "uint16", "UInt16"),
        (Integer(name="x", min=0, max=300), "int8", "Int64"),
        (Boolean(name="x"), "bool", "boolean"),
        (Integer(name="x", min=0, max=3), None, "Int64"),
        (Categorical(name="x", values=("1", "2")), "int64", "Int64"),
        (Categorical(name="x", values=("1", "two")), "int64", "str"),
        (Integer(name="x", min=0, max=3), "nonsense", "Int64"),
        (Integer(name="x", min=0, max=3), "datetime64[us]", "Int64"),
    ],
)
def test_a_dtype_that_cannot_hold_the_cells_gives_way_to_the_nearest(
    column, dtype, expected
):
    schema = Schema(columns=(replace(column, dtype=dtype),))
    codec = schema.codecs["x"]
    codes = {"x": np.arange(codec.size).astype(codec.dtype)}
    assert (
        str(
            to_frame(schema, codes, kind="pandas", rng=np.random.default_rng(0))[
                "x"
            ].dtype
        )
        == expected
    )


def test_a_missing_code_that_is_a_number_stays_one_and_others_become_null():
    schema = Schema(
        columns=(Integer(name="x", min=0, max=3, missing=("-7", "NA"), dtype="Int64"),)
    )
    back = to_frame(
        schema,
        {"x": np.array([2, 4, 5, 6])},
        kind="pandas",
        rng=np.random.default_rng(0),
    )
    assert back["x"].tolist() == [2, pd.NA, -7, pd.NA]


def test_a_missing_code_of_a_text_column_stays_as_spelled():
    schema = Schema(
        columns=(
            Categorical(
                name="x", values=("a",), other="o", missing=("-7",), dtype="category"
            ),
        )
    )
    back = to_frame(
        schema,
        {"x": np.array([0, 1, 2, 3])},
        kind="pandas",
        rng=np.random.default_rng(0),
    )
    assert [None if pd.isna(v) else v for v in back["x"]] == ["a", "o", None, "-7"]


def test_categories_that_are_numbers_stay_numbers():
    schema = Schema(
        columns=(Integer(name="x", min=0, max=3, dtype="category", nullable=False),)
    )
    back = to_frame(
        schema, {"x": np.array([2, 1, 2])}, kind="pandas", rng=np.random.default_rng(0)
    )
    pd.testing.assert_series_equal(
        back["x"], pd.Series([2, 1, 2], name="x").astype("category")
    )
