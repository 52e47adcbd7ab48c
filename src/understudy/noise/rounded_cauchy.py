"""Cauchy noise with a secret scale, rounded to an integer: exact.

For smooth sensitivity (Nissim, Raskhodnikova, Smith 2007), where the scale of the noise
depends on the rows, and so must not show in anything but the noise itself.

How it is exact. (X, Y) is uniform on a quarter of the unit disc, by rejection; X/Y is
then the tangent of a uniform angle, which is |Cauchy|. X, Y and the scale are intervals
of integers that are refined until the disc, and the rounding of centre ± scale·X/Y, are
certain. More bits of the same X and Y are read, never fresh ones, so no outcome is
favoured for being quick to find. The scale may be irrational: it is only ever enclosed.

Checked against arctan in tests/noise/test_rounded_cauchy.py.
"""

from __future__ import annotations

from collections.abc import Callable

from understudy.noise.source import (
    OS_SOURCE,
    REFINEMENT_BITS,
    BitSource,
    IntegerBounds,
)


def draw_rounded_cauchy(
    centre: int,
    enclose_scale: Callable[[int], IntegerBounds],
    *,
    source: BitSource = OS_SOURCE,
) -> int:
    """round(centre + scale · C) for a standard Cauchy C, where `enclose_scale(b)` encloses
    scale · 2^b ever more tightly as b grows.

    >>> draw_rounded_cauchy(7, lambda bits: (0, 0))
    7
    """
    x, y, bits = _draw_in_disc(source)
    is_negative = bool(source.bits(1))
    while True:
        lo, hi = enclose_scale(bits)
        # X/Y lies between x/(y + 1) and (x + 1)/y, and the scale between lo and hi.
        if y:
            low = _round_half_up(lo * x, y + 1, bits)
            high = _round_half_up(hi * (x + 1), y, bits)
            if low == high:
                return centre - low if is_negative else centre + low
        x, y, bits = _refine_point(x, y, bits, source)


def _draw_in_disc(source: BitSource) -> tuple[int, int, int]:
    """A uniform point of the quarter disc, and how many bits of it are known."""
    while True:
        x, y, bits = _refine_point(0, 0, 0, source)
        # A square that the circle cuts, one in 2^63, is decided by more bits of it.
        while x * x + y * y < 1 << 2 * bits:
            if (x + 1) ** 2 + (y + 1) ** 2 <= 1 << 2 * bits:
                return x, y, bits
            x, y, bits = _refine_point(x, y, bits, source)


def _refine_point(x: int, y: int, bits: int, source: BitSource) -> tuple[int, int, int]:
    """The same point with more bits."""
    x = x << REFINEMENT_BITS | source.bits(REFINEMENT_BITS)
    y = y << REFINEMENT_BITS | source.bits(REFINEMENT_BITS)
    return x, y, bits + REFINEMENT_BITS


def _round_half_up(numerator: int, denominator: int, bits: int) -> int:
    """numerator / (denominator · 2^bits) to the nearest integer, halves up."""
    whole = denominator << bits
    return (2 * numerator + whole) // (2 * whole)
