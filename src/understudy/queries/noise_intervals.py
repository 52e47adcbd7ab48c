"""How far noise of a known law can be from 0: exact quantiles of one draw, and of
several that were pooled.

Rounded Gaussian noise is G rounded to the nearest integer, so |noise| ≤ h exactly if
|G| < h + 1/2. Discrete Gaussian noise is at least h + 1 no more often than G is at least
h (Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020).
Discrete Laplace noise exceeds h with probability 2·tʰ⁺¹/(1 + t), t = exp(−1/b).

Draws of the same integer, weighed by their precision, are pooled. A weighted mean of
rounded Gaussian noise is normal but for rounding errors, each at most 1/2; one of
discrete Gaussian noise is subgaussian: |noise| > h at most 2·exp(−h²/2σ²) of the time.

A sum of draws with weights w is normal but for rounding errors too. These are bounded by
1/2, symmetric and independent, so they add up to at most Σ|w|/2, and to more than t with
probability at most 2·exp(−2t²/Σw²) (Hoeffding 1963); a tenth of the doubt is for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from scipy.special import ndtri

from understudy.accounting.law import Law

_ROUNDING_DOUBT_SHARE = 0.1

ANSWER_CONFIDENCE = 0.95
"""How often the interval of a number holds the true one, at least."""


@dataclass(frozen=True)
class NoiseScale:
    """The noise on a statistic: one draw of a law, or several draws pooled by their
    precision. A scale of 0 is no noise.

    >>> NoiseScale(Law.ROUNDED_GAUSSIAN, Fraction(10)).half_width(0.05)
    20.0
    """

    law: Law
    scale: Fraction
    draws: int = 1

    @property
    def is_gaussian(self) -> bool:
        """Whether sums of such noise are normal, but for rounding."""
        return self.law is not Law.DISCRETE_LAPLACE

    @property
    def rounding(self) -> float:
        """The largest error of rounding."""
        return 0.5 if self.scale and self.law is Law.ROUNDED_GAUSSIAN else 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation, without that of rounding."""
        factor = 1.0 if self.is_gaussian else math.sqrt(2.0)
        return factor * float(self.scale)

    def half_width(self, doubt: float) -> float:
        """A distance from 0 that the noise exceeds with at most this probability."""
        if not self.scale:
            return 0.0
        if not self.is_gaussian:
            return _laplace_half_width(float(self.scale), doubt)
        if self.draws > 1:
            return self.tail_factor(doubt) * float(self.scale) + self.rounding
        return _gaussian_half_width(self.law, float(self.scale), doubt)

    def tail_factor(self, doubt: float) -> float:
        """How many deviations a weighted sum of such noise exceeds with at most this
        probability, apart from rounding.
        """
        if self.law is Law.DISCRETE_GAUSSIAN:
            return math.sqrt(2 * math.log(2 / doubt))
        return -float(ndtri(doubt / 2))


@dataclass(frozen=True)
class SumNoise:
    """The noise on a sum of several statistics with weights, all of one Gaussian law.

    >>> round(SumNoise(Law.ROUNDED_GAUSSIAN, 20.0, 4.0, 4.0).half_width(0.05), 1)
    41.2
    """

    law: Law
    deviation: float
    """The standard deviation, without that of rounding."""
    weight: float
    """The absolute weights of all draws together."""
    squares: float
    """Their squares together."""

    @property
    def is_gaussian(self) -> bool:
        """Whether sums of such noise are normal, but for rounding."""
        return True

    @property
    def rounding(self) -> float:
        """The largest error of rounding."""
        return self.weight / 2 if self.law is Law.ROUNDED_GAUSSIAN else 0.0

    def half_width(self, doubt: float) -> float:
        """A distance from 0 that the noise exceeds with at most this probability."""
        whole = self.tail_factor(doubt) * self.deviation + self.rounding
        if not self.rounding:
            return whole
        own = _ROUNDING_DOUBT_SHARE * doubt
        likely = math.sqrt(self.squares * math.log(2 / own) / 2)
        return min(whole, self.tail_factor(doubt - own) * self.deviation + likely)

    def tail_factor(self, doubt: float) -> float:
        """How many deviations it exceeds with at most this probability, apart from
        rounding.
        """
        return NoiseScale(self.law, Fraction(1)).tail_factor(doubt)


def _gaussian_half_width(law: Law, scale: float, doubt: float) -> float:
    reach = -float(ndtri(doubt / 2)) * scale
    if law is Law.DISCRETE_GAUSSIAN:
        return float(math.ceil(reach))
    return float(max(math.ceil(reach - 0.5), 0))


def _laplace_half_width(scale: float, doubt: float) -> float:
    decay = math.exp(-1 / scale)
    # 2 t^(h + 1) / (1 + t) ≤ doubt
    steps = -scale * math.log(doubt * (1 + decay) / 2) - 1
    return float(max(math.ceil(steps - 1e-12), 0))


def scale_within(law: Law, half_width: float, doubt: float) -> float:
    """The largest scale of noise whose half-width is at most this; 0 if there is none.

    >>> round(scale_within(Law.ROUNDED_GAUSSIAN, 50, 0.05), 3)
    25.766
    """
    whole = math.floor(half_width)
    if law is not Law.DISCRETE_LAPLACE:
        slack = 0.5 if law is Law.ROUNDED_GAUSSIAN else 0.0
        return (whole + slack) / -float(ndtri(doubt / 2))
    low, high = 0.0, max(4.0 * (whole + 1), 1.0)
    for _ in range(80):
        middle = (low + high) / 2
        if middle > 0 and _laplace_half_width(middle, doubt) <= whole:
            low = middle
        else:
            high = middle
    return low


def scale_for_sum(law: Law, half_width: float, squares: float, doubt: float) -> float:
    """The scale of noise at which a sum of draws with weights of these squares is within
    a half-width; 0 if there is none.

    >>> scale = scale_for_sum(Law.ROUNDED_GAUSSIAN, 50, 100, 0.05)
    >>> round(SumNoise(Law.ROUNDED_GAUSSIAN, 10 * scale, 100, 100).half_width(0.05), 6)
    50.0
    """
    unit = NoiseScale(law, Fraction(1))
    if law is not Law.ROUNDED_GAUSSIAN:
        return half_width / (unit.tail_factor(doubt) * math.sqrt(squares))
    own = _ROUNDING_DOUBT_SHARE * doubt
    room = half_width - math.sqrt(squares * math.log(2 / own) / 2)
    return max(room, 0.0) / (unit.tail_factor(doubt - own) * math.sqrt(squares))
