"""Lattice columns: numbers, dates, moments and times of day stored as whole numbers.

A value is an index times a step from an origin, so counts, sums and sensitivities are
exact. A value between two lattice points is rounded: numbers to the nearest point
(halves away from zero), moments and times down to the point before. The types are in
numeric.py and temporal.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column, OutOfBoundsPolicy

# The difference of two indices below this never overflows 64 bits.
MAX_LATTICE_INDEX = 2**62

# A table of pieces is searched for every released value; no run learns as many.
MAX_GRAIN_PIECES = 1 << 16

# The sum of all weights of a column stays exact in a double.
MAX_GRAIN_WEIGHT = 2**52


class RowsBeyond(NamedTuple):
    """What clipping at learned bounds may hide on either side: at most so many rows,
    about so many steps beyond the bound (MAX_LATTICE_INDEX: anywhere).
    """

    rows_below: int
    steps_below: int
    rows_above: int
    steps_above: int

    @property
    def is_anywhere(self) -> bool:
        """Whether nothing is known of where such rows lie."""
        return max(self.steps_below, self.steps_above) >= MAX_LATTICE_INDEX


@dataclass(frozen=True, kw_only=True)
class Lattice(Column, ABC):
    """A column whose values are whole numbers of steps from an origin.

    `bins` are the edges of the bins as lattice indices, from `low` to `high + 1`;
    without them `Codec` chooses bins of equal width from the bounds alone. `grain` is
    the histogram inside the bins as a run learned it: where each piece begins, and its
    weight. `beyond` is what learned bounds may have clipped.
    """

    noun: ClassVar[str]
    outside: OutOfBoundsPolicy = OutOfBoundsPolicy.CLIP
    bins: tuple[int, ...] | None = None
    grain: tuple[tuple[int, int], ...] = ()
    beyond: RowsBeyond | None = None

    @cached_property
    def low(self) -> int | None:
        """Lattice index of the lower bound."""
        return self._index_of_bound("min")

    @cached_property
    def high(self) -> int | None:
        """Lattice index of the upper bound."""
        return self._index_of_bound("max")

    @property
    def is_closed(self) -> bool:
        return self.low is not None and self.high is not None

    def _index_of_bound(self, which: str) -> int | None:
        bound = getattr(self, which)
        return None if bound is None else self.index_of(bound)

    @abstractmethod
    def position_of(self, value: object) -> Fraction:
        """Where a Python value of the column's type lies, in steps from the origin,
        before it is rounded; ValueError if it is no such value.
        """

    @abstractmethod
    def index_of(self, value: object) -> int:
        """The lattice index of a Python value of the column's type; ValueError if it is
        no such value.
        """

    @abstractmethod
    def value_at(self, index: int) -> object:
        """The Python value at a lattice index."""

    @abstractmethod
    def parse(self, text: str) -> object:
        """The value that a cell's text spells; None if it spells none."""

    def check_bounds(self) -> None:
        """Refuse bounds that contradict each other, the bins or the grain."""
        self._check_bound("min")
        self._check_bound("max")
        low, high = self.low, self.high
        if low is not None and high is not None and high < low:
            raise SchemaError(
                f'column "{self.name}": max ({self.value_at(high)}) is below min'
                f" ({self.value_at(low)})"
            )
        if self.bins is not None:
            self._check_bins(self.bins)
        if self.grain:
            self._check_grain()

    def _check_bound(self, which: str) -> None:
        try:
            index = self._index_of_bound(which)
            if index is None:
                return
            fits = abs(index) < MAX_LATTICE_INDEX
            # Rounding may have moved a bound past the last day of Python's calendar.
            if fits:
                self.value_at(index)
        except (ValueError, TypeError):
            raise SchemaError(
                f'column "{self.name}": `{which}` is no {self.noun}'
            ) from None
        except OverflowError:
            raise SchemaError(
                f'column "{self.name}": `{which}` lies beyond the calendar'
            ) from None
        if not fits:
            raise SchemaError(
                f'column "{self.name}": `{which}` is too large for its step. Use a'
                " coarser step"
            )

    def _check_bins(self, edges: tuple[int, ...]) -> None:
        low, high = self.low, self.high
        if low is None or high is None:
            raise SchemaError(f'column "{self.name}": `bins` need `min` and `max`')
        if len(edges) < 2 or not _is_rising(edges):
            raise SchemaError(
                f'column "{self.name}": `bins` must be at least two rising edges'
            )
        if edges[0] != low or edges[-1] != high + 1:
            raise SchemaError(
                f'column "{self.name}": `bins` must reach from min to max, no less'
                " and no more"
            )

    def _check_grain(self) -> None:
        edges = self.bins
        starts = tuple(start for start, _ in self.grain)
        if edges is None or starts[0] != edges[0] or not _is_rising(starts):
            raise SchemaError(
                f'column "{self.name}": `grain` needs `bins`, and must rise from min'
            )
        # A bin without a piece at its start would share a piece with the one before.
        if starts[-1] >= edges[-1] or not set(edges[:-1]) <= set(starts):
            raise SchemaError(
                f'column "{self.name}": `grain` must have a piece at the start of every'
                " bin, and none beyond"
            )
        weights = [weight for _, weight in self.grain]
        if len(starts) > MAX_GRAIN_PIECES or not all(
            0 <= weight < MAX_GRAIN_WEIGHT for weight in weights
        ):
            raise SchemaError(
                f'column "{self.name}": `grain` has too many pieces, or a weight that'
                " is none"
            )


def _is_rising(numbers: tuple[int, ...]) -> bool:
    return all(before < after for before, after in pairwise(numbers))
