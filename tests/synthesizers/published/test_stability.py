"""Sparse histograms: shown cells scaled to the total, and a δ or nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kit.models.build import listed, measured, schema_of, shown
from understudy.errors import Refused
from understudy.schema import parse_predicate
from understudy.synthesizers import Stability

SCHEMA = schema_of(2, 3)
RNG = np.random.default_rng(0)


def test_shown_cells_stand_in_for_the_whole():
    model = Stability().estimate(
        SCHEMA,
        listed(measured((), 100), shown(("b", "a"), [[2, 0], [0, 1]], [60, 20])),
        RNG,
    )
    assert model.total == 100
    assert model.suppressed == pytest.approx(0.2)
    assert model.marginal(("a", "b")) == pytest.approx(
        np.array([[0, 0, 75], [25, 0, 0]])
    )


def test_two_looks_at_a_cell_are_pooled_by_precision():
    looks = [
        shown(("a", "b"), [[0, 0], [1, 1]], [40, 10]),
        shown(("a", "b"), [[0, 0]], [20]),
    ]
    model = Stability().estimate(SCHEMA, listed(measured((), 40), *looks), RNG)
    assert model.marginal(("a",)) == pytest.approx([30, 10])


def test_other_cliques_do_not_enter():
    looks = [shown(("a",), [[0]], [500]), shown(("a", "b"), [[1, 1]], [10])]
    model = Stability().estimate(SCHEMA, listed(measured((), 10), *looks), RNG)
    assert model.marginal(("a",)).tolist() == [0, 10]


def test_impossible_cells_are_left_out():
    schema = replace(SCHEMA, impossible=(parse_predicate("a = 'a0' and b = 'b0'"),))
    model = Stability().estimate(
        schema,
        listed(measured((), 90), shown(("a", "b"), [[0, 0], [1, 1]], [50, 40])),
        RNG,
    )
    assert model.cells.tolist() == [[1, 1]]
    assert model.suppressed == pytest.approx(5 / 9)


@pytest.mark.parametrize(("total", "suppressed"), [(50, 1.0), (-50, 1.0)])
def test_without_any_cell_the_model_is_uniform(total, suppressed):
    model = Stability().estimate(
        SCHEMA, listed(measured((), total), shown(("a", "b"), [], [])), RNG
    )
    assert model.total == max(total, 0)
    assert model.suppressed == suppressed
    assert np.bincount(model.sample(6, RNG)["b"]).tolist() == [2, 2, 2]


def test_no_delta_is_refused_with_the_remedy():
    with pytest.raises(Refused, match=r"δ > 0.*delta such as.*Nothing was spent"):
        Stability().check(SCHEMA, delta=Fraction(0))
    Stability().check(SCHEMA, delta=Fraction(1, 10**9))
    assert Stability.needs_delta


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(-1), 0.1])
def test_the_share_of_the_total_is_a_share(share):
    with pytest.raises(Refused, match="total_share"):
        Stability(total_share=share)
