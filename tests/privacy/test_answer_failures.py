"""Ways in which answers under a budget have failed elsewhere, each shown not to happen
here. docs/testing.md has the list of classes, and where the others are tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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
from understudy.workflow.asking.session import Session

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


FOLLOWS_ANSWERS = "what is asked follows from noisy answers"
"""The purpose of questions whose digests differ from run to run."""

ASKED: dict[str, Callable[[Session], object]] = {
    "counts and sums": lambda s: s.ask(
        "SELECT sex, COUNT(*), SUM(income), AVG(weight) FROM people GROUP BY sex",
        epsilon=1,
    ),
    "branches": lambda s: s.ask(
        "SELECT CASE WHEN age > 60 THEN 'old' ELSE region END AS k,"
        " 100 * COUNT(income) / COUNT(*) FROM people GROUP BY k",
        epsilon=1,
    ),
    "parts of dates": lambda s: s.ask(
        "SELECT QUARTER(born) AS q, COUNT(*) FROM people GROUP BY q", epsilon=1
    ),
    "functions of labels": lambda s: s.ask(
        "SELECT LEFT(region, 1) AS l, STDDEV(age) FROM people GROUP BY l", epsilon=1
    ),
    "a part of the table": lambda s: s.ask(
        us.median("income").where("region = 'North'"), epsilon=1
    ),
    "several at once": lambda s: s.ask(
        [us.count(), us.count().by("sex"), us.mean("age"), us.total("income")],
        epsilon=1,
    ),
    "within a width": lambda s: s.ask(us.count().where("married"), within=50),
    "asked again": lambda s: s.ask(us.count().where("married"), within=20),
    "online": lambda s: us.ask_online(
        s,
        [us.count().by("region"), us.count().where("age > 50")],
        epsilon=1,
        failures=2,
    ),
    "least squares": lambda s: us.regress(s, "income ~ age + sex", epsilon=1),
    "clusters": lambda s: us.cluster(
        s,
        ["age", "income"],
        clusters=2,
        epsilon=1,
        method="lloyd",
        purpose=FOLLOWS_ANSWERS,
    ),
    "itemsets": lambda s: us.find_itemsets(
        s, ["sex", "region"], top=2, epsilon=1, purpose=FOLLOWS_ANSWERS
    ),
    "smooth median": lambda s: us.smooth_median(s, "income", epsilon=1),
    "proposed median": lambda s: us.propose_median(
        s, "income", sensitivity=900, epsilon=1
    ),
}


def list_records(people: pl.DataFrame, book: Path) -> list[dict[str, object]]:
    """What the account says after every way to ask, but for what was drawn."""
    with us.session(
        people, PEOPLE_SCHEMA, ledger=book, budget=30, private_keys=True
    ) as questions:
        for ask in ASKED.values():
            ask(questions)
    records = []
    with us.Ledger.open(book) as ledger:
        for entry in ledger.entries():
            facts = entry.facts
            drawn = {"payload", "bytes"}
            if facts.get("purpose") == FOLLOWS_ANSWERS or entry.kind == "answer":
                drawn.add("request")
            said = {name: fact for name, fact in facts.items() if name not in drawn}
            records.append({"kind": entry.kind, "step": entry.step, **said})
    return records


def test_an_account_says_the_same_of_every_table(tmp_path: Path) -> None:
    """How often was asked, what of, in which order and at which price: all of it is
    known before a row is read.
    """
    records = [
        list_records(people, tmp_path / f"{number}.ledger")
        for number, people in enumerate(ODD_TABLES[::2])
    ]
    charges = [each for each in records[0] if each["kind"] == "charge"]
    assert len(charges) > 30
    assert all(own == records[0] for own in records)


def test_a_price_that_follows_the_rows_shows_in_the_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin that asks a second time where few rows are there."""

    def ask_twice(session: Session, *given: object, **named: object) -> object:
        if session._curator.table.rows() < 100:
            session.ask(us.count().where("age > 3"), epsilon=1)
        return smooth(session, *given, **named)

    smooth = us.smooth_median
    monkeypatch.setattr(us, "smooth_median", ask_twice)
    for name in ASKED.keys() - {"smooth median"}:
        monkeypatch.delitem(ASKED, name)
    many, few = (
        list_records(people, tmp_path / f"{people.height}.ledger")
        for people in (PEOPLE, PEOPLE.head(1))
    )
    assert many != few


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
