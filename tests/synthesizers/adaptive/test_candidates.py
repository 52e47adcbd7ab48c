"""Candidates, and what a single column weighs among them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from understudy.measurements import Centring, Identity
from understudy.synthesizers.adaptive.candidates import (
    BudgetNoise,
    Candidate,
    allocate_budget,
    column_candidates,
    score_marginals,
    shares_of_parts,
)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_what_a_column_weighs_is_how_much_its_error_moves_that_of_what_holds_it(order):
    """Columns and pairs as far off as each other of their kind: a bit less of one
    column's error, by brute force.
    """
    names, column, pair = "abcd"[:order], 30.0, 50.0
    pairs = list(combinations(names, 2))
    expected = {p: np.full((2, 2), 25.0) for p in pairs}
    hopeless = score_marginals(
        expected,
        dict.fromkeys(pairs, pair),
        dict.fromkeys(pairs, 1.0),
        BudgetNoise(1e9, 0.5),
        {},
    )
    errors, sizes = dict.fromkeys(names, column), dict.fromkeys(names, 2)
    weights, noise = dict.fromkeys(names, 1.0), BudgetNoise(1.0, 0.5)
    found = column_candidates(
        hopeless, dict.fromkeys(pairs, pair), errors, sizes, weights, order, noise, {}
    )

    def error(one):
        return math.sqrt(one**2 + (order - 1) * column**2 + len(pairs) * pair**2)

    bit = 1e-4
    slope = (error(column + bit) - error(column - bit)) / (2 * bit)
    assert found[("a",)].weight == pytest.approx(slope, rel=1e-6)


def test_a_pair_informs_its_columns_unless_it_is_a_contrast():
    """A column that a strong pair holds gets less by itself."""
    noise = BudgetNoise(60.0, 0.5)
    pair = np.full((2, 8), 100.0)
    parts = {}
    for title, maps in (("plain", ()), ("contrast", (Centring(2), Identity(8)))):
        candidates = {
            ("a", "b"): Candidate.of(pair, 900.0, 1.0, noise, maps),
            ("b",): Candidate.of(np.full(8, 200.0), 1500.0, 1.0, noise),
        }
        parts[title] = allocate_budget(candidates, noise.power)["b",].part
    assert 0 < parts["plain"] < 0.9 * parts["contrast"]


def test_parts_that_another_plan_fixed_have_the_gain_of_their_own_part():
    noise = BudgetNoise(60.0, 0.5)
    pair = Candidate.of(np.full((2, 8), 100.0), 900.0, 1.0, noise)
    candidates = {("a", "b"): pair, ("a", "c"): pair}
    # Parts are in proportion, and may name marginals that were no candidates.
    shares = shares_of_parts(candidates, {("a", "b"): 3.0, ("a",): 1.0})
    assert list(shares) == [("a", "b")]
    assert shares["a", "b"].part == 0.75
    assert 0 < pair.gain_with(0.1) < shares["a", "b"].gain < pair.gain_with(1.0) < 900


def test_without_weight_nothing_is_allocated():
    unwanted = Candidate.of(np.ones(4), 9.0, 0.0, BudgetNoise(1.0, 0.5))
    assert allocate_budget({("a",): unwanted}, 0.5) == {}
