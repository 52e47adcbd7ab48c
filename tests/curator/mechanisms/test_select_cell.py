"""Private choice of one cell."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from kit.curator.contexts import context_of, neighbouring
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.scores import SCORE_GRID, Score, check_score
from understudy.curator.mechanisms.select_cell import cell_distances, choose_cell
from understudy.errors import Refused
from understudy.schema import Boolean, Schema, parse_predicate

SCHEMA = Schema(
    columns=(Boolean(name="a", nullable=False), Boolean(name="b", nullable=False))
)
UNIVERSE = [{"a": x, "b": y} for x in (False, True) for y in (False, True)]


@pytest.mark.parametrize("cell", range(3))
def test_no_row_moves_a_cells_score_by_more_than_one(cell):
    check_score(
        Score(
            "cell",
            lambda c, e: int(cell_distances(c, e)[cell]),
            add_remove=SCORE_GRID,
            replace=SCORE_GRID,
        )
    )


def test_a_smaller_claim_is_found():
    half = Score(
        "half",
        lambda c, e: int(cell_distances(c, e)[0]),
        add_remove=SCORE_GRID // 2,
        replace=SCORE_GRID // 2,
    )
    with pytest.raises(AssertionError, match="is claimed"):
        check_score(half)


@pytest.mark.parametrize("relation", Neighbours)
def test_no_neighbour_moves_any_candidate_by_more_than_one_row(relation):
    for here, there in neighbouring(UNIVERSE, 4, relation):
        tables = [
            context_of(rows, SCHEMA, neighbours=relation).table.counts(
                [("a",), ("a", "b")]
            )
            for rows in (here, there)
        ]
        for one, other in zip(*tables, strict=True):
            estimate = np.full(one.shape, SCORE_GRID // 3)
            moved = np.abs(
                cell_distances(one, estimate) - cell_distances(other, estimate)
            )
            assert moved.max() <= SCORE_GRID


@pytest.mark.parametrize("relation", Neighbours)
def test_the_choice_follows_the_exponential_law(relation):
    """Cells 4, 0 and 1 away from their estimates: odds e^(4ε/2) and e^(ε/2) to 1, under
    both relations; binomial tests at 1e-6.
    """
    from scipy import stats

    rows, repeats = [UNIVERSE[1]] * 4, 4_000
    wanted = {("a",): np.array([0.0, 0.0]), ("b",): np.array([0.0, 3.0])}
    context = context_of(
        rows,
        SCHEMA,
        neighbours=relation,
        accounting=Accounting.PURE,
        epsilon=repeats,
        delta=0,
    )
    picks = Counter(
        choose_cell(context, SCHEMA, wanted, amount=Fraction(1)) for _ in range(repeats)
    )
    odds = {
        (("a",), (0,)): exp(2),
        (("a",), (1,)): 1,
        (("b",), (0,)): 1,
        (("b",), (1,)): exp(0.5),
    }
    for cell, weight in odds.items():
        assert (
            stats.binomtest(picks[cell], repeats, weight / sum(odds.values())).pvalue
            > 1e-6
        )
    broken = exp(4) / (exp(4) + 2 + exp(1))  # the factor 2 forgotten
    assert stats.binomtest(picks[("a",), (0,)], repeats, broken).pvalue < 1e-6
    assert context.payments.amount_left == 0


def test_cells_of_several_columns_come_back_by_their_codes():
    context = context_of(
        [UNIVERSE[2]] * 500, SCHEMA, accounting=Accounting.PURE, epsilon=10, delta=0
    )
    wanted = {("a",): np.array([0.0, 500.0]), ("b", "a"): np.zeros((2, 2))}
    assert choose_cell(context, SCHEMA, wanted, amount=Fraction(1)) == (
        ("b", "a"),
        (0, 1),
    )


def test_structural_zeros_are_no_candidates():
    schema = replace(SCHEMA, impossible=(parse_predicate("a = true and b = true"),))
    context = context_of(
        [UNIVERSE[3]] * 500, schema, accounting=Accounting.PURE, epsilon=100, delta=0
    )
    wanted = {("a", "b"): np.zeros((2, 2))}
    picks = {
        choose_cell(context, schema, wanted, amount=Fraction(1))[1] for _ in range(60)
    }
    assert picks == {(0, 0), (0, 1), (1, 0)}


def test_nothing_to_choose_from_is_refused():
    context = context_of([], SCHEMA)
    left = context.payments.amount_left
    with pytest.raises(Refused, match="Nothing was spent"):
        choose_cell(context, SCHEMA, {}, amount=left)
    assert context.payments.amount_left == left
