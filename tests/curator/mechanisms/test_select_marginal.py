"""Private choice and noisy distances."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from kit.curator.contexts import context_of, neighbouring, no_noise
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator
from understudy.curator.mechanisms.scores import SCORE_GRID
from understudy.curator.mechanisms.select_marginal import (
    choose_clique,
    measure_distances,
)
from understudy.errors import Refused
from understudy.measurements import Centring, Identity, Partition
from understudy.schema import Boolean, Categorical, Schema

SCHEMA = Schema(
    columns=(Boolean(name="a", nullable=False), Boolean(name="b", nullable=False))
)
UNIVERSE = [{"a": x, "b": y} for x in (False, True) for y in (False, True)]


def estimates(value: float) -> dict[tuple[str, ...], np.ndarray]:
    return {
        ("a",): np.array([value, value]),
        ("b",): np.array([1.0, 0.0]),
        ("a", "b"): np.full((2, 2), value / 2),
    }


@pytest.mark.parametrize("relation", Neighbours)
def test_no_neighbour_moves_the_distances_by_more_than_their_price_assumes(relation):
    for here, there in neighbouring(UNIVERSE, 4, relation):
        found = []
        for rows in (here, there):
            context = context_of(
                rows,
                SCHEMA,
                neighbours=relation,
                accounting=Accounting.PURE,
                delta=0,
                noise=no_noise,
            )
            found.append(measure_distances(context, estimates(0.3), amount=Fraction(1)))
        moved = sum(abs(found[0][c].value - found[1][c].value) for c in found[0])
        one = next(iter(found[0].values()))
        assert (
            moved <= one.scale
        )  # ε = 1 and scale = Δ₁/ε, so the scale is the assumed Δ₁


def test_distances_are_those_to_the_rounded_estimate():
    context = context_of([UNIVERSE[0]] * 7, SCHEMA, noise=no_noise)
    found = measure_distances(
        context, {("a",): np.array([1 / 3, 0.0])}, amount=context.payments.amount_left
    )
    assert found[("a",)].value == 7 * SCORE_GRID - round(SCORE_GRID / 3)
    assert float(found[("a",)]) == found[("a",)].value / SCORE_GRID


def test_the_choice_follows_the_exponential_law():
    """Two candidates whose scores differ by 4: odds e^(4ε/2); checked by a binomial
    test at 1e-6.
    """
    from scipy import stats

    rows = [UNIVERSE[1]] * 4  # a false, b true
    wanted = {
        ("a",): np.array([4.0, 0.0]),
        ("b",): np.array([2.0, 2.0]),
    }  # distances 0 and 4
    repeats = 4000
    context = context_of(
        rows, SCHEMA, accounting=Accounting.PURE, epsilon=repeats, delta=0
    )
    picks = Counter(
        choose_clique(context, wanted, amount=Fraction(1)) for _ in range(repeats)
    )
    chance = exp(4 / 2) / (1 + exp(4 / 2))
    assert stats.binomtest(picks[("b",)], repeats, chance).pvalue > 1e-6
    broken = exp(4) / (1 + exp(4))  # the factor 2 forgotten
    assert stats.binomtest(picks[("b",)], repeats, broken).pvalue < 1e-6


def test_weights_and_penalties_change_the_choice():
    rows = [UNIVERSE[0]] * 100
    wanted = {("a",): np.array([0.0, 0.0]), ("b",): np.array([0.0, 0.0])}
    context = context_of(rows, SCHEMA, accounting=Accounting.PURE, epsilon=100, delta=0)
    assert choose_clique(
        context, wanted, amount=Fraction(10), penalties=[100.0, 0.0]
    ) == ("b",)
    assert choose_clique(context, wanted, amount=Fraction(10), weights=[1.0, 0.01]) == (
        "a",
    )


def test_one_candidate_is_chosen_and_none_is_refused():
    context = context_of([], SCHEMA)
    assert choose_clique(
        context, {("a",): np.zeros(2)}, amount=context.payments.amount_left / 2
    ) == ("a",)
    left = context.payments.amount_left
    with pytest.raises(Refused, match="Nothing was spent"):
        choose_clique(context, {}, amount=left)
    assert context.payments.amount_left == left


LONG = Schema(
    columns=(
        Categorical(name="a", values=("p", "q", "r"), nullable=False),
        Boolean(name="b", nullable=False),
    )
)
CODES = [{"a": x, "b": y} for x in "pqr" for y in (False, True)]
COARSE = {
    ("a", "b"): (Partition((0, 1, 1)), Identity(2)),
    ("a",): (Partition((0, 0, 1)),),
}


@pytest.mark.parametrize("relation", Neighbours)
def test_no_neighbour_moves_coarse_distances_by_more_than_their_price_assumes(relation):
    wanted = {("a", "b"): np.full((2, 2), 0.4), ("a",): np.array([1.0, 0.2])}
    for here, there in neighbouring(CODES, 3, relation):
        found = []
        for rows in (here, there):
            context = context_of(
                rows,
                LONG,
                neighbours=relation,
                accounting=Accounting.PURE,
                delta=0,
                noise=no_noise,
            )
            found.append(
                measure_distances(context, wanted, amount=Fraction(1), maps=COARSE)
            )
        moved = sum(abs(found[0][c].value - found[1][c].value) for c in found[0])
        assert moved <= next(iter(found[0].values())).scale


def test_a_coarse_distance_is_that_of_coarse_counts():
    rows = (
        [{"a": "p", "b": True}] * 5
        + [{"a": "q", "b": True}] * 3
        + [{"a": "r", "b": False}] * 2
    )
    context = context_of(rows, LONG, noise=no_noise)
    found = measure_distances(
        context,
        {("a", "b"): np.array([[0.0, 5.0], [2.0, 0.0]])},
        amount=context.payments.amount_left,
        maps=COARSE,
    )
    assert float(found[("a", "b")]) == 3


def test_coarse_distances_that_cannot_be_are_refused_and_free():
    context = context_of([], LONG)
    before = context.payments.amount_left
    curator = Curator(context, LONG)
    for maps, shape in [
        ({("a",): (Partition((0, 1)),)}, (2,)),  # for another column
        (
            {("a",): (Partition((0, 1, 1)),)},
            (3,),
        ),  # the estimate is fine, the map coarse
        ({("a",): (Centring(3),)}, (3,)),
    ]:
        with pytest.raises(Refused, match="Nothing was spent"):
            curator.errors({("a",): np.zeros(shape)}, share=Fraction(1, 2), maps=maps)
    assert context.payments.amount_left == before
