"""The calendar: bins that begin where its units begin."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.schema import (
    Date,
    Datetime,
    Integer,
    Schema,
    Time,
    dump_schema,
)
from understudy.schema.columns import calendar
from understudy.schema.columns.calendar import (
    CALENDAR_UNITS,
    calendar_bins,
    snap_to_calendar,
    steps_per_day,
)

DAYS = Date(name="day", min=date(1999, 11, 20), max=date(2003, 2, 5))
CLOCK = Datetime(
    name="seen",
    min=datetime(2024, 2, 27, 5),
    max=datetime(2024, 3, 2, 13),
    resolution=timedelta(minutes=15),
)
BERN = Datetime(
    name="zoned",
    min=datetime(2024, 3, 29),
    max=datetime(2024, 4, 2, 23),
    zone="Europe/Zurich",
    resolution=timedelta(minutes=15),
)


def starts(column, unit):
    return [column.value_at(edge) for edge in calendar_bins(column, unit)[:-1]]


def test_bins_begin_where_the_calendar_says():
    assert [d.isoformat() for d in starts(DAYS, "year")] == [
        "1999-11-20",
        "2000-01-01",
        "2001-01-01",
        "2002-01-01",
        "2003-01-01",
    ]
    assert all(d.day == 1 for d in starts(DAYS, "month")[1:])
    assert all((d.day, d.month % 3) == (1, 1) for d in starts(DAYS, "quarter")[1:])
    assert all(d.weekday() == 0 for d in starts(DAYS, "week")[1:])
    assert [d.year for d in starts(DAYS, "decade")] == [1999, 2000]
    assert len(starts(DAYS, "day")) == DAYS.high - DAYS.low + 1
    assert all(m.minute == 0 for m in starts(CLOCK, "hour"))
    assert [m.day for m in starts(CLOCK, "day")] == [27, 28, 29, 1, 2]
    assert all(m.hour == 0 for m in starts(BERN, "day")), (
        "midnight where the clock hangs, also after it is changed"
    )
    assert len(starts(Time(name="at", resolution=timedelta(minutes=1)), "hour")) == 24


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        (DAYS, "hour"),
        (Time(name="at"), "day"),
        (Integer(name="n", min=0, max=9), "year"),
    ],
)
def test_a_unit_that_a_column_has_not_is_refused(column, unit):
    with pytest.raises(SchemaError, match=f'column "{column.name}"'):
        calendar_bins(column, unit)


@pytest.mark.parametrize("unit", CALENDAR_UNITS)
@pytest.mark.parametrize("kind", ["date", "datetime"])
def test_a_page_may_name_the_unit_and_keeps_it(unit, kind):
    if (unit, kind) == ("hour", "date"):
        return
    page = f"columns: {{d: {{type: {kind}, min: 1999-11-20, max: 2001-02-05, bins: {unit}}}}}"
    schema = Schema.parse(page)
    assert schema["d"].bins == calendar_bins(schema["d"], unit)
    assert Schema.parse(dump_schema(schema)) == schema
    if unit in ("week", "month", "year"):
        assert f"bins: {unit}" in dump_schema(schema)


def test_too_many_bins_are_refused_with_their_line():
    with pytest.raises(
        SchemaError, match='s:1: column "d": `bins: hour` makes more than 100,000 bins'
    ):
        Schema.parse(
            "columns: {d: {type: datetime, min: 1900-01-01, max: 2024-01-01, bins: hour}}",
            source="s",
        )


@settings(max_examples=200)
@given(st.lists(st.integers(1, 1172), max_size=12, unique=True), st.data())
def test_snapped_edges_stay_edges(inner, data):
    edges = (DAYS.low, *sorted(DAYS.low + i for i in inner), DAYS.high + 1)
    keep = data.draw(st.sets(st.sampled_from(edges)))
    found = snap_to_calendar(DAYS, edges, keep=keep)
    assert (found[0], found[-1]) == (edges[0], edges[-1])
    assert len(found) == len(edges)
    assert all(a < b for a, b in pairwise(found))
    assert keep <= set(found)


def test_a_single_day_is_not_moved():
    """A bin of one day was found because many share that day."""
    day = DAYS.index_of(date(2001, 3, 14))
    assert {day, day + 1} <= set(
        snap_to_calendar(DAYS, (DAYS.low, day, day + 1, DAYS.high + 1))
    )


def test_numbers_and_odd_resolutions_are_left_alone():
    assert snap_to_calendar(Integer(name="n", min=0, max=99), (0, 37, 100)) == (
        0,
        37,
        100,
    )
    odd = Datetime(
        name="t",
        min=datetime(2024, 1, 1),
        max=datetime(2025, 1, 1),
        resolution=timedelta(hours=7),
    )
    assert steps_per_day(odd) is None
    assert snap_to_calendar(odd, (odd.low, odd.low + 700, odd.high + 1)) == (
        odd.low,
        odd.low + 700,
        odd.high + 1,
    )


def test_units_that_bins_cannot_be_are_not_listed(monkeypatch):
    """A step of seven seconds divides no day, and 260 years have two million hours."""
    moments = Datetime(
        name="seen",
        min=datetime(1815, 4, 15),
        max=datetime(2075, 8, 2),
        resolution=timedelta(seconds=7),
        nullable=False,
    )
    edges = (
        moments.low,
        moments.low + 100_000_000,
        moments.low + 500_000_000,
        moments.high + 1,
    )
    listed = []
    monkeypatch.setattr(calendar, "calendar_bins", lambda _, unit: listed.append(unit))
    assert calendar.unit_of_bins(moments, edges) is None
    assert listed == []
