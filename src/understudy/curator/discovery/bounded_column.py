"""Learned bounds as part of a column: within what its type, its stored type and the
calendar can hold, and beside a bound that the owner declared.

No row is read and nothing is paid here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from understudy.curator.discovery.bin_pieces import MAX_BOUND_PIECES
from understudy.schema import Column, Date, Datetime, Integer, Lattice, Real
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX, RowsBeyond
from understudy.schema.columns.storage_types import dtype_range

EMPTY_COLUMN_BOUNDS = (0, 1)
"""The bounds of a column in which nothing stands out."""

FINEST_REAL_STEP, COARSEST_REAL_STEP = Fraction(1, 10**9), Fraction(1, 100)
"""The step of reals until their bounds are learned, and the coarsest one after that.
"""

MIN_REAL_STEPS = 10_000
"""Steps between the learned bounds of reals that show more decimals than a vote tells
apart: their last digits say nothing, and a finer lattice costs a descent more levels.
"""

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The first day of year 1 and the last of year 9999, in days since 1970-01-01."""


def with_learned_bounds(column: Lattice, low: int, high: int) -> Column:
    """The column with learned bounds; a bound that the owner declared stands."""
    low = max(low, 1 - MAX_LATTICE_INDEX)
    high = min(high, MAX_LATTICE_INDEX - 1)
    if column.low is not None:
        low = column.low
        high = max(high, low)
    if column.high is not None:
        high = column.high
        low = min(low, high)
    if isinstance(column, Integer | Real):
        low, high = _end_at_powers_of_ten(column, low, high)
    learned = (*column.learned, "bounds")
    if isinstance(column, Real) and column.step == FINEST_REAL_STEP:
        column, low, high = _coarsen_step(column, low, high)
    if isinstance(column, Integer | Real):
        low, high = _clip_to_dtype(column, low, high)
    if isinstance(column, Integer):
        return replace(
            column,
            min=low * column.step,
            max=high * column.step,
            learned=learned,
        )
    if isinstance(column, Real):
        return replace(
            column,
            min=low * column.step,
            max=high * column.step,
            learned=learned,
        )
    assert isinstance(column, Date | Datetime)
    earliest, latest = _calendar_range(column)
    # Noise alone may point beyond either end of the calendar.
    low, high = (min(max(index, earliest), latest) for index in (low, high))
    return replace(
        column,
        min=column.value_at(low),  # type: ignore[arg-type]
        max=column.value_at(max(high, low)),  # type: ignore[arg-type]
        learned=learned,
    )


def with_rows_beyond(
    column: Integer | Real, closed: Column, beyond: RowsBeyond | None
) -> Column:
    """The closed column with what its learned bounds may hide; a bound that the owner
    declared hides nothing. Steps are those of `column`, which may have been finer.
    """
    assert isinstance(closed, Integer | Real)
    if beyond is None:
        return closed
    ratio = Fraction(column.step) / Fraction(closed.step)
    below = beyond.rows_below, _rescale_steps(beyond.steps_below, ratio)
    above = beyond.rows_above, _rescale_steps(beyond.steps_above, ratio)
    if column.low is not None:
        below = 0, 0
    if column.high is not None:
        above = 0, 0
    return replace(closed, beyond=RowsBeyond(*below, *above))


def _rescale_steps(steps: int, ratio: Fraction) -> int:
    """So many steps in steps of another size; anywhere stays anywhere."""
    if steps >= MAX_LATTICE_INDEX:
        return steps
    return min(math.ceil(steps * ratio), MAX_LATTICE_INDEX - 1)


def _end_at_powers_of_ten(
    column: Integer | Real, low: int, high: int
) -> tuple[int, int]:
    """Learned bounds moved inward to a power of ten that lies in their last piece.

    Where in that piece values end is not known. Shares end at 1 and percentages at 100,
    and what else lies in the piece beyond is clipped by less than an eighth.
    """
    first = low if column.low is not None else -_last_power_of_ten(-low, column.step)
    last = high if column.high is not None else _last_power_of_ten(high, column.step)
    return (first, last) if first < last else (low, high)


def _last_power_of_ten(index: int, step: int | Fraction) -> int:
    """The index of a power of ten in the piece of a magnitude that ends with this index;
    the index itself where there is none.

    >>> _last_power_of_ten(103, 1), _last_power_of_ten(111, 1), _last_power_of_ten(11, 1)
    (100, 111, 11)
    """
    if index <= 0:
        return index
    octave = 1 << (index.bit_length() - 1)
    first = index + 1 - max(octave // MAX_BOUND_PIECES, 1)
    value = index * Fraction(step)
    digits = len(str(int(value))) if value >= 1 else 1 - len(str(int(1 / value)))
    place = Fraction(10) ** (digits - 1) / Fraction(step)
    return int(place) if place.denominator == 1 and place >= first else index


def _coarsen_step(column: Real, low: int, high: int) -> tuple[Real, int, int]:
    """The column with the decimals that matter between these bounds, and the bounds on
    its new lattice, no narrower.
    """
    if "type" not in column.learned:
        return column, low, high
    step = COARSEST_REAL_STEP
    while step > column.step and (high - low) * column.step < MIN_REAL_STEPS * step:
        step /= 10
    ratio = column.step / step
    return replace(column, step=step), math.floor(low * ratio), math.ceil(high * ratio)


def _clip_to_dtype(column: Integer | Real, low: int, high: int) -> tuple[int, int]:
    """Bounds within what the column's stored type can hold."""
    stored = dtype_range(column.dtype)
    if stored is None:
        return low, high
    # What the column is stored as is public: noise that points beyond it would only
    # widen the type that comes back.
    first = math.ceil(stored[0] / column.step)
    last = math.floor(stored[1] / column.step)
    return min(max(low, first), last), min(max(high, first), last)


def _calendar_range(column: Date | Datetime) -> tuple[int, int]:
    """The years 1 to 9999 as lattice indices: what Python's calendar can write."""
    if isinstance(column, Date):
        return FIRST_DAY, LAST_DAY
    # Two days less at either end, so that a time zone cannot lead beyond the calendar.
    step = column.resolution.total_seconds()
    first = (FIRST_DAY + 2) * 86_400
    last = (LAST_DAY - 2) * 86_400
    return int(first / step), int(last / step)
