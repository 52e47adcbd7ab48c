"""What the search for a row still allows each column: a set of codes, and bounds of the
value where codes are bins.

Sets are whole numbers, one bit a code: intersecting two of them costs no more for a
thousand codes than for ten, and no array is made. Every change is written down, so that
the search can take it back.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.schema import BinEdges, Codec


class DomainConflict(Exception):
    """No code is left for a column."""


class OutOfSteps(Exception):
    """The search has used up its steps."""


class StepBudget:
    """Steps of work that a search may take: counted, so that the same rules have the
    same answer on every machine.
    """

    def __init__(self, steps: int) -> None:
        self.left = steps

    def refill(self, steps: int) -> None:
        """Begin another search with as many steps."""
        self.left = steps

    def spend(self, steps: int) -> None:
        """Count steps; raises where none are left."""
        self.left -= steps
        if self.left < 0:
            raise OutOfSteps


def bits_from_flags(flags: NDArray[np.bool_]) -> int:
    """A set of codes as a whole number.

    >>> bits_from_flags(np.array([True, False, True]))
    5
    """
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def lowest_code(bits: int) -> int:
    """The first code of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


def codes_between(first: int, last: int) -> int:
    """The set of all codes from the first to the last.

    >>> bin(codes_between(1, 3))
    '0b1110'
    """
    return (1 << (last + 1)) - (1 << first)


@dataclass(frozen=True, eq=False)
class ColumnCodes:
    """The codes of one column as the search sees them.

    The first `ranks` codes are values in their order: bins with `edges` on the lattice,
    or labels, whose rank is their code. `other` is a value without a rank.
    """

    codec: Codec
    edges: tuple[int, ...] | None
    ranks: int
    ranked: int
    values: int
    all: int

    @classmethod
    def of(cls, codec: Codec) -> ColumnCodes:
        """What the search needs to know of a codec."""
        ranks = len(codec.bins)
        edges = codec.bins.edges if isinstance(codec.bins, BinEdges) else None
        return cls(
            codec,
            edges,
            ranks,
            (1 << ranks) - 1,
            (1 << (ranks + codec.has_other)) - 1,
            (1 << codec.size) - 1,
        )


Change = tuple[int, int, int, int]
"""A column's place, and its codes and bounds before a change."""


class DomainStore:
    """The codes and bounds that are left, of all columns.

    `low` and `high` bound the value of a column that has one: an index of the lattice,
    or the rank of a label. They say nothing once no ranked code is left.
    """

    def __init__(self, columns: list[ColumnCodes], budget: StepBudget) -> None:
        self.columns = columns
        self.spend = budget.spend
        self.bits = [column.all for column in columns]
        self.low = [0 if c.edges is None else c.edges[0] for c in columns]
        self.high = [
            c.ranks - 1 if c.edges is None else c.edges[-1] - 1 for c in columns
        ]
        self.trail: list[Change] = []
        self.changed: list[int] = []

    def restrict_codes(self, place: int, allowed: int) -> None:
        """Leave a column only these codes."""
        before = self.bits[place]
        after = before & allowed
        if after != before:
            self._note(place)
            self._set_codes(place, after)

    def restrict_values(self, place: int, low: int, high: int) -> None:
        """Leave a column only values between two bounds, or none at all where they
        cross; codes without a rank stay.
        """
        low, high = max(low, self.low[place]), min(high, self.high[place])
        if low == self.low[place] and high == self.high[place]:
            return
        column = self.columns[place]
        self._note(place)
        inside = 0
        if low <= high:
            self.low[place], self.high[place] = low, high
            if column.edges is not None:
                low = bisect_right(column.edges, low) - 1
                high = bisect_right(column.edges, high) - 1
            inside = codes_between(low, high)
        self._set_codes(place, self.bits[place] & (inside | ~column.ranked))

    def remove_value(self, place: int, value: int) -> None:
        """Forbid a column one ranked value; inside a bin only the ends can go."""
        low, high = self.low[place], self.high[place]
        if not low <= value <= high:
            return
        if self.columns[place].edges is None:
            self.restrict_codes(place, ~(1 << value))
        elif low == value:
            self.restrict_values(place, low + 1, high)
        elif high == value:
            self.restrict_values(place, low, high - 1)

    def _note(self, place: int) -> None:
        self.trail.append((place, self.bits[place], self.low[place], self.high[place]))
        self.changed.append(place)

    def _set_codes(self, place: int, codes: int) -> None:
        """Take over a set of codes, and draw the bounds in to those that have ranks."""
        self.bits[place] = codes
        if not codes:
            raise DomainConflict
        column = self.columns[place]
        ranked = codes & column.ranked
        if not ranked:
            return
        # Codes are in the order of values, so the first and the last one left bound the
        # value.
        first, last = lowest_code(ranked), ranked.bit_length() - 1
        if column.edges is None:
            self.low[place], self.high[place] = first, last
        else:
            self.low[place] = max(self.low[place], column.edges[first])
            self.high[place] = min(self.high[place], column.edges[last + 1] - 1)

    def undo(self, length: int) -> None:
        """Take back every change behind the first `length`."""
        while len(self.trail) > length:
            place, self.bits[place], self.low[place], self.high[place] = (
                self.trail.pop()
            )

    def may_have_rank(self, place: int) -> bool:
        """Whether a ranked value is still possible."""
        return bool(self.bits[place] & self.columns[place].ranked)

    def must_have_rank(self, place: int) -> bool:
        """Whether only ranked values are left."""
        return not self.bits[place] & ~self.columns[place].ranked

    def may_have_value(self, place: int) -> bool:
        """Whether the cell may have a value; `other` is one."""
        return bool(self.bits[place] & self.columns[place].values)

    def must_have_value(self, place: int) -> bool:
        """Whether the cell cannot be missing."""
        return not self.bits[place] & ~self.columns[place].values

    def is_decided(self, place: int) -> bool:
        """Whether one value, or one way of being missing, is left."""
        bits, column = self.bits[place], self.columns[place]
        # A number with one bit has no bit in common with the number before it.
        if column.edges is None or not bits & column.ranked:
            return not bits & (bits - 1)
        return self.low[place] == self.high[place] and not bits & ~column.ranked

    def count_choices(self, place: int) -> int:
        """How many values and missing codes are left, at most."""
        bits, column = self.bits[place], self.columns[place]
        if column.edges is None or not bits & column.ranked:
            return bits.bit_count()
        beyond = (bits & ~column.ranked).bit_count()
        return self.high[place] - self.low[place] + 1 + beyond
