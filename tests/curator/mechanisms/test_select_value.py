"""Private choice of a public candidate by a linear score."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats

from kit.curator.contexts import context_of, neighbouring
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms import select_value
from understudy.curator.mechanisms.select_value import (
    are_scores_monotone,
    choose_value,
    score_sensitivity,
)
from understudy.errors import Refused
from understudy.schema import Categorical, Identifier, Schema, Unit

SCHEMA = Schema(
    columns=(Categorical(name="colour", values=("r", "g", "b"), nullable=False),)
)
UNIVERSE = [{"colour": value} for value in ("r", "g", "b")]
MODE = np.eye(3, dtype=np.int64)
MIXED = np.array([[3, -1, 0], [0, 2, 2], [-2, -2, 5]])
PURE = {"accounting": Accounting.PURE, "delta": 0}


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("weights", [MODE, MIXED, -MODE])
def test_no_neighbour_moves_a_score_further_than_is_claimed(weights, relation):
    claimed = score_sensitivity(weights, relation)
    monotone = are_scores_monotone(weights, relation)
    largest = 0
    for pair in neighbouring(UNIVERSE, 4, relation):
        here, there = (
            weights @ context_of(rows, SCHEMA).table.counts([("colour",)])[0]
            for rows in pair
        )
        moved = here - there
        largest = max(largest, int(np.abs(moved).max()))
        if monotone:
            assert (moved >= 0).all() or (moved <= 0).all()
    assert largest == claimed


def test_units_of_several_rows_move_a_score_as_often():
    for relation in Neighbours:
        assert score_sensitivity(MODE, relation, max_rows=3) == 3
    assert score_sensitivity(MIXED, Neighbours.REPLACE) == 7
    # Exchanged for a unit without rows, a score moves by max|W| a row, not by its range.
    ones = np.ones((1, 3), np.int64)
    assert score_sensitivity(ones, Neighbours.REPLACE) == 0
    assert score_sensitivity(ones, Neighbours.REPLACE, max_rows=2) == 2
    assert score_sensitivity(ones, Neighbours.REPLACE, may_vanish=True) == 1


@pytest.mark.parametrize("relation", Neighbours)
def test_small_integers_are_as_sensitive_as_large_ones(relation):
    """In 8 bits −128 is its own size, and 100 − (−100) is negative."""
    for weights in ([[-128, 5, 0]], [[100, -100, 0]]):
        wide = np.array(weights)
        claimed = score_sensitivity(wide, relation)
        assert score_sensitivity(wide.astype(np.int8), relation) == claimed >= 100


def test_a_person_who_is_exchanged_for_nobody_moves_a_score(monkeypatch):
    """Under replace, with an id, all rows of a unit may go: the id of another is missing."""
    seen = []

    def choose(scores: object, *, sensitivity: Fraction, **given: object) -> int:
        seen.append(sensitivity)
        return 0

    monkeypatch.setattr(select_value, "exponential_mechanism", choose)
    fives = np.full((2, 3), 5)
    person = Identifier(name="person")
    by_id = Schema(columns=(*SCHEMA.columns, person), unit=Unit(id="person"))
    for schema in (SCHEMA, by_id):
        context = context_of(UNIVERSE, schema, neighbours=Neighbours.REPLACE)
        choose_value(context, schema, ("colour",), fives, amount=Fraction(1, 99))
    assert seen == [1, 5]


@pytest.mark.parametrize("relation", Neighbours)
def test_the_choice_follows_the_exponential_law(relation):
    """Binomial tests at 1e-6; counts of one sign save the factor 2 under add/remove."""
    repeats = 1_500
    rows = [UNIVERSE[0]] * 2 + [UNIVERSE[1]]
    context = context_of(rows, SCHEMA, neighbours=relation, epsilon=repeats, **PURE)
    base = np.array([1, 3, 2])
    picks = Counter(
        choose_value(context, SCHEMA, ("colour",), MODE, amount=Fraction(1), base=base)
        for _ in range(repeats)
    )
    rate = 1 if relation is Neighbours.ADD_REMOVE else 0.5
    odds = [exp(2 * rate), 3 * exp(rate), 2]
    for index, weight in enumerate(odds):
        share = weight / sum(odds)
        assert stats.binomtest(picks[index], repeats, share).pvalue > 1e-6
    other = [exp(3 - 2 * rate), 3 * exp(1.5 - rate), 2]  # the other relation's factor
    broken = other[2] / sum(other)
    assert stats.binomtest(picks[2], repeats, broken).pvalue < 1e-6
    assert context.payments.amount_left == 0


def test_bad_scores_are_refused_before_anything_is_spent():
    context = context_of(UNIVERSE, SCHEMA, **PURE)
    bad = [
        (np.ones((2, 2), np.int64), None, "one integer of at most"),
        (np.ones((2, 3)), None, "one integer of at most"),
        (np.full((2, 3), 2**21), None, "one integer of at most"),
        (np.full((2, 3), -(2**63)), None, "one integer of at most"),
        (np.ones((0, 3), np.int64), None, "one integer of at most"),
        (MODE, np.zeros(3, np.int64), "not all are 0"),
        (MODE, np.array([1, -1, 1]), "non-negative"),
    ]
    for weights, base, named in bad:
        with pytest.raises(Refused, match=named):
            choose_value(
                context, SCHEMA, ("colour",), weights, amount=Fraction(1), base=base
            )
    assert context.payments.amount_left == 1
