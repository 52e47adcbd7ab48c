"""Parts of dates and functions of labels: as DuckDB reads them, from the schema alone."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest

from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from kit.queries.noiseless import answer_once, duckdb_rows, table_of
from understudy.errors import Refused
from understudy.queries.plan import plan_query
from understudy.queries.sql.reader import read_sql
from understudy.schema import Schema

PEOPLE = make_people()
ARRIVALS = PEOPLE.select(
    pl.col("region").alias("ward"),
    pl.Series(
        "arrived",
        [datetime(2023, 1, 1) + timedelta(hours=41 * i) for i in range(PEOPLE.height)],
    ),
)
ARRIVALS_SCHEMA = Schema.parse(
    """
columns:
  ward: {type: categorical, values: [North, South, East, West]}
  arrived: {type: datetime, min: 2023-01-01 00:00, max: 2024-12-31 23:00, resolution: 1h}
"""
)

KEYS_OF_PEOPLE = (
    "EXTRACT(QUARTER FROM born)",
    "LEFT(region, 1)",
    "SUBSTR(region, 2, 2)",
    "UPPER(RIGHT(region, 3))",
    "STARTS_WITH(region, 'S')",
    "YEAR(born), QUARTER(born)",
)
KEYS_OF_ARRIVALS = (
    "CAST(DATE_TRUNC('month', arrived) AS DATE)",
    "STRFTIME(arrived, '%Y-%m')",
    "DAYOFWEEK(arrived)",
    "ISODOW(arrived), ward",
    "WEEK(arrived)",
    "DAYNAME(arrived)",
    "DATE_PART('month', arrived)",
    "YEAR(arrived), MONTH(arrived)",
    "CAST(DATE_TRUNC('week', arrived) AS DATE)",
    "MONTHNAME(arrived)",
)
CONDITIONS_OF_ARRIVALS = (
    "MONTH(arrived) IN (12, 1, 2)",
    "MONTH(arrived) NOT IN (12, 1, 2)",
    "STRFTIME(arrived, '%B %Y') IN ('May 2023', 'June 2024', 'no month')",
    "EXTRACT(YEAR FROM arrived) = 2023 AND DAY(arrived) > 9",
    "NOT (MONTH(arrived) BETWEEN 4 AND 9)",
    "3 >= QUARTER(arrived)",
    "EXTRACT(MONTH FROM arrived) = 13",
    "CASE WHEN MONTH(arrived) < 7 THEN 1 ELSE 2 END = 2",
)
CONDITIONS_OF_PEOPLE = (
    # A branch without a result is NULL, which no part of a date equals.
    "CASE WHEN age > 20 THEN 1980 END = YEAR(born)",
    "CASE WHEN age > 20 THEN 15 END = ABS(age - 30)",
    "STRFTIME(born, '%Y-%m') = '1988-05' OR DATE_TRUNC('year', born) > DATE '1990-01-01'",
    "UPPER(region) = 'NORTH'",
    "LEFT(region, 1) <> 'N'",
    "NOT STARTS_WITH(region, 'N') AND CONTAINS(region, 't')",
    "LOWER(region) LIKE '%th'",
    "SUBSTR(region, 1, 1) IN ('N', 'E')",
    "SUBSTR(region, 1, 1) NOT IN ('N', 'Q')",
)


@pytest.mark.parametrize("keys", KEYS_OF_PEOPLE)
def test_groups_are_those_of_duckdb(keys: str) -> None:
    judge_groups(PEOPLE, PEOPLE_SCHEMA, keys)


@pytest.mark.parametrize("keys", KEYS_OF_ARRIVALS)
def test_groups_of_moments_are_those_of_duckdb(keys: str) -> None:
    judge_groups(ARRIVALS, ARRIVALS_SCHEMA, keys)


def judge_groups(rows: pl.DataFrame, schema: Schema, keys: str) -> None:
    theirs = duckdb_rows(rows, f"SELECT {keys}, COUNT(*) FROM people GROUP BY ALL")
    # A cast that a date needs in DuckDB alone.
    plain = keys.replace("CAST(", "").replace(" AS DATE)", "")
    question = f"SELECT {plain}, COUNT(*) FROM people GROUP BY {plain}"
    answer = answer_once(table_of(rows, schema), schema, question)
    ours = {row.keys: row.numbers[0].value for row in answer.rows}
    expected = {
        tuple(str(k) if hasattr(k, "isoformat") else k for k in each): count
        for *each, count in theirs
    }
    assert expected == {keys: count for keys, count in ours.items() if count}


@pytest.mark.parametrize("condition", CONDITIONS_OF_PEOPLE)
def test_conditions_are_those_of_duckdb(condition: str) -> None:
    judge_condition(PEOPLE, PEOPLE_SCHEMA, condition)


@pytest.mark.parametrize("condition", CONDITIONS_OF_ARRIVALS)
def test_conditions_on_moments_are_those_of_duckdb(condition: str) -> None:
    judge_condition(ARRIVALS, ARRIVALS_SCHEMA, condition)


def judge_condition(rows: pl.DataFrame, schema: Schema, condition: str) -> None:
    question = f"SELECT COUNT(*) FROM people WHERE {condition}"
    ((expected,),) = duckdb_rows(rows, question)
    assert answer_once(table_of(rows, schema), schema, question).value == expected


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("SELECT COUNT(*) FROM people WHERE DAYOFWEEK(born) = 0", "longer parts"),
        ("SELECT COUNT(*) FROM people WHERE MONTH(born) = 5", "Group by"),
        (
            "SELECT COUNT(*) FROM people GROUP BY DATE_TRUNC('month', born)",
            "longer parts",
        ),
        ("SELECT COUNT(*) FROM people WHERE MONTH(age) = 3", "Month"),
        ("SELECT COUNT(*) FROM people WHERE MONTH(born) IN (1, 'May')", "constant May"),
        ("SELECT COUNT(*) FROM people WHERE MONTH(born) = children", '"children"'),
        ("SELECT FOO(age) FROM people", "FOO"),
        ("SELECT COUNT(*) FROM people WHERE MONTH(born) = 'May'", "constant May"),
        ("SELECT COUNT(*) FROM people GROUP BY HOUR(born)", "Hour"),
        ("SELECT COUNT(*) FROM people GROUP BY STRFTIME(born, '%H')", "TimeToStr"),
        ("SELECT COUNT(*) FROM people GROUP BY CAST(MONTHNAME(born) AS INT)", "Cast"),
        ("SELECT COUNT(*) FROM people WHERE UPPER(region) > 'N'", "Upper"),
        ("SELECT COUNT(*) FROM people GROUP BY UPPER(age)", "Upper"),
        ("SELECT COUNT(*) FROM people GROUP BY LEFT(region, -1)", "Left"),
    ],
)
def test_what_no_calendar_and_no_list_decides_is_refused(
    question: str, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        plan_query(read_sql(question, PEOPLE_SCHEMA), PEOPLE_SCHEMA)
