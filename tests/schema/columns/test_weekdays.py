"""Days of the week: counted, and drawn by weight inside bins."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pytest

from understudy.errors import SchemaError
from understudy.schema import (
    Date,
    Datetime,
    Schema,
    codec_of,
    dump_schema,
)
from understudy.schema.columns.calendar import (
    calendar_bins,
)
from understudy.schema.columns.weekdays import move_to_weekdays, weekday_counts

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


WEIGHTS = (5, 5, 5, 5, 5, 0, 0)


def test_days_of_the_week_follow_their_weights_and_values_stay_in_their_bins():
    column = Date(
        name="day",
        min=date(2020, 1, 1),
        max=date(2021, 12, 31),
        bins=None,
        weekdays=WEIGHTS,
    )
    edges = np.array(calendar_bins(column, "month"))
    rng = np.random.default_rng(0)
    place = rng.integers(0, len(edges) - 1, 20_000)
    low, high = edges[place], edges[place + 1] - 1
    index = rng.integers(low, high + 1)
    found = move_to_weekdays(column, index, low, high, WEIGHTS, rng)
    assert np.all((found >= low) & (found <= high))
    counts = weekday_counts(column, *np.unique(found, return_counts=True))
    assert counts[5:].sum() == 0
    # Each of five days has a share of 1/5; 6 standard deviations of it in 20,000 are
    # 0.017.
    assert np.abs(counts[:5] / 20_000 - 0.2).max() < 0.017
    assert np.abs(found - index).max() <= 13, (
        "a week's move at most, and a week back into the bin"
    )


def test_moments_keep_their_time_of_day():
    column = Datetime(
        name="t",
        min=datetime(2024, 1, 1),
        max=datetime(2024, 3, 31),
        resolution=timedelta(hours=1),
    )
    index = np.arange(column.low, column.high + 1)
    ends = np.full(index.size, column.low), np.full(index.size, column.high)
    found = move_to_weekdays(
        column, index, *ends, (0, 0, 1, 0, 0, 0, 0), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(found % 24, index % 24)
    assert {column.value_at(int(i)).weekday() for i in found} == {2}


def test_short_bins_and_days_known_for_themselves_stay():
    column = Date(
        name="d",
        min=date(2024, 1, 1),
        max=date(2024, 3, 31),
        bins=(19723, 19814),
        grain=((19723, 10), (19745, 500), (19746, 10)),
    )
    index = np.array([19745, 19760])
    ends = np.full(2, 19723), np.full(2, 19813)
    found = move_to_weekdays(
        column, index, *ends, (0, 0, 0, 0, 0, 0, 1), np.random.default_rng(0)
    )
    assert found[0] == 19745
    assert column.value_at(int(found[1])).weekday() == 6
    short = move_to_weekdays(
        column,
        index,
        index - 3,
        index + 3,
        (0, 0, 0, 0, 0, 0, 1),
        np.random.default_rng(0),
    )
    np.testing.assert_array_equal(short, index)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("type: date, weekdays: [1, 2]", "seven weights from Monday to Sunday"),
        ("type: date, weekdays: [0, 0, 0, 0, 0, 0, 0]", "not all 0"),
        ("type: date, weekdays: [a, 0, 0, 0, 0, 0, 0]", "seven whole weights"),
        ("type: integer, weekdays: learn", "does not belong to a integer column"),
    ],
)
def test_weekdays_that_make_no_sense_are_named(words, error):
    with pytest.raises(SchemaError, match=error):
        Schema.parse(f"columns: {{d: {{{words}}}}}", source="s")


def test_weekdays_are_written_as_read():
    for words in ("[1, 1, 1, 1, 1, 0, 0]", "learn"):
        schema = Schema.parse(
            f"columns: {{d: {{type: date, bounds: learn, weekdays: {words}}}}}"
        )
        assert Schema.parse(dump_schema(schema)) == schema
    assert codec_of(DAYS).column.weekdays == ()


YEAR = Datetime(
    name="seen",
    min=datetime(2024, 1, 1),
    max=datetime(2024, 12, 31),
    zone="America/New_York",
    resolution=timedelta(minutes=15),
)


def test_days_of_the_week_are_those_on_the_clocks_of_the_zone():
    """Sunday evening in New York is Monday in UTC."""
    index = np.array(
        [
            YEAR.index_of(datetime(2024, 1, 7, 22)),
            YEAR.index_of(datetime(2024, 7, 7, 22)),
        ]
    )
    assert weekday_counts(YEAR, index, np.array([3, 4])).tolist() == [
        0,
        0,
        0,
        0,
        0,
        0,
        7,
    ]


def test_values_in_a_zone_move_to_their_day_and_keep_their_hour():
    """Also over the nights in which clocks change."""
    rng = np.random.default_rng(5)
    index = rng.integers(YEAR.low, YEAR.high + 1, 4000)
    moved = move_to_weekdays(
        YEAR,
        index,
        np.full(4000, YEAR.low),
        np.full(4000, YEAR.high),
        (0, 0, 1, 0, 0, 0, 0),
        rng,
    )
    before, after = ([YEAR.value_at(int(i)) for i in some] for some in (index, moved))
    assert {a.weekday() for a in after} == {2}
    same = [
        (a.hour, a.minute) == (b.hour, b.minute)
        for a, b in zip(before, after, strict=True)
    ]
    assert np.mean(same) > 0.995  # an hour that a day lacks has to give way
    assert (
        max(abs(int(m) - int(i)) for m, i in zip(moved, index, strict=True))
        <= 13 * 96 + 4
    )


def test_weekdays_in_a_zone_are_learned_or_declared():
    page = "columns: {t: {type: datetime, zone: Europe/Zurich, bounds: learn, resolution: 1h, weekdays: learn}}"
    assert Schema.parse(page)["t"].weekdays is None
    assert (
        Schema.parse(page.replace("learn}}", "[1, 1, 1, 1, 1, 0, 0]}}"))["t"].weekdays[
            -1
        ]
        == 0
    )
