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
  * Rows that learned bounds may have clipped (`beyond` in the schema) widen the interval
    by what they may add. Where zeros alone stood out, they may be anywhere, and
    nothing is stated of the mean.
  * A variance is the mean of squares around the estimated mean, less the square of how
    far that may be from the true one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.tail_shape import UpperTail, fit_upper_tail
from understudy.models.uncertainty.intervals import (
    BOUND_CONFIDENCE,
    deviation_of_sum,
    deviations_at_tail,
)
from understudy.releases.card.statistic_intervals import (
    CARD_QUANTILES,
    ColumnStatistics,
    StatisticInterval,
)
from understudy.releases.evidence import Evidence
from understudy.schema import Integer, Real
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX, RowsBeyond

Array = NDArray[np.float64]

INSIDE_BIN_DEVIATION = 1 / (2 * math.sqrt(12))
"""Deviation of the mean inside a bin from the release's, as a share of its width: as if
it lay anywhere in the middle half.
"""

_MIN_VALUE_ROWS = 1.0
"""Rows with a value from which there are statistics."""


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
        clipped_width=counted.step
        * float(np.diff(counted.clipped_reach(_identity))[0]),
        unseen_share=counted.unseen_share,
    )


def _identity(values: Array) -> Array:
    return values


class _CountedColumn:
    """The counts of one column's bins, in the release and by least squares. Values are
    lattice indices, multiples of the step.
    """

    def __init__(self, evidence: Evidence, name: str) -> None:
        self.evidence, self.clique = evidence, (name,)
        column = evidence.schema[name]
        assert isinstance(column, Integer | Real)
        self.step = float(column.step)
        self.beyond = column.beyond or RowsBeyond(0, 0, 0, 0)
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

    @property
    def unseen_share(self) -> float:
        """Share of rows that may lie anywhere."""
        if not self.beyond.is_anywhere:
            return 0.0
        rows = max(self.beyond.rows_below, self.beyond.rows_above)
        return min(rows / self.rows, 1.0)

    def clipped_reach(self, function: Callable[[Array], Array]) -> tuple[float, float]:
        """How far rows that learned bounds clipped may lower and raise the mean of a
        function of the values.
        """
        rows = np.array([self.beyond.rows_below, self.beyond.rows_above])
        shares = np.minimum(rows / self.rows, 1.0)
        steps = np.array([-self.beyond.steps_below, self.beyond.steps_above])
        ends = np.array([self.edges[0], self.edges[-1] - 1], np.float64)
        moved = shares * (function(ends + steps) - function(ends))
        return float(np.minimum(moved, 0).sum()), float(np.maximum(moved, 0).sum())

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
        low, high = self._mean_interval(self.moments[0], _identity, self.error)
        return self._in_units(self.mean, low, high, *self.clipped_reach(_identity))

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
        ends = self._mean_interval(means, _identity, self.error / 2)
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
        # Rows that were clipped are in the outermost bins.
        least = most = 0.0
        if low == 0 and self.beyond.rows_below >= rank * self.rows:
            least = -self._farthest(self.beyond.steps_below)
        is_last = high == len(self.counts) - 1
        if is_last and self.beyond.rows_above >= (1 - rank) * self.rows:
            most = self._farthest(self.beyond.steps_above)
        first, last = float(self.edges[low]), float(self.edges[high + 1] - 1)
        return self._in_units(estimate, first + least, last + most, least, most)

    def _farthest(self, steps: int) -> float:
        # They lie around the middle of what may hold them.
        return math.inf if steps >= MAX_LATTICE_INDEX else 2.0 * steps

    def _in_units(
        self,
        estimate: float,
        low: float,
        high: float,
        below: float = 0.0,
        above: float = 0.0,
    ) -> StatisticInterval:
        """An interval that ends within the bounds, but for what they may clip."""
        first, last = self.edges[0] + below, self.edges[-1] - 1 + above
        if math.isfinite(high - low):
            # Rounding must not exclude the estimate.
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
        if not self.is_measured or self.beyond.is_anywhere:
            return -math.inf, math.inf
        clipped = self.clipped_reach(function)
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
            centre + (body - reach + low) / self.rows + clipped[0],
            centre + (body + reach + high) / self.rows + clipped[1],
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
