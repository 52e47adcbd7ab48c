"""Files of other programs: the same cells as in a CSV file, and refusals that quote
none.
"""

from __future__ import annotations

import sys
import warnings
from datetime import date, datetime
from pathlib import Path

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import feather

from understudy import describe, synthesize
from understudy.errors import TableError
from understudy.tables import open_table
from understudy.tables.sources import excel, foreign
from understudy.workflow.open import open_source


def texts(path: Path) -> list[tuple[str | None, ...]]:
    with open_table(path) as source:
        cells = ", ".join(f"x{i}::VARCHAR" for i in range(len(source.names)))
        query = f"SELECT {cells} FROM {source.relation} ORDER BY ALL"
        return source.engine.run(query, doing="reading")


def workbook(path: Path, rows, sheets: int = 1) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for _ in range(sheets - 1):
        book.create_sheet()
    book.save(path)
    return path


def test_a_sheet_is_read_cell_by_cell(tmp_path):
    rows = [
        ["age", "born", "seen", "note"],
        [31, date(2001, 2, 3), datetime(2024, 1, 2, 3, 4), 'a\nb, "c"'],
        [1.5, None, None, True],
        [None, None, None, None],
        ["x", "y"],
    ]
    path = workbook(tmp_path / "t.xlsx", rows)
    with open_table(path) as source:
        assert source.names == ("age", "born", "seen", "note")
        assert (source.kind, source.title) == ("excel", "t.xlsx")
        assert source.ledger_path == tmp_path / "t.xlsx.ledger"
    (first, second, third) = texts(path)
    assert first[:2] + first[3:] == ("1.5", None, first[3])
    assert second == ("31", "2001-02-03", second[2], 'a b, "c"')
    assert second[2].startswith("2024-01-02")
    assert third == ("x", "y", None, None)


def test_a_workbook_is_described_and_synthesized(tmp_path):
    rows = [["age", "sex"], *([20 + i % 50, "FM"[i % 2]] for i in range(300))]
    path = workbook(tmp_path / "t.xlsx", rows)
    assert [column.type for column in describe(path).columns] == [
        "integer",
        "categorical",
    ]
    assert list(synthesize(path, describe(path), epsilon=5).schema) == ["age", "sex"]
    assert (tmp_path / "t.xlsx.ledger").exists()


def test_a_first_row_of_data_is_no_header(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [[31, "canary"], [32, "x"]])
    with pytest.raises(TableError, match=r"t\.xlsx:1: looks like a row") as caught:
        describe(path)
    assert "canary" not in str(caught.value)


def test_workbooks_that_cannot_be_one_table_are_refused(tmp_path, monkeypatch):
    several = workbook(tmp_path / "s.xlsx", [["a"], [1]], sheets=2)
    (tmp_path / "d.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"s\.xlsx: has 2 sheets. .*--sheet NAME"):
        open_table(several)
    with pytest.raises(TableError, match="has no sheet of that name"):
        open_table(several, sheet="canary")
    with pytest.raises(TableError, match="is no Excel file"):
        open_table(tmp_path / "d.csv", sheet="Sheet")
    (tmp_path / "d.xlsx").write_bytes(several.read_bytes()[:900])
    with pytest.raises(TableError, match=r"d\.xlsx: cannot be read \(BadZipFile\)"):
        open_table(tmp_path / "d.xlsx")
    monkeypatch.setattr(excel, "FREE_UNPACKED_BYTES", 10)
    monkeypatch.setattr(excel, "MAX_UNPACK_RATIO", 1)
    with pytest.raises(TableError, match="unpacks to more than 1 times"):
        open_table(several)


@pytest.mark.parametrize("name", ["t.feather", "t.arrow", "stream.arrow", "t.ipc"])
@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_arrow_files_are_read_as_frames(name, library, tmp_path, monkeypatch):
    table = pa.table({"age": [1, 2], "sex": ["F", None]})
    path = tmp_path / name
    if name == "stream.arrow":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    else:
        feather.write_feather(table, path, compression="uncompressed")
    if library == "polars":
        monkeypatch.setattr(
            "understudy.tables.sources.foreign.find_spec", lambda name: None
        )
    with open_table(path) as source:
        assert (source.kind, source.title) == (library, name)
    assert texts(path) == [("1", "F"), ("2", None)]


def test_labels_of_stata_and_spss_are_cells(tmp_path):
    frame = pd.DataFrame({"sex": [1.0, 2.0, 9.0], "age": [31.0, 32.0, 33.0]})
    labels = {"sex": {1.0: "F", 2.0: "M"}}
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"))
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=labels)
    assert [row[0] for row in texts(tmp_path / "t.sav")] == ["9", "F", "M"]
    assert len(texts(tmp_path / "t.dta")) == 3


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_moment_beyond_the_calendar_is_a_cell_of_its_own(ending, tmp_path):
    """One row neither stops the reading nor changes how the others are read."""
    formats = {"born": "DATE11", "seen": "DATETIME20", "woke": "TIME8"}
    per_day, per_second = 86_400.0, 1.0
    origin = datetime(1582, 10, 14)
    write = pyreadstat.write_sav
    if ending == ".dta":
        formats = {"born": "%td", "seen": "%tc", "woke": "%tcHH:MM:SS"}
        per_day, per_second, origin = 1.0, 1_000.0, datetime(1960, 1, 1)
        write = pyreadstat.write_dta
    moments = [datetime(1959, 12, 31, 1, 2, 3), datetime(2016, 12, 1, 23, 59, 59)]
    rows = [
        (
            (moment - origin).days * per_day,
            (moment - origin).total_seconds() * per_second,
            (moment - datetime(moment.year, moment.month, moment.day)).seconds
            * per_second,
        )
        for moment in moments
    ]
    expected = [
        ("1959-12-31", "1959-12-31 01:02:03", "01:02:03"),
        ("2016-12-01", "2016-12-01 23:59:59", "23:59:59"),
    ]
    for odd in ([], [(float("nan"),) * 3], [(1e20,) * 3], [(-3e14,) * 3]):
        frame = pd.DataFrame(rows + odd, columns=list(formats))
        write(frame, str(tmp_path / f"t{ending}"), variable_format=formats)
        read = texts(tmp_path / f"t{ending}")
        assert len(read) == len(rows) + len(odd)
        assert [row for row in read if row in expected] == expected


def test_a_warning_of_a_library_quotes_no_cell(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["born"], [date(2001, 2, 3)], [271828182845]])
    book = openpyxl.load_workbook(path)
    book.active["A3"].number_format = "yyyy-mm-dd"
    book.save(path)
    with pytest.warns(UserWarning, match="271828182845"):
        list(openpyxl.load_workbook(path).active.iter_rows(values_only=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert texts(path) == [("#VALUE!",), ("2001-02-03",)]


def test_files_without_labels_are_read(tmp_path):
    """SAS keeps labels elsewhere, and its readers take no word on them."""
    frame = pd.DataFrame({"age": [30.0, 31.5, None], "town": ["Bonn", "Kiel", ""]})
    pyreadstat.write_xport(frame, str(tmp_path / "t.xpt"), file_format_version=8)
    pyreadstat.write_por(frame, str(tmp_path / "t.por"))
    for name in ("t.xpt", "t.por"):
        ages, towns = zip(*texts(tmp_path / name), strict=True)
        assert ages == ("30.0", "31.5", None)
        assert towns[:2] == ("Bonn", "Kiel")


@pytest.mark.parametrize(
    "name", ["t.feather", "t.dta", "t.sav", "t.por", "t.sas7bdat", "t.xpt", "t.xlsx"]
)
def test_damaged_files_are_refused_without_a_quote(name, tmp_path):
    (tmp_path / name).write_bytes(b"canary" * 50)
    # A TypeError would be our own call, and refuse good files too.
    with pytest.raises(TableError, match=r"cannot be read \((?!TypeError)") as caught:
        open_table(tmp_path / name)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("t.xlsx", "openpyxl", "excel"), ("t.sav", "pyreadstat", "statistics")],
)
def test_a_library_that_is_missing_is_named(name, module, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(TableError, match=rf'pip install "understudy-dp\[{extra}\]"'):
        open_table(tmp_path / name)


def test_only_one_such_file_is_read(tmp_path):
    paths = [workbook(tmp_path / f"{i}.xlsx", [["a"], [1]]) for i in range(2)]
    with pytest.raises(TableError, match="only CSV and Parquet files are read as one"):
        open_table(paths)


def test_polars_writes_what_is_read(tmp_path):
    pl.DataFrame({"a": [1]}).write_ipc(tmp_path / "t.arrow", compression="zstd")
    assert texts(tmp_path / "t.arrow") == [("1",)]


def test_a_sheet_is_chosen_by_its_name(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["age"], [31]], sheets=3)
    with open_table(path, sheet="Sheet") as source:
        assert (source.names, source.title) == (("age",), "t.xlsx")
    with open_source(path, sheet="Sheet") as source:
        assert source.kind == "excel"


@pytest.mark.parametrize("name", ["t.feather", "stream.arrow", "t.dta", "t.sav"])
def test_a_file_that_unpacks_to_far_more_is_refused(name, tmp_path, monkeypatch):
    table = pa.table({"age": [0.0] * 5000, "note": ["x" * 60] * 5000})
    path = tmp_path / name
    if name == "stream.arrow":
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(path, table.schema, options=options) as writer:
            writer.write_table(table)
    elif name == "t.feather":
        feather.write_feather(table, path, compression="zstd")
    elif name == "t.dta":
        pyreadstat.write_dta(table.to_pandas(), str(path))
    else:
        pyreadstat.write_sav(table.to_pandas(), str(path), compress=True)
    with open_table(path) as source:
        assert source.names == ("age", "note")
    monkeypatch.setattr(foreign, "FREE_UNPACKED_BYTES", 10)
    monkeypatch.setattr(foreign, "MAX_UNPACK_RATIO", 0.5)
    with pytest.raises(TableError, match="times its size"):
        open_table(path)
