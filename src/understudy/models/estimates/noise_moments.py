"""Variances and mean sizes E|X| of the three laws of noise, as floats.

They are weights and forecasts, never part of a privacy argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from understudy.accounting.law import Law
from understudy.measurements import Clique, Measurement

MEAN_ABS_NORMAL = math.sqrt(2 / math.pi)
"""E|X| of Gaussian noise, in standard deviations."""

MEAN_ABS_LAPLACE = math.sqrt(1 / 2)
"""E|X| of Laplace noise, in standard deviations."""

MIN_CLOSED_FORM_SIGMA = 3.0
"""From this σ on, the Gaussian closed forms hold to the last float: what they leave out
is of order exp(-2π²σ²) < 1e-77.
"""

MIN_NOISE_VARIANCE = 1e-12
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
        return _laplace_variance(size)
    return (
        _rounded_gaussian_variance(size)
        if law is Law.ROUNDED_GAUSSIAN
        else _discrete_gaussian_variance(size)
    )


def noise_size(law: Law, scale: Fraction | float) -> float:
    """Mean size of the integer noise on one cell, E|X|: for large Gaussian noise 0.8
    deviations, for small noise its variance.

    >>> [round(noise_size(Law.ROUNDED_GAUSSIAN, scale), 5) for scale in (0.2, 10)]
    [0.01242, 7.97552]
    >>> round(noise_size(Law.DISCRETE_LAPLACE, Fraction(10)), 2)
    9.98
    """
    size = float(scale)
    if size <= 0:
        return 0.0
    if law is Law.DISCRETE_LAPLACE:  # 2t/(1 - t²) with t = exp(-1/scale)
        return 1 / math.sinh(1 / size) if size > 1 / 300 else 0.0
    if size >= MIN_CLOSED_FORM_SIGMA:  # Euler's sum of the two below, to five figures
        return MEAN_ABS_NORMAL * (
            size - 1 / ((24 if law is Law.ROUNDED_GAUSSIAN else 12) * size)
        )
    k = np.arange(1, 130)
    if law is Law.ROUNDED_GAUSSIAN:  # Σ over k ≥ 1 of P(|X| ≥ k)
        return float(np.sum(2 * ndtr(-(k - 0.5) / size)))
    weights = np.exp(-0.5 * (k / size) ** 2)
    return float(2 * np.sum(k * weights) / (1 + 2 * np.sum(weights)))


def min_noise_size(
    observations: Iterable[Measurement], clique: Clique, cells: int
) -> float:
    """Mean size of the noise on one of a marginal's cells in the best single measurement;
    infinite where none has counts of it.

    All measurements together leave less variance, but noise on counts is whole: where it
    is small, most cells have none. A sum of cells has as much as each of them, at most.
    """
    inside = (m for m in observations if m.plain and set(clique) <= set(m.clique))
    return min(
        (m.values.size / cells * noise_size(m.law, m.scale) for m in inside),
        default=math.inf,
    )


def cell_variance(measurement: Measurement) -> float:
    """Variance of the noise on one cell of a measurement, never quite zero, so that
    weights stay finite.

    >>> from understudy.accounting.cost import Cost, Accounting
    >>> free = Cost(Accounting.PURE, Fraction(1))
    >>> scale = Fraction(1, 10**6)
    >>> cell_variance(Measurement((), (), np.array(5), Law.DISCRETE_LAPLACE, scale, free))
    1e-12
    """
    return max(noise_variance(measurement.law, measurement.scale), MIN_NOISE_VARIANCE)


def _laplace_variance(scale: float) -> float:
    # 2t/(1-t)² with t = exp(-1/scale) is 1 / (2 sinh²(1/(2 scale))), which does not
    # cancel when scale is large.
    half = 0.5 / scale
    return 0.5 / math.sinh(half) ** 2 if half < 300 else 0.0


def _rounded_gaussian_variance(sigma: float) -> float:
    if sigma >= MIN_CLOSED_FORM_SIGMA:
        return sigma * sigma + 1 / 12
    # E X² = Σ over k ≥ 1 of (2k - 1) P(|X| ≥ k), and P(|X| ≥ k) = 2 Φ(-(k - ½)/σ).
    k = np.arange(1, 130)
    return float(np.sum((2 * k - 1) * 2 * ndtr(-(k - 0.5) / sigma)))


def _discrete_gaussian_variance(sigma: float) -> float:
    if sigma >= MIN_CLOSED_FORM_SIGMA:
        return sigma * sigma
    k = np.arange(1, 130)
    weights = np.exp(-0.5 * (k / sigma) ** 2)
    return float(2 * np.sum(k * k * weights) / (1 + 2 * np.sum(weights)))
