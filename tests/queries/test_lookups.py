"""Joins with public tables: against DuckDB without noise, refusals, and that the rows of
the private table decide nothing.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import polars as pl
import pytest

import understudy as us
from kit.curator.contexts import no_noise
from kit.queries.noiseless import QuestionRunInMemory, table_of
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.questions import QuestionCurator
from understudy.errors import Refused
from understudy.queries.lookups import PublicTable
from understudy.queries.offers import offer_answer
from understudy.queries.results import AnswerTable, make_answer, pool_statistics
from understudy.workflow.asking.question_price import plan_question

TOWNS = PublicTable(
    "towns",
    "town",
    {
        "Bonn": {"land": "NRW", "people": 330, "river": 1.5},
        "Ulm": {"land": "BW", "people": 126, "river": 2.25},
        "Aachen": {"land": "NRW", "people": 249, "river": 0.5},
        "Paris": {"land": "IDF", "people": 2100, "river": 7.0},
    },
)
SCHEMA = us.Schema.parse(
    """
columns:
  town: {type: categorical, values: [Aachen, Bonn, Celle, Ulm], other: elsewhere}
  age: {type: integer, min: 0, max: 99, nullable: false}
"""
)
PEOPLE = pl.DataFrame(
    {
        "town": [["Aachen", "Bonn", "Celle", "Ulm", None][i % 5] for i in range(200)],
        "age": [(i * 7) % 100 for i in range(200)],
    }
)


def answer_without_noise(question: str | us.Query) -> AnswerTable:
    plan = plan_question(question, SCHEMA, [TOWNS])
    offer = offer_answer(
        plan,
        neighbours=Neighbours.ADD_REMOVE,
        accounting=Accounting.GDP,
        amount=Fraction(1),
    )
    curator = QuestionCurator(
        table=table_of(PEOPLE, SCHEMA), run=QuestionRunInMemory(), draw=no_noise
    )
    return make_answer(
        plan, pool_statistics(plan, curator.answer(offer)), basis="", cost=None
    )


def ask_duckdb(sql: str) -> dict[object, float]:
    public = pl.DataFrame([{"town": t, **row} for t, row in TOWNS.rows.items()])
    with duckdb.connect() as connection:
        connection.register("people", PEOPLE.to_arrow())
        connection.register("towns", public.to_arrow())
        rows = connection.execute(sql).fetchall()
    return {row[:-1]: float(row[-1]) for row in rows}


@pytest.mark.parametrize(
    "sql",
    [
        "WITH old AS (SELECT town FROM people WHERE age > 50) SELECT land, COUNT(*) AS n"
        " FROM old JOIN towns USING (town) WHERE ABS(people - 300) < 60 GROUP BY land",
        "SELECT land, COUNT(*) AS n FROM people JOIN towns USING (town) GROUP BY land",
        "SELECT t.land, SUM(p.age) AS s FROM people p JOIN towns t ON p.town = t.town"
        " WHERE t.people > 130 AND p.age < 50 GROUP BY t.land",
        "SELECT COUNT(*) AS n FROM people JOIN towns USING (town)",
        "SELECT COUNT(*) AS n FROM people JOIN towns USING (town) WHERE NOT (land ="
        " 'NRW' OR age > 80)",
        "SELECT people, COUNT(*) AS n FROM people JOIN towns USING (town) GROUP BY people",
        "SELECT COUNT(*) AS n FROM people JOIN towns USING (town) WHERE river >= 2.25",
        "SELECT COUNT(*) AS n FROM people JOIN towns USING (town) WHERE land = 'IDF'",
        "SELECT COUNT(*) FILTER (WHERE land IN ('BW', 'IDF')) AS n FROM people JOIN towns"
        " USING (town)",
    ],
)
def test_without_noise_it_is_what_duckdb_answers(sql: str) -> None:
    answer = answer_without_noise(sql)
    truth = ask_duckdb(sql)
    found = {row.keys: row.numbers[0].value for row in answer.rows}
    # Groups that no row has are shown too, with 0.
    assert {keys: value for keys, value in found.items() if value} == {
        keys: value for keys, value in truth.items() if value
    }


def test_python_asks_the_same_without_a_join() -> None:
    asked = us.count().by("land").where("people > 130")
    sql = (
        "SELECT land, COUNT(*) AS count FROM people JOIN towns USING (town)"
        " WHERE people > 130 GROUP BY land"
    )
    assert answer_without_noise(asked).rows == answer_without_noise(sql).rows


def test_a_lookup_is_a_question_about_the_key() -> None:
    """Sensitivity and digest are those of groups of the key: a row is in one of them."""
    plan = plan_question(us.count().by("land"), SCHEMA, [TOWNS])
    assert plan.sensitivity(plan.statistics[0], Neighbours.ADD_REMOVE).l2_squared == 1
    assert plan.sensitivity(plan.statistics[0], Neighbours.REPLACE).l2_squared == 2
    other = PublicTable("towns", "town", {t: {"land": "x"} for t in TOWNS.rows})
    again = plan_question(us.count().by("land"), SCHEMA, [other])
    assert plan.digest(plan.statistics[0]) != again.digest(again.statistics[0])


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("SELECT COUNT(*) FROM people LEFT JOIN towns USING (town)", "side|Join"),
        ("SELECT COUNT(*) FROM people JOIN rivers USING (town)", "Join"),
        ("SELECT COUNT(*) FROM people JOIN towns USING (age)", "by its key"),
        ("SELECT COUNT(*) FROM people JOIN towns ON age > people", "Join"),
        ("SELECT COUNT(*) FROM people CROSS JOIN towns", "Join"),
        ("SELECT AVG(people) FROM people JOIN towns USING (town)", "group rows"),
        (
            "SELECT COUNT(*) FROM people JOIN towns USING (town) WHERE age < people",
            "constants",
        ),
    ],
)
def test_other_joins_are_refused(question: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        plan_question(question, SCHEMA, [TOWNS])


def test_a_public_table_is_checked_when_it_is_given(tmp_path: Path) -> None:
    for rows in ({}, {"a": {"x": ""}}, {"a": {"x": 1}, "b": {"y": 1}}, {"a": {}}):
        with pytest.raises(Refused, match="public table"):
            PublicTable("t", "town", rows)
    file = tmp_path / "towns.csv"
    file.write_text("town,land\nBonn,NRW\nBonn,BW\n")
    with pytest.raises(Refused, match="looked up once"):
        PublicTable.load(file)
    with pytest.raises(Refused, match="cannot be read"):
        PublicTable.load(tmp_path / "none.csv")
    for key, attribute in (("age", "land"), ("town", "age")):
        given = PublicTable("t", key, {"Bonn": {attribute: "x"}})
        with pytest.raises(Refused, match="public table"):
            plan_question(us.count(), SCHEMA, [given])


def test_an_attribute_is_all_texts_or_all_numbers() -> None:
    """Groups of both have no order, which would show behind the charge."""
    with pytest.raises(Refused, match="texts and numbers"):
        PublicTable("t", "region", {"North": {"zone": "a"}, "South": {"zone": 2}})


def test_a_session_joins_a_file(tmp_path: Path) -> None:
    file = tmp_path / "towns.csv"
    file.write_text("town,land,people\nBonn,NRW,330\nAachen,NRW,249\nUlm,BW,126\n")
    public = [PublicTable.load(file)]
    sql = "SELECT land, COUNT(*) AS n FROM p JOIN towns USING (town) GROUP BY land"
    with us.session(
        PEOPLE, SCHEMA, ledger=tmp_path / "p.ledger", budget=9, public=public
    ) as questions:
        answer = questions.ask(sql, within=20)
        assert questions.ask(sql, within=20).rows == answer.rows
        batch = questions.ask([us.count().by("land"), us.count()], epsilon=2)
    assert [row.keys for row in answer.rows] == [("BW",), ("NRW",)]
    # ±20 at 95 % are 10.5 a deviation: six of them are 63.
    assert abs(answer.rows[1].numbers[0].value - 80) < 63
    assert len(batch[0].rows) == 2
