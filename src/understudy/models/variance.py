"""Variances of the three laws of noise, as floats: weights for estimation, never part of a privacy argument."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from understudy.accounting.law import Law
from understudy.measurements import Measurement

SMOOTH = 3.0
"""From this σ on, the Gaussian closed forms hold to the last float: what they leave out is of order exp(-2π²σ²) < 1e-77."""

LEAST = 1e-12
"""No weight is larger than one over this, however exact the answer."""


def noise_variance(law: Law, scale: Fraction | float) -> float:
    """Variance of the integer noise on one cell.

    >>> round(noise_variance(Law.DISCRETE_LAPLACE, Fraction(1)), 4)
    1.8413
    >>> round(noise_variance(Law.ROUNDED_GAUSSIAN, Fraction(10)), 4)
    100.0833
    >>> noise_variance(Law.DISCRETE_GAUSSIAN, Fraction(10))
    100.0
    """
    size = float(scale)
    if size < 0:
        raise ValueError("a scale cannot be negative")
    if size == 0:
        return 0.0
    if law is Law.DISCRETE_LAPLACE:
        return _laplace(size)
    return _rounded(size) if law is Law.ROUNDED_GAUSSIAN else _discrete(size)


def cell_variance(measurement: Measurement) -> float:
    """Variance of the noise on one cell of a measurement, never quite zero, so that weights stay finite.

    >>> from understudy.accounting.cost import Cost, Currency
    >>> free = Cost(Currency.PURE, Fraction(1))
    >>> cell_variance(Measurement((), (), np.array(5), Law.DISCRETE_LAPLACE, Fraction(1, 10**6), free))
    1e-12
    """
    return max(noise_variance(measurement.law, measurement.scale), LEAST)


def _laplace(scale: float) -> float:
    # 2t/(1-t)² with t = exp(-1/scale) is 1 / (2 sinh²(1/(2 scale))), which does not cancel when scale is large.
    half = 0.5 / scale
    return 0.5 / math.sinh(half) ** 2 if half < 300 else 0.0


def _rounded(sigma: float) -> float:
    if sigma >= SMOOTH:
        return sigma * sigma + 1 / 12
    # E X² = Σ over k ≥ 1 of (2k - 1) P(|X| ≥ k), and P(|X| ≥ k) = 2 Φ(-(k - ½)/σ).
    k = np.arange(1, 130)
    return float(np.sum((2 * k - 1) * 2 * ndtr(-(k - 0.5) / sigma)))


def _discrete(sigma: float) -> float:
    if sigma >= SMOOTH:
        return sigma * sigma
    k = np.arange(1, 130)
    weights = np.exp(-0.5 * (k / sigma) ** 2)
    return float(2 * np.sum(k * k * weights) / (1 + 2 * np.sum(weights)))
