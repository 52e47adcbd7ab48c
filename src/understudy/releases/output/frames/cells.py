"""The cells of one column, as exact integers with a mask of missing cells, and as
labels if it has them; and their values in the types that frames are made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.releases.output.frames.spelled_values import write_value
from understudy.schema import (
    Categorical,
    Codec,
    Column,
    Datetime,
    DecodedCells,
    Integer,
    Lattice,
    Real,
    Time,
)
from understudy.schema.columns.code_layout import (
    EMPTY_STATE,
    FIRST_MISSING_STATE,
    OTHER_STATE,
)
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX

ONE_MICROSECOND = timedelta(microseconds=1)
_MAX_EXACT_DOUBLE = 1 << 53
"""Whole numbers below this are doubles without rounding."""

_MAX_INT64 = 1 << 63


@dataclass(frozen=True)
class ColumnCells:
    """Some cells of one column.

    `index` is a lattice index, 0/1 for a boolean, or a position in `labels`, which then
    holds every text that can occur. `null` marks cells without a value; `spelled` is 0,
    or j + 1 where the j-th missing spelling stands. A spelling that is itself a value
    of the column's type (-7 in a column of whole numbers) keeps that value in a frame;
    others are null there and come back in files.
    """

    column: Column
    index: NDArray[np.int64]
    null: NDArray[np.bool_]
    spelled: NDArray[np.uint8]
    labels: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.index)

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return not bool(self.null.any())

    def positions(self) -> NDArray[np.int64]:
        """Positions in `labels`, -1 where missing."""
        return np.where(self.null, -1, self.index)


def cells_from_decoded(codec: Codec, decoded: DecodedCells) -> ColumnCells:
    """The cells of one column from its decoded values."""
    state, column = decoded.state, codec.column
    rank = state - FIRST_MISSING_STATE + 1
    spelled = np.where(state >= FIRST_MISSING_STATE, rank, 0).astype(np.uint8)
    null = state == EMPTY_STATE
    if isinstance(column, Categorical):
        return _categorical_cells(column, decoded, null, spelled)
    index = decoded.index
    for j, spelling in enumerate(column.missing):
        is_spelled, point = spelled == j + 1, spelling_point(column, spelling)
        # -7 among whole numbers is a value that a frame can hold; "refused" is not.
        if point is None:
            null = null | is_spelled
        else:
            index = np.where(is_spelled, point, index)
    return ColumnCells(column, index, null, spelled)


def _categorical_cells(
    column: Categorical,
    decoded: DecodedCells,
    null: NDArray[np.bool_],
    spelled: NDArray[np.uint8],
) -> ColumnCells:
    """Cells as positions in the list of all texts that the column may hold: its values,
    `other`, labels that `other` is unfolded to, missing spellings.
    """
    values = column.values or ()
    other = () if column.other is None else (column.other,)
    shown = (*values, *other, *column.unfold_weights)
    # A row of `other` points at the label it was unfolded to, if it was; never at one
    # of the listed values.
    is_other = decoded.state == OTHER_STATE
    index = np.where(is_other, np.maximum(decoded.index, len(values)), decoded.index)
    missing_place = len(shown) + spelled.astype(np.int64) - 1
    index = np.where(spelled > 0, missing_place, index)
    return ColumnCells(column, index, null, spelled, (*shown, *column.missing))


def spelling_point(column: Column, spelling: str) -> int | None:
    """The lattice point that a missing spelling names; None if it is no value of the
    column's type.
    """
    if not isinstance(column, Lattice):
        return None
    try:
        place = column.position_of(column.parse(spelling))
        column.value_at(int(place))
    except (ValueError, OverflowError):
        return None
    # A release file may spell anything: a point off the lattice, or beyond 64 bits, is
    # no value.
    is_point = place.denominator == 1 and abs(place) < MAX_LATTICE_INDEX
    return int(place) if is_point else None


def cells_as_text(cells: ColumnCells) -> ColumnCells:
    """The same cells as labels: every value as it is written, missing ones as they are
    spelled.
    """
    if cells.labels is not None:
        return cells
    column = cells.column
    # Each distinct value is written once, however many cells have it.
    distinct, inverse = np.unique(cells.index, return_inverse=True)
    words = [write_value(column, int(i)) for i in distinct] + list(column.missing)
    # Two words may be one text, such as a value that is a missing spelling too.
    labels = tuple(dict.fromkeys(words))
    place_of_label = {label: i for i, label in enumerate(labels)}
    place_of_word = np.array([place_of_label[word] for word in words] or [0], np.int64)
    spelled_word = len(distinct) + cells.spelled.astype(np.int64) - 1
    word = np.where(cells.spelled > 0, spelled_word, inverse)
    null = cells.null & (cells.spelled == 0)
    return ColumnCells(column, place_of_word[word], null, cells.spelled, labels)


def integer_values(cells: ColumnCells) -> NDArray[np.int64]:
    """Whole numbers of an integer column."""
    assert isinstance(cells.column, Integer)
    return _scale_index(cells, cells.column.step)


def float_values(cells: ColumnCells) -> NDArray[np.float64]:
    """The nearest double of every value, missing ones not yet marked."""
    column = cells.column
    step = Fraction(column.step) if isinstance(column, Real | Integer) else Fraction(1)
    largest = _largest_index(cells) * step.numerator
    if max(largest, step.denominator) < _MAX_EXACT_DOUBLE:
        # Both are exact as doubles, so that one division rounds only once.
        return (cells.index * step.numerator).astype(np.float64) / step.denominator
    # Exact fractions are slow, so each distinct value is rounded once.
    distinct, inverse = np.unique(cells.index, return_inverse=True)
    return np.array([float(int(i) * step) for i in distinct], np.float64)[inverse]


def unscaled_integers(cells: ColumnCells, scale: int) -> NDArray[np.int64] | None:
    """Integers u with value = u / 10^scale; None if that is not exact in 64 bits."""
    if not isinstance(cells.column, Real | Integer):
        return None
    step = Fraction(cells.column.step) * 10**scale
    if step.denominator != 1 or _largest_index(cells) * step.numerator >= _MAX_INT64:
        return None
    return np.asarray(cells.index * step.numerator, np.int64)


def microsecond_values(cells: ColumnCells) -> NDArray[np.int64]:
    """Microseconds since 1970 (or midnight) of a datetime (or time) column."""
    assert isinstance(cells.column, Datetime | Time)
    return _scale_index(cells, cells.column.resolution // ONE_MICROSECOND)


def _scale_index(cells: ColumnCells, step: int) -> NDArray[np.int64]:
    if _largest_index(cells) * step >= _MAX_INT64:
        raise ReleaseError(
            f'column "{cells.column.name}": its values do not fit in 64 bits. Narrow'
            " its bounds"
        )
    return cells.index * step


def _largest_index(cells: ColumnCells) -> int:
    if not len(cells):
        return 0
    return max(abs(int(cells.index.max())), abs(int(cells.index.min())))


def zone_of(column: Column, named: str | None) -> str | None:
    """The zone in which a column's instants are shown: the one that its type names, if
    that is a zone, else its own; None for wall clocks.

    A name that comes from a file is looked up among the known zones only.
    """
    if not isinstance(column, Datetime) or column.zone is None:
        return None
    try:
        return column.zone if named is None else ZoneInfo(named).key
    except (ValueError, OSError, LookupError):
        return column.zone
