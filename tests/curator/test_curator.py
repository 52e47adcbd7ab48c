"""The curator and its view: shares, what is public, and what cannot be reached."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kit.curator.contexts import context_of
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, CuratorView
from understudy.errors import BudgetExceeded, Refused
from understudy.schema import Boolean, Identifier, Integer, Schema, Unit
from understudy.schema.predicates.rules import BrokenRowPolicy

SCHEMA = Schema(columns=(Boolean(name="smoker"), Integer(name="age", min=0, max=99)))
ROWS = [{"smoker": bool(i % 3 == 0), "age": i % 100} for i in range(1000)]


def make_curator(**options) -> Curator:
    return Curator(context_of(ROWS, SCHEMA, **options), SCHEMA)


def test_shares_are_parts_of_what_was_handed_over():
    asked = make_curator()
    asked.measure([("smoker",)], share=Fraction(1, 2))
    asked.hand_over()
    asked.measure([("age",)], share=Fraction(1, 4))
    assert Fraction(74, 100) < asked.share_left < Fraction(76, 100)
    asked.measure([("age",)], share=asked.share_left)
    assert asked.share_left < Fraction(1, 1000)


@pytest.mark.parametrize("share", [0, -1, 2, 0.5, Fraction(3, 2)])
def test_a_share_that_is_none_is_refused(share):
    asked = make_curator()
    with pytest.raises(Refused, match="Nothing was spent"):
        asked.measure([("age",)], share=share)
    assert asked.share_left == 1


def test_more_than_is_left_is_refused_and_free():
    asked = make_curator()
    asked.measure([("age",)], share=Fraction(2, 3))
    left = asked.share_left
    with pytest.raises(BudgetExceeded, match="It was not answered"):
        asked.measure([("age",)], share=Fraction(2, 3))
    assert asked.share_left == left


def test_the_number_of_rows_is_public_only_where_neighbours_agree_on_it():
    assert make_curator().rows is None
    assert make_curator(neighbours=Neighbours.REPLACE).rows == 1000
    dropping = replace(SCHEMA, broken=BrokenRowPolicy.DROP)
    assert (
        Curator(
            context_of(ROWS, dropping, neighbours=Neighbours.REPLACE), dropping
        ).rows
        is None
    )
    units = Schema(
        columns=(Identifier(name="id"), *SCHEMA.columns), unit=Unit(id="id", max_rows=2)
    )
    by_unit = Curator(context_of(ROWS, units, neighbours=Neighbours.REPLACE), units)
    assert by_unit.rows is None


def test_under_replace_the_public_total_is_exact_and_free():
    asked = make_curator(neighbours=Neighbours.REPLACE)
    total = asked.measure([()], share=1)[0]
    assert int(total.values) == 1000
    assert asked.share_left == 1


def test_counts_sums_means_and_quantiles_are_asked_by_share():
    asked = make_curator(epsilon=20)
    assert abs(int(asked.count(share=Fraction(1, 5)).values) - 1000) < 50
    assert (
        abs(asked.sum("age", share=Fraction(1, 5)).value - sum(r["age"] for r in ROWS))
        < 5000
    )
    assert abs(float(asked.mean("age", share=Fraction(1, 5)).index) - 49.5) < 5
    assert (
        abs(asked.quantiles("age", [Fraction(1, 2)], share=Fraction(1, 5))[0] - 50) < 10
    )
    with pytest.raises(Refused, match="smoker"):
        asked.sum("smoker", share=Fraction(1, 5))


def test_an_estimate_of_another_shape_is_refused_and_free():
    asked = make_curator()
    for ask in (asked.choose, asked.errors):
        with pytest.raises(Refused, match="Nothing was spent"):
            ask({("smoker",): np.zeros((3, 1))}, share=Fraction(1, 2))
    assert asked.share_left == 1


def test_the_window_asks_the_same_and_shows_nothing_else():
    view = CuratorView(make_curator())
    assert [m.clique for m in view.measure([("age",)], share=Fraction(1, 3))] == [
        ("age",)
    ]
    assert view.choose(
        {("age",): np.zeros(SCHEMA.sizes(("age",)))}, share=Fraction(1, 3)
    ) == ("age",)
    assert set(view.errors({("smoker",): np.zeros(3)}, share=Fraction(1, 6))) == {
        ("smoker",)
    }
    public = {name for name in dir(view) if not name.startswith("_")}
    assert public == {
        "schema",
        "neighbours",
        "accounting",
        "discovered_measurements",
        "rows",
        "share_left",
        "measure",
        "sparse",
        "errors",
        "choose",
        "choose_cell",
    }
    assert not hasattr(view, "__dict__")
