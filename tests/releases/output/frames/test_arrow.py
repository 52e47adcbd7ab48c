"""pyarrow in, pyarrow out: values and types unchanged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kit.releases import frames as c
from understudy.releases import to_frame
from understudy.releases.output.frames import arrow, decode_all
from understudy.schema import Integer, Schema

TYPES = [
    *(
        (c.NATURALS, getattr(pa, f"{sign}int{bits}")())
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    ),
    (c.BIG, pa.int64()),
    (c.STEPS, pa.int32()),
    (c.REALS, pa.float64()),
    (c.REALS, pa.float32()),
    (c.THIRDS, pa.float64()),
    (c.CENTS, pa.decimal128(10, 2)),
    (c.CENTS, pa.decimal128(38, 3)),
    (c.FLAGS, pa.bool_()),
    (c.WORDS, pa.string()),
    (c.WORDS, pa.large_string()),
    (c.WORDS, pa.string_view()),
    (c.WORDS, pa.dictionary(pa.int8(), pa.string())),
    (c.GRADES, pa.dictionary(pa.int32(), pa.large_string(), ordered=True)),
    (c.DAYS, pa.date32()),
    (c.DAYS, pa.date64()),
    *((c.MOMENTS, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    (c.TICKS, pa.timestamp("us")),
    *((c.ZONED, pa.timestamp(unit, "Europe/Berlin")) for unit in ("s", "us")),
    (c.CLOCKS, pa.time32("s")),
    (c.CLOCKS, pa.time64("us")),
]
SCHEMA, COLUMNS = c.plan([(case, str(kind)) for case, kind in TYPES])


@pytest.mark.parametrize("number", range(c.TABLES))
def test_values_and_types_survive(number):
    columns = c.table(COLUMNS, number)
    assert c.all_unit(SCHEMA)
    kinds = (kind for _, kind in TYPES)
    frame = pa.table(
        {n: pa.array(v, k) for n, v, k in zip(SCHEMA, columns, kinds, strict=True)}
    )
    codes = c.encode(SCHEMA, lambda name: frame[name].to_pylist())
    back = to_frame(SCHEMA, codes, kind="pyarrow", rng=np.random.default_rng(0))
    assert back.schema == frame.schema
    assert back.to_pylist() == frame.to_pylist()


def test_a_zone_out_of_a_file_is_looked_up_among_zones_and_nowhere_else():
    column = c.ZONED.column
    for named in (
        "../../etc/passwd",
        "/etc/passwd",
        "dateutil//etc/passwd",
        "No/Where",
        "x" * 10_000,
    ):
        schema = Schema(columns=(replace(column, dtype=f"timestamp[us, tz={named}]"),))
        back = to_frame(
            schema,
            {"z": np.array([0, 1])},
            kind="pyarrow",
            rng=np.random.default_rng(0),
        )
        assert back.schema.field("z").type == pa.timestamp("us", "Europe/Berlin")


def test_a_type_that_cannot_hold_the_cells_gives_way_to_the_natural_one():
    schema = Schema(
        columns=(Integer(name="x", min=0, max=300, nullable=False, dtype="uint8"),)
    )
    back = to_frame(
        schema, {"x": np.full(50, 31)}, kind="pyarrow", rng=np.random.default_rng(0)
    )
    assert back.schema.field("x").type == pa.int64()


def test_a_long_table_goes_column_by_column_and_is_the_same(monkeypatch):
    codes = {name: np.arange(6) % SCHEMA.codecs[name].size for name in SCHEMA}
    whole = to_frame(SCHEMA, codes, kind="pyarrow", rng=np.random.default_rng(0))
    monkeypatch.setattr(arrow, "MAX_TABLEWISE_ROWS", 5)
    assert to_frame(SCHEMA, codes, kind="pyarrow", rng=np.random.default_rng(0)).equals(
        whole
    )
    columns = decode_all(SCHEMA, codes, np.random.default_rng(0))
    assert arrow.pyarrow_table(columns).equals(whole)
    assert not columns  # each column's cells were let go
