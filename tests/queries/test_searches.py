"""Quantiles and numbers of different values: sensitivities over all small tables, and
intervals that hold.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from kit.curator.contexts import neighbouring, no_noise
from kit.curator.listed import Listed
from kit.queries.noiseless import answer_once
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.quantile_search import GroupValues, search_quantiles
from understudy.curator.questions import ExactStatistics
from understudy.noise import draw_noise
from understudy.queries import Query, count_distinct, median, quantile
from understudy.queries.plan import plan_query
from understudy.queries.searches import QuantileSearch
from understudy.schema import Schema

SCHEMA = Schema.parse(
    """
columns:
  g: {type: categorical, values: [a, b], nullable: false}
  x: {type: integer, min: 0, max: 3}
"""
)
UNIVERSE = [{"g": g, "x": x} for g, x in product("ab", (0, 2, None))]


def exact_statistic(
    query: Query, rows: list[dict[str, object]], schema: Schema
) -> list[int]:
    return ExactStatistics(Listed(rows, schema), plan_query(query, schema)).by_group(0)


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    "query", [count_distinct("x"), count_distinct("x").by("g")], ids=str
)
def test_a_row_moves_a_number_of_values_as_far_as_claimed(
    query: Query, relation: Neighbours
) -> None:
    plan = plan_query(query, SCHEMA)
    claimed = plan.sensitivity(plan.statistics[0], relation)
    worst = 0
    for one, other in neighbouring(UNIVERSE, 3, relation):
        a, b = (exact_statistic(query, rows, SCHEMA) for rows in (one, other))
        moves = [p - q for p, q in zip(a, b, strict=True)]
        assert sum(map(abs, moves)) <= claimed.l1
        worst = max(worst, sum(m * m for m in moves))
    assert worst == claimed.l2_squared


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("keys", [(), ("g",)])
def test_a_unit_moves_a_number_of_units_as_far_as_claimed(
    keys: tuple[str, ...], relation: Neighbours
) -> None:
    people = Schema.parse(
        "unit: {id: p, max_rows: 2}\ncolumns:\n  p: {type: identifier}\n"
        "  g: {type: categorical, values: [a, b, c], nullable: false}\n"
    )
    query = count_distinct("p").by(*keys)
    plan = plan_query(query, people)
    claimed = plan.sensitivity(plan.statistics[0], relation)
    units = [(), ("a",), ("b",), ("a", "a"), ("a", "b"), ("b", "c"), ("c", "c")]
    worst = 0
    for base, one, other in product(units, units, units):
        if relation is Neighbours.ADD_REMOVE and one:
            continue
        tables = [
            [*({"p": 1, "g": g} for g in base), *({"p": 2, "g": g} for g in unit)]
            for unit in (one, other)
        ]
        a, b = (exact_statistic(query, rows, people) for rows in tables)
        moves = [p - q for p, q in zip(a, b, strict=True)]
        assert sum(map(abs, moves)) <= claimed.l1
        worst = max(worst, sum(m * m for m in moves))
    assert worst <= claimed.l2_squared
    # Under replace two units of two rows share one of three groups at least.
    assert worst == (
        3 if keys and relation is Neighbours.REPLACE else claimed.l2_squared
    )


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(9, 10)])
def test_no_probe_of_a_search_moves_further_than_claimed(
    level: Fraction, relation: Neighbours
) -> None:
    """The sums of one round, in all groups, at any value: a search asks as many rounds as
    its price multiplies by.
    """
    search = QuantileSearch("x", 0, 3, level)
    plan = plan_query(quantile("x", level).by("g"), SCHEMA)
    claimed = search.sensitivity(2, relation, 1).l2_squared / search.probes
    up, down = search.weights

    def probe(rows: list[dict[str, object]], value: int) -> list[int]:
        groups = ExactStatistics(Listed(rows, SCHEMA), plan).values_by_group(search)
        return [
            up * g.count_up_to(value) - down * (g.rows - g.count_up_to(value))
            for g in groups
        ]

    worst = 0
    for one, other in neighbouring(UNIVERSE, 2, relation):
        for value in range(4):
            moves = zip(probe(one, value), probe(other, value), strict=True)
            worst = max(worst, sum((a - b) ** 2 for a, b in moves))
    assert worst == claimed


def test_a_search_asks_no_more_often_than_it_pays_for() -> None:
    calls = []

    def watch(law: Law, scale: Fraction, shape: tuple[int, ...]) -> np.ndarray:
        calls.append(shape)
        return draw_noise(law, scale, shape)

    search = QuantileSearch("x", 0, 1000, Fraction(1, 2))
    rows = GroupValues(np.arange(1000), np.ones(1000, np.int64))
    search_quantiles(
        search, [rows, rows], law=Law.ROUNDED_GAUSSIAN, scale=Fraction(30), draw=watch
    )
    assert calls == [(2,)] * search.probes


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(1, 10)])
def test_the_interval_of_a_quantile_holds(level: Fraction) -> None:
    """1,000 searches: with coverage 95 % fewer than 910 hold with probability 1e-7."""
    rng = np.random.default_rng(5)
    values = np.sort((rng.gamma(2.0, 60.0, 800)).astype(np.int64).clip(0, 1000))
    rows = GroupValues(values, np.ones(800, np.int64))
    truth = int(values[math.ceil(level * 800) - 1])
    search = QuantileSearch("x", 0, 1000, level)
    held = 0
    widths = []
    for _ in range(1000):
        value, low, high = search_quantiles(
            search,
            [rows],
            law=Law.ROUNDED_GAUSSIAN,
            scale=Fraction(60),
            draw=draw_noise,
        )
        assert low <= value <= high
        held += low <= truth <= high
        widths.append(high - low)
    assert held >= 910
    # Not by being everything: a third of the range at most, in the median.
    assert np.median(widths) < 333


def test_the_median_of_no_rows_is_a_number() -> None:
    answer = answer_once(Listed([], SCHEMA), SCHEMA, median("x").by("g"), draw=no_noise)
    assert [row.numbers[0].value for row in answer.rows] == [0, 0]
    assert all(row.numbers[0].high == 3 for row in answer.rows)
