"""Questions about parts of a table, from text to account: disjoint parts cost as much as
the dearest under add/remove, and add up under replace.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import understudy as us
from kit.queries.corpus import PEOPLE_SCHEMA, make_people
from understudy.errors import BudgetExceeded
from understudy.tables import describe_rows, open_table

PEOPLE = make_people(200)


def spend(book: Path, relation: us.Neighbours, *conditions: str) -> Fraction:
    """What the run of questions has spent after a count for each condition."""
    with us.session(
        PEOPLE, PEOPLE_SCHEMA, ledger=book, budget=5, neighbours=relation
    ) as questions:
        for condition in conditions:
            questions.ask(us.count().where(condition), epsilon="0.5")
    with us.Ledger.open(book) as ledger:
        return ledger.resume("questions").filter.spent


NORTH, SOUTH = "region = 'North'", "region = 'South'"


@pytest.mark.parametrize(
    ("conditions", "add_remove", "replace"),
    [
        ((NORTH, SOUTH), 1, 2),
        ((NORTH, SOUTH, "region = 'East'"), 1, 2),
        ((NORTH, f"{NORTH} and age > 50"), 2, 2),
        ((NORTH, "region != 'North'"), 1, 2),
        ((NORTH, "sex = 'F'"), 2, 2),
        ((NORTH, "age > 50"), 2, 2),
    ],
)
def test_disjoint_questions_share_their_cost(
    tmp_path: Path, conditions: tuple[str, ...], add_remove: int, replace: int
) -> None:
    for relation, times in (
        (us.Neighbours.ADD_REMOVE, add_remove),
        (us.Neighbours.REPLACE, replace),
    ):
        one = spend(tmp_path / f"one-{relation}.ledger", relation, NORTH)
        all_of_them = spend(tmp_path / f"{relation}.ledger", relation, *conditions)
        assert all_of_them == times * one


def test_a_run_that_is_spent_for_one_region_answers_about_another(
    tmp_path: Path,
) -> None:
    options = {"ledger": tmp_path / "people.ledger", "budget": "0.5"}
    with us.session(PEOPLE, PEOPLE_SCHEMA, **options) as questions:
        questions.ask(us.count().where(NORTH), epsilon="0.5")
        with pytest.raises(BudgetExceeded, match="Nothing was spent"):
            questions.ask(us.count().where(f"{NORTH} and sex = 'F'"), epsilon="0.1")
        questions.ask(us.count().where(SOUTH), epsilon="0.5")


PERSON_SCHEMA = us.Schema.parse(
    """
unit: {id: person, max_rows: 1}
columns:
  person: {type: identifier}
  region: {type: categorical, values: [North, South], nullable: false}
"""
)


def test_persons_with_one_row_each_pay_for_every_part(tmp_path: Path) -> None:
    """Which row of a person is kept is drawn anew in each session, so one person may
    answer for the North today and for the South tomorrow.
    """
    people = tmp_path / "people.csv"
    people.write_text("person,region\nann,North\nann,South\n")
    kept, spent = set(), []
    # The chance that all 21 openings keep the same row is 1e-6.
    for _ in range(21):
        table = describe_rows(open_table(people), PERSON_SCHEMA)
        kept.add(int(table.counts([("region",)])[0].argmax()))
    assert kept == {0, 1}
    for name, conditions in {"one": (NORTH,), "both": (NORTH, SOUTH)}.items():
        book = tmp_path / f"{name}.ledger"
        for condition in conditions:
            with us.session(people, PERSON_SCHEMA, ledger=book, budget=5) as questions:
                questions.ask(us.count().where(condition), epsilon="0.5")
        with us.Ledger.open(book) as ledger:
            ledger.verify()
            spent.append(ledger.resume("questions").filter.spent)
    assert spent[1] == 2 * spent[0]
