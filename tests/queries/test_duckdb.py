"""Without noise an answer is that of DuckDB on the same rows: the corpus, and questions
that hypothesis makes up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.queries.corpus import (
    AGGREGATES,
    ARRANGED_QUESTIONS,
    BRANCHED_CONDITIONS,
    CONDITIONS,
    KEYS,
    PEOPLE_SCHEMA,
    REFUSED_QUESTIONS,
    list_questions,
    make_people,
)
from kit.queries.noiseless import (
    answer_once,
    duckdb_columns,
    duckdb_rows,
    table_of,
)
from understudy.errors import Refused
from understudy.queries.results import AnswerTable
from understudy.tables import Table

PEOPLE = make_people()


@pytest.fixture(scope="module")
def table() -> Table:
    return table_of(PEOPLE, PEOPLE_SCHEMA)


def agrees(ours: float, theirs: Any) -> bool:
    """Whether a number is DuckDB's; an aggregate of no rows has none there."""
    if theirs is None or (isinstance(theirs, float) and math.isnan(theirs)):
        return True
    return math.isclose(ours, float(theirs), rel_tol=1e-9, abs_tol=1e-7)


def plain_key(key: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(str(k) if hasattr(k, "isoformat") else k for k in key)


def judge(answer: AnswerTable, theirs: list[tuple[Any, ...]]) -> None:
    """Every group of DuckDB is in the answer with the same numbers, and groups that
    DuckDB does not have are empty.
    """
    width = len(answer.key_titles)
    expected = {plain_key(row[:width]): row[width:] for row in theirs}
    ours = {row.keys: row for row in answer.rows}
    assert set(expected) <= set(ours)
    for keys, row in ours.items():
        numbers = [number.value for number in row.numbers]
        assert all(math.isfinite(number) for number in numbers)
        for number in row.numbers:
            assert number.low <= number.value <= number.high
        if keys in expected:
            pairs = zip(numbers, expected[keys], strict=True)
            assert all(agrees(a, b) for a, b in pairs), (keys, numbers, expected[keys])
        for title, number in zip(answer.number_titles, numbers, strict=True):
            if keys not in expected and title.startswith(("count", "sum")):
                assert number == 0


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert len(set(list_questions())) >= 350


def test_every_question_of_the_corpus_is_answered_as_duckdb_does(table: Table) -> None:
    for question in list_questions():
        judge(
            answer_once(table, PEOPLE_SCHEMA, question), duckdb_rows(PEOPLE, question)
        )


def test_arranged_answers_have_the_rows_of_duckdb_in_its_order(table: Table) -> None:
    """Groups that no row is in come on top: the rows of DuckDB are among ours."""
    for question in ARRANGED_QUESTIONS:
        ours = answer_once(table, PEOPLE_SCHEMA, question).to_dict()
        theirs = duckdb_columns(PEOPLE, question)
        rows = iter(zip(*(ours[name] for name in theirs), strict=True))
        for expected in zip(*theirs.values(), strict=True):
            assert any(is_same_row(row, expected) for row in rows), (question, expected)


def is_same_row(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    return all(
        agrees(a, b) if isinstance(b, float) else a == b
        for a, b in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize("question", REFUSED_QUESTIONS)
def test_what_is_not_answered_is_refused_in_one_line(
    table: Table, question: str
) -> None:
    with pytest.raises(Refused) as refused:
        answer_once(table, PEOPLE_SCHEMA, question)
    message = str(refused.value)
    assert "\n" not in message
    assert "Nothing was spent" in message or "cannot be" in message


atoms = st.sampled_from((*CONDITIONS, *BRANCHED_CONDITIONS))
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"({a}) AND ({b})", inner, inner),
        st.builds(lambda a, b: f"({a}) OR ({b})", inner, inner),
        st.builds(lambda a: f"NOT ({a})", inner),
    ),
    max_leaves=4,
)
questions = st.builds(
    lambda aggregates, condition, keys: (
        f"SELECT {keys + ', ' if keys else ''}{', '.join(aggregates)} FROM people"
        f" WHERE {condition}{' GROUP BY ' + keys if keys else ''}"
    ),
    st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True),
    conditions,
    st.sampled_from(KEYS[:4]),
)


def judge_generated(question: str) -> None:
    message = ""
    try:
        answer = answer_once(SHARED_TABLE, PEOPLE_SCHEMA, question)
    except Refused as refused:
        message = str(refused)
    if message:
        # Comparing columns needs a bin for every value of each.
        assert "combinations" in message
        return
    judge(answer, duckdb_rows(PEOPLE, question))


SHARED_TABLE = table_of(PEOPLE, PEOPLE_SCHEMA)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(questions)
def test_generated_questions_are_answered_as_duckdb_does(question: str) -> None:
    judge_generated(question)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(questions)
def test_many_generated_questions_are_answered_as_duckdb_does(question: str) -> None:
    judge_generated(question)
