"""How strong an interaction is, told from noisy counts, and what a fit makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.measurements import Centring, Identity
from understudy.models.interactions import COLUMN, LEAST, MOST, believed, folded, strength
from understudy.models.terms import Term


@pytest.mark.parametrize("tau", [1.0, 9.0, 100.0])
@pytest.mark.parametrize("variance", [1.0, 400.0])
def test_the_strength_that_made_the_counts_is_found(tau, variance):
    draw = np.random.default_rng(1)
    expected = draw.gamma(0.5, 200.0, (60, 50))
    noisy = draw.normal(expected, np.sqrt(tau * expected + variance))
    assert strength(noisy, expected, variance) == pytest.approx(tau, rel=0.15, abs=variance / 400)


def test_noise_alone_has_the_least_strength():
    draw = np.random.default_rng(2)
    expected = np.full((20, 20), 30.0)
    assert strength(draw.normal(expected, 50.0), expected, 3000.0) == LEAST
    # It has teeth: the same counts with less noise are a strong interaction.
    assert strength(draw.normal(expected, 50.0), expected, 100.0) > 40


def test_folding_keeps_cells_and_their_roots():
    expected = np.random.default_rng(3).gamma(0.3, 100.0, (30, 30))
    sizes, many = folded(expected)
    assert many.sum() == 900
    assert (many * np.sqrt(sizes)).sum() == pytest.approx(np.sqrt(np.maximum(expected, 1e-9)).sum())
    assert len(sizes) <= 40


def test_a_weak_marginal_is_believed_less_than_a_strong_one():
    columns = {name: np.full(4, 250.0) for name in "abc"}
    even, own = np.full((4, 4), 62.5), (Identity(4), Identity(4))
    strong = Term(("a", "b"), own, np.diag(np.full(4, 250.0)), 100.0)
    weak = Term(("a", "c"), own, even + np.random.default_rng(0).normal(0, 10, (4, 4)), 100.0)
    single = Term(("a",), (Identity(4),), np.full(4, 250.0), 100.0)
    made, mean = believed([strong, weak, single], columns, 1000.0)
    factors = [100.0 / term.variance for term in made]
    assert factors[0] == MOST * 10  # as strong as a fit goes
    assert factors[1] < 2
    assert factors[2] == COLUMN
    assert mean == pytest.approx((16 * factors[0] + 16 * factors[1] + 4 * COLUMN) / 36)


def test_centred_answers_are_taken_as_they_are():
    term = Term(("a", "b"), (Centring(2), Centring(2)), np.array([[3.0, -3.0], [-3.0, 3.0]]), 16.0)
    made, _ = believed([term], {"a": np.full(2, 50.0), "b": np.full(2, 50.0)}, 100.0)
    assert made[0].variance >= 16.0 / COLUMN
