"""Scopes are read off the schema's public cells: no row outside one satisfies the
predicate.
"""

from itertools import product

import pytest

from understudy.measurements.scope import scope_of_predicate
from understudy.schema import (
    Boolean,
    Categorical,
    Identifier,
    Integer,
    Schema,
    Unit,
    parse_predicate,
)
from understudy.schema.predicates.on_row import holds_for_row

REGION = Categorical(name="region", values=("North", "South", "West"))
AGE = Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9))
SMOKER = Boolean(name="smoker")
SCHEMA = Schema(columns=(REGION, AGE, SMOKER))
ROWS = [
    dict(zip(("region", "age", "smoker"), values, strict=True))
    for values in product(
        ("North", "South", "West", "Mars", None), (*range(9), 40, None), (True, False)
    )
]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("region = 'North'", "region"),
        ("region != 'North'", "region"),
        ("region in ('North', 'West') and age > 4", "region"),
        ("region = 'North' or age > 4", "region"),
        ("region is missing", "region"),
        ("age > 4", "age"),
        ("age < 3 and age > 5", "age"),
        ("age > 4 and smoker = true", "age"),
        ("not (region = 'North' and smoker = true)", "region"),
    ],
)
def test_no_row_outside_a_scope_satisfies_its_predicate(text, column):
    predicate = parse_predicate(text)
    scope = scope_of_predicate(SCHEMA, predicate, column)
    assert scope.column == column
    codec = SCHEMA.codecs[column]
    for row in ROWS:
        if holds_for_row(predicate, row, SCHEMA.codecs):
            assert codec.code(row[column]) in scope.cells


def test_two_regions_are_disjoint_and_their_complement_is_not():
    def cells(text):
        return scope_of_predicate(SCHEMA, parse_predicate(text)).cells

    north, south = cells("region = 'North'"), cells("region = 'South'")
    assert north.isdisjoint(south)
    assert not cells("region != 'South'").isdisjoint(north)
    # A bin that the constant cuts may hold either side: it is in both scopes.
    assert not cells("age > 4").isdisjoint(cells("age <= 4"))


def test_what_cannot_be_proven_disjoint_is_charged_to_the_whole_table():
    text = parse_predicate("region = 'North'")
    person = Identifier(name="person", use=False)
    persons = Schema(
        columns=(*SCHEMA.columns, person), unit=Unit(id="person", max_rows=3)
    )
    assert scope_of_predicate(persons, text) is None
    assert scope_of_predicate(SCHEMA, text, "age") is None
    towns = Categorical(name="town", values=tuple(f"t{n}" for n in range(300)))
    wide = Schema(columns=(towns,))
    assert scope_of_predicate(wide, parse_predicate("town = 't1'")) is None


def test_another_domain_is_another_partition():
    text = parse_predicate("region = 'North'")
    fewer = Categorical(name="region", values=("North", "South"))
    other = scope_of_predicate(Schema(columns=(fewer,)), text)
    assert other.key != scope_of_predicate(SCHEMA, text).key
