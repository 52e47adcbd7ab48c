"""Queries to a release: estimates near the truth, and intervals that hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from kit.queries.noiseless import duckdb_rows
from understudy.accounting import Cost
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.measurements import Identity, Measurement, Measurements
from understudy.noise import draw_noise
from understudy.queries import Query
from understudy.queries.results import AnswerTable
from understudy.releases import Release
from understudy.releases.answers.query_answer import answer_query
from understudy.releases.evidence import Evidence
from understudy.schema import Schema

SMALL = Schema.parse(
    """
columns:
  g: {type: categorical, values: [a, b], nullable: false}
  x: {type: integer, min: 0, max: 29, bins: 6, nullable: false}
"""
)
SIGMA = Fraction(8)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    x = np.clip(rng.gamma(2.0, 5.0, 900).astype(int), 0, 29)
    return pl.DataFrame({"g": rng.choice(["a", "b"], 900), "x": x})


def noisy_evidence(rows: pl.DataFrame) -> Evidence:
    """A release of one noisy marginal of both columns."""
    codes = [np.where(rows["g"] == "a", 0, 1), rows["x"].to_numpy() // 5]
    exact = np.zeros((2, 6), np.int64)
    np.add.at(exact, tuple(codes), 1)
    law = Law.ROUNDED_GAUSSIAN
    values = exact + draw_noise(law, SIGMA, exact.shape)
    axes = tuple(Identity(size) for size in SMALL.sizes(("g", "x")))
    cost = Cost(Accounting.GDP, 1 / SIGMA**2)
    measured = Measurement(("g", "x"), axes, values, law, SIGMA, cost)
    return Evidence(
        schema=SMALL,
        measurements=Measurements((measured,)),
        accounting=Accounting.GDP,
    )


@pytest.mark.parametrize(
    ("query", "sql"),
    [
        (us.mean("x").where("g = a"), "SELECT avg(x) FROM people WHERE g = 'a'"),
        (us.total("x"), "SELECT sum(x) FROM people"),
        (us.share("x >= 10").where("g = b"), "SELECT avg(CASE WHEN x >= 10 THEN 1 ELSE 0 END) FROM people WHERE g = 'b'"),
        (us.quantile("x", "0.75"), "SELECT quantile_disc(x, 0.75) FROM people"),
        (us.count().where("x < 5"), "SELECT count(*) FROM people WHERE x < 5"),
    ],
    ids=str,
)  # fmt: skip
def test_an_interval_holds_the_truth(
    rows: pl.DataFrame, query: Query, sql: str
) -> None:
    """60 releases with real noise: with coverage 95 % fewer than 44 hold once in 10^8."""
    ((truth,),) = duckdb_rows(rows, sql)
    held = 0
    for _ in range(60):
        (number,) = answer_query(noisy_evidence(rows), query).rows[0].numbers
        assert number.low <= number.value <= number.high
        held += number.low <= float(truth) <= number.high
    assert held >= 44


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    book = tmp_path_factory.mktemp("queries") / "l"
    people = make_people(3000)
    return us.synthesize(people, PEOPLE_SCHEMA, epsilon=4, ledger=book, seed=1)


def test_sql_and_queries_are_answered_alike(release: Release) -> None:
    asked = release.answer("SELECT sex, AVG(age) AS mean_age FROM p GROUP BY sex")
    built = release.answer(us.mean("age").by("sex"))
    assert isinstance(built, AnswerTable)
    assert built.rows == asked.rows
    assert release.answer([us.count(), "count"])[1].estimate > 2900


def test_estimates_are_near_the_truth(release: Release) -> None:
    people = make_people(3000)
    for sql, slack in (
        ("SELECT AVG(age) FROM people", 2.0),
        ("SELECT AVG(CASE WHEN married THEN 1 ELSE 0 END) FROM people", 0.1),
        ("SELECT QUANTILE_DISC(income, 0.5) FROM people", 15_000),
        ("SELECT SUM(children) FROM people", 1_500),
    ):
        ((truth,),) = duckdb_rows(people, sql)
        answer = release.answer(sql)
        low, high = answer.interval
        assert abs(answer.value - float(truth)) < slack
        assert low - slack <= float(truth) <= high + slack


def test_what_a_release_cannot_answer_is_refused_with_the_remedy(
    release: Release,
) -> None:
    with pytest.raises(Refused, match="understudy ask"):
        release.answer(us.correlation("age", "income"))
    with pytest.raises(Refused, match="groups"):
        release.answer(us.count().by("age", "children", "region"))


def test_a_release_that_is_exact_enough_is_free(
    release: Release, tmp_path: object
) -> None:
    people = make_people(3000)
    book = f"{tmp_path}/people.ledger"
    given = {"ledger": book, "budget": 10, "release": release}
    with us.session(people, PEOPLE_SCHEMA, **given) as questions:
        free = questions.ask(us.count().by("sex"), within=500)
        paid = questions.ask(us.count().by("sex"), within=8)
    assert free.basis == "from the release"
    assert free.cost is None
    assert paid.cost is not None
