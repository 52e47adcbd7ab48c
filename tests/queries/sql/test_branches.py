"""Conditions with branches, conditions as numbers, and subqueries that choose rows: what
they select is what DuckDB selects.
"""

from __future__ import annotations

import pytest

from kit.queries.corpus import BRANCHED_CONDITIONS, PEOPLE_SCHEMA, make_people
from kit.queries.noiseless import answer_once, duckdb_rows, table_of
from understudy.errors import Refused
from understudy.queries.plan import plan_query
from understudy.queries.sql.reader import read_sql
from understudy.schema import Schema

PEOPLE = make_people()
TABLE = table_of(PEOPLE, PEOPLE_SCHEMA)

QUESTIONS = (
    "SELECT AVG(CAST(married AS INT)), COUNT(CAST(married AS INT)) FROM people",
    "SELECT SUM((age > 40)::INT), AVG((children > 4)::INT), COUNT(age > 40) FROM people",
    "SELECT QUANTILE(age, 0.5) FROM people WHERE 1 = 1",
    "SELECT children // 3 AS k, SUM(age > 40) FROM people GROUP BY k",
    "SELECT (age // 10) * 10 AS k, COUNT(*) FROM people GROUP BY ALL",
    "SELECT sex, COUNT(*), 100 * AVG(age) FROM people GROUP BY ALL",
    "SELECT SUM(age) FROM (SELECT age, sex FROM people WHERE children > 3) AS t",
    "WITH t AS (SELECT age, sex FROM people WHERE age > 4), u AS (SELECT age FROM t"
    " WHERE sex = 'F') SELECT COUNT(*), AVG(age) FROM u WHERE age < 70",
    "WITH people AS (SELECT * FROM people WHERE age > 50) SELECT COUNT(*) FROM people",
    "SELECT region, COUNT(*) FROM people GROUP BY region ORDER BY region NULLS FIRST LIMIT 1",
)


def answers_of(question: str) -> list[tuple[object, ...]]:
    return [
        (*row.keys, *(number.value for number in row.numbers))
        for row in answer_once(TABLE, PEOPLE_SCHEMA, question).rows
    ]


def test_conditions_with_branches_hold_where_those_of_duckdb_do() -> None:
    counted = " , ".join(
        f"COUNT(*) FILTER (WHERE {each})" for each in BRANCHED_CONDITIONS
    )
    theirs = duckdb_rows(PEOPLE, f"SELECT {counted} FROM people")[0]
    for condition, expected in zip(BRANCHED_CONDITIONS, theirs, strict=True):
        question = f"SELECT COUNT(*) FROM people WHERE {condition}"
        assert answers_of(question) == [(expected,)], condition


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered_as_duckdb_does(question: str) -> None:
    ours = answers_of(question)
    for expected in duckdb_rows(PEOPLE, question):
        assert any(pytest.approx(expected) == row for row in ours), expected


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("SELECT COUNT(age) FROM (SELECT sex FROM people)", "not in the schema"),
        ("WITH t AS (SELECT age AS a FROM people) SELECT COUNT(a) FROM t", "subquery"),
        (
            "WITH t AS (SELECT age FROM people LIMIT 5) SELECT SUM(age) FROM t",
            "subquery",
        ),
        ("WITH RECURSIVE t AS (SELECT * FROM t) SELECT COUNT(*) FROM t", "With"),
        (
            "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT COUNT(*) FROM a",
            "nested too deeply",
        ),
        ("SELECT income // 1000 AS k, COUNT(*) FROM people GROUP BY k", "FLOOR"),
        ("SELECT COUNT(*) FROM people WHERE ABS(age) > -1", "Neg"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex, region)", "by itself"),
        ("SELECT COUNT(*) FROM people WHERE age IN (NULL, 30)", "IS NULL"),
        ("SELECT COUNT(*) FROM people TABLESAMPLE 10%", "all rows"),
        ("SELECT COUNT(*) FROM people WHERE age * 1e300 * 1e300 > 3", "too large"),
        ("SELECT SUM(age * 1e300 * 1e300) AS s FROM people", "too large"),
        ("SELECT COUNT(*) FROM people WHERE COALESCE(age, 'x') > 3", "constant 3"),
        (
            "SELECT COUNT(*) FROM people WHERE "
            + "CASE WHEN " * 30
            + "age > 1"
            + " THEN 1 ELSE 2 END <> 3" * 30,
            "nested too deeply",
        ),
    ],
)
def test_what_chooses_otherwise_is_refused(question: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        read_sql(question, PEOPLE_SCHEMA)


def test_columns_per_unit_are_never_of_rows_that_were_chosen_in_silence() -> None:
    stays = Schema.parse(
        "unit: {id: who, max_rows: 3}\ncolumns:\n  who: {type: identifier}\n"
        "  cost: {type: integer, min: 0, max: 50}\n"
    )
    each = "SELECT who, COUNT(*) AS n FROM {} GROUP BY who"
    chosen = "WITH dear AS (SELECT * FROM stays WHERE cost > 9) "
    for text in (
        f"{chosen}SELECT AVG(n) FROM ({each.format('dear')}) AS u",
        f"SELECT AVG(n) FROM ({each.format('(SELECT * FROM stays WHERE cost > 9)')})",
    ):
        with pytest.raises(Refused, match="FILTER"):
            read_sql(text, stays)
    counted = f"WITH u AS ({each.format('stays')}) SELECT COUNT(*) FROM u WHERE n > 1"
    asked = plan_query(read_sql(counted, stays), stays)
    assert asked.features is not None
    assert str(asked.condition) == "n > 1"
