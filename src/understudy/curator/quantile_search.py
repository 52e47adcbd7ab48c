"""A noisy binary search for a quantile in every group at once.

Why it is private. Each round asks one sum for each group, at a value that depends on
the noisy sums before and on nothing else; one unit moves the sums of a round by at most
the sensitivity of one probe (queries/searches.py). The number of rounds is public and
fixed, a group whose search is done asks once more, and the price is that of all rounds,
composed adaptively.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.curator.context import Draw
from understudy.queries.noise_intervals import ANSWER_CONFIDENCE, NoiseScale
from understudy.queries.searches import QuantileSearch


@dataclass
class GroupValues:
    """The exact values of one group in rising order, and how often each occurs. They
    stay in the curator.
    """

    values: NDArray[np.int64]
    times: NDArray[np.int64]

    def __post_init__(self) -> None:
        self._below = np.concatenate([[0], np.cumsum(self.times)])

    def count_up_to(self, value: int) -> int:
        """How many values do not exceed this one."""
        return int(self._below[np.searchsorted(self.values, value, side="right")])

    @property
    def rows(self) -> int:
        """How many values there are."""
        return int(self._below[-1])


@dataclass
class _QuantileState:
    """What is known of one group: noisy sums by probe."""

    low: int
    high: int
    margin: float
    sums: dict[int, int] = field(default_factory=dict)

    def choose_probe(self) -> int:
        """The next value to ask about: where the sum passes 0, then where it is surely
        below, then where it is surely above.
        """
        for target in (0.0, -self.margin, self.margin):
            first, last = self._bracket(target)
            if first < last:
                return (first + last) // 2
        return self.low

    def _bracket(self, target: float) -> tuple[int, int]:
        """Where a binary search for the smallest value whose sum reaches the target is,
        by the sums that are known.
        """
        first, last = self.low, self.high
        while first < last:
            middle = (first + last) // 2
            if middle not in self.sums:
                break
            if self.sums[middle] >= target:
                last = middle
            else:
                first = middle + 1
        return first, last

    def find_interval(self) -> tuple[int, int, int]:
        """The estimate, and the ends of its interval."""
        first, last = self._bracket(0.0)
        value = (first + last) // 2
        below = [c + 1 for c, total in self.sums.items() if total < -self.margin]
        above = [c for c, total in self.sums.items() if total > self.margin]
        # All sums are within their noise of the truth 95 times in 100, and then the
        # ends are in order.
        low = min(max(below, default=self.low), self.high)
        high = max(min(above, default=self.high), low)
        return min(max(value, low), high), low, high


def search_quantiles(
    search: QuantileSearch,
    groups: list[GroupValues],
    *,
    law: Law,
    scale: Fraction,
    draw: Draw,
) -> list[int]:
    """The noisy quantile of every group, then all lower and all upper ends of their
    intervals.
    """
    doubt = (1 - ANSWER_CONFIDENCE) / search.probes
    margin = NoiseScale(law, scale).half_width(doubt)
    states = [_QuantileState(search.low, search.high, margin) for _ in groups]
    up, down = search.weights
    for _ in range(search.probes):
        noise = draw(law, scale, (len(groups),))
        for state, rows, added in zip(states, groups, noise.tolist(), strict=True):
            probe = state.choose_probe()
            below = rows.count_up_to(probe)
            exact = up * below - down * (rows.rows - below)
            # A probe that was asked is kept: a second draw would choose among two.
            state.sums.setdefault(probe, exact + added)
    found = [state.find_interval() for state in states]
    return [part[i] for i in range(3) for part in found]
