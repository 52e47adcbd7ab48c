"""Witnesses: satisfiable rules pass, contradictions are named before anything is spent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from understudy.errors import SchemaError
from understudy.models.rules.repair_values import broken_rows
from understudy.models.rules.satisfiability import find_row, refuse_contradictions
from understudy.schema import Schema

COLUMNS = """
columns:
  a: {type: integer, min: 0, max: 1000}
  b: {type: integer, min: 0, max: 1000}
  c: {type: integer, min: 0, max: 1000}
  d: {type: date, min: 2020-01-01, max: 2020-12-31}
  town: {type: categorical, values: [Bern, Biel, Zug], nullable: false}
  canton: {type: categorical, values: [BE, ZG], nullable: false}
  open: {type: integer, bounds: learn}
"""


def schema_of(*rules: str):
    return Schema.parse(
        COLUMNS + "rules:\n" + "".join(f"  - {rule}\n" for rule in rules)
    )


@pytest.mark.parametrize(
    "rules",
    [
        ("a <= b", "b <= c", "a + b = c"),
        ("a + b + c = 3000",),
        ("a = 777", "b != 500"),
        ("if town = 'Zug' then a = 3", "town = 'Zug'"),
        ("d > '2020-12-30'",),
        (
            "{from: town, to: canton, map: {Bern: BE, Biel: BE, Zug: ZG}}",
            "canton = 'ZG'",
        ),
        (
            "{columns: [town, a], allowed: [[Zug, 17]]}",
            "{columns: [a, b], allowed: [[17, 4], [18, 5]]}",
        ),
        ("{impossible: a is not missing}",),
        ("open < 0", "open > 5"),
    ],
)
def test_what_can_be_kept_is_accepted(rules):
    schema = schema_of(*rules)
    refuse_contradictions(schema)
    if "open" not in str(rules):
        row = find_row(schema)
        assert row is not None
        closed = replace(schema, columns=schema.columns[:-1])
        assert not broken_rows(closed, row, 1).any()


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        (("a < 0",), "rule a < 0: no row can keep it"),
        (
            ("{name: early, always: d < '2020-01-01'}",),
            "rule early: no row can keep it",
        ),
        (("a + b = 2500",), r"rule a \+ b = 2500: no row"),
        (("a > 3 and a < 4",), "rule a > 3 and a < 4: no row"),
        (("{impossible: a is missing or a is not missing}",), "no row can keep it"),
        (
            ("a < b", "b < c", "{name: round, always: c < a}"),
            "rule round: no row can keep it together with a < b; b < c",
        ),
        (
            (
                "town = 'Zug'",
                "{from: town, to: canton, map: {Zug: ZG}}",
                "canton = 'BE'",
            ),
            "rule canton = 'BE': no row",
        ),
    ],
)
def test_a_contradiction_is_named(rules, named):
    if "round" in str(
        rules
    ):  # missing values keep any order, so the circle needs them gone
        rules = (
            *rules[:2],
            "a is not missing and b is not missing and c is not missing",
            rules[2],
        )
        named = "rule round: no row can keep it together with"
    with pytest.raises(SchemaError, match=named) as caught:
        refuse_contradictions(schema_of(*rules))
    assert str(caught.value).endswith("Nothing was spent")
