"""Folders and patterns of files: one table, one account."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy import Boolean, Schema, synthesize
from understudy.errors import Refused, TableError
from understudy.tables import open_table

SCHEMA = Schema(columns=(Boolean(name="smoker"),))


def csv_folder(folder: Path, *contents: str) -> Path:
    folder.mkdir()
    for i, content in enumerate(contents):
        (folder / f"{i}.csv").write_text(content)
    return folder


def count_rows(data: object) -> int:
    with open_table(data) as source:
        query = f"SELECT count(*) FROM {source.relation}"
        return source.engine.run(query, doing="counting")[0][0]


def test_a_folder_and_a_pattern_are_one_table(tmp_path):
    folder = csv_folder(tmp_path / "parts", "a\n1\n", "a\n2\n3\n")
    (folder / "notes.md").write_text("canary")
    (folder / ".hidden.csv").write_text("b\n")
    assert count_rows(folder) == count_rows(str(folder)) == 3
    assert count_rows(folder / "*.csv") == 3
    assert count_rows(folder / "[1-9].csv") == 2
    for data in (folder, folder / "1*.csv"):
        with open_table(data) as source:
            assert (source.title, source.path) == ("parts", folder)
            assert source.ledger_path == tmp_path / "parts.ledger"


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        pq.write_table(pa.table({"a": [i]}), folder / f"part-{i}.parquet")
    assert count_rows(folder) == 3
    pq.write_table(pa.table({"a": ["x"]}), folder / "part-3.parquet")
    with pytest.raises(TableError, match="its types differ"):
        open_table(folder)


def test_files_that_differ_are_refused(tmp_path):
    folder = csv_folder(tmp_path / "parts", "a\n1\n", "b\n2\n")
    with pytest.raises(TableError, match=r"1\.csv:1: its header differs"):
        open_table(folder)
    pq.write_table(pa.table({"a": [1]}), folder / "1.parquet")
    with pytest.raises(TableError, match="several kinds"):
        open_table(folder)


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path):
    path = tmp_path / "t[1].csv"
    path.write_text("a\n1\n")
    with open_table(path) as source:
        assert source.ledger_path == tmp_path / "t[1].csv.ledger"


def test_a_folder_has_one_account(tmp_path):
    rows = "smoker\n" + "true\nfalse\n" * 50
    folder = csv_folder(tmp_path / "parts", rows, rows)
    synthesize(folder, SCHEMA, epsilon=1)
    synthesize(folder / "0*.csv", SCHEMA, epsilon=1)
    assert [path.name for path in tmp_path.rglob("*.ledger")] == ["parts.ledger"]


def test_an_account_inside_a_folder_is_not_passed_over(tmp_path):
    rows = "smoker\n" + "true\nfalse\n" * 50
    folder = csv_folder(tmp_path / "parts", rows, rows)
    synthesize(folder / "0.csv", SCHEMA, epsilon=1)
    with pytest.raises(Refused, match=r"0\.csv\.ledger is an account in the folder"):
        synthesize(folder, SCHEMA, epsilon=1)
    synthesize(folder, SCHEMA, epsilon=1, ledger=folder / "0.csv.ledger")


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_a_link_in_a_folder_does_not_count_rows_twice(link, tmp_path):
    folder = csv_folder(tmp_path / "parts", "a\n1\n")
    getattr(folder / "again.csv", link)(folder / "0.csv")
    with pytest.raises(TableError, match="are one file"):
        open_table(folder)
    assert count_rows(folder / "0*.csv") == 1
