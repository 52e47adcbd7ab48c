"""Noise at scales that no table is built for: exact, some ten thousand draws a second.

  discrete Laplace, rounded Gaussian   X = min{k : U < F(k)} for a uniform real U,
                                       found by exact comparisons
  discrete Gaussian                    rejection from the discrete Laplace: Canonne,
                                       Kamath, Steinke, "The discrete Gaussian for
                                       differential privacy", 2020, algorithm 3

Why rejection is exact. With t = ⌊σ⌋ + 1, Y is proposed with probability ∝ exp(-|y|/t)
and kept with probability exp(-(|y| - σ²/t)² / (2σ²)). Their product is exp(-y²/(2σ²))
times a number that does not depend on y, which is the law. Both draws are exact, since
a uniform real is compared with proven bounds that are tightened until they decide
(docs/proofs/noise.md, lemma 1 and §4).

Checked against the exact probabilities at small scales, where both ways to draw exist:
tests/noise/test_large_scales.py.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, log
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.noise.cdf_table import refine_draw
from understudy.noise.enclosure import enclose_exp_neg
from understudy.noise.source import BitSource, UniformReal
from understudy.noise.tails import Tails, tails_of_law

FIRST_DRAW_BITS = 128
"""Bits of U drawn at once. They nearly always decide, and more follow if they do not."""

SMALLEST_GUESSED_TAIL = 1e-30
"""Keeps the guess finite where the float of U rounds to 0 or 1."""


def draw_without_table(
    law: Law,
    scale: Fraction,
    n: int,
    source: BitSource,
) -> NDArray[np.int64]:
    """`n` independent draws of `law`."""
    if law is Law.DISCRETE_GAUSSIAN:
        draws = [_draw_discrete_gaussian(scale, source) for _ in range(n)]
    else:
        tails = tails_of_law(law, scale)
        draws = [_invert_cdf(law, tails, source) for _ in range(n)]
    # Refused, not clipped: a cut tail would break the exact law.
    if any(abs(draw) >> 62 for draw in draws):
        raise Refused(
            "noise at this scale does not fit a 64-bit integer; use a coarser"
            " granularity. Nothing was released."
        )
    return np.array(draws, dtype=np.int64)


def _invert_cdf(law: Law, tails: Tails, source: BitSource) -> int:
    """min{k : U < F(k)}: a float says where to look first, exact comparisons decide."""
    prefix = source.bits(FIRST_DRAW_BITS)
    one = 1 << FIRST_DRAW_BITS
    # From the nearer end: a float next to 1 has lost the digits of its tail.
    tail = max(min(prefix, one - prefix) / one, SMALLEST_GUESSED_TAIL)
    if law is Law.ROUNDED_GAUSSIAN:
        distance = -NormalDist().inv_cdf(tail)
    else:
        distance = -log(2 * tail)
    sign = -1 if prefix < one // 2 else 1
    guess = sign * round(float(tails.scale) * distance)
    uniform = UniformReal(source, prefix=prefix, count=FIRST_DRAW_BITS)
    return refine_draw(tails, uniform, guess)


def _draw_discrete_gaussian(scale: Fraction, source: BitSource) -> int:
    """One draw, by rejection; about three proposals in four are kept."""
    proposal_scale = Fraction(floor(scale) + 1)
    tails = tails_of_law(Law.DISCRETE_LAPLACE, proposal_scale)
    while True:
        proposal = _invert_cdf(Law.DISCRETE_LAPLACE, tails, source)
        # Acceptance is certain where the ratio of the two laws is largest, at |y| =
        # σ²/t.
        distance = abs(proposal) - scale**2 / proposal_scale
        if _accept_with_exp(distance**2 / (2 * scale**2), source):
            return proposal


def _accept_with_exp(exponent: Fraction, source: BitSource) -> bool:
    """True with probability exp(-exponent), exactly."""
    return UniformReal(source).below(lambda bits: enclose_exp_neg(exponent, bits))
