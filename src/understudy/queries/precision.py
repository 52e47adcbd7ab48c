"""The noise that an answer needs, given what was answered before.

The precision of Gaussian noise, 1/σ², adds up, and so does its cost, Δ²/σ². So a
statistic that was measured with σ₁ and is wanted with σ is measured once more with
1/σ₂² = 1/σ² − 1/σ₁², at the difference of the costs, and both are pooled. Laplace noise
does not add up like this: a better answer is measured anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.law import Law
from understudy.accounting.pricing import NOISE_SCALE_DENOMINATOR
from understudy.errors import LedgerError
from understudy.queries.noise_intervals import NoiseScale, scale_within

SMALL_GROUP_SHARE = 0.1
"""Groups with a smaller part of the rows of the largest do not decide what a mean costs:
one of a few rows would cost any amount.
"""


@dataclass(frozen=True)
class NoisyValues:
    """A statistic as it was measured once: an integer for each group, and the noise."""

    values: tuple[int, ...]
    law: Law
    scale: Fraction

    def to_bytes(self) -> bytes:
        """As a ledger stores it.

        >>> noisy = NoisyValues((3, 4), Law.ROUNDED_GAUSSIAN, Fraction(5, 2))
        >>> NoisyValues.of_bytes(noisy.to_bytes()) == noisy
        True
        """
        facts = {
            # Texts, because a sum may exceed what readers of JSON hold exactly.
            "values": [str(value) for value in self.values],
            "law": str(self.law),
            "scale": str(self.scale),
        }
        return json.dumps(facts).encode()

    @classmethod
    def of_bytes(cls, payload: bytes) -> NoisyValues:
        """As it was stored."""
        try:
            facts = json.loads(payload)
            values = tuple(int(value) for value in facts["values"])
            return cls(values, Law(facts["law"]), Fraction(facts["scale"]))
        except (ValueError, KeyError, TypeError):
            raise LedgerError(
                "A stored answer cannot be read: it was written by another version."
                " Nothing was returned."
            ) from None


def needed_scale(
    target: Fraction, earlier: Sequence[NoisyValues], law: Law
) -> Fraction | None:
    """The scale of one more measurement after which a statistic is known as well as one
    measurement with the target scale would tell it; None if it is already.

    >>> before = [NoisyValues((1,), Law.ROUNDED_GAUSSIAN, Fraction(5))]
    >>> needed_scale(Fraction(3), before, Law.ROUNDED_GAUSSIAN)
    Fraction(15, 4)
    """
    usable = [each for each in earlier if each.law is law]
    if any(each.scale <= target for each in usable):
        return None
    if law is Law.DISCRETE_LAPLACE:
        return target
    precision = sum((1 / each.scale**2 for each in usable), Fraction(0))
    missing = 1 / target**2 - precision
    if missing <= 0:
        return None
    return root_down(1 / missing)


def scale_for_half_width(
    half_width: float, doubt: float, earlier: Sequence[NoisyValues], law: Law
) -> Fraction | None:
    """The scale of one more measurement after which the interval of a statistic is no
    wider than this; None if it is so already. A scale of 0: no noise is as exact.
    """
    usable = [each for each in earlier if each.law is law]
    if not usable:
        return grid_scale_below(scale_within(law, half_width, doubt))
    known = pooled_noise([each.scale for each in usable], law)
    if known.half_width(doubt) <= half_width:
        return None
    # What is pooled is no whole number: its interval has rounding on top.
    room = max(half_width - known.rounding, 0.0)
    target = grid_scale_below(room / known.tail_factor(doubt))
    if law is Law.DISCRETE_LAPLACE:
        target = grid_scale_below(scale_within(law, half_width, doubt))
    return needed_scale(target, usable, law) if target else target


def fewest_rows(counted: Sequence[NoisyValues], doubt: float) -> float:
    """A lower bound on the rows of a group, from noisy counts, for the groups that are
    not small relative to the largest; 0 if they may be empty.

    >>> before = [NoisyValues((900, 100, 2), Law.ROUNDED_GAUSSIAN, Fraction(5))]
    >>> fewest_rows(before, 0.05)
    90.0
    """
    values, noise = pool_values(counted)
    largest = max(values, default=0.0)
    counting = [value for value in values if value >= SMALL_GROUP_SHARE * largest]
    return max(min(counting, default=0.0) - noise.half_width(doubt), 0.0)


def scales_for_ratio(
    half_width: float, rows: float, bound: float, doubt: float, law: Law
) -> tuple[Fraction, Fraction]:
    """The scales of noise on a sum and on a count of this many rows at which their
    ratio, at most `bound` in size, is within a half-width; 0 if none is.

    The sum S and the count N are off by less than z·√(σS² + r²σN²) from S = r·N, and
    rounding, and r is at most the bound (estimates.py). One unit moves the sum by the
    bound where it moves the count by 1, so the cost is least if both terms are equal.

    >>> [round(s) for s in scales_for_ratio(1, 1000, 10, 0.05, Law.ROUNDED_GAUSSIAN)]
    [359, 36]
    """
    tail = NoiseScale(law, Fraction(1)).tail_factor(doubt)
    rounding = NoiseScale(law, Fraction(1)).rounding * (1 + bound)
    room = max(half_width * rows - rounding, 0.0) / tail / math.sqrt(2)
    return grid_scale_below(room), grid_scale_below(room / bound)


def pooled_noise(scales: Sequence[Fraction], law: Law) -> NoiseScale:
    """The noise of an estimate that pools measurements of these scales.

    >>> pooled_noise([Fraction(5), Fraction(15, 4)], Law.ROUNDED_GAUSSIAN).draws
    2
    """
    best = min(scales)
    if not best or law is Law.DISCRETE_LAPLACE or len(scales) == 1:
        return NoiseScale(law, best)
    precision = sum((1 / scale**2 for scale in scales), Fraction(0))
    # Rounded up: an interval may be a little wider, never narrower.
    return NoiseScale(law, root_up(1 / precision), draws=len(scales))


def pool_values(
    measured: Sequence[NoisyValues],
) -> tuple[list[float], NoiseScale]:
    """The best estimate of a statistic from all its measurements, and its noise."""
    best = min(measured, key=lambda each: each.scale)
    used = [each for each in measured if each.law is best.law]
    noise = pooled_noise([each.scale for each in used], best.law)
    if noise.draws == 1:
        return [float(value) for value in best.values], noise
    weights = [1 / each.scale**2 for each in used]
    together = sum(weights, Fraction(0))
    pooled = []
    for group in zip(*(each.values for each in used), strict=True):
        added = sum((w * v for w, v in zip(weights, group, strict=True)), Fraction(0))
        pooled.append(float(added / together))
    return pooled, noise


def grid_scale_below(scale: float) -> Fraction:
    """The largest scale on the grid of noise that is at most this."""
    return Fraction(
        math.floor(scale * NOISE_SCALE_DENOMINATOR), NOISE_SCALE_DENOMINATOR
    )


def root_down(square: Fraction) -> Fraction:
    """The largest number on the grid whose square is at most this."""
    steps = math.isqrt(math.floor(square * NOISE_SCALE_DENOMINATOR**2))
    return Fraction(steps, NOISE_SCALE_DENOMINATOR)


def root_up(square: Fraction) -> Fraction:
    """A number on the grid whose square is at least this."""
    steps = math.isqrt(math.ceil(square * NOISE_SCALE_DENOMINATOR**2)) + 1
    return Fraction(steps, NOISE_SCALE_DENOMINATOR)
