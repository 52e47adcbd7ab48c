"""What stands under a guarantee: declared, learned, open; and names that give people
away.
"""

from __future__ import annotations

from datetime import date, time

from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Identifier,
    Integer,
    OpenDomain,
    Real,
    Schema,
    Text,
    Time,
    UndeclaredColumn,
    Unit,
    describe_declared,
    describe_learned,
    open_domains,
    parse_predicate,
)

SCHEMA = Schema(
    columns=(
        Identifier(name="patient"),
        Text(name="remarks"),
        Categorical(name="sex", values=("F", "M"), nullable=False),
        Categorical(
            name="race", values=("a",), levels={"wide": ("x",)}, missing=("NA",)
        ),
        Categorical(name="job", values=("b",), learned=("values",)),
        Categorical(name="town"),
        Integer(
            name="age", min=0, max=9, bins=(0, 5, 10), nullable=False, missing=("-7",)
        ),
        Real(name="income", min=0, max=1, learned=("type", "bounds")),
        Real(name="debt", min=0),
        Date(name="born", min=date(2000, 1, 1), max=date(2001, 1, 1), use=False),
        Date(name="died"),
        Time(name="woke"),
        Time(name="slept", min=time(20)),
        Boolean(name="smoker", nullable=False),
        UndeclaredColumn(name="x"),
        UndeclaredColumn(name="y", use=False),
    ),
    unit=Unit(id="patient", max_rows=3),
    rows=6366,
    impossible=(parse_predicate("age < 3 and smoker = true"),),
)


def test_everything_declared_is_listed():
    assert describe_declared(SCHEMA) == (
        "the names and order of 16 columns",
        "the types of 12 columns",
        "the values of sex, race",
        "the levels of race",
        "the bounds of age, slept",
        "one bound of debt",
        "the bins of age",
        "the step of debt",
        "the missing codes of race, age",
        "that sex, smoker have no missing values",
        "that age has no empty cells",
        "the number of rows (6,366)",
        "that patient tells apart whom the guarantee protects, with at most 3 rows each (enforced)",
        "that no row has age < 3 and smoker = true",
    )


def test_what_was_learned_is_not_declared():
    assert describe_learned(SCHEMA) == (
        "the values of job",
        "the type of income",
        "the bounds of income",
    )
    said = " ".join(describe_declared(SCHEMA))
    assert "job" not in said
    assert "income" not in said


def test_holes_are_what_is_open_in_the_release():
    assert open_domains(SCHEMA) == (
        OpenDomain("town", "values"),
        OpenDomain("debt", "bounds"),
        OpenDomain("died", "bounds"),
        OpenDomain("x", "type"),
    )
    assert open_domains(Schema(columns=(Boolean(name="a"), Text(name="b")))) == ()


def test_an_empty_schema_declares_nothing_but_its_emptiness():
    assert describe_declared(Schema(columns=())) == (
        "the names and order of 0 columns",
    )
