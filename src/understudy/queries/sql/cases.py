"""CASE, IF and COALESCE as conditions, each with what a row that meets it first is given.

A row takes the first branch whose condition is true. What an earlier one leaves open is
not true, and `not` of a predicate says exactly that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from understudy.queries.conditions import join_conditions
from understudy.queries.sql.conditions import ConditionReader, find_schema_column
from understudy.queries.sql.literals import column_name
from understudy.queries.sql.refusals import refuse_node
from understudy.schema import Schema
from understudy.schema.predicates.ast import (
    ColumnName,
    IsMissing,
    Not,
    Or,
    Predicate,
)

CASE_NODES = frozenset({"Case", "If", "Coalesce"})
"""The nodes that are read as branches."""


@dataclass(frozen=True)
class CaseBranch:
    """The rows that take a branch, and the SQL of what they are given: None for NULL."""

    condition: Predicate
    result: Any | None


def read_branches(node: Any, schema: Schema) -> list[CaseBranch]:
    """Every branch, the last of which takes the rows that no other takes."""
    pairs, default = _list_pairs(node, schema)
    branches: list[CaseBranch] = []
    taken: Predicate | None = None
    for condition, result in pairs:
        rest = None if taken is None else Not(taken)
        first = join_conditions(condition, rest)
        assert first is not None
        branches.append(CaseBranch(first, _skip_null(result)))
        taken = condition if taken is None else Or(taken, condition)
    assert taken is not None
    branches.append(CaseBranch(Not(taken), _skip_null(default)))
    return branches


def _list_pairs(node: Any, schema: Schema) -> tuple[list[tuple[Predicate, Any]], Any]:
    """Conditions with their results, and what is left for the other rows."""
    reader = ConditionReader(schema)
    match type(node).__name__:
        case "If":
            met = reader.read(node.this)
            return [(met, node.args["true"])], node.args.get("false")
        case "Coalesce":
            others = node.expressions
            if len(others) != 1:
                raise refuse_node(node)
            name = find_schema_column(column_name(node.this), schema)
            return [(IsMissing(ColumnName(name), negated=True), node.this)], others[0]
        case "Case":
            pairs = [
                (reader.read(_find_condition(node, branch)), branch.args["true"])
                for branch in node.args.get("ifs") or []
            ]
            if pairs:
                return pairs, node.args.get("default")
    raise refuse_node(node)


def _find_condition(case: Any, branch: Any) -> Any:
    """The condition of a branch; CASE x WHEN 1 means x = 1."""
    if case.this is None:
        return branch.this
    from sqlglot import exp

    return exp.EQ(this=case.this, expression=branch.this)


def _skip_null(node: Any) -> Any | None:
    while type(node).__name__ == "Paren":
        node = node.this
    return None if node is None or type(node).__name__ == "Null" else node
