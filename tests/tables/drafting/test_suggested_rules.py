"""Rules that rows suggest: those that all rows keep and that are hardly accidents."""

from __future__ import annotations

import re
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest

from understudy.schema import Integer, Schema
from understudy.tables.drafting.draft import draft_schema
from understudy.tables.drafting.suggested_orders import MAX_COMPARED_COLUMNS
from understudy.tables.drafting.suggested_rules import suggest_rules
from understudy.tables.sources.open_table import open_table
from understudy.workflow.describe import describe, draft_table

N = 400
RNG = np.random.default_rng(5)
DAYS = RNG.integers(0, 900, N)
STAY = RNG.integers(0, 60, N)
WAGE, RENT, DIVIDENDS = (RNG.integers(0, 500, N) for _ in range(3))
TOWN = RNG.choice(["Bern", "Biel", "Genf", "Basel"], N)
CANTON = {"Bern": "BE", "Biel": "BE", "Genf": "GE", "Basel": "BS"}
FIRST = date(2020, 1, 1)


def day(number):
    return FIRST + timedelta(days=int(number))


TABLE = {
    "admitted": [day(n) for n in DAYS],
    "discharged": [
        None if n % 9 == 0 else day(n + s) for n, s in zip(DAYS, STAY, strict=True)
    ],
    "wage": WAGE,
    "rent": RENT,
    "dividends": DIVIDENDS,
    "total": WAGE + RENT + DIVIDENDS,
    "wage_again": WAGE,
    "town": TOWN,
    "canton": [CANTON[town] for town in TOWN],
    "weather": RNG.choice(["sun", "rain"], N),
    "shoes": RNG.integers(36, 46, N),
}


def suggested(table):
    with open_table(pa.table(table)) as source:
        return suggest_rules(source, draft_schema(source))


def test_what_all_rows_keep_is_suggested_and_nothing_else():
    assert [str(rule) for rule in suggested(TABLE).rules] == [
        "admitted <= discharged",
        "wage = wage_again",
        "wage + rent + dividends = total",
        "town determines canton",
    ]


@pytest.mark.parametrize(
    ("broken", "value", "gone"),
    [
        ("discharged", day(-1), "admitted <= discharged"),
        ("wage_again", 600, "wage = wage_again"),
        ("total", 0, "wage + rent + dividends = total"),
        ("canton", "XX", "town determines canton"),
    ],
)
def test_one_row_that_breaks_it_is_enough(broken, value, gone):
    """A row with a value in it, for a missing one breaks nothing."""
    cells = list(TABLE[broken])
    cells[1 if DAYS[1] % 9 else 2] = value
    rules = [str(rule) for rule in suggested(TABLE | {broken: cells}).rules]
    assert gone not in rules


def test_an_order_that_independent_columns_keep_is_none():
    """Ages are below incomes, whoever people are; and few rows prove nothing."""
    apart = {"age": RNG.integers(0, 90, N), "income": RNG.integers(1000, 9000, N)}
    assert not suggested(apart).rules
    few = {"a": [1, 5, 3, 9, 2], "b": [2, 6, 3, 9, 8]}
    assert not suggested(few).rules


def test_orders_that_follow_from_others_are_left_out():
    a = RNG.integers(0, 100, N)
    b, c = a + RNG.integers(0, 9, N), a + RNG.integers(9, 20, N)
    rules = suggested({"a": a, "b": b, "c": c}).rules
    assert [str(rule) for rule in rules] == ["a <= b", "b <= c"]


def test_columns_that_never_change_within_a_person():
    person = np.arange(N) // 4
    table = {
        "patient_id": [f"p{i}" for i in person],
        "sex": np.where(person % 3 == 0, "F", "M"),
        "born": [day(-9000 - 7 * int(i)) for i in person],
        "pulse": RNG.integers(50, 100, N),
        "country": ["CH"] * N,
    }
    found = suggested(table)
    assert (found.person_id, found.constant) == ("patient_id", ("sex", "born"))


def test_of_many_columns_the_first_are_compared():
    table = {f"x{i}": RNG.integers(0, 100, 50) for i in range(MAX_COMPARED_COLUMNS)}
    table |= {"late": table["x0"] + 1, "later": table["x0"] + 2}
    schema = Schema(columns=tuple(Integer(name=name) for name in table))
    with open_table(pa.table(table)) as source:
        assert not suggest_rules(source, schema).rules


def test_a_draft_holds_them_as_comments_until_they_are_accepted():
    draft = draft_table(pa.table(TABLE))
    page = draft.to_text()
    assert '#   - "admitted <= discharged"' in page
    assert Schema.parse(page) == draft.schema == describe(pa.table(TABLE))
    assert draft.schema.rules == ()
    accepted = describe(pa.table(TABLE), accept_rules=True)
    assert accepted.rules == draft.suggestions.rules
    marks = page.index("# rules:")
    uncommented = re.sub("^# ", "", page[marks:], flags=re.MULTILINE)
    by_hand = page[:marks] + uncommented
    assert Schema.parse(by_hand) == accepted
