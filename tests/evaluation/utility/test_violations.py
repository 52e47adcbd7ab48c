"""Rows that cannot be, counted by value and not by bin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.people import SCHEMA, made, table
from understudy.evaluation.utility.violations import assess_violations
from understudy.findings import Unavailable
from understudy.schema import Integer, Schema, parse_predicate


def test_the_original_keeps_the_constraint_and_a_broken_table_breaks_it() -> None:
    rows = made(200, 1)
    broken = [
        (7, sex, school, income, True) if i < 50 else row
        for i, row in enumerate(rows)
        for _, sex, school, income, _ in [row]
    ]
    found = assess_violations(table(rows), table(broken), SCHEMA)
    assert found.parts[0].facts["real"] == 0
    assert found.value == pytest.approx(0.25)


def test_inside_a_bin_the_values_decide() -> None:
    schema = Schema(
        columns=(Integer(name="age", min=0, max=99, bins=(0, 50, 100)),),
        impossible=(parse_predicate("age > 80"),),
    )
    found = assess_violations(
        table([(1,), (79,)], schema),
        table([(70,), (81,), (95,), (None,)], schema),
        schema,
    )
    assert found.value == 0.5
    assert found.parts[0].facts["real"] == 0


def test_a_great_many_values_are_judged_too() -> None:
    """A hundred and forty thousand rows, no two of which are alike."""
    columns = tuple(
        Integer(name=name, min=0, max=10**6, nullable=False) for name in ("a", "b")
    )
    schema = Schema(
        columns=columns, impossible=(parse_predicate("a < 100000 and b > 2 * a"),)
    )
    rows = [(i, i) for i in range(140_000)]
    worse = [(i, 3 * i + 1) if i < 14_000 else (i, i) for i in range(140_000)]
    found = assess_violations(table(rows, schema), table(worse, schema), schema)
    assert (found.parts[0].facts["real"], found.value) == (0, 0.1)


def test_rules_are_judged_like_what_is_impossible() -> None:
    schema = Schema.parse(
        "columns: {a: {type: integer, min: 0, max: 9}, b: {type: integer, min: 0, max: 9}}\nrules: [a <= b]\nimpossible: [a = 9]"
    )
    found = assess_violations(
        table([(1, 2)] * 4, schema),
        table([(1, 2), (3, 2), (9, 9), (9, 1)], schema),
        schema,
    )
    assert {part.name: part.value for part in found.parts} == {
        "a <= b": 0.5,
        "never a = 9": 0.5,
    }


def test_what_cannot_be_checked_is_listed() -> None:
    hidden = replace(
        SCHEMA,
        columns=tuple(replace(c, use=c.name != "married") for c in SCHEMA.columns),
    )
    with pytest.raises(Unavailable, match="listed"):
        assess_violations(
            table(made(10, 1), hidden), table(made(10, 2), hidden), hidden
        )
    with pytest.raises(Unavailable, match="nothing as impossible"):
        assess_violations(
            table(made(10, 1)), table(made(10, 2)), replace(SCHEMA, impossible=())
        )
