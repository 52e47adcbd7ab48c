"""What rules leave of a comparison of columns: by brute force, and where cells are no
longer open.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.schema import (
    Schema,
    holds_for_row,
    parse_predicate,
    possibly_true_cells,
    surely_true_cells,
)
from understudy.schema.simplify import simplify_by_rules

PAGE = """
columns:
  a: {type: integer, min: 0, max: 4, bins: [0, 2]}
  b: {type: integer, min: 0, max: 4, bins: [0, 3]}
  c: {type: integer, min: 0, max: 4, bins: [0, 2], nullable: false}
"""
ATOMS = [
    f"{x} {op} {y}"
    for x, y in ("ab", "ba", "cb")
    for op in ("<", "<=", "=", "!=", ">", ">=")
]
ATOMS += [
    f"{said} {op} {n}"
    for said in ("a + b - c", "2 * c - 2 * a - 2 * b")
    for op in ("=", "!=", "<=", ">")
    for n in (0, 2)
]
ATOMS += ["a < 2", "c = 1", "b is missing"]
SAID = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | inner.map("not ({})".format)
    ),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(SAID, st.lists(SAID, min_size=1, max_size=3))
def test_a_row_that_keeps_the_rules_is_judged_as_before(asked: str, never: list[str]):
    schema = Schema(
        columns=Schema.parse(PAGE).columns,
        impossible=tuple(map(parse_predicate, never)),
    )
    before = parse_predicate(asked)
    after, codecs = simplify_by_rules(before, schema), schema.codecs
    assert after.columns <= before.columns
    for values in product([0, 1, 2, 4, None], [0, 2, 3, 4, None], range(5)):
        row = dict(zip("abc", values, strict=True))
        if not any(holds_for_row(said, row, codecs) for said in schema.impossible):
            assert holds_for_row(before, row, codecs) == holds_for_row(
                after, row, codecs
            )


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ("a <= b", "a > b"),
        ("a <= b", "b < a"),
        ("a < b", "b <= a"),
        ("a < b", "a = b and c > 1"),
        ("a + b = c", "a + b != c"),
        ("a + b = c", "c - b > a"),
        ("a + b = c", "2 * c < 2 * a + 2 * b"),
        ("if c = 1 then a <= b", "c = 1 and a > b"),
        ("{impossible: a > b and c < 2}", "c < 2 and b < a"),
    ],
)
def test_what_a_rule_forbids_is_possible_in_no_cell(rule: str, asked: str):
    schema = Schema.parse(
        f"{PAGE.replace('[0, 2], nullable', '[0, 1, 2], nullable')}rules:\n  - {rule}\n"
    )
    said, clique = simplify_by_rules(parse_predicate(asked), schema), ("a", "b", "c")
    assert possibly_true_cells(parse_predicate(asked), schema.codecs, clique).any()
    assert not possibly_true_cells(said, schema.codecs, clique).any()


@pytest.mark.parametrize(
    ("rule", "asked"), [("a <= c", "c >= a"), ("a + b = c", "b + a <= c")]
)
def test_what_a_rule_says_is_sure_of_whoever_has_a_value(rule: str, asked: str):
    schema = Schema.parse(f"{PAGE}rules:\n  - {rule}\n")
    found = surely_true_cells(
        simplify_by_rules(parse_predicate(asked), schema),
        schema.codecs,
        ("a", "b", "c"),
    )
    valued = (
        "a is not missing"
        if "b" not in rule
        else "a is not missing and b is not missing"
    )
    assert (
        found
        == surely_true_cells(parse_predicate(valued), schema.codecs, ("a", "b", "c"))
    ).all()


def test_what_no_rule_speaks_of_stays_as_it_was():
    schema = Schema.parse(f"{PAGE}rules:\n  - a <= b\n")
    for asked in ("a < b", "a = b", "a < c", "a > 2", "a + b > c"):
        assert simplify_by_rules(parse_predicate(asked), schema) == parse_predicate(
            asked
        )
