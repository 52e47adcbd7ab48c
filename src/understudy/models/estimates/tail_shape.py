"""The far tail of a column of numbers, estimated as a whole.

Noise on the count of a far bin is as large as on any other, but its rows move the mean
by thousands: counts that are made non-negative one by one leave rows of noise far out.
Real tails decrease in a smooth way. So the bins beyond the last one that exceeds its
noise get the counts of a smooth law, fitted to all of them together and to the last
bins that do exceed it.

With u the logarithm of the distance from a low quantile, the law's density is proportional
to exp(−αu − βu²), β ≥ 0. β = 0 is a power law (Pareto), and β > 0 has the tails of a
log-normal; gamma and normal tails are close to some of them. α and β have a flat prior
on a grid, the law's mass is that of weighted least squares, and a bin's estimate is
exp of the posterior mean of its log count. The mean itself would be dominated by the
heaviest tails that the noise leaves possible.

If noise does not explain how far the counts are from their estimates, there is more
than a tail out there, and nothing is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

STANDING_BIN_SIGMAS = 3.5
"""Standard deviations by which a bin's count exceeds zero if it is certain to hold
rows. At 3, one column in a hundred would have a bin of noise far out.
"""

MAX_ANCHOR_BINS = 3
"""The last bins that exceed their noise, as many as the law has parameters."""

TAIL_MISFIT_SHARE = 0.1
"""Error of the law itself, as a share of a bin's count: no real tail follows it to the
row, and anchors of many rows must not outweigh all others.
"""

ORIGIN_QUANTILE = 0.1
"""Distances are those from the bin with this quantile: zero where many rows are zero."""

MIN_TAIL_REACH = 2.0
"""A tail reaches at least this many times as far from the origin as the bins that
exceed their noise. A shorter one moves no mean.
"""

MIN_HEAVY_REACH = 3.0
"""Times as far from the origin as the median that the bins which exceed their noise must
reach for a tail to follow. Of an even spread they reach twice as far, of a normal law
three times and of an exponential one six times: columns of dates or ages end.
"""

MAX_TAIL_BINS = 500
"""Bins of a tail that a law is fitted to: every law of the grid at every point of each
takes 30 MB. Run-learned bins are far fewer; a tail of more has bins that its owner
declared, each to be kept as it is.
"""

MAX_MISFIT_SIGMAS = 3.0
"""Standard deviations by which the misfit may exceed its expectation."""

LINEAR_EXPONENTS = np.concatenate(
    [-np.geomspace(16, 0.5, 6), [0.0], np.geomspace(0.25, 64, 25)]
)
"""Grid of α: from a rise before the tail, where anchors are wide, to a drop as sharp as
that of a normal law.
"""

QUADRATIC_EXPONENTS = np.concatenate([[0.0], np.geomspace(0.02, 128, 14)])
"""Grid of β."""

MIN_TAIL_COUNT = 1e-9
"""Smallest expected count, in rows: its logarithm must be finite."""

MAX_LOG_DENSITY = 100.0
"""Largest logarithm of a density, relative to the start of the law."""

MAX_SUM_DRAWS = 2_000
"""Draws that the interval of a sum is made from: its ends are ranks 50 and 1950."""

_POINTS_PER_BIN = 16
"""Points of the quadrature over a bin."""


@dataclass(frozen=True, eq=False)
class TailLaw:
    """The laws that a tail may follow from `start` on, and how likely each is."""

    origin: float
    start: float
    masses: NDArray[np.float64]
    mass_deviations: NDArray[np.float64]
    posterior: NDArray[np.float64]

    def counts(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """The estimated counts between these edges, all of them beyond the start."""
        expected = self.masses[:, None] * _law_shapes(self._log_distances(edges))
        log_counts = np.log(np.maximum(expected, MIN_TAIL_COUNT))
        return np.asarray(np.exp(self.posterior @ log_counts))

    def draw_sums(
        self,
        edges: NDArray[np.float64],
        function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        rng: Generator,
    ) -> NDArray[np.float64]:
        """Sums of a function over the values between these edges, drawn from all laws
        that noise leaves possible.
        """
        logs = self._log_distances(edges)
        reach = self.start - self.origin
        values = function(self.origin + reach * np.exp(_law_points(logs)))
        sums = np.sum(_law_densities(logs) * values, axis=(1, 2))
        law = rng.choice(self.posterior.size, MAX_SUM_DRAWS, p=self.posterior)
        noise = self.mass_deviations[law] * rng.standard_normal(MAX_SUM_DRAWS)
        masses = np.maximum(self.masses[law] + noise, 0.0)
        return np.asarray(masses * sums[law])

    def _log_distances(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.log((edges - self.origin) / (self.start - self.origin)))


@dataclass(frozen=True, eq=False)
class UpperTail:
    """The bins from `first` on are a tail; the law is fitted from `anchor` on."""

    anchor: int
    first: int
    law: TailLaw


def fit_upper_tail(
    edges: NDArray[np.float64],
    counts: NDArray[np.float64],
    variance: NDArray[np.float64],
) -> UpperTail | None:
    """The upper tail of a column, from the noisy counts of its bins; None if there is
    no tail that they do not show by themselves.

    >>> edges = np.array([0, 10, 20, 40, 80, 160, 320, 640, 1000.0])
    >>> noisy = np.array([900.0, 800, 400, 120, 40, -8, 14, 9])
    >>> tail = fit_upper_tail(edges, noisy, np.full(8, 100.0))
    >>> tail.first, tail.law.counts(edges[tail.first :]).round(1).tolist()
    (5, [5.8, 0.9, 0.1])
    """
    standing = np.flatnonzero(counts > STANDING_BIN_SIGMAS * np.sqrt(variance))
    if standing.size == 0 or standing[-1] == len(counts) - 1:
        return None
    first = int(standing[-1]) + 1
    if len(counts) - first > MAX_TAIL_BINS:
        return None
    origin = _quantile_edge(edges, counts, ORIGIN_QUANTILE)
    if edges[-1] - origin < MIN_TAIL_REACH * (edges[first] - origin):
        return None
    if not _reaches_far(edges, counts, first):
        return None
    anchor = max(first - MAX_ANCHOR_BINS, 0)
    # A distance of zero has no logarithm.
    while edges[anchor] <= origin:
        anchor += 1
    if anchor >= first:
        return None
    law = _fit_law(origin, edges[anchor:], counts[anchor:], variance[anchor:])
    return None if law is None else UpperTail(anchor, first, law)


def _quantile_edge(
    edges: NDArray[np.float64], counts: NDArray[np.float64], share: float
) -> float:
    """The lower edge of the bin with this quantile."""
    below = np.cumsum(np.maximum(counts, 0.0))
    return float(edges[np.searchsorted(below, share * below[-1])])


def _reaches_far(
    edges: NDArray[np.float64], counts: NDArray[np.float64], first: int
) -> bool:
    """Whether the bins before the first of a tail reach as far as heavy tails do."""
    # Interpolated: of wide bins, edges alone make an even spread observation heavy.
    below = np.concatenate([[0.0], np.cumsum(np.maximum(counts, 0.0))])
    low, median = np.interp([ORIGIN_QUANTILE * below[-1], below[-1] / 2], below, edges)
    return bool(edges[first] - low >= MIN_HEAVY_REACH * (median - low))


def _fit_law(
    origin: float,
    edges: NDArray[np.float64],
    counts: NDArray[np.float64],
    variance: NDArray[np.float64],
) -> TailLaw | None:
    """The laws of a tail that begins at the first edge; None if noise does not explain
    how far all of them are from the counts.
    """
    start = float(edges[0])
    shapes = _law_shapes(np.log((edges - origin) / (start - origin)))
    weights = 1 / (variance + (TAIL_MISFIT_SHARE * np.maximum(counts, 0.0)) ** 2)
    precision = (shapes**2) @ weights
    masses = np.maximum(shapes @ (weights * counts) / precision, 0.0)
    gaps = counts - masses[:, None] * shapes
    misfit = gaps**2 @ weights
    # Too few rows are noise in any case; too many may be rows that are no tail.
    excess = np.maximum(gaps[np.argmin(misfit)], 0.0) ** 2 @ weights
    if excess > _likely_excess(len(counts)):
        return None
    # The mass is integrated out: its own likelihood is the narrower, the more precise.
    log_posterior = -(misfit + np.log(precision)) / 2
    posterior = np.exp(log_posterior - log_posterior.max())
    deviations = 1 / np.sqrt(precision)
    return TailLaw(origin, start, masses, deviations, posterior / posterior.sum())


def _likely_excess(bins: int) -> float:
    """The most that noise alone adds to the sum of squared positive gaps, likely."""
    # The square of a standard normal number where it is positive, else zero, has mean
    # 1/2 and variance 5/4.
    return bins / 2 + MAX_MISFIT_SIGMAS * math.sqrt(5 / 4 * bins)


def _law_shapes(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mass of every bin under every law of the grid, up to a factor for each."""
    return np.asarray(_law_densities(logs).sum(axis=2))


def _law_densities(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mass at every point of the quadrature, under every law and in every bin."""
    points = _law_points(logs)
    alpha = np.repeat(LINEAR_EXPONENTS, QUADRATIC_EXPONENTS.size)[:, None, None]
    beta = np.tile(QUADRATIC_EXPONENTS, LINEAR_EXPONENTS.size)[:, None, None]
    log_density = -alpha * points - beta * points**2
    # A law that rises for many octaves fits nothing; its square must be finite.
    density = np.exp(np.minimum(log_density, MAX_LOG_DENSITY))
    return np.asarray(density * (np.diff(logs) / _POINTS_PER_BIN)[:, None])


def _law_points(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The points of the quadrature in every bin."""
    places = (np.arange(_POINTS_PER_BIN) + 0.5) / _POINTS_PER_BIN
    return np.asarray(logs[:-1, None] + np.diff(logs)[:, None] * places)
