"""The floating-point attack breaks the textbook and not the curator."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from understudy.attacks.floating import (
    is_possible_output,
    is_reachable_output,
    run_floating_point_attack,
    textbook_laplace,
)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_the_victim_falls_and_the_curator_stands(epsilon):
    found = run_floating_point_attack(epsilon=epsilon, trials=5_000).facts
    assert found["wrong"] == 0, "what the victim did is never called impossible"
    assert min(found["textbook"].values()) > 0.1
    assert found["curator"] == 0


def test_the_true_count_is_always_possible():
    rng = np.random.default_rng(5)
    for count in (0.0, 1.0, 17.0):
        outputs = textbook_laplace(count, 2.0, 4_000, rng)
        assert is_possible_output(outputs, count, 2.0).all()
        assert not is_possible_output(outputs, count + 1, 2.0).all()


def test_a_hole_is_seen():
    """A double between two neighbours of the victim's outputs cannot be reached."""
    rng = np.random.default_rng(6)
    outputs = textbook_laplace(0.0, 1.0, 2_000, rng)
    assert not is_possible_output(np.nextafter(outputs, np.inf), 0.0, 1.0).all()


def test_every_integer_is_reachable():
    assert is_reachable_output(np.arange(-50, 50), 3).all()
