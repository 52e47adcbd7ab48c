"""Sums and means: sensitivity by brute force, also where cells are missing."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from kit.curator.contexts import context_of, neighbouring, no_noise
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.mechanisms.sums import measure_mean, measure_sum
from understudy.errors import Refused
from understudy.schema import Integer, Schema


def schema_of(low: int, high: int) -> Schema:
    return Schema(columns=(Integer(name="x", min=low, max=high),))


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(("low", "high"), [(0, 3), (-2, 1), (2, 4), (-4, -2)])
@pytest.mark.parametrize("origin", [0, 2])
def test_no_neighbour_moves_a_sum_by_more_than_its_price_assumes(
    low, high, origin, relation
):
    """ε = Δ/scale in a pure run, so scale · ε tells which Δ the price assumed; values
    beyond the bounds are clipped.
    """
    schema = schema_of(low, high)
    universe = [{"x": v} for v in (None, low - 5, low, high, high + 5)]
    for here, there in neighbouring(universe, 3, relation):
        one, two = (
            context_of(
                rows,
                schema,
                neighbours=relation,
                accounting=Accounting.PURE,
                delta=0,
                noise=no_noise,
            )
            for rows in (here, there)
        )
        a, b = (
            measure_sum(r, schema["x"], amount=Fraction(1), origin=origin)
            for r in (one, two)
        )
        assert abs(a.value - b.value) <= a.scale * a.cost.amount


def test_the_claim_is_reached():
    """A sensitivity that is never attained wastes budget."""
    for relation, (low, high) in product(Neighbours, [(0, 3), (-2, 1)]):
        schema = schema_of(low, high)
        universe = [{"x": v} for v in (None, low, high)]
        moved, scale = 0, Fraction(0)
        for here, there in neighbouring(universe, 2, relation):
            rooms = (
                context_of(
                    rows,
                    schema,
                    neighbours=relation,
                    accounting=Accounting.PURE,
                    delta=0,
                    noise=no_noise,
                )
                for rows in (here, there)
            )
            a, b = (measure_sum(r, schema["x"], amount=Fraction(1)) for r in rooms)
            moved, scale = max(moved, abs(a.value - b.value)), a.scale
        assert moved == scale


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("granularity", [2, 3, 5])
def test_a_sum_in_steps_moves_by_as_many_as_its_price_assumes(granularity, relation):
    """By all small tables; and some pair of them moves by as many."""
    schema = schema_of(-2, 4)
    universe = [{"x": v} for v in (None, -2, 1, 4)]
    furthest = Fraction(0)
    for pair in neighbouring(universe, 4, relation):
        rooms = (
            context_of(
                rows,
                schema,
                neighbours=relation,
                accounting=Accounting.PURE,
                delta=0,
                noise=no_noise,
            )
            for rows in pair
        )
        a, b = (
            measure_sum(r, schema["x"], amount=Fraction(1), granularity=granularity)
            for r in rooms
        )
        assert a.value % granularity == b.value % granularity == 0
        furthest = max(furthest, Fraction(abs(a.value - b.value), granularity))
    assert furthest == a.scale * a.cost.amount


def test_steps_that_are_rounded_down_would_be_caught(monkeypatch):
    """The teeth: a sum that moves by 4 crosses two steps of 3, not one."""
    monkeypatch.setattr(
        "understudy.curator.mechanisms.sums.math", SimpleNamespace(ceil=math.floor)
    )
    with pytest.raises(AssertionError):
        test_a_sum_in_steps_moves_by_as_many_as_its_price_assumes(
            3, Neighbours.ADD_REMOVE
        )


def test_steps_that_are_none_are_refused():
    schema = schema_of(0, 3)
    for granularity in (0, -1, 1.5, True):
        context = context_of([], schema)
        with pytest.raises(Refused, match=r"x: a granularity is a whole number"):
            measure_sum(
                context, schema["x"], amount=Fraction(1), granularity=granularity
            )


def test_a_sum_beyond_64_bits_does_not_wrap():
    schema = schema_of(0, 2**50)
    context = context_of(
        [{"x": 2**50}] * 20_000, schema, epsilon=10, noise=no_noise
    )  # noise within 2^50
    assert (
        measure_sum(context, schema["x"], amount=context.payments.amount_left).value
        == 20_000 * 2**50
        > 2**63
    )


def test_a_mean_lies_inside_the_bounds_whatever_the_noise():
    schema = schema_of(10, 20)
    for _ in range(200):
        context = context_of([{"x": 12}] * 3, schema)
        assert (
            10
            <= measure_mean(
                context, schema["x"], amount=context.payments.amount_left / 100
            ).index
            <= 20
        )


def test_a_mean_is_close_where_the_rows_are_many():
    schema = schema_of(0, 100)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 101, 20_000)
    context = context_of([{"x": int(v)} for v in values], schema)
    found = measure_mean(context, schema["x"], amount=context.payments.amount_left)
    # sd of the sum is 50 σ with σ = √2/μ, about 10.7 at ε = 1, δ = 1e-6: an error of
    # 0.2 is more than 5 sd of 0.027
    assert abs(float(found.index) - values.mean()) < 0.2


def test_a_column_without_bounds_is_refused_with_the_remedy():
    schema = Schema(columns=(Integer(name="income"),))
    context = context_of([], schema)
    with pytest.raises(Refused, match=r"income.*`min` and `max`.*bounds: learn"):
        measure_sum(context, schema["income"], amount=context.payments.amount_left)
