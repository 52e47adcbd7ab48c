"""Every score's sensitivity, tried on every small dataset; and what each score is,
tried against its definition.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from kit.curator.contexts import context_of
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.scores import (
    CHOICE_SCORES,
    MAX_SCORE_ROWS,
    SCORE_GRID,
    Score,
    check_score,
    information_sensitivity,
    l1_distance,
    score_dependence,
    score_determination,
    score_information,
)
from understudy.curator.mechanisms.select_marginal import choose_clique
from understudy.errors import Refused
from understudy.schema import Boolean, Schema

R, MI, F = (CHOICE_SCORES[name] for name in "RIF")


@pytest.mark.parametrize(
    ("name", "shape", "rows"),
    [
        ("l1", (3,), 6),
        ("R", (2, 2), 9),
        ("R", (2, 3), 7),
        ("R", (3, 3), 5),
        ("R", (2, 2, 2), 5),
        ("R", (3,), 5),
        ("I", (2, 2), 9),
        ("I", (2, 3), 7),
        ("I", (4, 2), 5),
        ("I", (3, 3), 5),
        ("I", (3,), 5),
        ("F", (2, 2), 10),
        ("F", (2, 4), 6),
        ("F", (2, 2, 2), 6),
        ("F", (2,), 6),
    ],
)
def test_no_row_moves_a_score_by_more_than_it_claims(
    name: str, shape: tuple[int, ...], rows: int
):
    check_score(CHOICE_SCORES[name], shape=shape, rows=rows)


def test_every_score_is_tried():
    tried = {
        mark.args[1][i][0]
        for mark in test_no_row_moves_a_score_by_more_than_it_claims.pytestmark
        for i in range(15)
    }
    assert tried == set(CHOICE_SCORES)


def as_if_binary(rows: int, shape: tuple[int, ...]) -> int:
    return information_sensitivity(rows, (2, 2))


@pytest.mark.parametrize(
    ("broken", "shape"),
    [
        (
            Score(
                "halved",
                l1_distance,
                add_remove=SCORE_GRID // 2,
                replace=2 * SCORE_GRID,
            ),
            (3,),
        ),
        (
            Score(
                "replace as add", l1_distance, add_remove=SCORE_GRID, replace=SCORE_GRID
            ),
            (3,),
        ),
        (
            Score(
                "squared",
                lambda c, e: l1_distance(c, e) ** 2 // SCORE_GRID,
                add_remove=SCORE_GRID,
                replace=2 * SCORE_GRID,
            ),
            (3,),
        ),
        (
            Score(
                "normalised",
                lambda c, e: l1_distance(c, e) // max(int(c.sum()), 1),
                add_remove=1,
                replace=2,
            ),
            (3,),
        ),
        (
            replace(
                R, name="R as an L1 distance", of=lambda c, e: 2 * score_dependence(c)
            ),
            (3, 3),
        ),
        (
            replace(R, name="R of the joint alone", replace=lambda n, s: SCORE_GRID),
            (3, 3),
        ),
        (replace(R, name="R with n private", add_remove=SCORE_GRID // 8), (2, 2)),
        (replace(MI, name="I of two values for three", replace=as_if_binary), (3, 3)),
        (
            replace(
                MI,
                name="I in other logarithms",
                of=lambda c, e: round(score_information(c) / math.log2(1.5)),
            ),
            (2, 2),
        ),
        (replace(MI, name="I with n private", add_remove=SCORE_GRID), (2, 2)),
        (
            replace(
                MI, name="I as if it were an average", replace=lambda n, s: SCORE_GRID
            ),
            (2, 2),
        ),
        (replace(F, name="F halved", replace=lambda n, s: SCORE_GRID // 2), (2, 2)),
        (
            replace(
                F,
                name="F as an L1 distance",
                of=lambda c, e: 2 * score_determination(c),
            ),
            (2, 4),
        ),
    ],
    ids=lambda s: s.name if isinstance(s, Score) else "x".join(map(str, s)),
)
def test_a_wrong_claim_is_found(broken: Score, shape: tuple[int, ...]):
    with pytest.raises(AssertionError, match="is claimed"):
        check_score(broken, shape=shape, rows=5)


def test_the_distance_is_what_it_says():
    assert (
        l1_distance(np.array([3, 0]), np.array([SCORE_GRID, SCORE_GRID]))
        == 3 * SCORE_GRID
    )


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 2), (4, 4)])
def test_dependence_and_information_are_what_they_say(shape: tuple[int, ...]):
    rng = np.random.default_rng(4)
    for _ in range(20):
        counts = rng.integers(0, 30, shape)
        joint = counts.reshape(shape[0], -1) / counts.sum()
        apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        assert score_dependence(counts) == pytest.approx(
            counts.sum() * SCORE_GRID * np.abs(joint - apart).sum() / 2, abs=1
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.where(joint > 0, joint * np.log2(joint / apart), 0.0).sum()
        assert score_information(counts) == pytest.approx(
            counts.sum() * SCORE_GRID * bits, abs=1
        )


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_determination_is_the_best_way_to_give_cells(cells: int):
    """Against every way to give cells of P to the values of X."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        counts = rng.integers(0, 9, (2, cells))
        n = int(counts.sum())
        best = min(
            max(
                n / 2
                - sum(counts[side, i] for i, side in enumerate(sides) if side == 0),
                0,
            )
            + max(
                n / 2
                - sum(counts[side, i] for i, side in enumerate(sides) if side == 1),
                0,
            )
            for sides in product((0, 1), repeat=cells)
        )
        assert score_determination(counts) == -best * SCORE_GRID


def test_the_bound_on_information_is_nearly_reached():
    """A claim far above what any row does would be safe and useless: three values, n =
    5, reach it but for the rounding.
    """
    here = np.array([[1, 1, 1], [1, 0, 0], [1, 0, 0]])
    there = here.copy()
    there[0, 0] -= 1
    there = np.pad(there, ((0, 1), (0, 1)))
    there[3, 3] = 1
    moved = abs(
        score_information(np.pad(here, ((0, 1), (0, 1)))) - score_information(there)
    )
    assert (
        information_sensitivity(5, (4, 4)) - 4
        <= moved
        <= information_sensitivity(5, (4, 4))
    )


def test_the_bound_on_dependence_is_nearly_reached():
    """One row moves R by 2.89 here: a claim of 2 would be wrong, and 3 + 2/n is not far
    from the truth.
    """
    here = np.array([[0, 45, 0], [10, 450, 0], [0, 0, 1]])
    there = np.array([[1, 45, 0], [10, 450, 0], [0, 0, 0]])
    moved = abs(score_dependence(here) - score_dependence(there)) / SCORE_GRID
    assert (
        2.85
        < moved
        < R.sensitivity(Neighbours.REPLACE, 1, rows=506, shape=(3, 3)) / SCORE_GRID
        < 3.005
    )


def test_large_counts_neither_wrap_nor_drift():
    """At the largest number of rows allowed: two equal halves are one bit and half of
    all rows away from independence.
    """
    half = MAX_SCORE_ROWS // 2 - 1
    counts = np.diag([half, half])
    assert score_dependence(counts) == SCORE_GRID * half
    assert score_information(counts) == SCORE_GRID * 2 * half
    assert score_determination(np.array([[3, 0], [0, 3]])) == 0
    bounds = [
        information_sensitivity(n, (2, 2))
        for n in (10, 1000, 10**6, MAX_SCORE_ROWS - 1)
    ]
    assert bounds == sorted(bounds)
    assert bounds[-1] / SCORE_GRID == pytest.approx(31 + 1 / math.log(2), abs=0.01)


def test_no_row_moves_information_of_random_tables_beyond_its_claim():
    """Brute force stops at few rows; here are many, with the moves the proof says are
    worst: out of a single cell of full rows.
    """
    rng = np.random.default_rng(6)
    for shape in ((2, 7), (5, 6)):
        for _ in range(300):
            counts = rng.integers(0, 4, shape) * rng.integers(
                0, 2 ** rng.integers(1, 12), shape
            )
            counts[0, 0] = 1
            counts[-1] = counts[:, -1] = 0
            moved = counts.copy()
            moved[0, 0], moved[-1, -1] = 0, 1
            claim = information_sensitivity(int(counts.sum()), shape)
            assert abs(score_information(counts) - score_information(moved)) <= claim


SCHEMA = Schema(columns=tuple(Boolean(name=name, nullable=False) for name in "abc"))


@pytest.mark.parametrize("score", "RIF")
def test_scores_of_shares_are_refused_where_the_number_of_rows_is_private(score: str):
    context = context_of([], SCHEMA)
    left = context.payments.amount_left
    with pytest.raises(Refused, match="number of rows is public"):
        choose_clique(context, {("a", "b"): np.zeros((2, 2))}, amount=left, score=score)
    under_replace = context_of([], SCHEMA, neighbours=Neighbours.REPLACE)
    with pytest.raises(Refused, match="number of rows is public"):
        choose_clique(
            under_replace,
            {("a", "b"): np.zeros((2, 2))},
            amount=left,
            score=score,
            rows=None,
        )
    assert context.payments.amount_left == under_replace.payments.amount_left == left


def test_unknown_scores_and_columns_that_are_no_coins_are_refused():
    context = context_of([], SCHEMA, neighbours=Neighbours.REPLACE)
    with pytest.raises(Refused, match="There is no score"):
        choose_clique(
            context,
            {("a",): np.zeros(2)},
            amount=context.payments.amount_left,
            score="gini",
            rows=0,
        )
    with pytest.raises(Refused, match="two codes"):
        F.sensitivity(Neighbours.REPLACE, 1, rows=10, shape=(3, 2))


@pytest.mark.parametrize("score", "RIF")
def test_the_dependent_pair_is_chosen_among_candidates_of_different_shapes(score: str):
    rows = [
        {"a": bool(i % 2), "b": bool(i % 2), "c": bool(i // 2 % 2)} for i in range(400)
    ]
    context = context_of(
        rows,
        SCHEMA,
        neighbours=Neighbours.REPLACE,
        accounting=Accounting.PURE,
        epsilon=10,
        delta=0,
    )
    candidates = {
        ("c", "b"): np.zeros((2, 2)),
        ("a", "b"): np.zeros((2, 2)),
        ("c",): np.zeros(2),
    }
    assert choose_clique(
        context, candidates, amount=Fraction(2), score=score, rows=400
    ) == ("a", "b")


def test_the_odds_of_a_choice_shift_by_no_more_than_its_price():
    """Exact odds of choosing by R on every small dataset and neighbour: never beyond
    e^ε.
    """
    epsilon = 2.0
    claim = R.sensitivity(Neighbours.REPLACE, 1, rows=5, shape=(2, 2))
    cliques = ((0, 1), (0, 2))

    def odds(dataset: tuple[int, ...]) -> np.ndarray:
        cube = np.bincount(np.array(dataset), minlength=8).reshape(2, 2, 2)
        weights = [
            math.exp(
                epsilon * score_dependence(cube.sum(axis=3 - sum(axes))) / (2 * claim)
            )
            for axes in cliques
        ]
        return np.array(weights) / sum(weights)

    found = {d: odds(d) for d in combinations_with_replacement(range(8), 5)}
    worst = max(
        float(np.max(np.abs(np.log(found[d] / found[tuple(sorted((*d[1:], new)))]))))
        for d in found
        for new in range(8)
    )
    assert 0.2 < worst <= epsilon
