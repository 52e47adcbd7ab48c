"""Rules: what breaks them, how they are written, and what is wrong with one, by line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from kit.schema.predicates import (
    CODECS,
    contents,
    decoded,
    pair_tests,
    single_tests,
    sums,
)
from understudy.errors import SchemaError
from understudy.schema import (
    AllowedCombinations,
    AlwaysRule,
    BrokenRowPolicy,
    FunctionalDependency,
    NeverRule,
    Schema,
    describe_declared,
    describe_learned,
    dump_schema,
    holds_for_row,
    parse_predicate,
    schema_from_dict,
    schema_to_dict,
)
from understudy.schema.predicates.rules import breach_of

PAGE = """
columns:
  age: {type: integer, min: 0, max: 99}
  smoker: boolean
  wage: {type: real, min: 0, max: 100}
  rent: {type: real, min: 0, max: 100}
  income: {type: real, min: 0, max: 200}
  town: {type: categorical, values: [Bern, Biel, "no"]}
  canton: {type: categorical, values: [BE, GE]}
rules:
  - wage + rent = income
  - {name: minors, always: if age < 15 then smoker = false}
  - {impossible: age < 10 and wage > 0}
  - {columns: [age, smoker], allowed: [[1, yes], [2, no]]}
  - {name: towns, from: town, to: canton, map: {Bern: BE, Biel: BE, no: GE}}
  - {from: canton, to: town, map: learn}
broken: drop
"""


def test_rules_read_as_what_they_say():
    schema = Schema.parse(PAGE)
    assert [type(rule) for rule in schema.rules] == [
        AlwaysRule,
        AlwaysRule,
        NeverRule,
        AllowedCombinations,
        FunctionalDependency,
        FunctionalDependency,
    ]
    assert schema.broken is BrokenRowPolicy.DROP
    assert schema.rules[4].map == {"Bern": "BE", "Biel": "BE", "no": "GE"}
    assert [name for name, _ in schema.named_breaches] == [
        "wage + rent = income",
        "minors",
        "never age < 10 and wage > 0",
        "only listed combinations of age, smoker",
        "towns",
    ]
    broken = dict(schema.named_breaches)
    codecs = schema.codecs
    assert holds_for_row(broken["minors"], {"age": 3, "smoker": "yes"}, codecs)
    assert not holds_for_row(broken["minors"], {"age": 3, "smoker": None}, codecs)
    assert holds_for_row(broken["towns"], {"town": "Bern", "canton": "GE"}, codecs)
    assert not holds_for_row(broken["towns"], {"town": "Bern", "canton": None}, codecs)
    pairs = "only listed combinations of age, smoker"
    assert not holds_for_row(broken[pairs], {"age": 1, "smoker": True}, codecs)
    assert holds_for_row(broken[pairs], {"age": 2, "smoker": True}, codecs)


def test_rules_are_written_as_they_were_read():
    schema = Schema.parse(PAGE)
    assert Schema.parse(dump_schema(schema)) == schema
    assert schema_from_dict(schema_to_dict(schema)) == schema


def test_a_map_in_which_nothing_was_clear_is_no_map_to_learn():
    """A run may buy a map and find nothing that stands out; read again it is still
    bought.
    """
    schema = Schema.parse(PAGE.replace("map: learn", "map: {}, learned: true"))
    assert schema.rules[-1].map == {}
    assert Schema.parse(dump_schema(schema)) == schema
    assert schema_from_dict(schema_to_dict(schema)) == schema


def test_odd_labels_survive_the_page():
    rule = FunctionalDependency(
        source="town", target="canton", map={"no": "BE", "a: b": "GE", "- x #": "BE"}
    )
    schema = Schema.parse(PAGE)
    towns = replace(schema["town"], values=("no", "a: b", "- x #"))
    pairs = AllowedCombinations(
        names=("town", "canton"), combinations=(("no", "BE"), ("a: b", "GE"))
    )
    odd = replace(schema, columns=(towns, schema["canton"]), rules=(rule, pairs))
    assert Schema.parse(dump_schema(odd)) == odd


def test_a_guarantee_lists_the_rules():
    lines = describe_declared(Schema.parse(PAGE))
    assert "that in every row wage + rent = income" in lines
    assert "that no row has age < 10 and wage > 0" in lines
    assert "which 2 combinations of age, smoker there are" in lines
    assert "which canton goes with each town" in lines
    assert "that in every row canton determines town" in lines
    assert "that rows which break a rule are left out" in lines
    bought = Schema.parse(PAGE.replace("map: learn", "map: {BE: Bern}, learned: true"))
    assert describe_learned(bought) == ("the map from canton to town",)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            "  - age <",
            "s.yaml:8: rules: predicate, character 6: expected a column or a value, found the end",
        ),
        (
            "  - height < 3",
            's.yaml:8: rule height < 3: column "height" is not in the schema',
        ),
        ("  - age + smoker = 3", "only numbers can be added up"),
        ("  - {always: age > 3, map: x}", "s.yaml:8: rules: a rule is a condition"),
        ("  - {allways: age > 3}", "Did you mean `always`?"),
        (
            "  - {columns: [age], allowed: [[1]]}",
            "`columns` must name at least two different columns",
        ),
        (
            "  - {columns: [age, smoker], allowed: [[1]]}",
            "`allowed` needs one value for each of `columns`",
        ),
        (
            "  - {columns: [age, smoker], allowed: 7}",
            "`allowed` must be a list of lists",
        ),
        (
            "  - {columns: [age, smoker], allowed: [[old, yes]]}",
            "is none of its values",
        ),
        ("  - {from: town, to: town}", "cannot determine itself"),
        (
            "  - {from: town, to: age, map: [1]}",
            "`map` must give one value for each value",
        ),
        (
            "  - {from: town, to: age, map: {Bonn: 3}}",
            "'Bonn' is not one of its values",
        ),
        ("  - {from: town, to: age, map: {Bern: x}}", "is none of its values"),
        ("  - [age]", "rules: a condition must be a text"),
    ],
)
def test_a_mistake_is_named_with_its_line(line, error):
    page = f"""
columns:
  age: {{type: integer, min: 0, max: 99}}
  smoker: boolean
  town: {{type: categorical, values: [Bern]}}

rules:
{line}
"""
    with pytest.raises(SchemaError) as caught:
        Schema.parse(page, source="s.yaml")
    assert error in str(caught.value)
    assert str(caught.value).startswith("s.yaml:8: ")


def test_emptying_needs_columns_that_can_be_empty():
    page = "columns: {a: {type: integer, min: 0, max: 9, nullable: false}}\nrules: [a > 3]\nbroken: missing"
    with pytest.raises(
        SchemaError,
        match=r's.yaml:3: broken: missing empties cells, and column "a" is not nullable',
    ):
        Schema.parse(page, source="s.yaml")


@settings(max_examples=200, deadline=None)
@given(single_tests() | pair_tests() | sums())
def test_a_breach_is_the_opposite_where_nothing_is_missing(predicate):
    opposite, rows = breach_of(predicate), [{}]
    for name in predicate.columns:
        values = [v for cell in contents(name) for v in cell]
        rows = [row | {name: value} for row in rows for value in values[:12]]
    known = decoded(rows)
    for i, row in enumerate(rows):
        if all(known[name].state[i] <= 1 for name in predicate.columns):
            assert holds_for_row(opposite, row, CODECS) != holds_for_row(
                predicate, row, CODECS
            ) or "grade" in str(predicate)
        elif not str(predicate).endswith("missing"):
            assert not holds_for_row(opposite, row, CODECS)


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("a < 1 and b > 2", "a >= 1 or b <= 2"),
        ("not (a < 1 or b > 2)", "a < 1 or b > 2"),
        ("if a is missing then b in (1, 2)", "a is missing and b not in (1, 2)"),
        ("a + b <= c", "a + b > c"),
    ],
)
def test_breaches_in_words(text, opposite):
    assert str(breach_of(parse_predicate(text))) == opposite
