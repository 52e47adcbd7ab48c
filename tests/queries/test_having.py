"""Conditions on answers: what they keep is what DuckDB keeps, and what cannot be judged
or put in order is refused before the charge.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from kit.queries.noiseless import answer_once, duckdb_rows, table_of
from understudy.errors import Refused
from understudy.noise import draw_noise
from understudy.queries import cases, count, mean, quantile, select
from understudy.queries.answer_rows import order_quantiles
from understudy.queries.estimates import NumberEstimate
from understudy.queries.plan import plan_query

PEOPLE = make_people()
TABLE = table_of(PEOPLE, PEOPLE_SCHEMA)
KEPT_BY_KEYS = (
    "NOT married",
    "NOT (married = FALSE)",
    "NOT (region = 'North')",
    "region <> 'North'",
    "region NOT IN ('North')",
    "NOT (region IN ('North', 'East'))",
    "NOT (region IS NULL)",
    "married OR region IS NULL",
    "NOT (married AND region = 'North')",
    "NOT (married = FALSE OR region = 'North')",
    "region IS NOT NULL AND NOT married",
)


@pytest.mark.parametrize("condition", KEPT_BY_KEYS)
def test_a_missing_key_is_neither_kept_nor_not_as_in_sql(condition: str) -> None:
    groups = (
        "SELECT region, married, COUNT(*) AS n FROM people GROUP BY region, married"
    )
    occurring = {row[:2] for row in duckdb_rows(PEOPLE, groups)}
    text = f"{groups} HAVING {condition}"
    ours = {row.keys for row in answer_once(TABLE, PEOPLE_SCHEMA, text).rows}
    theirs = {row[:2] for row in duckdb_rows(PEOPLE, text)}
    assert ours & occurring == theirs
    assert theirs < occurring


@pytest.mark.parametrize(
    ("condition", "sql"),
    [
        ("count > 120", "n > 120"),
        ("region = North or count >= 128", "region = 'North' OR n >= 128"),
        ("not (count < mean_age)", "NOT (n < a)"),
        ("count + 1 > 112 and region is not missing", "n > 111 AND NOT region IS NULL"),
    ],
)
def test_python_keeps_what_sql_keeps(condition: str, sql: str) -> None:
    query = select(count(), mean("age")).by("region").keep(condition)
    text = f"SELECT region, COUNT(*) n, AVG(age) a FROM p GROUP BY region HAVING {sql}"
    ours = answer_once(TABLE, PEOPLE_SCHEMA, query).rows
    assert ours == answer_once(TABLE, PEOPLE_SCHEMA, text).rows
    assert 0 < len(ours) < 5


def test_a_second_condition_must_be_met_too() -> None:
    query = count().by("region").keep("count > 100").keep("region = North")
    rows = answer_once(TABLE, PEOPLE_SCHEMA, query).rows
    assert [row.keys for row in rows] == [("North",)]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("nothing > 3", "no column"),
        ("age > 3", "no column"),
        ("count + count_age > 3", "constants or with one another"),
        ("if count > 3 then region = North", "constants or with one another"),
        ("count between", "cannot be read"),
        ("region = 1", "single quotes"),
        ("region in (1, 2)", "single quotes"),
        ("count > 'many'", "no texts"),
        ("count_age > few", "no texts"),
    ],
)
def test_what_cannot_be_judged_of_an_answer_is_refused_before_the_charge(
    condition: str, message: str
) -> None:
    query = select(count(), count("age")).by("region").keep(condition)
    with pytest.raises(Refused, match=message) as refused:
        plan_query(query, PEOPLE_SCHEMA)
    assert "Nothing was spent" in str(refused.value)


@pytest.mark.parametrize(
    "labels", [("old", 3), (True, "no"), (True, 1), (float("nan"), 2), (1.5, "x")]
)
def test_groups_that_have_no_order_are_refused_before_the_charge(
    labels: tuple[str | float, str | int],
) -> None:
    """Put in order behind the charge, they would fail there."""
    first, other = labels
    key = cases(("age > 50", first), otherwise=other, name="k")
    with pytest.raises(Refused, match="all called by texts"):
        plan_query(count().by(key).order_by("k"), PEOPLE_SCHEMA)


@pytest.mark.parametrize("labels", [("old", "young"), (True, False), (2, 1.5)])
def test_groups_of_one_kind_are_put_in_order(
    labels: tuple[str | float, str | float],
) -> None:
    key = cases(("age > 50", labels[0]), ("age > 20", labels[1]), name="k")
    query = count().by(key).order_by("k", descending=True)
    rows = answer_once(TABLE, PEOPLE_SCHEMA, query).rows
    assert [row.keys[0] for row in rows] == [*sorted(labels, reverse=True), None]


def test_quantiles_of_one_answer_do_not_cross() -> None:
    """With much noise searches for near levels cross in about half of all groups."""
    levels = (0.7, 0.5, 0.6)
    query = select(*(quantile("age", level) for level in levels)).by("children")
    answer = answer_once(
        TABLE, PEOPLE_SCHEMA, query, amount=Fraction(1, 50), draw=draw_noise
    )
    for row in answer.rows:
        high, low, middle = row.numbers
        assert low.value <= middle.value <= high.value
        assert all(n.low <= n.value <= n.high for n in row.numbers)


def test_estimates_that_cross_are_exchanged_among_quantiles_of_the_same_rows() -> None:
    aggregates = select(
        quantile("age", 0.9), count(), quantile("age", 0.5), quantile("income", 0.1)
    ).aggregates
    numbers = [
        NumberEstimate(40, 35, 50),
        NumberEstimate(7, 5, 9),
        NumberEstimate(60, 45, 65),
        NumberEstimate(10, 5, 90),
    ]
    ordered = order_quantiles(aggregates, numbers)
    assert ordered == [
        NumberEstimate(60, 35, 60),
        numbers[1],
        NumberEstimate(40, 40, 65),
        numbers[3],
    ]
