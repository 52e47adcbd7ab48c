"""Formats of dates, moments and times: what they read, write and refuse."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import polars as pl
import pytest

from understudy.errors import SchemaError
from understudy.releases.output.frames.spelled_values import write_value
from understudy.schema import Column, Date, Datetime, Schema, Time, dump_schema
from understudy.tables import Table, open_table

BORN = {"min": date(1900, 1, 1), "max": date(2099, 12, 31)}
SEEN = {"min": datetime(1900, 1, 1), "max": datetime(2099, 12, 31)}
MINUTES = {"resolution": timedelta(minutes=1)}

CASES: list[tuple[Column, dict[str, object]]] = [
    (
        Date(name="x", format="%d.%m.%Y", **BORN),
        {
            "05.01.2024": date(2024, 1, 5),
            "5.1.2024": date(2024, 1, 5),
            " 31.12.1999 ": date(1999, 12, 31),
            "2024-01-05": date(2024, 1, 5),
            "31.02.2024": None,
            "05/01/2024": None,
            "x05.01.2024": None,
        },
    ),
    (
        Date(name="x", format="%-m/%-d/%y", **BORN),
        {"1/5/24": date(2024, 1, 5), "12/31/69": date(1969, 12, 31), "13/1/24": None},
    ),
    (
        Date(name="x", format="%d-%b-%Y", **BORN),
        {"05-Jan-2024": date(2024, 1, 5), "5-DEC-1999": date(1999, 12, 5), "5-Foo-1999": None},
    ),
    (
        Time(name="x", format="%-I:%M %p", **MINUTES),
        {
            "2:30 PM": time(14, 30),
            "12:05 am": time(0, 5),
            "12:05 pm": time(12, 5),
            "13:05 pm": None,
            "0:05 pm": None,
            "14:30": time(14, 30),
        },
    ),
    (
        Datetime(name="x", format="%Y-%m-%dT%H:%M:%SZ", zone="UTC", **SEEN),
        {"2024-01-05T10:00:00Z": datetime(2024, 1, 5, 10), "2024-01-05T25:00:00Z": None},
    ),
    (
        Datetime(name="x", format="%d/%m/%Y %H:%M", **SEEN, **MINUTES),
        {"05/01/2024 9:07": datetime(2024, 1, 5, 9, 7), "05/01/2024": None},
    ),
]  # fmt: skip


def lattice_indices(column, cells) -> list[int | None]:
    """How a table reads cells, one at a time."""
    frame = pl.DataFrame({"x": cells})
    found: list[int | None] = []
    for row in range(len(cells)):
        with open_table(frame[row : row + 1]) as source:
            values, _ = Table(source, Schema(columns=(column,))).lattice("x")
        found.append(int(values[0]) if len(values) else None)
    return found


@pytest.mark.parametrize(("column", "cells"), CASES)
def test_a_table_and_python_read_a_format_alike(column, cells):
    in_python = []
    for cell, value in cells.items():
        parsed = column.parse(cell)
        assert str(parsed) == str(value), cell
        in_python.append(None if parsed is None else column.index_of(parsed))
    assert lattice_indices(column, list(cells)) == in_python


@pytest.mark.parametrize(("column", "cells"), CASES)
def test_what_is_written_is_read_as_the_same_value(column, cells):
    for cell, value in cells.items():
        if value is None:
            continue
        index = column.index_of(column.parse(cell))
        text = write_value(column, index)
        assert column.index_of(column.parse(text)) == index


@pytest.mark.parametrize(
    ("column", "index", "text"),
    [
        (Date(name="x", format="%d.%m.%Y"), 8, "09.01.1970"),
        (Date(name="x", format="%-m/%-d/%y"), 8, "1/9/70"),
        (Date(name="x", format="%d-%b-%Y"), 8, "09-Jan-1970"),
        (Time(name="x", format="%H:%M", **MINUTES), 555, "09:15"),
        (Time(name="x", format="%-I:%M %p", **MINUTES), 795, "1:15 PM"),
        (Datetime(name="x", format="%Y-%m-%dT%H:%M:%S%z", zone="Asia/Tokyo"), 0, "1970-01-01T09:00:00+09:00"),
        # Its clocks were 19 minutes and 32 seconds ahead: no offset says that.
        (Datetime(name="x", format="%Y-%m-%d %H:%M:%S%z", zone="Europe/Amsterdam"), -1_100_000_000, "1935-02-22 12:26:40+00:00"),
    ],
)  # fmt: skip
def test_values_are_written_in_the_format(column, index, text):
    assert write_value(column, index) == text


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        (Date, {"format": "%d.%m"}, "spells no date"),
        (Date, {"format": "%d.%m.%Y %H:%M"}, "spells no date"),
        (Date, {"format": "%d.%m.%Q"}, "spells no date"),
        (Date, {"format": "%d.%d.%m.%Y"}, "spells no date"),
        (Date, {"format": "%Y-%d-%m"}, "Write the cells as 2024-12-31"),
        (Time, {"format": "%I:%M"}, "spells no time of day"),
        (Time, {"format": "%d %H:%M"}, "spells no time of day"),
        (Datetime, {"format": "%H:%M"}, "spells no moment"),
        (Datetime, {"format": "%Y-%m-%dT%H:%M%z"}, "Declare a `zone`"),
        (Datetime, {"format": "%Y-%m-%dT%H:%MZ", "zone": "Asia/Tokyo"}, "`zone: UTC`"),
    ],
)
def test_a_format_that_spells_something_else_is_refused(kind, fields, reason):
    with pytest.raises(SchemaError, match=reason):
        kind(name="x", **fields)


def test_a_schema_file_keeps_formats_and_marks():
    text = """
columns:
  born: {type: date, format: "%d.%m.%Y"}
  woke: {type: time, resolution: 1min, format: "%H:%M"}
  pay: {type: real, decimals: 2, decimal: ",", thousands: ".", trailing_zeros: false}
  sold: {type: integer, thousands: "'"}
"""
    schema = Schema.parse(text)
    assert schema["born"].format == "%d.%m.%Y"
    assert schema["pay"].trailing_zeros is False
    assert Schema.parse(dump_schema(schema)) == schema


def test_marks_that_are_the_same_are_refused():
    with pytest.raises(SchemaError, match="are the same"):
        Schema.parse('columns: {x: {type: real, thousands: "."}}')
