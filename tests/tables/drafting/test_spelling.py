"""What a draft says of cells that are spelled so that they cannot be read as what they
are.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest

from understudy.schema import Categorical, Date, Datetime, Identifier, Integer, Real
from understudy.tables import open_table
from understudy.tables.drafting.draft import draft_schema
from understudy.tables.drafting.spelling import SPELLING_NOTES, describe_spelling


def note(tmp_path: Path, cells: list[str], *, multiline: bool = False) -> str:
    path = tmp_path / "t.csv"
    path.write_bytes(
        "".join(
            f"{line}\n" for line in ("a;b", *(f"{cell};1" for cell in cells))
        ).encode()
    )
    with open_table(path, multiline=multiline) as source:
        return describe_spelling(source, "a")


@pytest.mark.parametrize(
    "cells",
    [
        ["1,5", "2,75", "0,1"],
        ["1,234.50", "12.00", "1,234,567.00"],
        ["1.234,50", "12,00", "-1.234.567,00"],
        ["1'234.50", "1’234’567.05"],
        ["5%", "12.5 %", "-3%"],
        ["$5.00", "$1,200.00", "-$3"],
        ["5 €", "1200,00 €"],
        ["(5.00)", "(1,200.50)"],
    ],
)
def test_numbers_in_a_dress_are_told(cells, tmp_path):
    assert note(tmp_path, cells * 50) == SPELLING_NOTES["number"]


@pytest.mark.parametrize(
    "cells", [["31/12/2024", "1/2/24"], ["31.12.2024"], ["12-31-2024 10:15"]]
)
def test_dates_in_an_order_of_their_own_are_told(cells, tmp_path):
    assert note(tmp_path, cells * 50) == SPELLING_NOTES["date"]


@pytest.mark.parametrize(
    "cells",
    [
        ["01054", "02139"],
        ["a", "b,"],
        ["12,5", "many", "few"],
        ["3-4", "5-6"],
        ["", ""],
        ['"said"', "x"],
        ["079 123 45 67"],
    ],
)
def test_labels_are_taken_as_they_are(cells, tmp_path):
    assert note(tmp_path, cells * 50) == ""


def test_texts_in_another_encoding_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + "Zürich,1\nBern,2\n".encode("latin-1") * 50)
    for encoding, told in (("utf-8", SPELLING_NOTES["encoding"]), ("latin-1", "")):
        with open_table(path, encoding=encoding) as source:
            assert describe_spelling(source, "a") == told


def test_quotes_that_end_on_another_line_are_told(tmp_path):
    assert note(tmp_path, ['"Bern\nCH"', "Biel"] * 50) == SPELLING_NOTES["quote"]
    assert note(tmp_path, ['"Bern\nCH"', "Biel"] * 50, multiline=True) == ""


def test_a_draft_carries_it_where_a_column_stays_text():
    frame = pyarrow.table(
        {
            "age": [str(i % 40) for i in range(500)],
            "pay": [f"{i},5" for i in range(500)],
            "share": [f"{i % 9}%" for i in range(500)],
            "day": [f"2024-01-{i % 28 + 1:02}" for i in range(500)],
            "cost": [f"{i}.5" for i in range(500)],
        }
    )
    with open_table(frame) as source:
        drafted = {column.name: column for column in draft_schema(source).columns}
    assert {name: type(column) for name, column in drafted.items()} == {
        "age": Integer,
        "pay": Identifier,
        "share": Categorical,
        "day": Date,
        "cost": Real,
    }
    assert {
        name
        for name, column in drafted.items()
        if column.note == SPELLING_NOTES["number"]
    } == {"pay", "share"}
    assert not set(SPELLING_NOTES.values()) & {
        drafted[name].note for name in ("age", "day", "cost")
    }


@pytest.mark.parametrize(
    ("tail", "zone"), [("Z", "UTC"), ("+02:00", "UTC"), ("-0330", "UTC"), ("", None)]
)
def test_moments_with_an_offset_are_instants(tail, zone, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "at,x\n"
        + "".join(
            f"2024-03-{i % 28 + 1:02}T10:{i % 60:02}:00{tail},1\n" for i in range(300)
        )
    )
    with open_table(path) as source:
        column = draft_schema(source)["at"]
    assert isinstance(column, Datetime)
    assert column.zone == zone
