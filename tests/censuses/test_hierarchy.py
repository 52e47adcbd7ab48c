"""Hierarchies: units, parents, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.censuses.hierarchy import Hierarchy
from understudy.errors import Refused, SchemaError
from understudy.schema import Schema

SCHEMA = Schema.parse(
    "columns: {state: {type: categorical, values: [n, s]}, age: {type: integer, min: 0, max: 9}}"
)
UNITS = [("n", "a"), ("s", "a"), ("n", "b")]


def test_units_of_one_parent_follow_each_other():
    made = Hierarchy.from_columns(["state", "county"], UNITS)
    assert made.paths(2) == (("n", "a"), ("n", "b"), ("s", "a"))
    assert made.child_starts(1).tolist() == [0, 2, 3]
    assert made.ancestors(1).tolist() == [0, 0, 1]
    assert made.sum_children(1, np.array([1, 2, 4])).tolist() == [3, 4]
    assert made.unit_count == 6


@pytest.mark.parametrize(
    ("columns", "units", "words"),
    [
        ([], [], "at least one column"),
        (["state", "nation"], [("n", "a")], "one name"),
        (["state"], [], "lowest units"),
        (["state"], [("n", "a")], "1 labels"),
        (["state"], [("n",), ("n",)], "twice"),
    ],
)
def test_what_is_no_hierarchy_is_refused(columns, units, words):
    with pytest.raises(SchemaError, match=words):
        Hierarchy.from_columns(columns, units)


@pytest.mark.parametrize("tree", [["a"], {"n": {"a": ["b"]}}, {"n": "abc"}])
def test_a_tree_of_another_depth_is_refused(tree):
    with pytest.raises(SchemaError, match="tree"):
        Hierarchy.from_tree(("state", "county"), tree)


def test_only_declared_values_are_units():
    with pytest.raises(Refused, match="does not declare"):
        Hierarchy.from_columns(["state"], [("w",)]).check_columns(SCHEMA)
    with pytest.raises(Refused, match="must be categorical"):
        Hierarchy.from_schema(["age"], SCHEMA)
    with pytest.raises(Refused, match="not in the schema"):
        Hierarchy.from_schema(["county"], SCHEMA)
    assert Hierarchy.from_schema(["state"], SCHEMA).leaves == (("n",), ("s",))
