"""Days of the week of dates and moments: counted, and drawn by weight.

Bins are longer than a week, so a value drawn inside its bin falls on any weekday. If
the weights of the weekdays are known, the value is moved inside its week to a day that
is drawn by them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.schema.columns.calendar import (
    DAY_SPAN,
    EPOCH_WEEKDAY,
    steps_per_day,
)
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.temporal import MICROSECOND_SPAN, Datetime
from understudy.schema.columns.timezone import zone_offsets


def weekday_counts(
    column: Lattice, index: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How often each weekday occurs, from Monday, given how often each lattice point
    does.
    """
    weekdays = _weekdays_of(column, index)
    return np.bincount(weekdays, weights=times, minlength=7).astype(np.int64)


def _weekdays_of(column: Lattice, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """The weekday of each lattice point; Monday is 0."""
    return (_day_numbers(column, index) + EPOCH_WEEKDAY) % 7


def _day_numbers(column: Lattice, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """The day of each lattice point since 1970, by the clocks of the column's zone if it
    has one.
    """
    per_day = steps_per_day(column)
    assert per_day is not None
    if not isinstance(column, Datetime) or column.zone is None:
        return index // per_day
    moments = index * (column.resolution // MICROSECOND_SPAN)
    local = moments + zone_offsets(column.zone, moments)
    return local // (DAY_SPAN // MICROSECOND_SPAN)


def _shift_days(
    column: Lattice, index: NDArray[np.int64], days: NDArray[np.int64], per_day: int
) -> NDArray[np.int64]:
    """The same hour some days later, by the clocks of the column's zone if it has one."""
    moved = index + per_day * days
    if not isinstance(column, Datetime) or column.zone is None:
        return moved
    # A day on which clocks change is longer or shorter by the change of the offset.
    step = column.resolution // MICROSECOND_SPAN
    before = zone_offsets(column.zone, index * step)
    after = zone_offsets(column.zone, moved * step)
    return np.asarray(moved - (after - before) // step, np.int64)


def move_to_weekdays(
    column: Lattice,
    index: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    weights: Sequence[int],
    rng: Generator,
) -> NDArray[np.int64]:
    """Values moved inside their week to a day drawn by weight, if their bin (from low to
    high) is at least two weeks long.

    >>> from datetime import date
    >>> from understudy.schema import Date
    >>> day = Date(name="day", min=date(2024, 1, 1), max=date(2024, 1, 31))
    >>> index, low, high = (np.full(3, i) for i in (day.low + 12, day.low, day.high))
    >>> mondays = [1, 0, 0, 0, 0, 0, 0]
    >>> moved = move_to_weekdays(day, index, low, high, mondays, np.random.default_rng(0))
    >>> [day.value_at(int(i)).strftime("%a") for i in moved]
    ['Mon', 'Mon', 'Mon']
    """
    per_day = steps_per_day(column)
    if per_day is None or not sum(weights):
        return index
    shares = np.array(weights, np.float64) / sum(weights)
    wanted = rng.choice(7, index.size, p=shares)
    days = wanted - _weekdays_of(column, index)
    moved = _shift_days(column, index, days, per_day)
    # A value that would leave its bin moves by a week, to the same weekday.
    days = np.where(moved < low, days + 7, np.where(moved > high, days - 7, days))
    moved = _shift_days(column, index, days, per_day)
    is_long = high - low + 1 >= 2 * 7 * per_day
    fits = is_long & (moved >= low) & (moved <= high)
    return np.where(fits & ~_is_in_short_piece(column, index), moved, index)


def _is_in_short_piece(column: Lattice, index: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which values lie in a piece of grain shorter than a week: such a day was measured
    by itself, and its value stays.
    """
    if not column.grain or column.bins is None:
        return np.zeros(index.size, np.bool_)
    starts = np.array([start for start, _ in column.grain], np.int64)
    ends = np.append(starts[1:], column.bins[-1])
    before = np.searchsorted(starts, index, side="right") - 1
    piece = np.clip(before, 0, len(starts) - 1)
    week = 7 * (steps_per_day(column) or 1)
    return np.asarray((ends - starts)[piece] < week, np.bool_)
