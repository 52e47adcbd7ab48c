"""polars in, polars out: values and dtypes unchanged."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from kit.releases import frames as c
from understudy.releases import to_frame
from understudy.schema import Categorical, Integer, Schema

TYPES = [
    *(
        (c.NATURALS, t)
        for t in (
            pl.Int8,
            pl.UInt8,
            pl.Int16,
            pl.UInt16,
            pl.Int32,
            pl.UInt32,
            pl.Int64,
            pl.UInt64,
            pl.Int128,
        )
    ),
    (c.BIG, pl.Int64),
    (c.STEPS, pl.Int32),
    (c.INTEGERS, pl.Float64),
    (c.REALS, pl.Float64),
    (c.REALS, pl.Float32),
    (c.THIRDS, pl.Float64),
    (c.CENTS, pl.Decimal(10, 2)),
    (c.CENTS, pl.Decimal(38, 4)),
    (c.FLAGS, pl.Boolean),
    (c.WORDS, pl.String),
    (c.WORDS, pl.Categorical),
    (c.WORDS, pl.Enum(c.LABELS)),
    (c.GRADES, pl.Enum(["low", "mid", "high"])),
    (c.CODED, pl.Int16),
    (c.DAYS, pl.Date),
    *((c.MOMENTS, pl.Datetime(unit)) for unit in ("ms", "us", "ns")),
    (c.TICKS, pl.Datetime("us")),
    *((c.ZONED, pl.Datetime(unit, "Europe/Berlin")) for unit in ("ms", "us", "ns")),
    (c.CLOCKS, pl.Time),
]
SCHEMA, COLUMNS = c.plan(
    [(case, str(kind() if isinstance(kind, type) else kind)) for case, kind in TYPES]
)
KINDS = dict(zip(SCHEMA, (kind for _, kind in TYPES), strict=True))


@pytest.mark.parametrize("number", range(c.TABLES))
def test_values_and_dtypes_survive(number):
    columns = c.table(COLUMNS, number)
    assert c.all_unit(SCHEMA)
    frame = pl.DataFrame(
        [
            pl.Series(n, v, dtype=KINDS[n], strict=False)
            for n, v in zip(SCHEMA, columns, strict=True)
        ]
    )
    codes = c.encode(SCHEMA, lambda name: frame[name].to_list())
    back = to_frame(SCHEMA, codes, kind="polars", rng=np.random.default_rng(0))
    assert_frame_equal(back, frame, check_exact=True)


def test_a_dtype_that_cannot_hold_the_cells_gives_way_to_the_natural_one():
    schema = Schema(
        columns=(
            Integer(name="x", min=0, max=300, nullable=False, dtype="Int8"),
            Categorical(name="y", values=("1", "two"), nullable=False, dtype="Int8"),
        )
    )
    back = to_frame(
        schema,
        {"x": np.arange(30), "y": np.arange(30) % 2},
        kind="polars",
        rng=np.random.default_rng(0),
    )
    assert back.dtypes == [pl.Int64, pl.String]


@pytest.mark.parametrize("dtype", ["Enum", "Enum(categories=['a'])"])
def test_an_enum_grows_by_the_places_of_what_is_not_listed(dtype):
    schema = Schema(
        columns=(Categorical(name="x", values=("a",), other="o", dtype=dtype),)
    )
    back = to_frame(
        schema, {"x": np.array([0, 1, 2])}, kind="polars", rng=np.random.default_rng(0)
    )
    assert back["x"].to_list() == ["a", "o", None]
    assert back["x"].dtype == pl.Enum(["a", "o"])
