"""The descent: noisy counts on a tree of lattice cells."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from kit.curator.contexts import allowance, context_of, neighbouring, no_noise
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price
from understudy.curator import Payments
from understudy.curator.discovery.tree_histogram import (
    CELL_FAN_OUT,
    MAX_DESCENT_CELLS,
    MAX_ROOT_CELLS,
    MAX_SINGLE_VALUES,
    _measure_cells,
    descend_tree,
    level_widths,
)
from understudy.schema import Integer, OutOfBoundsPolicy, Schema

WIDE = Integer(name="x", min=0, max=10**6)


def table(values, column=WIDE, **options):
    return context_of([{"x": v} for v in values], Schema(columns=(column,)), **options)


@pytest.mark.parametrize(
    "values", [65, 100, MAX_SINGLE_VALUES, MAX_SINGLE_VALUES + 1, 10**4, 10**9, 2**62]
)
def test_the_levels_go_down_to_single_values_in_steps_that_fit(values):
    steps = level_widths(values)
    assert steps[-1] == 1
    assert all(a // b <= CELL_FAN_OUT and a % b == 0 for a, b in pairwise(steps))
    assert len(steps) == 1 or -(-values // steps[0]) <= MAX_ROOT_CELLS


@pytest.mark.parametrize("accounting", Accounting)
def test_a_value_that_many_rows_share_is_found_wherever_it_lies(accounting):
    rng = np.random.default_rng(1)
    values = [*(int(v) for v in rng.integers(0, 10**6, 4000)), *[271_828] * 3000]
    context = table(values, accounting=accounting, epsilon=4)
    leaves = descend_tree(context, WIDE, amount=context.payments.amount_left).leaves()
    at = int(np.searchsorted(leaves.edges, 271_828))
    assert leaves.edges[at] == 271_828
    assert leaves.widths[at] == 1
    assert abs(leaves.counts[at] - 3000) < 300


@pytest.mark.parametrize("low", [-(2**62) + 1, -5, 0])
@pytest.mark.parametrize("size", [70, 300, 10**7])
def test_the_leaves_cover_the_range_from_end_to_end(low, size):
    column = Integer(name="x", min=low, max=low + size - 1)
    context = table([low, low + size - 1] * 2000, column)
    for cells in (
        (
            tree := descend_tree(context, column, amount=context.payments.amount_left)
        ).leaves(),
        tree.smooth(),
    ):
        assert cells.edges[0] == low
        assert cells.edges[-1] == low + size
        assert (cells.widths > 0).all()


def test_no_more_is_paid_than_was_given():
    for values in ([], [7] * 5000, list(range(5000))):
        context = table(values)
        before = context.payments.amount_left
        descend_tree(context, WIDE, amount=before / 2)
        assert 0 < before - context.payments.amount_left <= before / 2


def test_a_descent_ends_where_nothing_stands_out_and_keeps_the_rest():
    context = table([], noise=no_noise)
    before = context.payments.amount_left
    tree = descend_tree(context, WIDE, amount=before)
    assert len(tree.levels) == 1
    assert before - context.payments.amount_left <= before / len(
        level_widths(10**6 + 1)
    )


def test_a_level_never_has_more_cells_than_are_looked_into():
    context = table(list(range(0, 10**6, 97)), epsilon=1000)
    assert all(
        len(level.starts) <= max(MAX_ROOT_CELLS, MAX_DESCENT_CELLS * CELL_FAN_OUT)
        for level in descend_tree(
            context, WIDE, amount=context.payments.amount_left
        ).levels
    )


@pytest.mark.parametrize("outside", OutOfBoundsPolicy)
@pytest.mark.parametrize("relation", Neighbours)
def test_a_row_lies_in_at_most_one_cell_of_a_level(relation, outside):
    column = Integer(name="x", min=0, max=99, outside=outside)
    starts, ends = (
        np.array([0, 10, 40, 90]),
        np.array([10, 20, 60, 100]),
    )  # with gaps between them
    universe = [{"x": v} for v in (None, "word", -5, 0, 15, 30, 59, 95, 1000)]
    furthest = 0
    for pair in neighbouring(universe, 2, relation):
        rooms = [
            context_of(
                rows, Schema(columns=(column,)), neighbours=relation, noise=no_noise
            )
            for rows in pair
        ]
        claim = rooms[0].unit_vector()
        scale = rooms[0].scale(rooms[0].payments.amount_left, claim)
        cost = price(rooms[0].law, scale, claim, rooms[0].accounting)
        here, there = (
            _measure_cells(context, column, starts, ends, scale, cost)
            for context in rooms
        )
        assert np.abs(here - there).sum() <= claim.l1
        assert ((here - there) ** 2).sum() <= claim.l2_squared
        furthest = max(furthest, int(np.abs(here - there).sum()))
    assert furthest == claim.l1  # the claim is reached, so the test could see it broken


class Remembering:
    """A run that keeps every answer, as a ledger does."""

    def __init__(self, answers=None):
        self.answers = answers or {}
        self.charged = 0

    def answer(self, step, digest):
        return self.answers.get((step, digest))

    def charge(self, step, cost, digest):
        self.charged += 1

    def store(self, step, digest, payload):
        self.answers[step, digest] = payload


def test_what_is_asked_depends_on_noisy_answers_alone():
    """Resumed over other rows, a descent asks the same questions: nothing but its
    answers decided them.
    """
    first, second = Remembering(), None
    trees = []
    for values in ([271_828] * 3000 + list(range(3000)), [5] * 9):
        run = first if second is None else second
        context = replace(
            table(values),
            payments=Payments(run, replace(allowance(1, "1e-6", Accounting.GDP))),
        )
        trees.append(descend_tree(context, WIDE, amount=Fraction(1, 100)))
        second = Remembering(first.answers)
    assert first.charged == len(trees[0].levels) > 1
    assert run.charged == 0
    assert all(
        np.array_equal(a.counts, b.counts)
        for a, b in zip(trees[0].levels, trees[1].levels, strict=True)
    )


def test_what_lies_beyond_a_bound_counts_as_the_bound():
    column = Integer(name="x", min=0, max=99)
    context = table([10**9] * 500, column, noise=no_noise)
    leaves = descend_tree(context, column, amount=context.payments.amount_left).leaves()
    assert leaves.counts[-1] == 500
    assert leaves.edges[-2] == 99
