"""Footers: written again as they were read, and stripped where it is asked for."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import TableError
from understudy.tables.sources.parquet_footer import write_plain_copy
from understudy.thrift import read_struct
from understudy.thrift import write_struct as as_bytes

TABLE = pa.table(
    {
        "text": ["a", None],
        "moment": pa.array([1, None], pa.timestamp("ms")),
        "clock": pa.array([1, 2], pa.time64("us")),
        "list": [["a", "b"], []],
        "nested": [{"a": {"b": "x"}}, {"a": None}],
        "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.timestamp("ms"))),
        "wide": [1, 2],
    }
)


def written(path: Path, **options: object) -> Path:
    pq.write_table(TABLE, path, **options)
    return path


def footer(path: Path) -> bytes:
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    return data[-8 - length : -8]


@pytest.mark.parametrize(
    "options",
    [{}, {"row_group_size": 1}, {"version": "1.0"}, {"compression": "zstd"}],
    ids=str,
)
def test_a_footer_is_written_as_it_was_read(options, tmp_path):
    held = footer(written(tmp_path / "t.parquet", **options))
    assert as_bytes(read_struct(held)) == held


def test_a_footer_with_very_many_columns_is_written_as_it_was_read(tmp_path):
    """Lists of fifteen and more say their length otherwise."""
    pq.write_table(pa.table({f"c{i}": [i] for i in range(300)}), tmp_path / "t.parquet")
    held = footer(tmp_path / "t.parquet")
    assert as_bytes(read_struct(held)) == held


def types(path: Path) -> list[str]:
    return [
        row[1]
        for row in duckdb.connect()
        .execute(f"DESCRIBE FROM read_parquet('{path}')")
        .fetchall()
    ]


def test_only_the_columns_asked_for_lose_their_meaning(tmp_path):
    write_plain_copy(written(tmp_path / "t.parquet"), tmp_path / "copy.parquet", {1, 5})
    assert types(tmp_path / "copy.parquet") == [
        "VARCHAR", "BIGINT", "TIME", "VARCHAR[]", "STRUCT(a STRUCT(b VARCHAR))", "MAP(BLOB, BIGINT)", "BIGINT",
    ]  # fmt: skip


def test_nested_columns_keep_their_shape_and_every_cell_its_bytes(tmp_path):
    write_plain_copy(
        written(tmp_path / "t.parquet"), tmp_path / "copy.parquet", range(7)
    )
    assert types(tmp_path / "copy.parquet")[3:5] == [
        "BLOB[]",
        "STRUCT(a STRUCT(b BLOB))",
    ]
    rows = (
        duckdb.connect()
        .execute(f"FROM read_parquet('{tmp_path}/copy.parquet')")
        .fetchall()
    )
    assert rows == [
        (b"a", 1, 1, [b"a", b"b"], {"a": {"b": b"x"}}, {b"k": 1}, 1),
        (None, None, 2, [], {"a": None}, None, 2),
    ]


def test_a_copy_holds_no_statistics(tmp_path):
    write_plain_copy(written(tmp_path / "t.parquet"), tmp_path / "copy.parquet", {1})
    group = pq.ParquetFile(tmp_path / "copy.parquet").metadata.row_group(0)
    assert [group.column(i).statistics for i in range(group.num_columns)] == [
        None
    ] * group.num_columns


def test_the_original_is_left_alone(tmp_path):
    path = written(tmp_path / "t.parquet")
    before = path.read_bytes()
    write_plain_copy(path, tmp_path / "copy.parquet", {1})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"PAR1" + b"\xff" * 20 + b"PAR1", b"canary" * 10]
)
def test_a_file_without_a_footer_is_refused_in_one_line(data, tmp_path):
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(TableError, match=r"t\.parquet: has no footer"):
        write_plain_copy(tmp_path / "t.parquet", tmp_path / "copy.parquet", {0})
