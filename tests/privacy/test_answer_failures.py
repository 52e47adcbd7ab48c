"""Ways in which answers under a budget have failed elsewhere, each shown not to happen
here. docs/testing.md has the list of classes, and where the others are tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from kit.queries.corpus import (
    PEOPLE_SCHEMA,
    REFUSED_QUESTIONS,
    list_questions,
    make_people,
)
from kit.queries.noiseless import QuestionRunInMemory, answer_once, table_of
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.questions import QuestionCurator
from understudy.errors import Refused
from understudy.noise import draw_noise
from understudy.queries.offers import offer_answer
from understudy.queries.plan import plan_query
from understudy.queries.sql.reader import read_sql

PEOPLE = make_people(300)


def list_odd_tables() -> Iterator[pl.DataFrame]:
    """Tables of one schema that share nothing else."""
    yield PEOPLE
    yield PEOPLE.clear()
    yield PEOPLE.head(1)
    yield pl.concat([PEOPLE.head(1)] * 50)
    yield PEOPLE.with_columns(
        pl.lit(math.nan).alias("weight"),
        pl.lit(10**12, pl.Int64).alias("income"),
        pl.lit("elsewhere").alias("region"),
        pl.lit(None, pl.Boolean).alias("married"),
    )
    yield PEOPLE.with_columns(
        pl.lit(math.inf).alias("weight"), pl.lit(93, pl.Int64).alias("age")
    )


ODD_TABLES = list(list_odd_tables())


def test_every_refusal_is_the_same_for_every_table_and_costs_nothing(
    tmp_path: Path,
) -> None:
    """An error that some rows cause and others do not is an answer that nobody paid
    for: the account has no more entries after a hundred of them.
    """
    messages = []
    for number, people in enumerate(ODD_TABLES):
        book = tmp_path / f"{number}.ledger"
        with us.session(people, PEOPLE_SCHEMA, ledger=book, budget=1) as questions:
            entries = count_entries(book)
            own = []
            for text in REFUSED_QUESTIONS:
                for verb in (questions.ask, questions.price):
                    with pytest.raises(Refused) as refused:
                        verb(text, within=50)
                    own.append(str(refused.value))
            messages.append(own)
            assert count_entries(book) == entries
    assert all(own == messages[0] for own in messages)


def count_entries(book: Path) -> int:
    with us.Ledger.open(book) as ledger:
        return len(ledger.entries())


def test_every_table_has_the_same_groups_and_only_finite_numbers() -> None:
    """No row vanishes, nothing is NaN and nothing fails, whatever the rows are. Without
    columns computed by division, whose intervals may be without ends.
    """
    tables = [table_of(people, PEOPLE_SCHEMA) for people in ODD_TABLES]
    for text in list_questions()[::9]:
        groups = set()
        for table in tables:
            answer = answer_once(table, PEOPLE_SCHEMA, text, draw=draw_noise)
            groups.add(tuple(row.keys for row in answer.rows))
            for number in (n for row in answer.rows for n in row.numbers):
                assert math.isfinite(number.value)
                assert number.low <= number.value <= number.high
        assert len(groups) == 1, text


NOBODY_MEETS = (
    "SELECT COUNT(*), SUM(income) FROM people WHERE age > 200",
    "SELECT sex, COUNT(*) FROM people WHERE age > 60 AND age < 50 GROUP BY sex",
)


def test_nothing_that_depends_on_rows_is_free() -> None:
    """An exact count at ε = 0 was once to be had where NaN became NULL. What is measured
    without noise here, of conditions that no row can meet, is the same for all tables.
    """
    tables = [table_of(people, PEOPLE_SCHEMA) for people in ODD_TABLES]
    free = 0
    for text in (*NOBODY_MEETS, *list_questions()[::4]):
        offer = offer_answer(
            plan_query(read_sql(text, PEOPLE_SCHEMA), PEOPLE_SCHEMA),
            neighbours=Neighbours.ADD_REMOVE,
            accounting=Accounting.GDP,
            amount=Fraction(1),
        )
        places = [i for i, order in enumerate(offer.orders) if not order.scale]
        noisy = [order for order in offer.orders if order.scale]
        assert all(order.cost.amount > 0 for order in noisy)
        answers = [
            QuestionCurator(table=table, run=QuestionRunInMemory()).answer(offer)
            for table in (tables if places else [])
        ]
        for i in places:
            free += 1
            assert len({answer[i][-1].values for answer in answers}) == 1, text
    assert free >= 3


def test_noise_is_drawn_once_however_often_an_answer_is_read(tmp_path: Path) -> None:
    """Noise that is drawn when a result is collected averages out over collections."""
    drawn = []

    def watch(law: Law, scale: Fraction, shape: tuple[int, ...]) -> np.ndarray:
        drawn.append(shape)
        return draw_noise(law, scale, shape)

    book = tmp_path / "people.ledger"
    with us.session(PEOPLE, PEOPLE_SCHEMA, ledger=book, budget=1) as questions:
        watched = type(questions)(
            table=questions._curator.table,
            schema=PEOPLE_SCHEMA,
            ledger=questions._ledger,
            run=questions._run,
            analyst="",
            draw=watch,
        )
        answers = [watched.ask(us.count().by("sex"), within=60) for _ in range(12)]
    readings = set()
    for answer in answers:
        for read in (answer.to_polars, answer.to_pandas, answer.to_dict):
            readings.add(str(list(read()["count"])))
        readings.add(str([row.numbers[0].value for row in answer.rows]))
    assert len(readings) == 1
    assert drawn == [(3,)]
    assert sum(answer.cost is not None for answer in answers) == 1


@pytest.mark.parametrize("aggregate", ["SUM", "AVG", "VAR_SAMP", "MEDIAN"])
def test_a_column_without_bounds_is_refused(aggregate: str) -> None:
    """One row could move its sum by any amount, so no noise would be enough."""
    schema = us.Schema.parse("columns:\n  x: {type: integer}")
    with pytest.raises(Refused, match="min"):
        us.price(schema, f"SELECT {aggregate}(x) FROM t", epsilon=1)
