"""Where the conditions of a schema cut a column."""

from __future__ import annotations

from datetime import date

import pytest

from understudy.schema import Date, Integer, Real, parse_predicate
from understudy.schema.predicates.cut_points import cut_points_in_bounds

AGE = Integer(name="age", min=0, max=99)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("age < 15", (15,)),
        ("age >= 15", (15,)),
        ("age <= 15", (16,)),
        ("age > 15", (16,)),
        ("age = 15", (15, 16)),
        ("age in (15, 40)", (15, 16, 40, 41)),
        ("not (age < 15 or smoker = true)", (15,)),
        ("if smoker = true then age > 12.5", (13,)),
        ("age < -3", ()),
        ("age <= 99", ()),
        ("age is missing", ()),
        ("height < 15", ()),
    ],
)
def test_a_condition_cuts_where_it_turns(condition, expected):
    assert cut_points_in_bounds(AGE, [parse_predicate(condition)]) == expected


def test_steps_and_days_are_counted_in_lattice_points():
    dose = Real(name="dose", min=0, max=10, step=0.5)
    assert cut_points_in_bounds(dose, [parse_predicate("dose < 2.5")]) == (5,)
    day = Date(name="day", min=date(1970, 1, 1), max=date(1970, 12, 31))
    assert cut_points_in_bounds(day, [parse_predicate("day >= '1970-02-01'")]) == (31,)


def test_an_open_column_has_none():
    assert (
        cut_points_in_bounds(Integer(name="age", min=0), [parse_predicate("age < 15")])
        == ()
    )
