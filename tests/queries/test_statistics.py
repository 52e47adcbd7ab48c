"""Sensitivities: exact over all small tables and all their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

import polars as pl
import pytest

from kit.curator.listed import Listed
from kit.queries.noiseless import table_of
from understudy.accounting.neighbours import Neighbours
from understudy.curator.questions import ExactStatistics
from understudy.queries import (
    Query,
    cases,
    correlation,
    count,
    count_distinct,
    mean,
    select,
    share,
    stddev,
    total,
    variance,
)
from understudy.queries.builders import covariance
from understudy.queries.plan import QueryPlan, plan_query
from understudy.schema import Schema

SCHEMA = Schema.parse(
    """
columns:
  g: {type: categorical, values: [a, b]}
  x: {type: integer, min: -2, max: 3}
  y: {type: integer, min: 1, max: 4, nullable: false}
"""
)
UNIVERSE = [
    {"g": g, "x": x, "y": y}
    for g in ("a", "b", None)
    for x in (-9, -2, 0, 1, 2, 3, None)
    for y in (1, 4, "no number")
]
FEW_ROWS = [row for row in UNIVERSE if row["y"] == 4 and row["x"] in (-2, 3, None)]
QUERIES: Sequence[Query] = (
    count(),
    count("x"),
    count().by("g"),
    count().where("g = a"),
    count().by("g").where("x > 0"),
    total("x"),
    total("x").by("g"),
    total("y"),
    total("y").where("y > 2"),
    total("x").where("x > 1 and x < 3").by("g"),
    mean("y").by("g"),
    stddev("x"),
    stddev("x").by("g").where("x >= 0"),
    correlation("x", "y"),
    share("x > 0").by("g"),
    select(count(), total("x")).where("g = b"),
    count_distinct("x"),
    count_distinct("x").by("g").where("y > 1"),
    count().by(cases(("x > 0", "above"), ("g = a", "a"), ("y > 2", "above"))),
    total("x").by(cases(("x > 1 and g = a", 1), otherwise=0)).where("y > 1"),
)

Row = Mapping[str, object]


def measure(plan: QueryPlan, rows: Sequence[Row]) -> list[list[int]]:
    exact = ExactStatistics(Listed(rows, SCHEMA), plan)
    return [exact.by_group(place) for place in range(len(plan.statistics))]


def neighbours_of(
    relation: Neighbours, rows: int
) -> Iterator[tuple[list[Row], list[Row]]]:
    """Tables that differ in one unit of up to this many rows: statistics are sums over
    rows, so what the tables have in common cancels.
    """
    universe = UNIVERSE if rows == 1 else FEW_ROWS
    units = [
        [universe[i] for i in chosen]
        for size in range(rows + 1)
        for chosen in combinations_with_replacement(range(len(universe)), size)
    ]
    for unit in units:
        if relation is Neighbours.ADD_REMOVE:
            yield [], unit
        else:
            yield from (
                (unit, other) for other in units if rows > 1 or (unit and other)
            )


def largest_moves(
    plan: QueryPlan, relation: Neighbours, rows: int
) -> list[tuple[int, int]]:
    """The largest L1 and squared L2 change of each statistic."""
    known: dict[int, list[list[int]]] = {}

    def statistics_of(table: list[Row]) -> list[list[int]]:
        key = id(table)
        if key not in known:
            known[key] = measure(plan, table)
        return known[key]

    worst = [(0, 0)] * len(plan.statistics)
    pairs = list(neighbours_of(relation, rows))
    for one, other in pairs:
        for place, (a, b) in enumerate(
            zip(statistics_of(one), statistics_of(other), strict=True)
        ):
            moves = [abs(p - q) for p, q in zip(a, b, strict=True)]
            l1, l2 = worst[place]
            worst[place] = max(l1, sum(moves)), max(l2, sum(m * m for m in moves))
    return worst


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_the_sensitivity_is_that_of_all_small_tables(
    query: Query, relation: Neighbours
) -> None:
    """Never below what some neighbours do, and no higher than a row of this universe
    reaches: it holds both ends of every bound.
    """
    plan = plan_query(query, SCHEMA)
    moves = largest_moves(plan, relation, 1)
    for statistic, (l1, l2) in zip(plan.statistics, moves, strict=True):
        claimed = plan.sensitivity(statistic, relation)
        assert l1 <= claimed.l1
        assert l2 <= claimed.l2_squared
        # The squares of x around its middle are least for a value that is listed here,
        # so every claim is reached.
        assert l2 == claimed.l2_squared


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    "query", [count().by("g"), total("x").by("g"), count()], ids=str
)
def test_a_unit_of_two_rows_moves_no_statistic_further_than_claimed(
    query: Query, relation: Neighbours
) -> None:
    people = Schema.parse(
        "unit: {id: p, max_rows: 2}\ncolumns:\n  p: {type: identifier}\n"
        "  g: {type: categorical, values: [a, b]}\n"
        "  x: {type: integer, min: -2, max: 3}\n"
        "  y: {type: integer, min: 1, max: 4, nullable: false}\n"
    )
    plan = plan_query(query, people)
    own = replace(plan, source_schema=people)
    for statistic, (l1, l2) in zip(
        plan.statistics, largest_moves(plan, relation, 2), strict=True
    ):
        claimed = own.sensitivity(statistic, relation)
        assert l1 <= claimed.l1
        assert l2 == claimed.l2_squared


@pytest.mark.parametrize(
    ("relation", "moved"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE, 2)]
)
def test_counts_by_group_cost_one_row_or_two(relation: Neighbours, moved: int) -> None:
    """Groups are disjoint: all counts together move by as much as one does, or by two
    where a replaced row goes from one group to another.
    """
    plan = plan_query(count().by("g"), SCHEMA)
    assert plan.sensitivity(plan.statistics[0], relation).l1 == moved


def test_brute_force_notices_bounds_that_are_ignored() -> None:
    """A twin whose clipped values reach one step further than the price assumes."""
    plan = plan_query(total("x"), SCHEMA)
    honest = plan.sensitivity(plan.statistics[0], Neighbours.ADD_REMOVE)
    wide = replace(
        plan,
        statistics=tuple(
            replace(s, factors=tuple(replace(f, low=-9) for f in s.factors))
            for s in plan.statistics
        ),
    )
    ((l1, _),) = largest_moves(wide, Neighbours.ADD_REMOVE, 1)
    assert l1 > honest.l1


@pytest.mark.parametrize("bound", [2**30, 2**31, 2**32, 2**42])
def test_sums_of_wide_numbers_are_exact(bound: int) -> None:
    """Squares from 2⁶⁰ to 2⁸⁴, below and beyond what 64 bits multiply out."""
    schema = Schema.parse(
        f"columns:\n  x: {{type: integer, min: {-bound}, max: {bound}, nullable: false}}"
    )
    values = [bound, bound - 1, -bound, 7, bound] * 3
    rows = pl.DataFrame({"x": values})
    plan = plan_query(variance("x"), schema)
    exact = ExactStatistics(table_of(rows, schema), plan)
    found = [exact.by_group(place)[0] for place in range(len(plan.statistics))]
    assert found == [len(values), sum(values), sum(x * x for x in values)]


WIDE_BOUNDS = [
    (-(2**32), 2**32),
    (-7, 2**33 + 3),
    (-(2**31), 2**32 + 12_345),
    (-3_000_000_001, 3_000_000_003),
    (0, 2**42),
]
"""Products wrap around 64 bits: to 0, to a small number, to a negative one."""


@pytest.mark.parametrize(("low", "high"), WIDE_BOUNDS)
@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_sensitivity_of_wide_products_is_exact(
    low: int, high: int, relation: Neighbours
) -> None:
    bounds = f"{{type: integer, min: {low}, max: {high}, nullable: false}}"
    schema = Schema.parse(f"columns:\n  x: {bounds}\n  y: {bounds}")
    plan = plan_query(covariance("x", "y"), schema)
    product = next(each for each in plan.statistics if len(each.factors) == 2)
    ends = [high - product.factors[0].origin, low - product.factors[0].origin]
    corners = [one * other for one in ends for other in ends]
    is_replaced = relation is Neighbours.REPLACE
    far = max(*corners, 0) - (min(*corners, 0) if is_replaced else 0)
    far = max(far, *map(abs, corners))
    found = plan.sensitivity(product, relation)
    assert (found.l1, found.l2_squared) == (far, far**2)


def test_bounds_whose_squares_pass_64_bits_have_a_price_or_a_refusal() -> None:
    schema = Schema.parse("columns:\n  x: {type: integer, min: 0, max: 1000000000000}")
    plan = plan_query(variance("x"), schema)
    square = plan.statistics[-1]
    assert plan.sensitivity(square, Neighbours.ADD_REMOVE).l1 == (10**12 // 2) ** 2
