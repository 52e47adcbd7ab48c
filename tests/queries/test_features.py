"""Columns per privacy unit: against DuckDB without noise, sensitivity by brute force, and
audits of real draws.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

import understudy as us
from kit.curator.listed import Listed, Row
from kit.privacy.audit import gdp
from kit.queries.noiseless import (
    QuestionRunInMemory,
    answer_once,
    duckdb_rows,
    table_of,
)
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.questions import ExactStatistics, QuestionCurator
from understudy.errors import Refused
from understudy.queries import Query, count, mean, total
from understudy.queries.features import FeaturePlan
from understudy.queries.offers import Offer, offer_answer
from understudy.queries.plan import plan_query
from understudy.schema import Schema

VISITS = Schema.parse(
    """
unit: {id: patient, max_rows: 4}
columns:
  patient: {type: identifier}
  ward: {type: categorical, values: [a, b, c], nullable: false}
  cost: {type: real, min: -2, max: 10, step: 0.5}
  age: {type: integer, min: 0, max: 99}
"""
)
ROWS = pl.DataFrame(
    {
        "patient": [f"p{(i * i) % 97}" for i in range(120)],
        "ward": ["abc"[i % 3] for i in range(120)],
        "cost": [None if i % 11 == 0 else (i % 25) / 2 - 2 for i in range(120)],
        "age": [(i * 7) % 90 for i in range(120)],
    }
).filter(pl.int_range(pl.len()).over("patient") < 4)
UNITS = (
    "(SELECT patient, COUNT(*) AS visits, BOOL_OR(ward = 'a') AS seen, SUM(cost) AS paid,"
    " MAX(age) AS oldest, MIN(age) FILTER (WHERE ward = 'b') AS youngest,"
    " COUNT(*) FILTER (WHERE cost > 3) AS dear FROM people GROUP BY patient)"
)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*), SUM(visits), AVG(paid), SUM(oldest) FROM {UNITS}",
        f"SELECT COUNT(youngest), SUM(youngest), SUM(dear) FROM {UNITS} WHERE visits > 1",
        f"SELECT COUNT(*) FILTER (WHERE seen AND paid < 3) FROM {UNITS}",
        f"SELECT QUANTILE_DISC(oldest, 0.5) FROM {UNITS} WHERE NOT seen",
        f"SELECT COUNT(*) FROM {UNITS} HAVING COUNT(*) > 3",
    ],
)
def test_without_noise_it_is_what_duckdb_answers(sql: str) -> None:
    answer = answer_once(table_of(ROWS, VISITS), VISITS, sql)
    (truth,) = duckdb_rows(ROWS, sql)
    numbers = [number.value for number in answer.rows[0].numbers]
    assert numbers == pytest.approx([float(value) for value in truth])


def test_python_and_sql_ask_the_same() -> None:
    asked = mean("paid").per_unit(paid="sum cost where ward = a", n="count")
    sql = (
        "SELECT AVG(paid) FROM (SELECT patient, SUM(CASE WHEN ward = 'a' THEN cost END)"
        " AS paid, COUNT(*) AS n FROM v GROUP BY patient)"
    )
    values = [
        answer_once(table_of(ROWS, VISITS), VISITS, question).value
        for question in (asked, sql)
    ]
    assert values[0] == values[1]


SMALL = Schema.parse(
    """
unit: {id: who, max_rows: 2}
columns:
  who: {type: identifier}
  x: {type: integer, min: -1, max: 2, nullable: false}
"""
)
SMALL_QUERIES = (
    count().per_unit(n="count where x > 0").by("n"),
    total("n").per_unit(n="count"),
    total("s").per_unit(s="sum x"),
    count().per_unit(low="min x", seen="any x = 2").where("low < 1").by("seen"),
)


def exact_groups(query: Query, units: dict[str, tuple[int, ...]]) -> np.ndarray:
    rows = [{"who": who, "x": x} for who, own in units.items() for x in own]
    plan = plan_query(query, SMALL)
    return np.array(ExactStatistics(Listed(rows, SMALL), plan).by_group(0))


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("query", SMALL_QUERIES, ids=str)
def test_no_unit_moves_it_further_than_the_sensitivity(
    query: Query, relation: Neighbours
) -> None:
    """All pairs of units of at most two rows, beside one that stays."""
    own = [
        rows
        for size in (1, 2)
        for rows in combinations_with_replacement((-1, 0, 1, 2), size)
    ]
    others = [()] if relation is Neighbours.ADD_REMOVE else own
    worst = [0, 0]
    for here, there in product(own, others):
        moved = exact_groups(query, {"a": (1,), "b": here}) - exact_groups(
            query, {"a": (1,), **({"b": there} if there else {})}
        )
        worst[0] = max(worst[0], int(np.abs(moved).sum()))
        worst[1] = max(worst[1], int((moved**2).sum()))
    plan = plan_query(query, SMALL)
    claimed = plan.sensitivity(plan.statistics[0], relation)
    assert claimed.l1 >= worst[0]
    assert claimed.l2_squared >= worst[1]
    assert claimed.l1 <= 2 * worst[0]


class Ungrouped(Listed):
    """A twin that takes every row for a unit of its own."""

    def derive_units(self, plan: FeaturePlan) -> Listed:
        rows = [{**row, "who": i} for i, row in enumerate(self._rows)]
        return Listed(rows, self._schema).derive_units(plan)


def scores_of(offer: Offer, table: Listed, trials: int) -> np.ndarray:
    curator = QuestionCurator(table=table, run=QuestionRunInMemory())
    drawn = [curator.answer(offer)[0][-1].values[0] for _ in range(trials)]
    return np.array(drawn, float)


@pytest.mark.parametrize("twin", [Listed, Ungrouped])
def test_an_audit_sees_one_row_for_a_unit(twin: type[Listed]) -> None:
    """The number of units moves by one for a unit of two rows; by two in the twin."""
    offer = offer_answer(
        plan_query(count().per_unit(n="count"), SMALL),
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        amount=Fraction(1),
    )
    common: list[Row] = [{"who": "a", "x": 1}]
    added: list[Row] = [{"who": "b", "x": 2}, {"who": "b", "x": 2}]
    here, there = twin(common, SMALL), twin([*common, *added], SMALL)
    middle = 1.5 if twin is Listed else 2.0
    scores = [scores_of(offer, table, 1500) for table in (here, there)]
    found = gdp(*scores, 1.0, at=middle, alpha=1e-7)
    assert found.violated == (twin is Ungrouped)


def test_what_cannot_be_made_of_a_unit_is_refused() -> None:
    without = Schema.parse("columns:\n  x: {type: integer, min: 0, max: 3}")
    for columns, schema, words in (
        ({"n": "count"}, without, "max_rows"),
        ({"n": "mean x"}, SMALL, "`count`"),
        ({"n": "sum"}, SMALL, "`count`"),
        ({"n": "any"}, SMALL, "`count`"),
        ({"n": "sum y"}, SMALL, "not in the schema"),
        ({"n": "sum who"}, SMALL, "only numbers"),
        ({"n;--": "count"}, SMALL, "letters"),
    ):
        with pytest.raises(Refused, match=words):
            plan_query(count().per_unit(**columns), schema)
    with pytest.raises(Refused, match="not in the schema"):
        plan_query(total("x").per_unit(n="count"), SMALL)


def test_a_unit_column_never_shares_an_answer_or_a_scope_with_a_real_one() -> None:
    """A column per unit may have the name of a column of the table."""
    plain = plan_query(count().where("x > 0"), SMALL)
    units = plan_query(count().per_unit(x="max x").where("x > 0"), SMALL)
    other = plan_query(count().per_unit(x="min x").where("x > 0"), SMALL)
    digests = {plan.digest(plan.statistics[0]) for plan in (plain, units, other)}
    assert len(digests) == 3
    seen = plan_query(count().per_unit(s="any x = 2").where("s = true"), SMALL)
    (order,) = offer_answer(
        seen,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        amount=Fraction(1),
    ).orders
    assert order.scope is None


def test_a_session_answers_about_units(tmp_path: object) -> None:
    with us.session(ROWS, VISITS, ledger=f"{tmp_path}/v.ledger", budget=9) as questions:
        question = us.total("visits").per_unit(visits="count")
        first = questions.ask(question, within=20)
        assert questions.ask(question, within=20).rows == first.rows
    # ±20 at 95 % is 10.5 deviations of noise at most: far below 60.
    assert abs(first.value - ROWS.height) < 60
