"""Numbers with a decimal comma or separators of thousands: read where declared, cell by
cell.
"""

from __future__ import annotations

import pytest

from understudy.errors import TableError
from understudy.tables import open_table


def read_cells(tmp_path, cells, **options) -> list[str | None]:
    path = tmp_path / "t.csv"
    path.write_text("pay;note\n" + "".join(f"{cell};x\n" for cell in cells))
    with open_table(path, **options) as source:
        query = f"SELECT x0 FROM {source.relation}"
        return [row[0] for row in source.engine.run(query, doing="reading")]


@pytest.mark.parametrize(
    ("options", "cell", "plain"),
    [
        ({"decimal": ","}, "1,5", "1.5"),
        ({"decimal": ","}, "-,5", "-.5"),
        ({"decimal": ","}, " 1,5e3 ", " 1.5e3 "),
        ({"decimal": ","}, "1,2,3", "1,2,3"),
        ({"decimal": ","}, ",", ","),
        ({"decimal": ","}, "Rome, Italy", "Rome, Italy"),
        ({"decimal": ",", "thousands": "."}, "1.234.567,5", "1234567.5"),
        ({"decimal": ",", "thousands": "."}, "29.2.2024", "29.2.2024"),
        ({"thousands": ","}, "1,234.5", "1234.5"),
        ({"thousands": ","}, "12,34", "12,34"),
        ({"thousands": "'"}, "1'234", "1234"),
        ({"thousands": " "}, "1 234 567", "1234567"),
        ({"thousands": " "}, "1\u202f234\u00a0567", "1234567"),
        ({"thousands": " "}, "12 Main", "12 Main"),
        ({}, "1,5", "1,5"),
    ],
)
def test_a_number_is_respelled_and_nothing_else_is(options, cell, plain, tmp_path):
    assert read_cells(tmp_path, [cell], **options) == [plain]


def test_no_cell_changes_how_another_is_read(tmp_path):
    cells = ["1,5", "1.5", "one", "", "1.234,5"]
    options = {"decimal": ",", "thousands": "."}
    alone = [read_cells(tmp_path, [cell], **options)[0] for cell in cells]
    assert read_cells(tmp_path, cells, **options) == alone
    assert read_cells(tmp_path, cells[::-1], **options) == alone[::-1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"decimal": ";"}, "a decimal mark is , or a point"),
        ({"thousands": "x"}, "thousands are separated by one of"),
        ({"thousands": "."}, "are the same. Declare the other too"),
        ({"decimal": ",", "thousands": ","}, "are the same"),
    ],
)
def test_marks_that_make_no_sense_are_refused(options, reason, tmp_path):
    with pytest.raises(TableError, match=reason):
        read_cells(tmp_path, ["1"], **options)


def test_files_that_are_packed_or_copied_are_respelled_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'pay;note\n1,5;st"ray\n')
    with open_table(path, decimal=",") as source:
        rows = source.engine.run(f"SELECT * FROM {source.relation}", doing="reading")
    assert rows == [("1.5", 'st"ray')]
