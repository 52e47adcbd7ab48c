"""Predicates from text and back: the same tree, and an error that says where."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.schema.columns import texts
from understudy.errors import SchemaError
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    IsMissing,
    Literal,
    Not,
    Operator,
    Or,
)
from understudy.schema.predicates.parser import parse_predicate

names = st.one_of(
    st.sampled_from(["age", "first visit", "and", "Missing", 'a"b', "IF", "é", "_x1"]),
    texts,
).map(ColumnName)
literals = st.one_of(st.fractions(), texts, st.just(""), st.booleans()).map(Literal)


@st.composite
def comparisons(draw):
    left = draw(names)
    right = draw(st.one_of(literals, names.filter(lambda name: name != left)))
    return ColumnComparison(left, draw(st.sampled_from(Operator)), right)


tests = st.one_of(
    comparisons(),
    st.builds(
        In, names, st.lists(literals, min_size=1, max_size=3).map(tuple), st.booleans()
    ),
    st.builds(IsMissing, names, st.booleans()),
)
predicates = st.recursive(
    tests,
    lambda part: st.one_of(
        st.builds(Not, part),
        st.builds(And, part, part),
        st.builds(Or, part, part),
        st.builds(IfThen, part, part),
    ),
    max_leaves=6,
)


@given(predicates)
def test_a_predicate_reads_back_from_its_text(predicate):
    assert parse_predicate(str(predicate)) == predicate


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("age > 60 and sex = 'F'", "age > 60 and sex = 'F'"),
        ("IF age<15 THEN married=FALSE", "if age < 15 then married = false"),
        ("start <= end", "start <= end"),
        ("15 >= age", "age <= 15"),
        ("'F' == sex", "sex = 'F'"),
        ("a <> 1 or b != 2 and c = 3", "a != 1 or b != 2 and c = 3"),
        ("(a = 1 or b = 2) and c = 3", "(a = 1 or b = 2) and c = 3"),
        ("not not (a = 1)", "not not a = 1"),
        ("not (a = 1 and b = 2)", "not (a = 1 and b = 2)"),
        ("a = 1 and (b = 2 and c = 3)", "a = 1 and (b = 2 and c = 3)"),
        ("a is null and b is not missing", "a is missing and b is not missing"),
        (
            "a not in ('x', 'it''s', -1.50, 1/3, true)",
            "a not in ('x', 'it''s', -1.5, 1/3, true)",
        ),
        ('"first visit" < "last ""visit"""', '"first visit" < "last ""visit"""'),
        ("a=-1", "a = -1"),
        ("a = 1e2", "a = 100"),
    ],
)
def test_how_predicates_read_and_print(text, printed):
    assert str(parse_predicate(text)) == printed


def test_numbers_are_exact():
    assert parse_predicate("x < 0.1").right == Literal(Fraction(1, 10))


def test_columns_are_collected():
    assert parse_predicate("if a = 1 then not (b < c or d is missing)").columns == {
        "a",
        "b",
        "c",
        "d",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "character 1: expected a column or a value, found the end"),
        (
            "age",
            "character 4: expected a comparison, `in` or `is missing` after age, found the end",
        ),
        ("age >", "character 6: expected a column or a value, found the end"),
        ("age > 60 sex", "character 10: expected `and`, `or` or the end, found `sex`"),
        ("age > 60 and", "character 13: expected a column"),
        ("(age > 60", "character 10: expected `)`"),
        ("age > 60)", "character 9: expected `and`"),
        ("sex = 'F", "character 7: a quotation mark is not closed"),
        ("age ~ 3", "character 5: `~` cannot stand here"),
        ("if age > 3", "character 11: expected `then`"),
        ("sex in F", "character 8: expected `(`"),
        ("sex in ()", "character 9: expected a value"),
        ("sex in ('F' 'M')", "character 13: expected `,` or `)`"),
        ("sex is F", "character 8: expected `missing`"),
        ("1 < 2", "character 1: a comparison needs a column"),
        ("3 is missing", "character 3: expected a comparison"),
        ("age > 1/0", "character 7: not a number"),
        ("age > 1.5/3", "character 7: not a number"),
        ("age > 12abc", "character 7: `1` cannot stand here"),
        ("age = age", "compared with itself"),
        ("__import__('os')", "character 11: expected a comparison"),
        ("(" * 60 + "a = 1" + ")" * 60, "more than 50 levels"),
        ("not " * 60 + "a = 1", "more than 50 levels"),
        (" or ".join(["a = 1"] * 201), "more than 200 comparisons"),
        ("a" * 10_001, "longer than 10,000 characters"),
        ("if if a = 1 then b = 2 then c = 3", "character 4: expected a column"),
    ],
)
def test_errors_say_where(text, message):
    with pytest.raises(SchemaError) as caught:
        parse_predicate(text)
    assert message in str(caught.value)


@given(st.text(max_size=40) | st.text("ab'\"()<>=!,.0 1/-notandifeis", max_size=40))
def test_any_text_is_a_predicate_or_a_schema_error(text):
    try:
        predicate = parse_predicate(text)
    except SchemaError:
        return
    assert parse_predicate(str(predicate)) == predicate


def test_the_largest_predicate_can_be_printed_and_searched():
    predicate = parse_predicate(" or ".join(f"c{i} = 1" for i in range(200)))
    assert len(predicate.columns) == 200
    assert parse_predicate(str(predicate)) == predicate
