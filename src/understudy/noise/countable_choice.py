"""The exponential mechanism over the candidates 0, 1, 2, …, exactly.

McSherry, Talwar, "Mechanism design via differential privacy", 2007. Candidate i has
weight r^i · exp(−a·gap_i): a base measure that decays by a public ratio r ≤ 1, and
gap_i = best − score_i, where `best` is a public bound on all scores. With a = ε·grid/(2Δ),
or ε·grid/Δ where a neighbour moves all scores one way (`monotone`).

Summability. The weights have to have a sum, or there is no law to draw from. Scores
fall by at least `decay` a candidate: gap_i ≥ decay·i, publicly. Then the sum is at most
Σ q^i with q = r·exp(−a·decay), finite exactly if q < 1: the base decays, or the scores
do. A score above its public bound counts as the bound.

Why it is private. The bound is the same for all tables, so min(score, bound) moves by
at most Δ between neighbours, every weight by a factor within e^(±ε/2), and so their sum
(finite, by the check). The rest is the argument of choice.py.

How it is exact. With U uniform and Z the sum of all weights, the candidate is the i with
C_i ≤ U·Z < C_(i+1), C the running sums. All are enclosed by integers (enclosure.py), the
rest of the series by q^n/(1 − q), and everything is refined until one candidate is
certain. How long that takes depends on the scores, as with every exact sampler.

Output probabilities are checked in tests/noise/test_countable_choice.py.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from understudy.errors import Refused
from understudy.noise.choice import exponent_per_step
from understudy.noise.enclosure import enclose_exp_neg, shift_rounding_up
from understudy.noise.source import OS_SOURCE, BitSource, IntegerBounds

MAX_COUNTABLE_TERMS = 2**16
"""Most candidates whose scores are needed before the rest weighs less than 2^-64: slower
series are refused, publicly, before any score is computed.
"""

_FIRST_PRECISION_BITS = 64


@dataclass(frozen=True)
class _WeightSeries:
    """Enclosures of the weights r^i · exp(−a·gap_i), and of what is left of them."""

    score: Callable[[int], int]
    best: int
    ratio: Fraction
    decay: Fraction
    rate: Fraction

    def count_terms(self, bits: int) -> int:
        """How many terms leave less than 2^-bits."""
        # Rounded up generously: one float logarithm decides nothing but the length.
        log_q = math.log(self.ratio) - float(self.rate * self.decay)
        needed = (bits + 1) * math.log(2) - math.log(-math.expm1(log_q))
        return math.ceil(needed / -log_q) + 2

    def enclose_rest(self, terms: int, bits: int) -> int:
        """At least 2^bits times the sum of all weights from this term on."""
        work = bits + 64
        _, decayed = enclose_exp_neg(self.rate * self.decay, work)
        q = self.ratio * Fraction(decayed, 1 << work)
        if q >= 1:
            return 1 << 2 * work
        return math.ceil(_power_up(q, terms, work) / (1 - q) * (1 << bits))

    def running_sums(self, terms: int, bits: int) -> tuple[list[int], list[int]]:
        """Enclosures of C_0, C_1, … C_terms, times 2^bits."""
        lows, highs = [0], [0]
        base_lo = base_hi = 1 << bits
        for index in range(terms):
            lo, hi = self._enclose_loss(index, bits)
            lows.append(lows[-1] + (base_lo * lo >> bits))
            highs.append(highs[-1] + shift_rounding_up(base_hi * hi, bits))
            base_lo = base_lo * self.ratio.numerator // self.ratio.denominator
            base_hi = -(-base_hi * self.ratio.numerator // self.ratio.denominator)
        return lows, highs

    def _enclose_loss(self, index: int, bits: int) -> IntegerBounds:
        # A score above its public bound counts as the bound.
        gap = max(Fraction(self.best - self.score(index)), self.decay * index)
        return enclose_exp_neg(self.rate * gap, bits)


def choose_countable(
    score: Callable[[int], int],
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    best: int,
    ratio: Fraction = Fraction(1),
    decay: Fraction = Fraction(0),
    grid: Fraction = Fraction(1),
    monotone: bool = False,
    source: BitSource = OS_SOURCE,
) -> int:
    """One of the candidates 0, 1, 2, …, P(i) ∝ ratio^i · exp(ε · grid · score(i) / (2 ·
    sensitivity)).

    `score(i)` is an integer, publicly at most best − decay·i. ε-private when every score
    moves by at most `sensitivity`, in the units of `grid · score`.

    >>> choose_countable(
    ...     lambda i: -abs(i - 7),
    ...     epsilon=Fraction(100),
    ...     sensitivity=Fraction(1),
    ...     best=0,
    ...     ratio=Fraction(1, 2),
    ... )
    7
    """
    rate = exponent_per_step(epsilon, sensitivity, grid, monotone)
    require_summable(ratio, decay)
    series = _WeightSeries(score, best, Fraction(ratio), Fraction(decay), rate)
    if series.count_terms(_FIRST_PRECISION_BITS) > MAX_COUNTABLE_TERMS:
        raise Refused(
            "the weights of the candidates decay too slowly to be summed; use a smaller"
            " ratio or a steeper decay. Nothing was chosen."
        )
    bits = _FIRST_PRECISION_BITS
    prefix = source.bits(bits)
    while True:
        found = _locate_uniform(series, prefix, bits)
        if found is not None:
            return found
        # More bits of the same U: a fresh one would favour candidates that are quick to
        # find.
        prefix = prefix << bits | source.bits(bits)
        bits *= 2


def require_summable(ratio: Fraction, decay: Fraction) -> None:
    """Refuse a base measure and a decay of scores whose weights need not have a sum.

    >>> require_summable(Fraction(1, 2), Fraction(0))
    """
    exact = type(ratio) in (Fraction, int) and type(decay) in (Fraction, int)
    if not exact or not 0 < ratio <= 1 or decay < 0:
        raise Refused(
            "a ratio is an exact Fraction above 0 and at most 1, a decay one of at"
            " least 0. Nothing was chosen."
        )
    if ratio == 1 and decay == 0:
        raise Refused(
            "countably many candidates of equal weight have no sum: give a ratio below"
            " 1, or scores that fall by a public decay. Nothing was chosen."
        )


def _locate_uniform(series: _WeightSeries, prefix: int, bits: int) -> int | None:
    """The candidate at U·Z, for U in [prefix, prefix + 1) / 2^bits; None where that is
    not certain yet.
    """
    terms = series.count_terms(bits)
    lows, highs = series.running_sums(terms, bits)
    whole = highs[-1] + series.enclose_rest(terms, bits)
    # Every rounding widens the enclosure, so that no wrong candidate can be certain.
    at_least = prefix * lows[-1] >> bits
    at_most = shift_rounding_up((prefix + 1) * whole, bits)
    index = bisect_right(highs, at_least) - 1
    if index < terms and at_most <= lows[index + 1]:
        return index
    return None


def _power_up(value: Fraction, exponent: int, bits: int) -> Fraction:
    """A power of a number of at most 1, rounded up to this many bits on the way."""
    result, square = 1 << bits, math.ceil(value * (1 << bits))
    while exponent:
        if exponent & 1:
            result = shift_rounding_up(result * square, bits)
        square = shift_rounding_up(square * square, bits)
        exponent >>= 1
    return Fraction(result, 1 << bits)
