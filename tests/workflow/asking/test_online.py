"""A list of counts against an estimate: charged before a row is counted, stored, refused
for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.curator.context import TableProtocol
from understudy.curator.mechanisms.online_counts import OnlineCounts
from understudy.errors import BudgetExceeded, Refused
from understudy.queries.query import Query
from understudy.schema import Schema
from understudy.toolbox.online_counts import CountBasis, plan_online
from understudy.workflow.asking.question_price import plan_question
from understudy.workflow.asking.session import Session

SCHEMA = Schema.parse(
    """
columns:
  age: {type: integer, min: 0, max: 99, nullable: false}
  sex: {type: categorical, values: [F, M], nullable: false}
  pay: {type: integer, min: 0, max: 99999, nullable: false}
  job: {type: categorical, nullable: false}
"""
)
OLD_BY_SEX = us.count().by("sex").where("age >= 60")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, 100, 4_000),
            "sex": np.where(rng.random(4_000) < 0.9, "F", "M"),
            "pay": rng.integers(0, 99_999, 4_000),
            "job": ["a"] * 4_000,
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


def amount_spent(book: Path) -> Fraction:
    with us.Ledger.open(book) as ledger:
        return sum((run.filter.spent for run in ledger.runs()), Fraction(0))


def open_session(people: Path, schema: Schema = SCHEMA, budget: int = 4) -> Session:
    book = people.with_suffix(".ledger")
    return us.session(people, schema, ledger=book, budget=budget)


def test_the_first_failure_is_measured_and_the_rest_is_said_not_to_be_checked(
    people: Path,
) -> None:
    frame = pl.read_csv(people)
    old = frame.filter(pl.col("age") >= 60)
    true = [old.filter(pl.col("sex") == sex).height for sex in "FM"]
    with open_session(people) as questions:
        found = us.ask_online(
            questions, [OLD_BY_SEX, OLD_BY_SEX], epsilon=4, failures=2, threshold=100
        )
    assert [row.keys for row in found.rows] == [("F",), ("M",)] * 2
    # Even weights over ages below and from 60 are off by hundreds: all tests fail.
    assert [row.basis for row in found.rows] == [
        *[CountBasis.MEASURED] * 2,
        *[CountBasis.UNCHECKED] * 2,
    ]
    for row, exact in zip(found.rows, true * 2, strict=True):
        # A 95 % interval, four times as wide.
        assert abs(row.value - exact) <= 2 * (found.rows[0].high - found.rows[0].low)
        assert row.low <= row.value <= row.high
    assert found.lines()[-1] == "2 of 2 failures used up, 2 answers not checked"


def test_what_was_learned_is_checked_and_not_bought_again(people: Path) -> None:
    with open_session(people) as questions:
        found = us.ask_online(
            questions, [us.count().by("sex")] * 10, epsilon=4, threshold=500
        )
    bases = [row.basis for row in found.rows]
    assert bases == [CountBasis.MEASURED, *[CountBasis.CHECKED] * 19]


def test_a_list_is_charged_once_and_stored(people: Path) -> None:
    book = people.with_suffix(".ledger")
    with open_session(people) as questions:
        first = us.ask_online(questions, [OLD_BY_SEX], epsilon=1)
        spent = amount_spent(book)
        assert first.cost is not None
        assert spent == first.cost.amount
        again = us.ask_online(questions, [OLD_BY_SEX], epsilon=1)
        assert again.cost is None
        assert again.rows == first.rows
        assert amount_spent(book) == spent
        other = us.ask_online(questions, [OLD_BY_SEX], epsilon=1, threshold=7)
        assert other.cost is not None
        assert amount_spent(book) == spent + other.cost.amount


def test_the_charge_is_on_disk_before_a_row_is_counted_and_stays(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = people.with_suffix(".ledger")
    seen: list[Fraction] = []

    def fail(mechanism: OnlineCounts, table: TableProtocol) -> tuple[int, list[int]]:
        seen.append(amount_spent(book))
        assert seen == [mechanism.cost.amount]
        raise KeyboardInterrupt

    monkeypatch.setattr(OnlineCounts, "count_exactly", fail)
    with open_session(people) as questions, pytest.raises(KeyboardInterrupt):
        us.ask_online(questions, [OLD_BY_SEX], epsilon=1)
    assert amount_spent(book) == seen[0] > 0


@pytest.mark.parametrize(
    ("questions", "settings", "message"),
    [
        ([], {}, "at least one"),
        ([us.mean("age")], {}, "counts of rows alone"),
        ([us.count("age")], {}, "counts of rows alone"),
        ([us.count().per_unit(rows="count")], {}, "not units|need"),
        (["SELECT sex, COUNT(*) FROM t GROUP BY sex LIMIT 1"], {}, "LIMIT"),
        ([us.count().by("job")], {}, "job"),
        ([us.count().by("pay")], {}, "fewer groups"),
        (
            [
                us.count().by("age"),
                us.count().by(us.bins("pay", *range(0, 99_999, 99))),
            ],
            {},
            "combinations of age, pay",
        ),
        ([OLD_BY_SEX], {"failures": 0}, "from 1 to"),
        ([OLD_BY_SEX], {"failures": True}, "from 1 to"),
        ([OLD_BY_SEX], {"threshold": -1}, "from 0 up"),
        ([OLD_BY_SEX], {"threshold": 1.5}, "from 0 up"),
    ],
)
def test_what_is_refused_costs_nothing(
    people: Path,
    questions: Sequence[str | Query],
    settings: dict[str, int],
    message: str,
) -> None:
    with open_session(people) as opened, pytest.raises(Refused, match=message):
        us.ask_online(opened, questions, epsilon=1, **settings)
    assert amount_spent(people.with_suffix(".ledger")) == 0


def test_a_list_without_room_costs_nothing(people: Path) -> None:
    with open_session(people, budget=1) as opened, pytest.raises(BudgetExceeded):
        us.ask_online(opened, [OLD_BY_SEX], epsilon=2)
    assert amount_spent(people.with_suffix(".ledger")) == 0


def test_units_of_several_rows_have_more_noise() -> None:
    noises = []
    for rows in (1, 3):
        schema = replace(
            SCHEMA,
            columns=(*SCHEMA.columns, us.Identifier(name="id")),
            unit=us.Unit(id="id", max_rows=rows),
        )
        mechanism = OnlineCounts(
            plan=plan_online([plan_question(OLD_BY_SEX, schema)], schema),
            failures=5,
            amount=Fraction(1),
            accounting=us.Accounting.PURE,
        )
        assert mechanism.sensitivity == rows
        noises.append(np.array(mechanism.noise_scales, float))
    assert noises[1] == pytest.approx(3 * noises[0], rel=1e-5)


def test_the_number_of_rows_alone_is_a_list(people: Path) -> None:
    with open_session(people) as questions:
        found = us.ask_online(questions, [us.count()], epsilon=4)
    assert abs(found.rows[0].value - 4_000) < 100
