"""Noise at scales that no table is built for, exact.

  rounded Gaussian                     X = min{k : U < F(k)} for a uniform real U: a
                                       guess, proven for all draws at once by 64-bit
                                       integers (normal.py); 300,000 draws a second
  discrete Laplace                     the same by exact comparisons, draw by draw; ten
                                       thousand a second
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

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.noise.cdf_table import refine_draw
from understudy.noise.enclosure import enclose_exp_neg
from understudy.noise.normal import enclose_normal_tails_at
from understudy.noise.source import BitSource, UniformReal
from understudy.noise.tails import (
    NOISE_WORD_BITS,
    RoundedGaussianTails,
    Tails,
    tails_of_law,
    widen_to_words,
)

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
    draws: list[int]
    if law is Law.DISCRETE_GAUSSIAN:
        draws = [_draw_discrete_gaussian(scale, source) for _ in range(n)]
    elif law is Law.ROUNDED_GAUSSIAN:
        draws = _invert_normal_cdf(RoundedGaussianTails(scale), n, source)
    else:
        tails = tails_of_law(law, scale)
        draws = [_invert_cdf(tails, source) for _ in range(n)]
    # Refused, not clipped: a cut tail would break the exact law.
    if any(abs(draw) >> 62 for draw in draws):
        raise Refused(
            "noise at this scale does not fit a 64-bit integer; use a coarser"
            " granularity. Nothing was released."
        )
    return np.array(draws, dtype=np.int64)


def _invert_normal_cdf(
    tails: RoundedGaussianTails, n: int, source: BitSource
) -> list[int]:
    """min{k : U < F(k)} for `n` numbers U: of most of them 64 bits and the fixed-point
    tails prove the guess, and the others are refined (docs/proofs/noise.md, §4).
    """
    words = source.words(n)
    is_lower_half = words < np.uint64(1 << NOISE_WORD_BITS - 1)
    # U or 1 - U, whichever is smaller, lies in [tail, tail + 1] / 2^64.
    tail = np.where(is_lower_half, words, ~words)
    share = (tail + 0.5) * 2.0**-NOISE_WORD_BITS
    guess = np.rint(float(tails.scale) * -ndtri(share)).astype(np.int64)
    sizes = guess.tolist()
    step = 1 / tails.scale
    _, beyond = widen_to_words(*enclose_normal_tails_at(step, sizes))
    reached, _ = widen_to_words(*enclose_normal_tails_at(step, [m - 1 for m in sizes]))
    # |X| = m where Q(m) < tail < Q(m - 1). All |X| are at least 0.
    is_proven = (beyond <= tail) & ((tail < reached) | (guess == 0))
    draws: list[int] = np.where(is_lower_half, -guess, guess).tolist()
    for i in np.flatnonzero(~is_proven).tolist():
        uniform = UniformReal(source, prefix=int(words[i]), count=NOISE_WORD_BITS)
        draws[i] = refine_draw(tails, uniform, draws[i])
    return draws


def _invert_cdf(tails: Tails, source: BitSource) -> int:
    """min{k : U < F(k)} of a discrete Laplace: a float says where to look first, exact
    comparisons decide.
    """
    prefix = source.bits(FIRST_DRAW_BITS)
    one = 1 << FIRST_DRAW_BITS
    # From the nearer end: a float next to 1 has lost the digits of its tail.
    tail = max(min(prefix, one - prefix) / one, SMALLEST_GUESSED_TAIL)
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
        proposal = _invert_cdf(tails, source)
        # Acceptance is certain where the ratio of the two laws is largest, at |y| =
        # σ²/t.
        distance = abs(proposal) - scale**2 / proposal_scale
        if _accept_with_exp(distance**2 / (2 * scale**2), source):
            return proposal


def _accept_with_exp(exponent: Fraction, source: BitSource) -> bool:
    """True with probability exp(-exponent), exactly."""
    return UniformReal(source).below(lambda bits: enclose_exp_neg(exponent, bits))
