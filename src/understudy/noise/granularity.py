"""The geometric mechanism on the lattice γℤ: for queries whose natural step is not one.

The query q is rounded to the nearest multiple of γ (exact halves up), and γ·G is added,
G discrete Laplace of scale ⌈Δ/γ⌉/ε.

Why it is private. Rounding half up is monotone and commutes with adding multiples of γ.
If q ≤ q' ≤ q + Δ and D = ⌈Δ/γ⌉, then round(q) ≤ round(q') ≤ round(q + Dγ) = round(q) +
Dγ: in units of γ the rounded query moves by at most the integer D, and the discrete
Laplace with t = exp(-ε/D) changes every outcome's probability by at most t^-D = e^ε.
(Rounding halves to even does not commute with shifts and may move by D + 1.) Outputs
are multiples of γ whatever the data, so their low bits say nothing. `value` must be
exact; if it was computed in floats, `sensitivity` must cover their rounding.

Sensitivity checked in tests/noise/test_granularity.py over a dense grid of pairs.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from understudy.errors import Refused
from understudy.noise.samplers import discrete_laplace
from understudy.noise.source import OS_SOURCE, BitSource


def round_to_lattice(value: Fraction, granularity: Fraction) -> int:
    """The multiple of `granularity` nearest to `value`, exact halves up.

    >>> [round_to_lattice(Fraction(n, 2), Fraction(1)) for n in (5, -5)]
    [3, -2]
    """
    return floor(Fraction(value) / granularity + Fraction(1, 2))


def granular_scale(
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    granularity: Fraction,
) -> Fraction:
    """Scale of the noise in units of the granularity.

    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> granular_scale(epsilon=half, sensitivity=one, granularity=Fraction(2, 5))
    Fraction(6, 1)
    """
    for name, number in (
        ("epsilon", epsilon),
        ("sensitivity", sensitivity),
        ("granularity", granularity),
    ):
        if type(number) not in (Fraction, int) or number <= 0:
            raise Refused(
                f"{name} must be a positive exact Fraction. No noise was drawn."
            )
    # Rounded up to whole steps: rounding can move the query that far, and no further.
    steps = ceil(Fraction(sensitivity) / granularity)
    return steps / Fraction(epsilon)


def granular_laplace(
    value: Fraction,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    granularity: Fraction,
    source: BitSource = OS_SOURCE,
) -> Fraction:
    """`value` rounded to the lattice plus lattice noise: ε-private when `value` moves
    by at most `sensitivity` between neighbours.

    >>> one, eighth = Fraction(1), Fraction(1, 8)
    >>> noisy = granular_laplace(
    ...     Fraction(1, 3), epsilon=one, sensitivity=one, granularity=eighth
    ... )
    >>> (noisy * 8).denominator
    1
    """
    scale = granular_scale(
        epsilon=epsilon,
        sensitivity=sensitivity,
        granularity=granularity,
    )
    noise = int(discrete_laplace(scale, 1, source=source)[0])
    return (round_to_lattice(value, granularity) + noise) * Fraction(granularity)
