"""Parquet files: the database's way and the way around it read the same, and cells that
break their type stop neither.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy import thrift
from understudy.errors import TableError
from understudy.schema import (
    Categorical,
    Column,
    Datetime,
    Real,
    Schema,
    Time,
    UndeclaredColumn,
    codec_of,
)
from understudy.tables import Table, open_table
from understudy.tables.sources import parquet_footer
from understudy.tables.sources.parquet import ParquetFiles
from understudy.tables.sources.parquet_footer import LOGICAL_TYPE_FIELD, SCHEMA_FIELD

MOMENT = Datetime(
    name="x",
    min=datetime(1969, 1, 1),
    max=datetime(2030, 1, 1),
    resolution=timedelta(seconds=1),
)
CLOCK = Time(name="x", resolution=timedelta(minutes=1))
FEE = Real(name="x", min=Fraction(-1000), max=Fraction(1000), step=Fraction(1, 100))
WORDS = Categorical(name="x", values=("{}", "[1]"), other="other")


def annotated(path: Path, column: pa.Array, **fields: Any) -> Path:
    """A file whose only column is said to mean something else than it was written as."""
    pq.write_table(pa.table({"x": column}), path, store_schema=False)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    parquet_footer = thrift.read_struct(data[-8 - length : -8])
    element = parquet_footer[SCHEMA_FIELD][1][1][1]
    element |= {int(number[1:]): value for number, value in fields.items()}
    if "_10" not in fields:
        element.pop(LOGICAL_TYPE_FIELD, None)
    parquet_footer[SCHEMA_FIELD][1][1][1] = dict(sorted(element.items()))
    end = thrift.write_struct(parquet_footer)
    path.write_bytes(
        data[: -8 - length] + end + len(end).to_bytes(4, "little") + b"PAR1"
    )
    return path


def decimals(
    path: Path,
    values: list[bytes | None],
    *,
    width: int = 20,
    kind: pa.DataType | None = None,
) -> Path:
    return annotated(
        path, pa.array(values, kind or pa.binary()), _6=(5, 5), _7=(5, 2), _8=(5, width)
    )


def codes(path: Path, column: Column, *, around: bool = False) -> list[int]:
    """Codes as a table has them; `around` pretends that the database could not read the
    file.
    """
    with open_table(path) as source:
        if around:
            assert source._parquet is not None
            source._parquet._is_readable = lambda *_: False  # type: ignore[method-assign]
        table = Table(source, Schema(columns=(column,)))
        table.encode()
        assert table._codes._kept_codes is not None
        assert bool(list(source.engine.directory.glob("copy-*.parquet"))) == around
        return [int(code) for code in table._codes._kept_codes[column.name]]


def saved(path: Path, array: pa.Array) -> Path:
    pq.write_table(pa.table({"x": array}), path, store_schema=False)
    return path


def whole(number: int) -> bytes:
    return number.to_bytes(max(1, (number.bit_length() + 8) // 8), "big", signed=True)


MOMENTS = [datetime(1969, 5, 1), datetime(2024, 1, 1, 1, 2, 3), None]
SOUND: dict[str, tuple[Any, Column, list[Any]]] = {
    "milliseconds": (lambda p, v: saved(p, pa.array(v, pa.timestamp("ms"))), MOMENT, MOMENTS),
    "instants": (lambda p, v: saved(p, pa.array(v, pa.timestamp("ms", "UTC"))), MOMENT, MOMENTS),
    "times, ms": (lambda p, v: saved(p, pa.array(v, pa.time32("ms"))), CLOCK, [time(0), time(23, 59, 59), None]),
    "times, us": (lambda p, v: saved(p, pa.array(v, pa.time64("us"))), CLOCK, [time(0), time(23, 59, 59, 999_999), None]),
    "times, ns": (lambda p, v: saved(p, pa.array(v, pa.time64("ns"))), CLOCK, [time(0), time(23, 59, 59, 999_999), None]),
    "json": (lambda p, v: saved(p, pa.array(v, pa.json_())), WORDS, ["{}", "[1]", '{"a": 1}', None]),
    "decimals": (
        lambda p, v: decimals(p, [None if x is None else whole(int(x * 100)) for x in v]),
        FEE, [Decimal(n) / 100 for n in (0, 1, -1, 127, 128, -128, -129, 25_500, -25_600, 99_999, -99_999)] + [None],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SOUND)
def test_both_ways_read_the_same(kind, tmp_path):
    """And what a codec says the cells are: so which way a file is read tells nothing."""
    make, column, values = SOUND[kind]
    path = make(tmp_path / "t.parquet", values)
    expected = [codec_of(column).code(value) for value in values]
    assert (
        sorted(codes(path, column))
        == sorted(codes(path, column, around=True))
        == sorted(expected)
    )


@pytest.mark.parametrize("length", [16, 17, 20])
def test_decimals_of_any_length_are_clipped(length, tmp_path):
    edge = [
        b"\x7f" + b"\xff" * (length - 1),
        b"\x80" + b"\0" * (length - 1),
        b"\0" * (length - 1) + b"\x05",
        b"\xff" * length,
    ]
    found = codes(
        decimals(tmp_path / "t.parquet", edge, width=38), FEE, around=length > 16
    )
    codec = codec_of(FEE)
    assert sorted(found) == sorted(
        codec.code(v) for v in (1000, -1000, Decimal("0.05"), Decimal("-0.01"))
    )


def test_a_broken_cell_leaves_the_others_alone(tmp_path):
    """Also in another column of another file, and also where the columns beside it have
    to be read from the copy too.
    """
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, odd in zip(paths, (5, -5), strict=True):
        table = pa.table(
            {
                "x": pa.array([3_600_000_000, odd], pa.int64()).view(pa.time64("us")),
                "y": pa.array([b"F", b"\xff"]).view(pa.string()),
                "z": pa.array([1, 2], pa.timestamp("ms")),
            }
        )
        pq.write_table(table, path, store_schema=False)
    columns = (
        CLOCK,
        Categorical(name="y", values=("F", "M"), other="other"),
        Datetime(name="z", min=datetime(1970, 1, 1), max=datetime(1971, 1, 1)),
    )
    with open_table(paths) as source:
        table = Table(source, Schema(columns=columns))
        clock, words, moments = table.counts([("x",), ("y",), ("z",)])
    assert clock[codec_of(CLOCK).code(time(1))] == 2
    assert clock[codec_of(CLOCK).code(time(0))] == 1
    assert clock[codec_of(CLOCK).default] == 1
    assert words.tolist() == [2, 0, 2, 0]
    assert moments[0] == 4


def test_sound_files_are_not_copied(tmp_path):
    path = saved(
        tmp_path / "t.parquet",
        pa.array(range(1000), pa.int64()).view(pa.timestamp("ms")),
    )
    assert len(codes(path, MOMENT)) == 1000


def test_only_types_that_can_be_contradicted_are_tried_out(tmp_path, monkeypatch):
    """Numbers and texts need no second look, however many there are."""
    monkeypatch.setattr(
        ParquetFiles, "_is_readable", lambda *_: pytest.fail("tried out")
    )
    pq.write_table(
        pa.table(
            {
                "x": [1],
                "y": ["a"],
                "z": np.array([1.5]),
                "u": pa.array([1], pa.timestamp("us")),
            }
        ),
        tmp_path / "t.parquet",
    )
    with open_table(tmp_path / "t.parquet") as source:
        assert source.relation == "cells"


@pytest.mark.parametrize("first", [[70, 71], [None, None], ["70", "71"]])
def test_one_row_of_the_first_file_does_not_round_those_of_the_second(first, tmp_path):
    """The database casts every file to the types of the first: 70.5 became 70 as soon
    as no cell of the first had a fraction.
    """
    one = saved(tmp_path / "a.parquet", pa.array(first))
    other = saved(tmp_path / "b.parquet", pa.array([70.5, 71.5]))
    with pytest.raises(
        TableError,
        match=r'b\.parquet: .* in column "x"\. Write the files with one schema',
    ):
        open_table([one, other])


def test_files_that_mean_different_things_are_refused(tmp_path):
    """Without their meaning, milliseconds and microseconds would be the same numbers."""
    one = saved(tmp_path / "a.parquet", pa.array([1], pa.time32("ms")))
    other = saved(tmp_path / "b.parquet", pa.array([1], pa.time64("us")))
    with pytest.raises(
        TableError,
        match=r"b\.parquet: its types differ from those of a\.parquet\. .*Nothing was read",
    ):
        open_table([one, other])


def test_names_that_differ_by_case_alone_are_different(tmp_path):
    pq.write_table(
        pa.table([pa.array(["F"]), pa.array(["M"])], names=["a", "A"]),
        tmp_path / "t.parquet",
    )
    for name, value in (("a", 0), ("A", 1)):
        assert codes(
            tmp_path / "t.parquet", Categorical(name=name, values=("F", "M"))
        ) == [value]


def test_a_damaged_page_is_named_by_its_column(tmp_path):
    """And by its file, of two; the column beside it is sound."""
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        table = pa.table(
            {
                "sound": pa.array(range(1000)),
                "odd": [f"canary-{i}" for i in range(1000)],
            }
        )
        pq.write_table(table, path, use_dictionary=False, compression="zstd")
    chunk = pq.read_metadata(paths[1]).row_group(0).column(1)
    data = bytearray(paths[1].read_bytes())
    start = chunk.data_page_offset
    data[start : start + chunk.total_compressed_size] = (
        b"\0" * chunk.total_compressed_size
    )
    paths[1].write_bytes(data)
    with open_table(paths) as source:
        source.check(["sound"])
    with open_table(paths) as source, pytest.raises(TableError) as caught:
        source.check(["sound", "odd"])
    assert str(caught.value).startswith(
        'b.parquet: column "odd": its pages are damaged ('
    )
    assert str(caught.value).endswith("Nothing was spent")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("kept", [0, 3, 11, 200])
def test_a_file_cut_short_is_told_from_one_that_is_not_there(kept, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(
        TableError,
        match=r"t\.parquet: does not begin and end as a Parquet file does: it is cut short",
    ):
        open_table(path)


def test_what_a_footer_states_is_read_alike_by_the_database_and_by_ourselves(tmp_path):
    """So where the database cannot show a statistic, the same file is refused for the
    same reason.
    """
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"x": [1, 2, 3], "y": ["a", "b", "c"]}), path, row_group_size=2
    )
    groups = [pq.read_metadata(path).row_group(i) for i in range(2)]
    chunks = [group.column(i) for group in groups for i in range(2)]
    stated = tuple(
        sum(getattr(chunk, word) for chunk in chunks)
        for word in ("num_values", "total_uncompressed_size", "total_compressed_size")
    )
    assert parquet_footer.sum_column_sizes(path) == stated
    path.write_bytes(b"PAR1" + b"\xff" * 6 + b"\x06\0\0\0PAR1")
    with pytest.raises(TableError, match=r"t\.parquet: its footer is damaged"):
        parquet_footer.sum_column_sizes(path)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_time_of_day_with_an_offset_is_a_time_of_day_and_an_odd_one_moves_itself_only(
    unit, tmp_path
):
    """A file that states its times to be in UTC: TIME WITH TIME ZONE to the database."""
    per, kind = {
        "ms": (10**3, pa.time32("ms")),
        "us": (10**6, pa.time64("us")),
        "ns": (10**9, pa.time64("ns")),
    }[unit]
    plain = pa.int32() if unit == "ms" else pa.int64()
    found = []
    for odd in (None, 90_000 * per, -1):
        cells = pa.array([36_000 * per, odd, 39_600 * per], plain).view(kind)
        pq.write_table(
            pa.table({"x": cells}),
            tmp_path / "t.parquet",
            write_time_adjusted_to_utc=True,
        )
        with open_table(tmp_path / "t.parquet") as source:
            assert source.types == {"x": "TIME"}
            table = Table(source, Schema(columns=(CLOCK,)))
            table.encode()
            assert table._codes._kept_codes is not None
            found.append([int(code) for code in table._codes._kept_codes["x"]])
        assert found[-1] == codes(tmp_path / "t.parquet", CLOCK, around=True)
    codec = codec_of(CLOCK)
    assert [row[0] for row in found] == [codec.code(time(10))] * 3
    assert [row[2] for row in found] == [codec.code(time(11))] * 3
    assert [row[1] for row in found] == [codec.default] * 3


MANY = [1.0, 2.0, float("nan")] * 20


def read_every_way(
    path: Path, cells: list[float | None], kind: pa.DataType
) -> list[list[int]]:
    """How many cells go where: among labels, in a vote on types, among bins."""
    pq.write_table(pa.table({"x": pa.array(cells, kind)}), path)
    labels = Categorical(name="x", values=("1", "2"), other="other")
    bins = Real(
        name="x", min=Fraction(0), max=Fraction(9), step=Fraction(1), bins=(0, 5, 10)
    )
    with open_table(path) as source:
        voted = Table(source, Schema(columns=(UndeclaredColumn(name="x"),))).votes(
            ["x"]
        )[0]
        counted = [
            Table(source, Schema(columns=(column,))).counts([("x",)])[0]
            for column in (labels, bins)
        ]
    return [counts.tolist() for counts in (voted, *counted)]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("odd", [None, float("inf"), 1e30, -7.5])
def test_one_more_cell_does_not_change_how_cells_that_are_no_numbers_are_read(
    kind, odd, tmp_path
):
    """Statistics in the file leave NaN out: by them the database would take every cell
    for small and whole, until one is not.
    """
    here = read_every_way(tmp_path / "here.parquet", MANY, kind)
    there = read_every_way(tmp_path / "there.parquet", [*MANY, odd], kind)
    assert here[1:] == [[20, 20, 0, 20], [40, 0, 20]]
    for before, after in zip(here, there, strict=True):
        assert sum(abs(a - b) for a, b in zip(before, after, strict=True)) == 1
