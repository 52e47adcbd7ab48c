"""Statistics of a column with their intervals: what is usable, and how it is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

CARD_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that the card states."""

MAX_MEAN_INTERVAL_SHARE = 0.5
"""Width of the mean's interval, as a share of the standard deviation, up to which a
column is usable. A difference between groups of half a deviation is a large one.
"""

MAX_UNSEEN_SHARE = 0.02
"""Share of rows that may be something else than zeros, which alone stood out, up to
which such a column is usable: as many may be in a wrong cell of a good one.
"""


@dataclass(frozen=True)
class StatisticInterval:
    """A statistic of the release, and where that of the real table lies with 95 %
    confidence; infinite ends if nothing was measured of it.
    """

    estimate: float
    low: float
    high: float

    @property
    def is_bounded(self) -> bool:
        """Whether anything is known of the real table's statistic."""
        return math.isfinite(self.high - self.low)


@dataclass(frozen=True)
class ColumnStatistics:
    """The statistics of one column."""

    name: str
    mean: StatisticInterval
    deviation: StatisticInterval
    quantiles: tuple[StatisticInterval, ...]
    """Those of CARD_QUANTILES, in that order."""
    clipped_width: float = 0.0
    """The part of the mean's interval that is due to learned bounds."""
    unseen_share: float = 0.0
    """Share of rows that may lie anywhere, since zeros alone stood out."""

    @property
    def is_usable(self) -> bool:
        """Whether the mean is known to half a standard deviation."""
        if self.unseen_share > MAX_UNSEEN_SHARE:
            return False
        if not self.mean.is_bounded:
            return True  # the card has no bound and says so
        width = self.mean.high - self.mean.low
        return width <= MAX_MEAN_INTERVAL_SHARE * self._scale

    @property
    def is_spoiled_by_clipping(self) -> bool:
        """Whether learned bounds are most of what makes the column unusable."""
        if self.is_usable:
            return False
        width = self.mean.high - self.mean.low
        return self.unseen_share > 0 or self.clipped_width > width / 2

    @property
    def _scale(self) -> float:
        """What the mean's interval is compared with: the standard deviation, where it
        is not that of a few rows far from all others, which noise may have put there.
        """
        deviation = self.deviation.estimate
        usual = self.quantiles[-1].estimate - self.quantiles[0].estimate
        if not 0 < usual < deviation:
            return deviation
        return max(usual, min(abs(self.mean.estimate), deviation))

    @property
    def all_statistics(self) -> list[tuple[str, StatisticInterval]]:
        """Every statistic with its name."""
        ranks = [f"{100 * q:g} %" for q in CARD_QUANTILES]
        quantiles = zip(ranks, self.quantiles, strict=True)
        return [("mean", self.mean), ("sd", self.deviation), *quantiles]

    def to_dict(self) -> dict[str, object]:
        """As JSON has it; an end that is not known is null."""
        fields: dict[str, object] = {"column": self.name}
        for title, statistic in self.all_statistics:
            ends = (statistic.low, statistic.high) if statistic.is_bounded else None
            interval = None if ends is None else [float(end) for end in ends]
            fields[title] = {"estimate": statistic.estimate, "interval": interval}
        return fields


def describe_interval(statistic: StatisticInterval) -> str:
    """A statistic with its interval, as text.

    >>> describe_interval(StatisticInterval(94.93, 88.2, 123.4))
    '95 (88 to 123)'
    """
    digits = _shown_decimals(
        [statistic.estimate, statistic.low, statistic.high]
        if statistic.is_bounded
        else [statistic.estimate]
    )
    estimate = f"{statistic.estimate:,.{digits}f}"
    if not statistic.is_bounded:
        return estimate
    return f"{estimate} ({statistic.low:,.{digits}f} to {statistic.high:,.{digits}f})"


def _shown_decimals(numbers: Sequence[float]) -> int:
    """Decimals that show how numbers differ, with two digits of the smallest gap or
    three of the largest.
    """
    if all(number.is_integer() for number in numbers):
        return 0
    gaps = [abs(after - before) for before, after in pairwise(sorted(numbers))]
    size = max([*gaps, max(map(abs, numbers)) / 100], default=0.0)
    if size <= 0:
        return 0
    return int(np.clip(1 - math.floor(math.log10(size)), 0, 6))
