"""What error to expect, before anything is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.cost import Accounting, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.pricing import default_law, scale_for


@dataclass(frozen=True, kw_only=True)
class ExpectedNoise:
    """How far one noisy cell lies from the truth.

    `deviation` is its standard deviation, `within_95` the half-width that holds it 19
    times out of 20.
    """

    law: Law
    scale: Fraction
    deviation: float
    within_95: int


def expected_noise(
    amount: Fraction,
    sensitivity: Sensitivity,
    accounting: Accounting,
    *,
    law: Law | None = None,
    parts: int = 1,
) -> ExpectedNoise:
    """The error of one cell when `amount` is divided evenly over `parts` such answers.

    >>> count = Sensitivity(Fraction(1), Fraction(1))
    >>> one = expected_noise(Fraction(1), count, Accounting.PURE)
    >>> f"{one.deviation:.3f} {one.within_95}"
    '1.357 3'
    """
    chosen = law or default_law(accounting)
    scale = scale_for(chosen, amount / parts, sensitivity, accounting)
    return ExpectedNoise(
        law=chosen,
        scale=scale,
        deviation=noise_deviation(chosen, scale),
        within_95=noise_half_width(chosen, scale, 0.95),
    )


def noise_deviation(law: Law, scale: Fraction) -> float:
    """Standard deviation of one draw of integer noise.

    >>> round(noise_deviation(Law.DISCRETE_LAPLACE, Fraction(1)) ** 2, 4)
    1.8413
    """
    if scale == 0:
        return 0.0
    s = float(scale)
    if law is Law.DISCRETE_LAPLACE:
        return math.sqrt(0.5) / math.sinh(0.5 / s) if s > 1e-3 else 0.0
    # Rounding adds the variance of a uniform on one cell; the discrete law matches σ²
    # to fifteen digits.
    if s > 3:
        return math.sqrt(s * s + 1 / 12) if law is Law.ROUNDED_GAUSSIAN else s
    weights = _noise_weights(law, s)
    # Both laws are symmetric: weights are those of 0, 1, 2, … and count twice from 1.
    second_moment = 2 * sum(k * k * w for k, w in enumerate(weights))
    return math.sqrt(second_moment / (weights[0] + 2 * sum(weights[1:])))


def noise_half_width(law: Law, scale: Fraction, level: float) -> int:
    """The smallest k with P(|noise| ≤ k) ≥ level.

    >>> noise_half_width(Law.ROUNDED_GAUSSIAN, Fraction(10), 0.95)
    20
    """
    if scale == 0:
        return 0
    s = float(scale)
    # With t = exp(-1/scale), P(|G| > k) = 2 t^(k+1) / (1 + t).
    if law is Law.DISCRETE_LAPLACE:
        missed = (1 - level) * (1 + math.exp(-1 / s))
        return max(0, math.ceil(s * math.log(2 / missed) - 1))
    # At this width a cell is narrow enough for the continuous quantile.
    if s > 50:
        from scipy.special import ndtri

        return max(0, math.ceil(s * float(ndtri((1 + level) / 2)) - 0.5))
    weights = _noise_weights(law, s)
    total = weights[0] + 2 * sum(weights[1:])
    held = weights[0]
    for k, weight in enumerate(weights[1:], 1):
        if held >= level * total:
            return k - 1
        held += 2 * weight
    return len(weights)


def _noise_weights(law: Law, s: float) -> list[float]:
    """Probability of 0, 1, 2, … up to a constant, as far as double precision sees it."""
    if law is Law.DISCRETE_GAUSSIAN:
        return [math.exp(-k * k / (2 * s * s)) for k in range(int(12 * s) + 2)]
    tails = [
        math.erfc((k - 0.5) / (s * math.sqrt(2))) / 2 for k in range(int(12 * s) + 3)
    ]
    return [tails[k] - tails[k + 1] for k in range(len(tails) - 1)]
