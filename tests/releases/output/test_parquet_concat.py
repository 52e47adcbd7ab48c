"""Parquet files joined by their bytes: what any reader finds in the whole is what it
found in the parts.
"""

from __future__ import annotations

import io
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from understudy.releases.output.parquet_concat import ParquetConcatenator

TABLES = [
    pa.table({"x": [1, 2, None], "s": ["a", "b", "a"]}),
    pa.table({"x": pa.array([], pa.int64()), "s": pa.array([], pa.string())}),
    pa.table({"x": [7] * 1000, "s": [f"label {i}" for i in range(1000)]}),
]


def joined(folder: Path, parts: list[bytes]) -> Path:
    path = folder / "whole.parquet"
    with path.open("wb") as out:
        whole = ParquetConcatenator(out)
        for data in parts:
            part = folder / "part"
            part.write_bytes(data)
            whole.add_part(part)
            assert not part.exists()
        whole.write_footer()
    return path


def written(table: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 300, "compression": "zstd"},
        {"write_page_index": True, "use_dictionary": False},
    ],
    ids=["plain", "groups", "index"],
)
def test_every_reader_finds_all_rows_in_their_order(options, tmp_path):
    path = joined(tmp_path, [written(table, **options) for table in TABLES])
    expected = pa.concat_tables(TABLES)
    found = parquet.read_table(path)
    found.validate(full=True)
    assert found.equals(expected)
    assert parquet.read_metadata(path).num_rows == 1003
    rows = duckdb.sql(f"SELECT x, s FROM read_parquet('{path}')").fetchall()
    assert rows == list(zip(*expected.to_pydict().values(), strict=True))


def test_groups_stay_apart_and_their_statistics_hold(tmp_path):
    """A reader that passes over groups by their statistics passes over the right ones."""
    parts = [written(pa.table({"x": list(range(i, i + 100))})) for i in (0, 1000, 2000)]
    path = joined(tmp_path, parts)
    meta = parquet.read_metadata(path)
    assert [meta.row_group(i).column(0).statistics.min for i in range(3)] == [
        0,
        1000,
        2000,
    ]
    assert parquet.ParquetFile(path).read_row_group(1)["x"].to_pylist() == list(
        range(1000, 1100)
    )
    assert parquet.read_table(path, filters=[("x", ">=", 2050)]).num_rows == 50


def test_one_part_comes_out_as_it_went_in(tmp_path):
    data = written(TABLES[0])
    assert joined(tmp_path, [data]).read_bytes() == data
