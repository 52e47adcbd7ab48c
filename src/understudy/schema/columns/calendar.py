"""The calendar: bins that begin where months, years or weeks do, and days of the week
inside a bin.

Dates are counted in days, and a count of days knows nothing of months. So bins may be
named (`bins: month`), bins that were bought begin at the nearest first of a month or
year that is not far off, and where the weights of the days of the week are known, a
value is moved inside its week to a day drawn by them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.temporal import (
    EPOCH_DATE,
    MICROSECOND_SPAN,
    Date,
    Datetime,
    Time,
)
from understudy.schema.columns.timezone import zone_offsets

CALENDAR_UNITS = ("hour", "day", "week", "month", "quarter", "year", "decade")
"""What bins may be named after."""

_DAY_SPAN = timedelta(days=1)
_HOUR_MICROSECONDS = timedelta(hours=1) // MICROSECOND_SPAN
_MONTHS_PER_UNIT = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_DAYS_PER_UNIT = {
    "hour": 1 / 24,
    "day": 1,
    "week": 7,
    "month": 30,
    "quarter": 91,
    "year": 365,
    "decade": 3652,
}
_EPOCH_WEEKDAY = 3
"""The day of the week on which the count of days begins, Monday being 0."""

MAX_COLUMN_BINS = 100_000
"""Bins that one column may be cut into: one for each day of 270 years. Each is a cell
of every table with the column.
"""

CALENDAR_SNAP_DIVISOR = 3
"""A bought bin begins at a line of the calendar if that is nearer than this part of the
shorter bin beside it.
"""


def steps_per_day(column: Lattice) -> int | None:
    """Lattice points to a day; None where a day is no whole number of them, or the
    column has no days.

    >>> steps_per_day(Datetime(name="seen", resolution=timedelta(hours=1))), steps_per_day(Time(name="at"))
    (24, None)
    """
    if isinstance(column, Date):
        return 1
    if not isinstance(column, Datetime) or _DAY_SPAN % column.resolution:
        return None
    return _DAY_SPAN // column.resolution


def calendar_bins(column: Lattice, unit: str) -> tuple[int, ...]:
    """Edges at every beginning of an hour, day, week (Monday), month, quarter, year or
    decade between the bounds.

    >>> born = Date(name="born", min=date(2024, 1, 15), max=date(2024, 3, 31))
    >>> [str(born.value_at(edge)) for edge in calendar_bins(born, "month")]
    ['2024-01-15', '2024-02-01', '2024-03-01', '2024-04-01']
    """
    low, high = column.low, column.high
    if low is None or high is None:
        raise SchemaError(f'column "{column.name}": `bins` need `min` and `max`')
    if _count_calendar_lines(column, unit, low, high) > MAX_COLUMN_BINS:
        raise SchemaError(
            f'column "{column.name}": `bins: {unit}` makes more than'
            f" {MAX_COLUMN_BINS:,} bins. Take a longer unit"
        )
    found = sorted(
        {
            index
            for index in _calendar_lines(column, unit, low, high)
            if low < index <= high
        }
    )
    return (low, *found, high + 1)


def _count_calendar_lines(column: Lattice, unit: str, low: int, high: int) -> int:
    """How many lines of the calendar lie between two lattice points, or one more; told
    without making any.
    """
    if not isinstance(column, Date | Datetime):
        return 0
    if isinstance(column, Datetime) and unit == "hour":
        step = column.resolution // MICROSECOND_SPAN
        return high * step // _HOUR_MICROSECONDS - low * step // _HOUR_MICROSECONDS
    first, last = (_date_at_index(column, index) for index in (low, high))
    if unit in _MONTHS_PER_UNIT:
        months = 12 * (last.year - first.year) + last.month - first.month
        return months // _MONTHS_PER_UNIT[unit] + 1
    return (last - first).days // (7 if unit == "week" else 1) + 1


def _calendar_lines(column: Lattice, unit: str, low: int, high: int) -> Iterator[int]:
    if isinstance(column, Time):
        if unit != "hour":
            raise SchemaError(
                f'column "{column.name}": bins of a time of day are hours'
            )
        yield from (column.index_of(time(hour)) for hour in range(24))
        return
    if not isinstance(column, Date | Datetime) or (
        unit == "hour" and isinstance(column, Date)
    ):
        raise SchemaError(
            f'column "{column.name}": `bins: {unit}` is for dates and moments'
        )
    if unit == "hour":
        step = (
            column.resolution // MICROSECOND_SPAN if isinstance(column, Datetime) else 1
        )
        yield from (
            -(-(at * _HOUR_MICROSECONDS) // step)
            for at in range(
                low * step // _HOUR_MICROSECONDS, high * step // _HOUR_MICROSECONDS + 1
            )
        )
        return
    first, last = (_date_at_index(column, index) for index in (low, high))
    for day in _unit_start_dates(unit, first, last):
        moment = (
            day if isinstance(column, Date) else datetime(day.year, day.month, day.day)
        )
        yield column.index_of(moment)


def _date_at_index(column: Date | Datetime, index: int) -> date:
    value = column.value_at(index)
    return value.date() if isinstance(value, datetime) else value


def _unit_start_dates(unit: str, first: date, last: date) -> Iterator[date]:
    """The days on which a unit begins, from the one that holds the first day."""
    if unit in _MONTHS_PER_UNIT:
        size = _MONTHS_PER_UNIT[unit]
        month = (first.year * 12 + first.month - 1) // size * size
        while month <= last.year * 12 + last.month - 1:
            if month >= 12:
                yield date(month // 12, month % 12 + 1, 1)
            month += size
        return
    step = 7 if unit == "week" else 1
    number = (first - EPOCH_DATE).days
    number -= (number + _EPOCH_WEEKDAY) % 7 if unit == "week" else 0
    while number <= (last - EPOCH_DATE).days:
        yield EPOCH_DATE + timedelta(days=number)
        number += step


def snap_to_calendar(
    column: Lattice, edges: Sequence[int], *, keep: Collection[int] = ()
) -> tuple[int, ...]:
    """Edges moved to the nearest line of the calendar where one is near for bins of
    that length; others, and `keep`, stay.

    >>> born = Date(name="born", min=date(2000, 1, 1), max=date(2009, 12, 31))
    >>> edges = (born.low, born.index_of(date(2003, 1, 9)), born.index_of(date(2006, 11, 20)), born.high + 1)
    >>> [str(born.value_at(edge)) for edge in snap_to_calendar(born, edges)]
    ['2000-01-01', '2003-01-01', '2007-01-01', '2010-01-01']
    """
    if (
        not isinstance(column, Date | Datetime)
        or column.low is None
        or column.high is None
    ):
        return tuple(edges)
    per_day = steps_per_day(column)
    if per_day is None:
        return tuple(edges)
    made = [edges[0]]
    for before, here, after in zip(edges, edges[1:], edges[2:], strict=False):
        short = min(here - before, after - here)
        moved = here
        if here not in keep:
            for unit in reversed(CALENDAR_UNITS):
                if unit == "hour" and per_day < 24:
                    continue
                if short / per_day >= 2 * _DAYS_PER_UNIT[unit] and unit != "decade":
                    moved = _nearest_calendar_line(
                        column, here, unit, short // CALENDAR_SNAP_DIVISOR
                    )
                    break
        if made[-1] < moved < edges[-1]:
            made.append(moved)
    return (*made, edges[-1])


def _nearest_calendar_line(
    column: Date | Datetime, index: int, unit: str, reach: int
) -> int:
    assert column.low is not None
    assert column.high is not None
    low, high = max(column.low, index - reach), min(column.high, index + reach)
    lines = [
        line for line in _calendar_lines(column, unit, low, high) if low <= line <= high
    ]
    return min(lines, key=lambda line: abs(line - index), default=index)


def weekday_counts(
    column: Lattice, index: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How often each day of the week occurs, from Monday, given how often each lattice
    point does.
    """
    return np.bincount(
        (_day_numbers(column, index) + _EPOCH_WEEKDAY) % 7, weights=times, minlength=7
    ).astype(np.int64)


def _day_numbers(column: Lattice, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """The day that each lattice point lies on, by the clocks of the column's zone where
    it has one.
    """
    per_day = steps_per_day(column)
    assert per_day is not None
    if not isinstance(column, Datetime) or column.zone is None:
        return index // per_day
    moments = index * (column.resolution // MICROSECOND_SPAN)
    return (moments + zone_offsets(column.zone, moments)) // (
        _DAY_SPAN // MICROSECOND_SPAN
    )


def _shift_days(
    column: Lattice, index: NDArray[np.int64], days: NDArray[np.int64], per_day: int
) -> NDArray[np.int64]:
    """The same hour so many days later; by the clocks of a zone, whose days are not all
    as long.
    """
    moved = index + per_day * days
    if not isinstance(column, Datetime) or column.zone is None:
        return moved
    step = column.resolution // MICROSECOND_SPAN
    ahead = zone_offsets(column.zone, moved * step) - zone_offsets(
        column.zone, index * step
    )
    return np.asarray(moved - ahead // step, np.int64)


def move_to_weekdays(
    column: Lattice,
    index: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    weights: Sequence[int],
    rng: Generator,
) -> NDArray[np.int64]:
    """Values moved inside their week to a day drawn by weight, where their bin (from
    low to high) has room for every day twice.

    >>> day = Date(name="day", min=date(2024, 1, 1), max=date(2024, 1, 31))
    >>> some = np.full(5, day.index_of(date(2024, 1, 13)))
    >>> ends = np.full(5, day.low), np.full(5, day.high)
    >>> [day.value_at(int(i)).strftime("%a") for i in move_to_weekdays(day, some, *ends, [1, 0, 0, 0, 0, 0, 0], np.random.default_rng(0))]
    ['Mon', 'Mon', 'Mon', 'Mon', 'Mon']
    """
    per_day = steps_per_day(column)
    if per_day is None or not sum(weights):
        return index
    share = np.array(weights, np.float64) / sum(weights)
    wanted = rng.choice(7, index.size, p=share)
    away = wanted - (_day_numbers(column, index) + _EPOCH_WEEKDAY) % 7
    moved, week = _shift_days(column, index, away, per_day), 7 * per_day
    away = np.where(moved < low, away + 7, np.where(moved > high, away - 7, away))
    moved = _shift_days(column, index, away, per_day)
    fits = (moved >= low) & (moved <= high) & (high - low + 1 >= 2 * week)
    return np.where(fits & ~_is_in_short_piece(column, index), moved, index)


def _is_in_short_piece(column: Lattice, index: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which values stand in a piece of grain of less than a week: a day that is known
    for itself.
    """
    if not column.grain or column.bins is None:
        return np.zeros(index.size, np.bool_)
    starts = np.array([start for start, _ in column.grain], np.int64)
    ends = np.append(starts[1:], column.bins[-1])
    piece = np.clip(
        np.searchsorted(starts, index, side="right") - 1, 0, len(starts) - 1
    )
    per_day = steps_per_day(column) or 1
    return np.asarray((ends - starts)[piece] < 7 * per_day, np.bool_)


def unit_of_bins(column: Lattice, edges: Sequence[int]) -> str | None:
    """The unit of the calendar that these bins are, where they are one."""
    if not isinstance(column, Date | Datetime | Time) or len(edges) < 3:
        return None
    widest = max(b - a for a, b in pairwise(edges))
    for unit in CALENDAR_UNITS:
        if isinstance(column, Time) and unit != "hour":
            break
        if isinstance(column, Date) and unit == "hour":
            continue
        # A step need not divide a day; lines of a unit that cannot be theirs may be
        # millions.
        per_day = (
            _DAY_SPAN / column.resolution
            if isinstance(column, Datetime)
            else 1.0
            if isinstance(column, Date)
            else 0.0
        )
        if (
            per_day
            and not 0.4 * _DAYS_PER_UNIT[unit]
            <= widest / per_day
            <= 1.1 * _DAYS_PER_UNIT[unit] + 1
        ):
            continue
        try:
            if calendar_bins(column, unit) == tuple(edges):
                return unit
        except (SchemaError, OverflowError, ValueError):
            continue
    return None
