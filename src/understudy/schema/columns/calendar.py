"""Bins that begin where months, years or weeks begin.

Dates are counted in days, and a count of days knows nothing of months. So bins may be
named after a unit of the calendar (`bins: month`), and learned bins begin at the
nearest first of a month or year that is not far away. Days of the week are in
weekdays.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import pairwise

from understudy.errors import SchemaError
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.temporal import (
    EPOCH_DATE,
    MICROSECOND_SPAN,
    Date,
    Datetime,
    Time,
)

CALENDAR_UNITS = ("hour", "day", "week", "month", "quarter", "year", "decade")
"""What bins may be named after, from short to long."""

DAY_SPAN = timedelta(days=1)
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
EPOCH_WEEKDAY = 3
"""The weekday of 1970-01-01, a Thursday, if Monday is 0."""

# One bin for each day of 270 years. Each is a cell of every table with the column.
MAX_COLUMN_BINS = 100_000

# A learned edge moves to a line of the calendar that is nearer than this part of the
# shorter bin beside it, so that bins keep most of their rows.
CALENDAR_SNAP_DIVISOR = 3

# Bins at the bounds are cut short, and months and years differ in length: the widest of
# bins that are units of the calendar lies between these multiples of the unit.
_MIN_WIDEST_BIN, _MAX_WIDEST_BIN = 0.4, 1.1


def steps_per_day(column: Lattice) -> int | None:
    """Lattice points to a day; None if a day is no whole number of them, or the column
    has no days.

    >>> steps_per_day(Datetime(name="seen", resolution=timedelta(hours=1)))
    24
    >>> steps_per_day(Time(name="at"))
    """
    if isinstance(column, Date):
        return 1
    if not isinstance(column, Datetime) or DAY_SPAN % column.resolution:
        return None
    return DAY_SPAN // column.resolution


def calendar_bins(column: Lattice, unit: str) -> tuple[int, ...]:
    """Edges where each hour, day, week (Monday), month, quarter, year or decade begins
    between the bounds.

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
    # A coarse resolution may put several lines of the calendar on one lattice point.
    lines = set(_calendar_lines(column, unit, low, high))
    inner = sorted(line for line in lines if low < line <= high)
    return (low, *inner, high + 1)


def _count_calendar_lines(column: Lattice, unit: str, low: int, high: int) -> int:
    """How many lines of the calendar lie between two lattice points, or one more,
    computed without listing them: there may be billions.
    """
    if not isinstance(column, Date | Datetime):
        return 0
    if isinstance(column, Datetime) and unit == "hour":
        step = column.resolution // MICROSECOND_SPAN
        return high * step // _HOUR_MICROSECONDS - low * step // _HOUR_MICROSECONDS
    first = _date_at_index(column, low)
    last = _date_at_index(column, high)
    if unit in _MONTHS_PER_UNIT:
        months = 12 * (last.year - first.year) + last.month - first.month
        return months // _MONTHS_PER_UNIT[unit] + 1
    return (last - first).days // (7 if unit == "week" else 1) + 1


def _calendar_lines(column: Lattice, unit: str, low: int, high: int) -> Iterator[int]:
    """The lattice indices at which units begin, from the unit that holds `low`."""
    if isinstance(column, Time):
        if unit != "hour":
            raise SchemaError(
                f'column "{column.name}": bins of a time of day are hours'
            )
        yield from (column.index_of(time(hour)) for hour in range(24))
    elif isinstance(column, Datetime) and unit == "hour":
        yield from _hour_lines(column, low, high)
    elif isinstance(column, Date | Datetime) and unit != "hour":
        first = _date_at_index(column, low)
        last = _date_at_index(column, high)
        for day in _unit_start_dates(unit, first, last):
            # A date counts as midnight in a column of moments.
            yield column.index_of(day)
    else:
        raise SchemaError(
            f'column "{column.name}": `bins: {unit}` is for dates and moments'
        )


def _hour_lines(column: Datetime, low: int, high: int) -> Iterator[int]:
    step = column.resolution // MICROSECOND_SPAN
    first = low * step // _HOUR_MICROSECONDS
    last = high * step // _HOUR_MICROSECONDS
    for hour in range(first, last + 1):
        # Rounded up: the first lattice point that is not before the hour.
        yield -(-(hour * _HOUR_MICROSECONDS) // step)


def _date_at_index(column: Date | Datetime, index: int) -> date:
    value = column.value_at(index)
    return value.date() if isinstance(value, datetime) else value


def _unit_start_dates(unit: str, first: date, last: date) -> Iterator[date]:
    """The days on which a unit begins, from the unit that holds the first day."""
    if unit in _MONTHS_PER_UNIT:
        yield from _month_start_dates(_MONTHS_PER_UNIT[unit], first, last)
        return
    step = 7 if unit == "week" else 1
    number = (first - EPOCH_DATE).days
    if unit == "week":
        number -= (number + EPOCH_WEEKDAY) % 7
    while number <= (last - EPOCH_DATE).days:
        yield EPOCH_DATE + timedelta(days=number)
        number += step


def _month_start_dates(months: int, first: date, last: date) -> Iterator[date]:
    """The first day of every group of this many months, counted from year 0."""
    number = (first.year * 12 + first.month - 1) // months * months
    while number <= last.year * 12 + last.month - 1:
        # The decade of the years 1 to 9 begins in year 0, which Python does not have.
        if number >= 12:
            yield date(number // 12, number % 12 + 1, 1)
        number += months


def snap_to_calendar(
    column: Lattice, edges: Sequence[int], *, keep: Collection[int] = ()
) -> tuple[int, ...]:
    """Edges moved to the nearest line of the calendar if one is near for bins of that
    length; the first, the last and those in `keep` stay.

    >>> born = Date(name="born", min=date(2000, 1, 1), max=date(2009, 12, 31))
    >>> inner = [born.index_of(day) for day in (date(2003, 1, 9), date(2006, 11, 20))]
    >>> snapped = snap_to_calendar(born, (born.low, *inner, born.high + 1))
    >>> [str(born.value_at(edge)) for edge in snapped]
    ['2000-01-01', '2003-01-01', '2007-01-01', '2010-01-01']
    """
    per_day = steps_per_day(column)
    if per_day is None or column.low is None or column.high is None:
        return tuple(edges)
    assert isinstance(column, Date | Datetime)
    snapped = [edges[0]]
    for before, edge, after in zip(edges, edges[1:], edges[2:], strict=False):
        shorter = min(edge - before, after - edge)
        moved = edge
        if edge not in keep:
            moved = _snap_edge(column, edge, shorter, per_day)
        # Two edges may be moved to the same line: one of them is enough.
        if snapped[-1] < moved < edges[-1]:
            snapped.append(moved)
    return (*snapped, edges[-1])


def _snap_edge(column: Date | Datetime, edge: int, bin_width: int, per_day: int) -> int:
    """The nearest beginning of the longest unit that fits the bin twice."""
    for unit in reversed(CALENDAR_UNITS):
        # A decade is too coarse to move an edge to: its nearest line may be years away.
        if unit == "decade" or (unit == "hour" and per_day < 24):
            continue
        if bin_width / per_day >= 2 * _DAYS_PER_UNIT[unit]:
            reach = bin_width // CALENDAR_SNAP_DIVISOR
            return _nearest_calendar_line(column, edge, unit, reach)
    return edge


def _nearest_calendar_line(
    column: Date | Datetime, index: int, unit: str, reach: int
) -> int:
    assert column.low is not None
    assert column.high is not None
    low = max(column.low, index - reach)
    high = min(column.high, index + reach)
    lines = _calendar_lines(column, unit, low, high)
    near = [line for line in lines if low <= line <= high]
    return min(near, key=lambda line: abs(line - index), default=index)


def unit_of_bins(column: Lattice, edges: Sequence[int]) -> str | None:
    """The unit of the calendar that the bins are; None if they are none."""
    if not isinstance(column, Date | Datetime | Time) or len(edges) < 3:
        return None
    widest = max(after - before for before, after in pairwise(edges))
    for unit in CALENDAR_UNITS:
        if not _may_be_unit(column, unit, widest):
            continue
        try:
            if calendar_bins(column, unit) == tuple(edges):
                return unit
        except (SchemaError, OverflowError, ValueError):
            continue
    return None


def _may_be_unit(column: Date | Datetime | Time, unit: str, widest: int) -> bool:
    """Whether bins of this width may be a unit, before its lines are listed: those of a
    much shorter unit may be millions.
    """
    if isinstance(column, Time):
        return unit == "hour"
    if isinstance(column, Date):
        days = float(widest)
        if unit == "hour":
            return False
    else:
        # A step need not divide a day.
        days = widest / (DAY_SPAN / column.resolution)
    length = _DAYS_PER_UNIT[unit]
    return _MIN_WIDEST_BIN * length <= days <= _MAX_WIDEST_BIN * length + 1
