"""Mean, standard deviation and quantiles of a column of numbers, each with a 95 %
interval, from what was released alone.

The estimate is that of the release's own rows. The interval is for the real table, its
values as the closed schema has them. Let tᵢ be the true number of rows in bin i, of
which least squares has a noisy count with known covariance.

  * A quantile is above the edge e of a bin exactly if Σ (1[i below e] − q)·tᵢ < 0, a
    sum of known deviation. The interval ends at the outermost edges that this leaves
    possible. Nothing is assumed of where values lie inside a bin.
  * A mean is a sum of tᵢ times the mean inside bin i, which is not known: it is taken
    from the release, with an error that is independent in each bin
    (INSIDE_BIN_DEVIATION of its width). Bins of a far tail (models/estimates/
    tail_shape.py) are taken together: their sum is drawn from all tails that the noise
    leaves possible.
  * A variance is the mean of squares around the estimated mean, less the square of how
    far that may be from the true one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.tail_shape import UpperTail, fit_upper_tail
from understudy.models.uncertainty.intervals import (
    BOUND_CONFIDENCE,
    deviation_of_sum,
    deviations_at_tail,
)
from understudy.releases.evidence import Evidence
from understudy.schema import Integer, Real

Array = NDArray[np.float64]

CARD_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that the card states."""

INSIDE_BIN_DEVIATION = 1 / (2 * math.sqrt(12))
"""Deviation of the mean inside a bin from the release's, as a share of its width: as if
it lay anywhere in the middle half.
"""

MAX_MEAN_INTERVAL_SHARE = 0.5
"""Width of the mean's interval, as a share of the standard deviation, up to which a
column is usable. A difference between groups of half a deviation is a large one.
"""

_MIN_VALUE_ROWS = 1.0
"""Rows with a value from which there are statistics."""


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

    @property
    def is_usable(self) -> bool:
        """Whether the mean is known to half a standard deviation."""
        if not self.mean.is_bounded:
            return True  # the card has no bound and says so
        width = self.mean.high - self.mean.low
        return width <= MAX_MEAN_INTERVAL_SHARE * self._scale

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


def find_statistics(evidence: Evidence, name: str) -> ColumnStatistics | None:
    """The statistics of a column; None if it is no column of numbers, or has hardly a
    value.
    """
    column = evidence.schema[name]
    if not isinstance(column, Integer | Real) or not len(evidence.measurements):
        return None
    counted = _CountedColumn(evidence, name)
    if counted.model_counts.sum() < _MIN_VALUE_ROWS or counted.rows < _MIN_VALUE_ROWS:
        return None
    return ColumnStatistics(
        name,
        counted.mean_statistic(),
        counted.deviation_statistic(),
        tuple(counted.quantile_statistic(q) for q in CARD_QUANTILES),
    )


class _CountedColumn:
    """The counts of one column's bins, in the release and by least squares. Values are
    lattice indices, multiples of the step.
    """

    def __init__(self, evidence: Evidence, name: str) -> None:
        self.evidence, self.clique = evidence, (name,)
        column = evidence.schema[name]
        assert isinstance(column, Integer | Real)
        self.step = float(column.step)
        self.density = evidence.bin_densities.get(name)
        self.edges = evidence.schema.codecs[name].edges
        bins = len(self.edges) - 1
        pooled = evidence.least_squares
        self.counts = pooled.marginal(self.clique)[:bins]
        self.variance = pooled.variance(self.clique)[:bins]
        self.model_counts = np.maximum(evidence.marginal(self.clique)[:bins], 0.0)
        self.shares = self.model_counts / max(self.model_counts.sum(), 1e-9)
        self.rows = float(self.counts.sum())
        self.error = 1 - BOUND_CONFIDENCE

    @property
    def is_measured(self) -> bool:
        """Whether every bin was measured."""
        return bool(np.all(np.isfinite(self.variance)))

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """The mean of each bin in the release, and the mean of its squares."""
        if self.density is not None:
            return self.density.moments()
        indices = self.edges[:-1].astype(np.float64)
        return indices, indices**2

    @cached_property
    def mean(self) -> float:
        """The mean of the release."""
        return float(self.shares @ self.moments[0])

    @cached_property
    def tails(self) -> list[tuple[UpperTail, int]]:
        """The far tails, each with its direction: that of the lower one is −1."""
        edges = self.edges.astype(np.float64)
        upper = fit_upper_tail(edges, self.counts, self.variance)
        lower = fit_upper_tail(-edges[::-1], self.counts[::-1], self.variance[::-1])
        return [(tail, side) for tail, side in ((upper, 1), (lower, -1)) if tail]

    def mean_statistic(self) -> StatisticInterval:
        """The mean and its interval."""
        low, high = self._mean_interval(self.moments[0], lambda x: x, self.error)
        return self._in_units(self.mean, low, high)

    def deviation_statistic(self) -> StatisticInterval:
        """The standard deviation and its interval."""
        means, squares = self.moments
        mean = self.mean
        around = squares - 2 * mean * means + mean**2
        variance = max(float(self.shares @ around), 0.0)

        def square_gap(values: Array) -> Array:
            return np.asarray((values - mean) ** 2)

        # Both the squares and the mean may be wrong: each has half of the error.
        low, high = self._mean_interval(around, square_gap, self.error / 2)
        ends = self._mean_interval(means, lambda x: x, self.error / 2)
        off = max(abs(end - mean) for end in ends)
        least = math.sqrt(max(low - off**2, 0.0)) if math.isfinite(off) else 0.0
        estimate = self.step * math.sqrt(variance)
        most = self.step * math.sqrt(max(high, 0.0))
        return StatisticInterval(
            estimate, min(self.step * least, estimate), max(most, estimate)
        )

    def quantile_statistic(self, rank: float) -> StatisticInterval:
        """A quantile and its interval, which ends at edges of bins."""
        low, high = self._quantile_bins(rank)
        estimate = self._own_quantile(rank)
        return self._in_units(
            estimate, float(self.edges[low]), float(self.edges[high + 1] - 1)
        )

    def _in_units(self, estimate: float, low: float, high: float) -> StatisticInterval:
        first, last = float(self.edges[0]), float(self.edges[-1] - 1)
        if math.isfinite(high - low):
            # No mean is beyond the bounds; rounding must not exclude the estimate.
            low = min(max(low, first), estimate)
            high = max(min(high, last), estimate)
        return StatisticInterval(
            self.step * estimate, self.step * low, self.step * high
        )

    def _mean_interval(
        self, bin_means: Array, function: Callable[[Array], Array], error: float
    ) -> tuple[float, float]:
        """The interval of the mean of a function of the values, whose mean inside each
        bin is that of the release but for an error.
        """
        if not self.is_measured:
            return -math.inf, math.inf
        centre = float(self.shares @ bin_means)
        is_body = np.ones(len(bin_means), bool)
        parts = 1 + len(self.tails)
        low = high = 0.0
        for tail, side in self.tails:
            places = np.arange(len(is_body))[::side][tail.first :]
            is_body[places] = False
            ends = self._tail_interval(tail, side, function, centre, error / parts)
            low, high = low + ends[0], high + ends[1]
        weights = np.where(is_body, bin_means - centre, 0.0)
        deviation = self._body_deviation(weights, is_body, function)
        reach = self._deviations(error / parts / 2) * deviation
        body = float(weights @ self.counts)
        return (
            centre + (body - reach + low) / self.rows,
            centre + (body + reach + high) / self.rows,
        )

    def _tail_interval(
        self,
        tail: UpperTail,
        side: int,
        function: Callable[[Array], Array],
        centre: float,
        error: float,
    ) -> tuple[float, float]:
        """The interval of the sum of a function less its centre, over a tail."""
        edges = side * self.edges[::side].astype(np.float64)
        # The same each time it is asked for: a card is a function of the release.
        rng = np.random.default_rng(0)
        sums = tail.law.draw_sums(
            edges[tail.first :], lambda x: function(side * x) - centre, rng
        )
        low, high = np.quantile(sums, [error / 2, 1 - error / 2])
        return float(low), float(high)

    def _body_deviation(
        self, weights: Array, is_body: NDArray[np.bool_], function: Callable[..., Array]
    ) -> float:
        """The deviation of the sum over the body: noise, and where values lie inside
        bins.
        """
        ends = function(self.edges.astype(np.float64))
        lasts = function(self.edges[1:] - 1.0)
        inside = function(np.clip(self.mean, self.edges[:-1], self.edges[1:] - 1))
        stacked = np.stack([ends[:-1], lasts, inside])
        spread = INSIDE_BIN_DEVIATION * np.ptp(stacked, axis=0)
        placed = float(np.sum((spread * self.model_counts)[is_body] ** 2))
        return math.hypot(self._noise_of(weights), math.sqrt(placed))

    def _noise_of(self, weights: Array) -> float:
        """The deviation of a weighted sum of the bins' counts."""
        (size,) = self.evidence.schema.sizes(self.clique)
        padded = np.zeros(size)
        padded[: len(weights)] = weights
        return deviation_of_sum(self.evidence.least_squares, self.clique, padded)

    def _deviations(self, tail: float) -> float:
        return deviations_at_tail(tail, laplace=not self.evidence.is_gaussian)

    def _quantile_bins(self, rank: float) -> tuple[int, int]:
        """The first and the last bin that may hold a quantile of the real table."""
        last = len(self.counts) - 1
        if not self.is_measured:
            return 0, last
        reach = self._deviations(self.error / 2)
        sums = np.zeros(last)
        noise = np.zeros(last)
        for edge in range(1, last + 1):
            weights = np.where(np.arange(last + 1) < edge, 1 - rank, -rank)
            sums[edge - 1] = weights @ self.counts
            noise[edge - 1] = reach * self._noise_of(weights)
        # The quantile is not above an edge whose sum may be positive, the first of
        # them; and not below the last edge whose sum may be negative.
        may_reach = np.flatnonzero(sums + noise >= 0)
        may_lack = np.flatnonzero(sums - noise < 0)
        low = int(may_reach[0]) if may_reach.size else last
        high = int(may_lack[-1]) + 1 if may_lack.size else 0
        return low, max(low, high)

    def _own_quantile(self, rank: float) -> float:
        """A quantile of the release."""
        below = np.cumsum(self.shares)
        bin_ = min(int(np.searchsorted(below, rank)), len(self.shares) - 1)
        if self.density is None:
            return float(self.edges[bin_])
        before = below[bin_] - self.shares[bin_]
        wanted = (rank - before) / max(float(self.shares[bin_]), 1e-12)
        low, high = int(self.edges[bin_]), int(self.edges[bin_ + 1]) - 1
        while low < high:
            middle = (low + high) // 2
            if self.density.below(bin_, middle + 1) < wanted:
                low = middle + 1
            else:
                high = middle
        return float(low)


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
