"""The normal tail T(x) = P(N(0,1) > x) at evenly spaced points, enclosed for all of
them in a few array passes.

One value costs a long series on big integers (enclosure.py); a table needs thousands of
them. Around an anchor a,

  T(a + u) = T(a) - φ(a) Σ_n (-1)ⁿ He_n(a) u^(n+1) / (n+1)!,

and for |u| ≤ 1/16 twelve powers of u leave out less than 2^-70. Coefficients at the
anchors are enclosed once by big integers and serve every spacing; the polynomial is
then evaluated in 64-bit integers, for all points at once. No float is involved: a
number v stands for v · 2^-58, every shift rounds down, and docs/proofs/noise.md, §3
counts what that can add up to.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import factorial

import numpy as np
from numpy.typing import NDArray

from understudy.noise.enclosure import (
    enclose_exp_neg,
    enclose_inverse_root_two_pi,
    enclose_normal_tail,
)

FIXED_POINT_HALF_BITS = 29
FIXED_POINT_BITS = 2 * FIXED_POINT_HALF_BITS
"""A number v stands for v · 2^-FIXED_POINT_BITS; products are formed from halves, so that they fit
64 bits.
"""

ANCHOR_DENSITY_BITS = 3
"""There are 2^ANCHOR_DENSITY_BITS anchors from one x to x + 1."""

TAIL_SERIES_POWERS = 12
"""Powers of u in each polynomial."""

MAX_NORMAL_TAIL_POINT = 9
"""Beyond this x, T is less than one unit."""

MAX_TAIL_ERROR_UNITS = 8
"""Units by which a computed tail can be off."""


def enclose_normal_tails(step: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Encloses T(step/2), T(3 step/2), ... · 2^BITS, up to the first whose lower bound
    is zero.

    >>> low, high = enclose_normal_tails(Fraction(1, 2))
    >>> points = [Fraction(2 * k + 1, 4) for k in range(len(low))]
    >>> exact = [enclose_normal_tail(x, FIXED_POINT_BITS) for x in points]
    >>> all(lo < one[0] and one[1] < hi for lo, one, hi in zip(low[:-1], exact, high))
    True
    >>> int(low[-1])
    0
    """
    # One at least: a point beyond the end is taken for the end.
    count = int((2 * MAX_NORMAL_TAIL_POINT / step - 1) / 2) + 1
    middle = np.append(_evaluate_tails(_half_step_points(step, count)), 0)
    end = int(np.argmax(middle <= MAX_TAIL_ERROR_UNITS)) + 1
    return (
        np.maximum(middle[:end] - MAX_TAIL_ERROR_UNITS, 0),
        np.maximum(middle[:end], 0) + MAX_TAIL_ERROR_UNITS,
    )


def enclose_normal_tails_at(
    step: Fraction, places: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Encloses T((k + ½) step) · 2^BITS for each of these k ≥ -1; at -1 as at 0.

    >>> low, high = enclose_normal_tails_at(Fraction(1, 10**6), [0, 10**6, 10**8])
    >>> (low / 2**FIXED_POINT_BITS).round(4).tolist(), int(high[2])
    ([0.5, 0.1587, 0.0], 8)
    """
    end = MAX_NORMAL_TAIL_POINT << FIXED_POINT_BITS
    numerator = step.numerator << FIXED_POINT_BITS - 1
    # Big integers, one rounding down: short by less than one unit.
    points = [max(2 * k + 1, 1) * numerator // step.denominator for k in places]
    middle = _evaluate_tails(np.array([min(x, end) for x in points], np.int64))
    return (
        np.maximum(middle - MAX_TAIL_ERROR_UNITS, 0),
        np.maximum(middle, 0) + MAX_TAIL_ERROR_UNITS,
    )


def _half_step_points(step: Fraction, count: int) -> NDArray[np.int64]:
    """(k + ½) step for k = 0, 1, ...: short by less than three units."""
    # The step with half a word more than the fixed point: k times its rounding error
    # stays below a unit.
    fine_bits = FIXED_POINT_BITS + FIXED_POINT_HALF_BITS
    fine = (step.numerator << fine_bits) // step.denominator
    whole = rest = 0
    if count > 1:
        whole = fine >> FIXED_POINT_HALF_BITS
        rest = fine & (1 << FIXED_POINT_HALF_BITS) - 1
    end = MAX_NORMAL_TAIL_POINT << FIXED_POINT_BITS
    first = min(fine >> FIXED_POINT_HALF_BITS + 1, end)
    k = np.arange(count, dtype=np.int64)
    return k * whole + (k * rest >> FIXED_POINT_HALF_BITS) + first


def _evaluate_tails(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """T(x), off by less than MAX_TAIL_ERROR_UNITS."""
    coefficients = _anchor_coefficients()
    apart = FIXED_POINT_BITS - ANCHOR_DENSITY_BITS
    anchor = x + (1 << apart - 1) >> apart
    u = x - (anchor << apart)
    u_high = u >> FIXED_POINT_HALF_BITS
    u_low = u & (1 << FIXED_POINT_HALF_BITS) - 1
    total: NDArray[np.int64] = coefficients[TAIL_SERIES_POWERS][anchor]
    for n in reversed(range(TAIL_SERIES_POWERS)):
        # Horner's step total · u, from halves: a whole product would need 116 bits.
        high = total >> FIXED_POINT_HALF_BITS
        low = total & (1 << FIXED_POINT_HALF_BITS) - 1
        total = high * u_high + (
            high * u_low + low * u_high + (low * u_low >> FIXED_POINT_HALF_BITS)
            >> FIXED_POINT_HALF_BITS
        )
        total += coefficients[n][anchor]
    return total


@cache
def _anchor_coefficients() -> NDArray[np.int64]:
    """Of u^0, u^1, ... (rows) at the anchors 0, 1/8, ... (columns): off by less than
    two units.

    Hermite polynomials are exact integers here: `here` is (-1)^(n+1) He_n(a) ·
    2^(n·DENSITY).
    """
    spare = 64
    bits = FIXED_POINT_BITS + spare
    norm, _ = enclose_inverse_root_two_pi(bits)
    columns = []
    for i in range((MAX_NORMAL_TAIL_POINT << ANCHOR_DENSITY_BITS) + 1):
        at = Fraction(i, 1 << ANCHOR_DENSITY_BITS)
        density = enclose_exp_neg(at * at / 2, bits)[0] * norm >> bits
        column = [enclose_normal_tail(at, bits)[0] >> spare]
        before = 0
        here = -1
        for n in range(TAIL_SERIES_POWERS):
            column.append(
                (density * here >> n * ANCHOR_DENSITY_BITS + spare) // factorial(n + 1)
            )
            before, here = here, -i * here - (n << 2 * ANCHOR_DENSITY_BITS) * before
        columns.append(column)
    return np.array(columns, dtype=np.int64).T.copy()
