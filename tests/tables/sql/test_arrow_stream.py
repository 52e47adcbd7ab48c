"""Streams of physical cells: the same buffers under a plainer schema, handed over and
let go of by the rules.
"""

from __future__ import annotations

import gc
import weakref

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from understudy.tables.sql import arrow_stream
from understudy.tables.sql.arrow_stream import PhysicalStream
from understudy.tables.sql.physical import physical_format, reading_of_format

TABLE = pa.table(
    {
        "text": ["a", None],
        "moment": pa.array([1, 2], pa.timestamp("ms", "Europe/Oslo")),
        "words": pa.array(["x", "y"]).dictionary_encode(),
        "list": [["a"], None],
        "number": [1.5, 2.5],
        "id": pa.array([b"0" * 16, None], pa.uuid()),
    }
)


def test_a_stream_says_how_its_columns_are_stored():
    found = pa.table(PhysicalStream(TABLE))
    kinds = [
        pa.binary(),
        pa.int64(),
        pa.dictionary(pa.int32(), pa.binary()),
        pa.list_(pa.binary()),
        pa.float64(),
        pa.uuid(),
    ]
    assert found.schema.types == kinds
    assert found.column_names == TABLE.column_names
    assert found.to_pydict() == {
        "text": [b"a", None],
        "moment": [1, 2],
        "words": [b"x", b"y"],
        "list": [[b"a"], None],
        "number": [1.5, 2.5],
        "id": TABLE["id"].to_pylist(),
    }


def test_the_declared_formats_are_kept():
    assert PhysicalStream(TABLE).formats == (
        b"u",
        b"tsm:Europe/Oslo",
        b"u",
        b"+l",
        b"g",
        b"w:16",
    )


@pytest.mark.parametrize(
    "frame",
    [TABLE, pl.DataFrame({"text": ["a", None], "n": [1, 2]})],
    ids=["pyarrow", "polars"],
)
def test_a_stream_can_be_read_again_and_again(frame):
    physical = PhysicalStream(frame)
    connection = duckdb.connect()
    connection.register("t", physical)
    for _ in range(3):
        assert connection.execute("SELECT count(*), count(text) FROM t").fetchall() == [
            (2, 1)
        ]


def test_a_capsule_that_nobody_takes_lets_go_of_its_rows():
    """A relation's connection is free again: an open result would block it."""
    connection = duckdb.connect()
    physical = PhysicalStream(connection.sql("SELECT range AS x FROM range(10)"))
    before = len(arrow_stream._streams_in_capsules)
    capsule = physical.__arrow_c_stream__()
    assert len(arrow_stream._streams_in_capsules) == before + 1
    del capsule
    gc.collect()
    assert len(arrow_stream._streams_in_capsules) == before
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_nothing_keeps_a_frame_alive():
    class Held:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return TABLE.__arrow_c_stream__()

    held = Held()
    gone = weakref.ref(held)
    physical = PhysicalStream(held)
    assert pa.table(physical).num_rows == 2
    del held, physical
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("format", "plain"),
    [
        (b"U", b"Z"), (b"vu", b"vz"), (b"tDs", b"l"), (b"tdD", b"i"), (b"tts", b"i"), (b"ttn", b"l"), (b"tin", b"w:16"), (b"b", b"b"),
        (b"d:5,2,32", b"d:9,2,32"), (b"d:50,1,256", b"d:50,1,256"),
    ],
    ids=str,
)  # fmt: skip
def test_a_type_is_stored_as_what_it_is(format, plain):
    assert physical_format(format) == plain


def test_decimals_inside_others_are_bytes():
    assert physical_format(b"d:38,2", nested=True) == b"w:16"


@pytest.mark.parametrize(
    ("format", "declared", "value", "shown"),
    [
        (b"tss:", "TIMESTAMP_S", -1, "1969-12-31 23:59:59"),
        (b"tsn:", "TIMESTAMP_NS", -1, "1969-12-31 23:59:59.999999"),
        (b"tsm:UTC", "TIMESTAMP WITH TIME ZONE", -1, "1969-12-31 23:59:59.999+00"),
        (b"tdm", "DATE", -1, "1969-12-31"),
        (b"ttn", "TIME_NS", 86_399_999_999_999, "23:59:59.999999"),
        (b"ttu", "TIME", -1, "24:00:00"),
        (b"ttu", "TIME", None, None),
        (b"tss:", "TIMESTAMP_S", None, None),
    ],
)
def test_a_physical_cell_is_read_as_its_type_says(format, declared, value, shown):
    """Digits beyond the microsecond are cut off, also before 1970."""
    found = reading_of_format("x", format, declared)
    cell = "NULL" if value is None else str(value)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    asked = f"SELECT CAST({found.expression} AS VARCHAR) FROM (SELECT CAST({cell} AS BIGINT) AS x)"
    assert connection.execute(asked).fetchall() == [(shown,)]
