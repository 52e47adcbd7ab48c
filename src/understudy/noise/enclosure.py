"""Integers that enclose exp, π and the normal tail, at any precision.

Every function returns (lo, hi) with lo ≤ value · 2^bits ≤ hi. All steps are on Python
integers; each division or shift is rounded down for lo and up for hi, and every series
is cut with a bound on what is left out. No float is involved (docs/proofs/noise.md,
§2).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

from understudy.noise.source import IntegerBounds


def shift_rounding_up(a: int, by: int) -> int:
    """a / 2^by, rounded up."""
    # Python's shift rounds towards minus infinity, so the negative rounds the other way.
    return -(-a >> by)


def reduce_precision(lo: int, hi: int, by: int) -> IntegerBounds:
    """The same enclosure at `by` bits less precision."""
    return lo >> by, shift_rounding_up(hi, by)


def enclose_exp_neg(x: Fraction, bits: int) -> IntegerBounds:
    """Encloses exp(-x) for x ≥ 0.

    >>> lo, hi = enclose_exp_neg(Fraction(1), 30)
    >>> lo / 2**30 <= 0.36787944117 <= hi / 2**30
    True
    """
    if x == 0:
        return 1 << bits, 1 << bits
    # Zero and one unit enclose it: exp(-x) ≤ exp(-bits) < 2^-bits.
    if x >= bits:
        return 0, 1
    # exp(-x) = exp(-y)^(2^halvings) with y < 1/64, so that the alternating series is
    # short.
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 7)
    work = bits + halvings + 16
    y_lo = (x.numerator << work) // (x.denominator << halvings)
    y_hi = y_lo + 1
    lo = hi = term_lo = term_hi = 1 << work
    j = 0
    while term_hi > 1:
        j += 1
        term_lo = (term_lo * y_lo >> work) // j
        term_hi = -(-shift_rounding_up(term_hi * y_hi, work) // j)
        if j % 2:
            lo = lo - term_hi
            hi = hi - term_lo
        else:
            lo = lo + term_lo
            hi = hi + term_hi
    # The terms alternate and shrink: what is left out is at most the last one.
    lo = lo - term_hi
    hi = hi + term_hi
    for _ in range(halvings):
        lo = lo * lo >> work
        hi = shift_rounding_up(hi * hi, work)
    return reduce_precision(lo, hi, work - bits)


def _approximate_arctan_inverse(n: int, work: int) -> tuple[int, int]:
    """arctan(1/n) · 2^work to within the second number: partial sums of the alternating
    series, each term short by less than 2.
    """
    power = total = (1 << work) // n
    j = 1
    sign = -1
    while power:
        power //= n * n
        j += 2
        total += sign * (power // j)
        sign = -sign
    return total, j + 2


@lru_cache(maxsize=16)
def enclose_pi(bits: int) -> IntegerBounds:
    """Encloses π, by Machin's formula 16 arctan(1/5) - 4 arctan(1/239).

    >>> enclose_pi(8)
    (804, 805)
    """
    guard = 32
    a, error_a = _approximate_arctan_inverse(5, bits + guard)
    b, error_b = _approximate_arctan_inverse(239, bits + guard)
    middle = 16 * a - 4 * b
    error = 16 * error_a + 4 * error_b
    return reduce_precision(middle - error, middle + error, guard)


@lru_cache(maxsize=16)
def enclose_inverse_root_two_pi(bits: int) -> IntegerBounds:
    """Encloses 1/√(2π).

    >>> lo, hi = enclose_inverse_root_two_pi(30)
    >>> lo / 2**30 <= 0.3989422804 <= hi / 2**30
    True
    """
    lo, hi = enclose_pi(bits)
    return isqrt((1 << 3 * bits) // (2 * hi)), isqrt((1 << 3 * bits) // (2 * lo)) + 1


def enclose_normal_tail(x: Fraction, bits: int) -> IntegerBounds:
    """Encloses P(N(0, 1) > x) for x ≥ 0: ½ - φ(x) Σ x^(2n+1) / (1·3·5···(2n+1)), a
    series of positive terms.

    >>> lo, hi = enclose_normal_tail(Fraction(2), 30)
    >>> lo / 2**30 <= 0.0227501319 <= hi / 2**30
    True
    """
    square = x * x
    # Zero and one unit enclose it: P ≤ exp(-x²/2)/2 < 2^-bits.
    if square >= 2 * bits:
        return 0, 1
    # The series grows like exp(x²/2) < 2^(3x²/4) while φ shrinks: that many more bits
    # keep the product sharp.
    work = bits + int(square) + 32
    numerator = square.numerator
    denominator = square.denominator
    term_lo = (x.numerator << work) // x.denominator
    term_hi = term_lo + 1
    sum_lo = term_lo
    sum_hi = term_hi
    odd = 1
    while term_hi > 1 or 2 * numerator > odd * denominator:
        odd += 2
        term_lo = term_lo * numerator // (denominator * odd)
        term_hi = -(-term_hi * numerator // (denominator * odd))
        sum_lo = sum_lo + term_lo
        sum_hi = sum_hi + term_hi
    # From here every ratio is below ½, so the rest is at most the last term.
    sum_hi += term_hi
    exp_lo, exp_hi = enclose_exp_neg(square / 2, work)
    norm_lo, norm_hi = enclose_inverse_root_two_pi(work)
    mass_lo = (exp_lo * norm_lo >> work) * sum_lo >> work
    mass_hi = shift_rounding_up(
        shift_rounding_up(exp_hi * norm_hi, work) * sum_hi, work
    )
    half = 1 << (work - 1)
    return reduce_precision(max(half - mass_hi, 0), half - mass_lo, work - bits)
