"""How far a median can move near some values.

The lower median of n values is x_(⌈n/2⌉). Let x_i be `low` for i < 1 and `high` for i > n.
Adding or removing one value moves the median across one gap in the middle of the larger
of both tables: between its values number N/2 and N/2 + 1, or (N − 1)/2 and (N + 1)/2.
To make x_i and x_j the ends of such a gap, the j − i − 1 values between them are removed,
and the numbers of values on both sides, i and n + 1 − j, made equal or 1 apart. That takes

    cost(i, j) = j − i − 1 + min(|n + 1 − i − j|, |n − i − j|)

changes, and U(c), the widest gap that at most c changes reach, is a maximum over pairs
with cost ≤ c. Adding or removing a value changes the cost of every gap, and of one that
contains it, by at most 1: with r changes to a neighbour, U_k = U(r·(k + 1)) bounds the
local sensitivity on all tables within k neighbours, and U_k(x) ≤ U_(k+1)(x').

For i + j < n the cost is n − 1 − 2i whatever j is, and for i + j > n + 1 it is 2j − n − 2:
so i ≥ ⌈(n − 1 − c)/2⌉, j ≤ ⌊(n + 2 + c)/2⌋ and j − i ≤ c + 1, and only the widest such
pairs matter.

Compared with all tables of up to four values in
tests/curator/mechanisms/test_smooth_median.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SortedValues:
    """Values in rising order, each with how often it occurs, clipped to [low, high].

    >>> values = SortedValues.of(np.array([1, 5]), np.array([2, 1]), 0, 9)
    >>> [values.at(i) for i in range(5)], values.median
    ([0, 1, 1, 5, 9], 1)
    """

    values: NDArray[np.int64]
    ends: NDArray[np.int64]
    """How many values there are up to each one."""
    low: int
    high: int

    @classmethod
    def of(
        cls, values: NDArray[np.int64], times: NDArray[np.int64], low: int, high: int
    ) -> SortedValues:
        """Rising values and how often each occurs."""
        return cls(np.clip(values, low, high), np.cumsum(times), low, high)

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.ends[-1]) if self.ends.size else 0

    def at(self, place: int) -> int:
        """Number `place`, from 1; the bounds beyond both ends."""
        if place < 1:
            return self.low
        if place > self.size:
            return self.high
        return int(self.values[np.searchsorted(self.ends, place)])

    @property
    def median(self) -> int:
        """The lower median; the lower bound where there is no value."""
        return self.at((self.size + 1) // 2)

    def widest_gap(self, changes: int) -> int:
        """The widest gap that at most so many changes put in the middle."""
        n = self.size
        first = -((changes + 1 - n) // 2)
        last = (n + 2 + changes) // 2
        spare = last - first - (changes + 1)
        pairs = [(first + shift, last - spare + shift) for shift in range(spare + 1)]
        if spare <= 0:
            pairs = [(first, last)]
        return max(self.at(j) - self.at(i) for i, j in pairs)
