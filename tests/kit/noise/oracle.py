"""What the laws are, said a second time: mpmath at 400 bits, by formulas other than
those of the package.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from understudy.accounting.law import Law

ALPHA = 1e-6
"""False-alarm rate of every statistical test."""

PRECISION = 400

SCALES = [
    *(
        Fraction(n, d)
        for n, d in (
            (1, 100),
            (1, 20),
            (1, 7),
            (1, 3),
            (1, 2),
            (2, 3),
            (9, 10),
            (1, 1),
            (8, 7),
            (3, 2),
        )
    ),
    *(
        Fraction(n, 2**20)
        for n in (
            1,
            331_351,
            999_999,
            1_048_577,
            1_500_001,
            2_345_678,
            3_000_001,
            4_100_000,
        )
    ),
    *(
        Fraction(n, 2**20)
        for n in (5_555_555, 7_654_321, 14_417_920, 20_202_021, 33_333_333, 52_428_801)
    ),
    *(
        Fraction(n, d)
        for n, d in (
            (2, 1),
            (5, 2),
            (3, 1),
            (31, 8),
            (399, 100),
            (4, 1),
            (401, 100),
            (5, 1),
            (22, 3),
        )
    ),
    *(Fraction(n) for n in (8, 10, 16, 25, 50, 100)),
    Fraction(1000),
]
"""Forty scales at which tables are compared with the oracle."""


def rational(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


@lru_cache(maxsize=64)
def tail_list(law: Law, scale: Fraction, count: int) -> list[mpmath.mpf]:
    """P(X > k) for k = 0..count-1."""
    with mpmath.workprec(PRECISION):
        s = rational(scale)
        if law is Law.DISCRETE_LAPLACE:
            t = mpmath.exp(-1 / s)
            return [t ** (k + 1) / (1 + t) for k in range(count)]
        if law is Law.ROUNDED_GAUSSIAN:
            return [
                mpmath.erfc((k + mpmath.mpf(1) / 2) / (s * mpmath.sqrt(2))) / 2
                for k in range(count)
            ]
        q = mpmath.exp(-1 / (2 * s * s))
        # Σ_j q^(j²) in its other form (Poisson summation) where that converges faster
        if s < 1:
            total = mpmath.jtheta(3, 0, q)
        else:
            total = (
                s
                * mpmath.sqrt(2 * mpmath.pi)
                * mpmath.jtheta(3, 0, mpmath.exp(-2 * (mpmath.pi * s) ** 2))
            )
        tails, upto = [], (total + 1) / (2 * total)
        for k in range(count):
            tails.append(1 - upto)
            upto += q ** ((k + 1) ** 2) / total
        return tails


def cdf_word(law: Law, scale: Fraction, k: int, bits: int) -> int:
    """⌊F(k)·2^bits⌋ by direct evaluation at k."""
    with mpmath.workprec(PRECISION + bits):
        tail = tail_list(law, scale, (k if k >= 0 else -k - 1) + 1)[-1]
        return int(mpmath.floor(mpmath.ldexp(1 - tail if k >= 0 else tail, bits)))


def probabilities(law: Law, scale: Fraction, reach: int) -> NDArray[np.float64]:
    """P(X = k) for k = -reach..reach, everything beyond added to the two ends."""
    tails = tail_list(law, scale, reach)
    with mpmath.workprec(PRECISION):
        right = [float(a - b) for a, b in pairwise(tails)] + [float(tails[-1])]
        middle = float(1 - 2 * tails[0])
    return np.array([*right[::-1], middle, *right])


def fit(draws: NDArray[np.int64], p: NDArray[np.float64]) -> float:
    """Chi-square p-value that `draws` (any integers, clipped) follow P(k) = p[k +
    reach].
    """
    reach = (p.size - 1) // 2
    seen = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=p.size)
    return goodness(seen, p)


def goodness(seen: NDArray[np.int64], p: NDArray[np.float64]) -> float:
    """P-value of counts against probabilities: chi-square on the cells expected 20
    times, Poisson on the rest together.
    """
    expected = p * seen.sum()
    rare = expected < 20
    few = int(seen[rare].sum())
    in_rare = float(stats.poisson.sf(few - 1, expected[rare].sum())) if few else 1.0
    usual, hoped = seen[~rare], expected[~rare]
    if usual.size < 2 or usual.sum() == 0:
        return in_rare
    in_usual = float(stats.chisquare(usual, hoped * usual.sum() / hoped.sum()).pvalue)
    return min(1.0, 2 * min(in_usual, in_rare))


def repeats(draws: NDArray[np.int64], p: NDArray[np.float64]) -> float:
    """P-value that the second half of `draws` meets the first no more often than
    independent draws would.
    """
    half = draws.size // 2
    met = int(np.count_nonzero(draws[:half] == draws[half : 2 * half]))
    return float(
        stats.binomtest(met, half, float((p**2).sum()), alternative="greater").pvalue
    )
