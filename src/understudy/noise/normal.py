"""The normal tail T(x) = P(N(0,1) > x) at evenly spaced points, enclosed for all of them in a few array passes.

One value costs a long series on big integers (enclosure.py); a table needs thousands of them. Around an anchor a,

  T(a + u) = T(a) - φ(a) Σ_n (-1)ⁿ He_n(a) u^(n+1) / (n+1)!,

and for |u| ≤ 1/16 twelve powers of u leave out less than 2^-70. Coefficients at the anchors are enclosed once by big integers
and serve every spacing; the polynomial is then evaluated in 64-bit integers, for all points at once. No float is involved:
a number v stands for v · 2^-58, every shift rounds down, and docs/proofs/noise.md, §3 counts what that can add up to.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial

import numpy as np
from numpy.typing import NDArray

from understudy.noise.enclosure import exp_neg, inverse_root_two_pi, normal_tail

HALF = 29
BITS = 2 * HALF
"""A number v stands for v · 2^-BITS; products are formed from halves, so that they fit 64 bits."""

DENSITY = 3
"""2^DENSITY anchors from one x to x + 1."""

POWERS = 12
"""Powers of u in each polynomial."""

END = 9
"""Beyond this x, T is less than one unit."""

ERROR = 8
"""Units by which a computed tail can be off."""


def tails_along(step: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Encloses T(step/2), T(3 step/2), ... · 2^BITS, up to the first whose lower bound is zero.

    >>> low, high = tails_along(Fraction(1, 2))
    >>> exact = [normal_tail(Fraction(2 * k + 1, 4), BITS) for k in range(len(low))]
    >>> all(lo < one[0] and one[1] < hi for lo, one, hi in zip(low[:-1], exact, high)), int(low[-1])
    (True, 0)
    """
    count = int((2 * END / step - 1) / 2) + 1  # one at least: a point beyond the end is taken for the end
    middle = np.append(_tails(_points(step, count)), 0)
    end = int(np.argmax(middle <= ERROR)) + 1
    return np.maximum(middle[:end] - ERROR, 0), np.maximum(middle[:end], 0) + ERROR


def _points(step: Fraction, count: int) -> NDArray[np.int64]:
    """(k + ½) step for k = 0, 1, ...: short by less than three units."""
    fine = (step.numerator << BITS + HALF) // step.denominator
    whole, rest = (fine >> HALF, fine & (1 << HALF) - 1) if count > 1 else (0, 0)
    k = np.arange(count, dtype=np.int64)
    return k * whole + (k * rest >> HALF) + min(fine >> HALF + 1, END << BITS)


def _tails(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """T(x), off by less than ERROR units."""
    coefficients = _coefficients()
    apart = BITS - DENSITY
    anchor = x + (1 << apart - 1) >> apart
    u = x - (anchor << apart)
    u_high, u_low = u >> HALF, u & (1 << HALF) - 1
    total: NDArray[np.int64] = coefficients[POWERS][anchor]
    for n in reversed(range(POWERS)):
        high, low = total >> HALF, total & (1 << HALF) - 1
        total = high * u_high + (high * u_low + low * u_high + (low * u_low >> HALF) >> HALF)
        total += coefficients[n][anchor]
    return total


@cache
def _coefficients() -> NDArray[np.int64]:
    """Of u^0, u^1, ... (rows) at the anchors 0, 1/8, ... (columns): off by less than two units.

    Hermite polynomials are exact integers here: `here` is (-1)^(n+1) He_n(a) · 2^(n·DENSITY).
    """
    spare = 64
    bits = BITS + spare
    norm, _ = inverse_root_two_pi(bits)
    columns = []
    for i in range((END << DENSITY) + 1):
        at = Fraction(i, 1 << DENSITY)
        density = exp_neg(at * at / 2, bits)[0] * norm >> bits
        column = [normal_tail(at, bits)[0] >> spare]
        before, here = 0, -1
        for n in range(POWERS):
            column.append((density * here >> n * DENSITY + spare) // factorial(n + 1))
            before, here = here, -i * here - (n << 2 * DENSITY) * before
        columns.append(column)
    return np.array(columns, dtype=np.int64).T.copy()
