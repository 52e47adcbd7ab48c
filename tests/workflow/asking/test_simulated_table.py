"""Made-up rows: from the schema alone, for nothing, with the noise of real answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import understudy as us
from kit.queries.corpus import PEOPLE_SCHEMA
from understudy.errors import Refused
from understudy.queries.results import AnswerTable
from understudy.schema import Schema
from understudy.workflow.asking.simulated_table import SIMULATED_ROWS, simulate_rows

VISITS_SCHEMA = Schema.parse(
    """
unit: {id: patient, max_rows: 4}
columns:
  patient: identifier
  sex: {type: categorical, values: [F, M], constant: true}
  age: {type: integer, min: 0, max: 90}
  remarks: text
  code: {type: integer}
rules: [age < code]
broken: drop
"""
)


def test_numbers_are_those_of_made_up_rows_and_intervals_those_of_real_answers() -> (
    None
):
    """A thousand rows, all values of a column equally likely."""
    question = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    tried = us.try_question(PEOPLE_SCHEMA, question, within=20)
    priced = us.price(PEOPLE_SCHEMA, question, within=20)
    assert [row.keys for row in tried.rows] == [("F",), ("M",), ("X",)]
    assert tried.half_width <= priced.half_widths["n"] == 20
    # Noise of deviation 10.2 beyond 60 has a probability below 1e-8.
    for n in tried.to_dict()["n"]:
        assert abs(n - SIMULATED_ROWS / 3) < 62
    assert (tried.cost, tried.basis) == (None, "made-up rows: the numbers mean nothing")


def ask_visits(question: str) -> AnswerTable:
    return us.try_question(VISITS_SCHEMA, question, epsilon=20)


def test_units_and_columns_without_a_domain_take_part() -> None:
    """Units have all the rows they may have. A rule about a column that is not declared
    is broken by no row, for its cells are empty.
    """
    people = ask_visits("SELECT COUNT(DISTINCT patient) AS n FROM visits").value
    assert abs(people - SIMULATED_ROWS / 4) < 20
    rows = ask_visits("SELECT COUNT(*) AS n FROM visits").value
    assert abs(rows - SIMULATED_ROWS) < 60
    assert 30 < ask_visits("SELECT MEDIAN(age) AS m FROM visits").value < 60


@pytest.mark.parametrize(
    "question", ["SELECT * FROM visits", "SELECT SUM(code) FROM visits", "SELECT 1"]
)
def test_what_is_refused_of_real_rows_is_refused_of_made_up_ones(question: str) -> None:
    with pytest.raises(Refused) as real:
        us.price(VISITS_SCHEMA, question, epsilon=1)
    with pytest.raises(Refused) as tried:
        ask_visits(question)
    assert str(tried.value) == str(real.value)


def test_the_rows_follow_from_the_schema_and_nothing_is_written(tmp_path: Path) -> None:
    with (
        simulate_rows(PEOPLE_SCHEMA) as one,
        simulate_rows(PEOPLE_SCHEMA) as other,
    ):
        first, second = (
            source.engine.run(f"SELECT * FROM {source.relation}", doing="")
            for source in (one, other)
        )
    assert first == second
    assert len(first) == SIMULATED_ROWS
    assert list(tmp_path.iterdir()) == []
