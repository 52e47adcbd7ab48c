"""Audits of answers to questions: the curator's real answers on worst-case neighbours
prove no more than was charged, nearly as much, and more where a twin is broken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from kit.curator.listed import Listed, Row
from kit.privacy.audit import gdp, pure
from kit.queries.noiseless import QuestionRunInMemory, table_of
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.context import Draw
from understudy.curator.questions import ExactStatistics, QuestionCurator
from understudy.noise import draw_noise
from understudy.queries import (
    Query,
    correlation,
    count,
    count_distinct,
    covariance,
    histogram,
    mean,
    median,
    quantile,
    share,
    stddev,
    total,
)
from understudy.queries.offers import Offer, offer_answer
from understudy.queries.plan import plan_query
from understudy.queries.precision import NoisyValues
from understudy.queries.searches import QuantileSearch
from understudy.queries.statistics import Statistic
from understudy.schema import Schema

SCHEMA = Schema.parse(
    """
columns:
  g: {type: categorical, values: [a, b], nullable: false}
  x: {type: integer, min: 0, max: 15, nullable: false}
  y: {type: integer, min: 0, max: 3, nullable: false}
"""
)
COMMON: list[Row] = [{"g": "a", "x": 7, "y": 1}, {"g": "b", "x": 7, "y": 2}]
ADDED: Row = {"g": "a", "x": 15, "y": 3}
CLAIM = Fraction(1)
"""μ² of every answer here."""

QUERIES = (
    count(),
    count().by("g"),
    total("x").where("g = a"),
    mean("x").by("g"),
    stddev("x"),
    share("x > 9").by("g"),
    count_distinct("x").by("g"),
    median("x"),
    quantile("x", 0.9).where("y > 0"),
    covariance("x", "y"),
    correlation("x", "y"),
    histogram("x", 0, 8, 16),
)


class Unclipped(Listed):
    """A twin that ignores bounds: a row adds what its cell says."""

    def cell_sums(
        self, clique: Sequence[str], statistics: Sequence[Statistic]
    ) -> tuple[NDArray[np.int64], list[list[int]]]:
        cells, sums = super().cell_sums(clique, statistics)
        extra = sum(int(row["x"]) - 15 for row in self._rows if int(row["x"]) > 15)
        return cells, [
            [value + extra * bool(s.factors) for value in own]
            for s, own in zip(statistics, sums, strict=True)
        ]

    def with_schema(self, schema: Schema) -> Unclipped:
        return Unclipped(self._rows, schema)


def offer_of(query: Query, relation: Neighbours) -> Offer:
    return offer_answer(
        plan_query(query, SCHEMA),
        neighbours=relation,
        accounting=Accounting.GDP,
        amount=CLAIM,
    )


def draw_scores(
    offer: Offer, table: Listed, direction: list[list[float]], trials: int, draw: Draw
) -> NDArray[np.float64]:
    """The best linear test of which table was asked, for each of many answers."""
    scores = np.zeros(trials)
    curator = QuestionCurator(table=table, run=QuestionRunInMemory(), draw=draw)
    for trial in range(trials):
        measured = curator.answer(offer)
        scores[trial] = sum(
            float(np.dot(weights, answer[-1].values[: len(weights)]))
            for weights, answer in zip(direction, measured, strict=True)
        )
    return scores


def audit_query(
    query: Query,
    neighbours: tuple[Listed, Listed],
    *,
    relation: Neighbours = Neighbours.ADD_REMOVE,
    trials: int = 900,
    draw: Draw = draw_noise,
) -> tuple[float, bool]:
    """The share of the claim that was proven, and whether it was refuted."""
    offer = offer_of(query, relation)
    exact = [ExactStatistics(table, offer.plan) for table in neighbours]
    direction = []
    middle = 0.0
    for place, order in enumerate(offer.orders):
        if isinstance(order.statistic, QuantileSearch):
            direction.append([1.0])
            continue
        here, there = (np.array(e.by_group(place), float) for e in exact)
        # A statistic on which all neighbours agree has no noise, and tells nothing.
        direction.append(((there - here) / max(float(order.scale), 1e-3) ** 2).tolist())
        middle += float(np.dot(direction[-1], (here + there) / 2))
    scores = [
        draw_scores(offer, table, direction, trials, draw) for table in neighbours
    ]
    # The best threshold is known beforehand, except for a search.
    is_search = any(isinstance(o.statistic, QuantileSearch) for o in offer.orders)
    at = None if is_search else middle
    found = gdp(*scores, math.sqrt(CLAIM), at=at, alpha=1e-7)
    return found.share, found.violated


def halve_noise(law: Law, scale: Fraction, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """A broken twin: half of the noise that was paid for."""
    return draw_noise(law, scale / 2, shape)


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_an_answer_costs_what_was_charged(query: Query, relation: Neighbours) -> None:
    first = (
        [*COMMON]
        if relation is Neighbours.ADD_REMOVE
        else [*COMMON, {"g": "b", "x": 0, "y": 0}]
    )
    here, there = Listed(first, SCHEMA), Listed([*COMMON, ADDED], SCHEMA)
    _, violated = audit_query(query, (here, there), relation=relation, trials=300)
    assert not violated


@pytest.mark.parametrize("query", [count(), total("x").where("g = a")], ids=str)
def test_the_whole_charge_is_seen_and_half_of_the_noise_refuted(query: Query) -> None:
    """An audit that sees little of the claim would miss a breach."""
    pair = Listed(COMMON, SCHEMA), Listed([*COMMON, ADDED], SCHEMA)
    share_seen, _ = audit_query(query, pair, trials=2000)
    # 0.69 is expected, with a deviation of 0.042.
    assert share_seen > 0.4
    _, violated = audit_query(query, pair, draw=halve_noise, trials=800)
    assert violated


def test_bounds_that_are_ignored_are_refuted() -> None:
    far: Row = {"g": "a", "x": 60, "y": 0}
    honest = Listed(COMMON, SCHEMA), Listed([*COMMON, far], SCHEMA)
    assert not audit_query(total("x"), honest)[1]
    broken = Unclipped(COMMON, SCHEMA), Unclipped([*COMMON, far], SCHEMA)
    assert audit_query(total("x"), broken)[1]


@pytest.mark.parametrize("draw", [draw_noise, halve_noise])
def test_laplace_noise_on_a_total_costs_what_was_charged(draw: Draw) -> None:
    """Pure ε: the whole of it is claimed, and half of the noise is refuted."""
    question = total("x").where("g = a")
    offer = offer_answer(
        plan_query(question, SCHEMA),
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.PURE,
        amount=Fraction(1),
    )
    tables = Listed(COMMON, SCHEMA), Listed([*COMMON, ADDED], SCHEMA)
    budget = Budget.of(10**6, 0)
    run = QuestionRunInMemory(Filter.of(budget, accounting=Accounting.PURE))
    scores = []
    for table in tables:
        curator = QuestionCurator(table=table, run=run, draw=draw)
        drawn = [curator.answer(offer)[0][-1].values[0] for _ in range(1500)]
        scores.append(np.array(drawn, float))
    found = pure(*scores, 1.0, at=(7 + 22) / 2, alpha=1e-7)
    assert found.violated == (draw is halve_noise)


class CountsFirst(QuestionCurator):
    """A twin that counts, and charges only what could be counted."""

    def answer(self, offer: Offer, **given: object) -> list[tuple[NoisyValues, ...]]:
        ExactStatistics(self.table, offer.plan).by_group(0)
        return super().answer(offer, **given)  # type: ignore[arg-type]


class ShowsWhatOccurs(QuestionCurator):
    """A twin that takes the groups from the rows."""

    def answer(self, offer: Offer, **given: object) -> list[tuple[NoisyValues, ...]]:
        exact = ExactStatistics(self.table, offer.plan).by_group(0)
        measured = super().answer(offer, **given)  # type: ignore[arg-type]
        return [
            tuple(
                replace(
                    each,
                    values=tuple(
                        v for v, n in zip(each.values, exact, strict=True) if n
                    ),
                )
                for each in draws
            )
            for draws in measured
        ]


class Failing(Listed):
    """Rows whose count fails."""

    def cell_sums(self, *_: object) -> tuple[NDArray[np.int64], list[list[int]]]:
        raise RuntimeError("a cell of these rows")

    def with_schema(self, schema: Schema) -> Failing:
        return Failing(self._rows, schema)


@pytest.mark.parametrize("curator", [QuestionCurator, CountsFirst])
def test_a_count_that_fails_was_paid_for(curator: type[QuestionCurator]) -> None:
    """Whether it fails may depend on rows: for nothing, it would be an answer."""
    run = QuestionRunInMemory()
    offer = offer_of(count(), Neighbours.ADD_REMOVE)
    with pytest.raises(RuntimeError):
        curator(table=Failing(COMMON, SCHEMA), run=run).answer(offer)
    assert (run.events == ["charge"]) == (curator is QuestionCurator)


@pytest.mark.parametrize("curator", [QuestionCurator, ShowsWhatOccurs])
def test_the_groups_of_an_answer_are_those_of_the_schema(
    curator: type[QuestionCurator],
) -> None:
    """A domain taken from rows would show by its size that a value occurs."""
    plan = plan_query(count().by("g", "x"), SCHEMA)
    groups = set()
    for rows in ([], COMMON, [ADDED], [*COMMON, ADDED]):
        offer = offer_of(count().by("g", "x"), Neighbours.ADD_REMOVE)
        asked = curator(table=Listed(rows, SCHEMA), run=QuestionRunInMemory())
        (draws,) = asked.answer(offer)
        groups.add(len(draws[-1].values))
    assert (groups == {plan.cells.groups} == {32}) == (curator is QuestionCurator)


UNITS = Schema.parse(
    """
unit: {id: p, max_rows: 2}
columns:
  p: {type: identifier}
  g: {type: categorical, values: [a, b], nullable: false}
  x: {type: integer, min: 0, max: 15, nullable: false}
"""
)
FAMILY = [("p1", "a", 15)] * 5
"""One person with more rows than the schema allows, each as far as a row can reach."""


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    ("query", "reached"),
    [(count(), 2), (total("x"), 30), (count_distinct("p"), 1), (count().by("g"), 2)],
    ids=str,
)
def test_a_person_with_too_many_rows_moves_no_answer_further(
    query: Query, reached: int, relation: Neighbours
) -> None:
    """Real rows, of which the table keeps two: exactly what is claimed, where a table
    that kept all five would move it two and a half times as far.
    """
    others = [("p2", "a", 3), ("p3", "b", 0)]
    exact = []
    for rows in (others, [*others, *FAMILY]):
        frame = pl.DataFrame(rows, schema=["p", "g", "x"], orient="row")
        plan = plan_query(query, UNITS)
        exact.append(ExactStatistics(table_of(frame, UNITS), plan).by_group(0))
    moved = [b - a for a, b in zip(*exact, strict=True)]
    assert sum(moved) == reached
    claimed = plan.sensitivity(plan.statistics[0], relation)
    assert sum(m * m for m in moved) <= claimed.l2_squared
    if relation is Neighbours.ADD_REMOVE:
        assert reached**2 == claimed.l2_squared
