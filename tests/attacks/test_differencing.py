"""Two counts and one person: certain without noise, bounded with it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, sqrt

import pytest

from understudy.attacks.differencing import (
    max_guess_rate,
    run_differencing_attack,
    simulate_guess_rate,
)


def test_exact_counts_are_certain_and_noisy_ones_bounded():
    found = run_differencing_attack().facts
    assert found["exact"] == 1
    for epsilon, share in found["noisy"].items():
        assert share <= found["bound"][epsilon] + 5 * 0.5 / sqrt(found["trials"])


def test_a_difference_of_more_than_one_still_tells():
    """By hand: every way in which x of 3 people can have a secret, and the best guess
    about each of them.
    """
    for x, share in run_differencing_attack(trials=10).facts["freddies"].items():
        ways = [way for way in product((0, 1), repeat=3) if sum(way) == int(x)]
        best = max(sum(bit == guess for way in ways for bit in way) for guess in (0, 1))
        assert share == best / (3 * len(ways))


@pytest.mark.parametrize("epsilon", [Fraction(10), Fraction(1)])
def test_noise_lets_through_what_its_law_says(epsilon):
    """P(noise difference ≤ 0) for two discrete Laplace draws of scale 2/ε, from their
    masses; false alarm 1e-6.
    """
    t = exp(-float(epsilon) / 2)
    zero = ((1 - t) / (1 + t)) ** 2 * sum(t ** (2 * abs(k)) for k in range(-200, 201))
    expected = (1 + zero) / 2
    assert abs(simulate_guess_rate(epsilon, 40_000) - expected) < 5 * 0.5 / sqrt(40_000)


def test_the_bound():
    assert max_guess_rate(Fraction(1)) == pytest.approx(exp(1) / (1 + exp(1)))
