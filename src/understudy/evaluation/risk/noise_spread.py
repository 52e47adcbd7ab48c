"""The spread of noise, as a second test of a privacy claim: the loss that noise of the
observed size would cause on two neighbouring tables, taking its law as stated.

It needs far fewer answers than a threshold on scores, and notices noise that is a little
too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import special

from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.evaluation.risk.audit import (
    FALSE_ALARM_RATE,
    Floats,
    log_mass,
    logsumexp_of,
)

MAX_LATTICE_SCALE = 64.0
"""Scales beyond which a lattice law is as good as its continuous one."""


@dataclass(kw_only=True, eq=False)
class NoiseSpread:
    """How large one answer's noise was, returned minus exact, and how far the exact
    answer moves between the two tables.

    What is kept is the mean of |noise| for Laplace and of noise² for Gaussian laws: all
    that a sample says about a scale.
    """

    law: Law
    moved: NDArray[np.int64]
    n: int = field(default=0, init=False)
    total: float = field(default=0.0, init=False)

    def add(self, noise: NDArray[np.int64]) -> None:
        """Take more noise in."""
        self.n += noise.size
        self.total += float(_scale_statistic(self.law, noise).sum())

    def most(self, alpha: float) -> float:
        """The largest scale under which noise as small as this has a chance of `alpha`:
        by Chernoff's bound on the exact law.
        """

        def is_likely(scale: float) -> bool:
            return self._log_chance_bound(scale) >= log(alpha)

        low, high = 1e-2, 2e-2
        while high <= MAX_LATTICE_SCALE and is_likely(high):
            low, high = high, 2 * high
        if high > MAX_LATTICE_SCALE:
            return self._most_by_continuous_law(alpha)
        # Fourteen halvings of a factor of two leave a relative error of 1e-4.
        for _ in range(14):
            middle = (low + high) / 2
            if is_likely(middle):
                low = middle
            else:
                high = middle
        return high

    def _most_by_continuous_law(self, alpha: float) -> float:
        """The same for large scales: Σ|noise| is a gamma variable for Laplace noise,
        Σ noise² a chi-squared one for Gaussian.
        """
        if self.law is Law.DISCRETE_LAPLACE:
            return float(self.total / special.gammaincinv(self.n, alpha))
        return sqrt(self.total / float(2 * special.gammaincinv(self.n / 2, alpha)))

    def _log_chance_bound(self, scale: float) -> float:
        """An upper bound of log P(noise of this scale is on average as small as was
        seen).
        """
        mean = self.total / self.n
        # Far enough that what lies beyond has a probability below 1e-18.
        deviations = 45 if self.law is Law.DISCRETE_LAPLACE else 12
        k = np.arange(int(deviations * scale) + 12)
        logs = log_mass(self.law, Fraction(scale), k) + np.where(k > 0, np.log(2), 0)
        logs -= logsumexp_of(logs)
        size = _scale_statistic(self.law, k)

        def mean_excess(t: float) -> float:
            tilted = logs - t * size
            return float(np.exp(tilted - logsumexp_of(tilted)) @ size) - mean

        # Here, because only an audit needs it and it takes long to load.
        from scipy.optimize import brentq

        if mean_excess(0.0) <= 0:
            return 0.0
        end = 1.0
        while mean_excess(end) > 0 and end <= 700:
            end *= 2
        # Any tilt t ≥ 0 gives a valid bound; the root gives the best one.
        t = end
        if mean_excess(end) <= 0:
            t = float(brentq(mean_excess, 0.0, end, rtol=1e-3))
        return float(self.n * (t * mean + logsumexp_of(logs - t * size)))


def _scale_statistic(law: Law, noise: NDArray[np.int64]) -> Floats:
    """What a sample of this law says about its scale."""
    size = np.abs(noise.astype(np.float64))
    return size if law is Law.DISCRETE_LAPLACE else size * size


def loss_by_spread(
    spreads: Sequence[NoiseSpread],
    accounting: Accounting,
    *,
    alpha: float = FALSE_ALARM_RATE,
) -> float:
    """The μ, ε or ρ that noise of the observed spread causes on these two tables, at
    least.
    """
    square = linear = 0.0
    for spread in spreads:
        # An answer that is the same on both tables loses nothing, whatever its noise.
        if not spread.moved.any():
            continue
        scale = spread.most(alpha / len(spreads))
        square += float((spread.moved.astype(np.float64) ** 2).sum()) / scale**2
        linear += float(np.abs(spread.moved).sum()) / scale
    # Pure ε adds up by L1 over scale, the Gaussian accounts by squared L2.
    match accounting:
        case Accounting.PURE:
            return linear
        case Accounting.GDP:
            return sqrt(square)
        case Accounting.ZCDP:
            return square / 2
