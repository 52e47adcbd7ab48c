"""Noise on the lattice γℤ."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from understudy.errors import Refused
from understudy.noise import granular_laplace, granular_scale, round_to_lattice


@pytest.mark.parametrize(
    "granularity",
    [Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(7, 4)],
    ids=str,
)
def test_rounding_moves_no_further_than_claimed(granularity):
    """Every pair of values on a fine grid: the rounded values differ by at most ⌈Δ/γ⌉
    steps, and sometimes by that much.
    """
    grid = [Fraction(i, 24) for i in range(-60, 61)]
    reached = False
    for a, b in product(grid, grid):
        if a == b:
            continue
        claim = granular_scale(
            epsilon=Fraction(1), sensitivity=abs(a - b), granularity=granularity
        )
        moved = abs(round_to_lattice(a, granularity) - round_to_lattice(b, granularity))
        assert moved <= claim
        reached |= moved == claim
    assert reached


def test_rounding_halves_to_even_would_move_further():
    """Why halves go up: 1/2 and 3/2 are one apart, and rounding to even puts them two
    apart.
    """
    assert round(Fraction(3, 2)) - round(Fraction(1, 2)) == 2
    assert (
        round_to_lattice(Fraction(3, 2), Fraction(1))
        - round_to_lattice(Fraction(1, 2), Fraction(1))
        == 1
    )


def test_scale_is_the_textbooks():
    """t = exp(-γε/Δ') with Δ' = γ⌈Δ/γ⌉."""
    half = Fraction(1, 2)
    assert (
        granular_scale(epsilon=half, sensitivity=Fraction(1), granularity=Fraction(1))
        == 2
    )
    assert (
        granular_scale(
            epsilon=half, sensitivity=Fraction(1), granularity=Fraction(1, 10)
        )
        == 20
    )
    assert (
        granular_scale(
            epsilon=half, sensitivity=Fraction(1), granularity=Fraction(3, 10)
        )
        == 8
    )
    assert (
        granular_scale(epsilon=half, sensitivity=Fraction(1), granularity=Fraction(5))
        == 2
    )


@pytest.mark.parametrize(
    "value", [Fraction(0), Fraction(1, 3), Fraction(10**15, 7)], ids=str
)
def test_reachable_outputs_do_not_depend_on_the_input(value):
    step = Fraction(1, 8)
    for _ in range(300):
        noisy = granular_laplace(
            value, epsilon=Fraction(1, 10), sensitivity=Fraction(1), granularity=step
        )
        assert (noisy / step).denominator == 1


def test_variance_is_that_of_the_lattice():
    epsilon, step = Fraction(1), Fraction(1, 2)
    draws = [
        granular_laplace(5, epsilon=epsilon, sensitivity=1, granularity=step)
        for _ in range(20_000)
    ]
    t = np.exp(-0.5)
    assert (
        abs(np.var([float(d) for d in draws]) / (0.25 * 2 * t / (1 - t) ** 2) - 1)
        < 0.15
    )


@pytest.mark.parametrize("name", ["epsilon", "sensitivity", "granularity"])
@pytest.mark.parametrize("bad", [0, -1, 0.5, True])
def test_only_positive_exact_numbers(name, bad):
    arguments = {
        "epsilon": Fraction(1),
        "sensitivity": Fraction(1),
        "granularity": Fraction(1),
    } | {name: bad}
    with pytest.raises(Refused, match=name):
        granular_scale(**arguments)
