"""HAVING as a predicate on the columns of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from understudy.queries.sql_conditions import number_of, refuse_node
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
)

_OPERATOR_BY_NODE = {
    "EQ": Operator.EQUAL,
    "NEQ": Operator.UNEQUAL,
    "LT": Operator.LESS,
    "LTE": Operator.AT_MOST,
    "GT": Operator.MORE,
    "GTE": Operator.AT_LEAST,
}


def read_having(node: Any, title_of: Callable[[Any], str]) -> Predicate:
    """A condition on columns of the answer; `title_of` says which column an expression
    is, and adds it if it is a new aggregate.
    """
    match type(node).__name__:
        case "Paren":
            return read_having(node.this, title_of)
        case "And":
            return And(
                read_having(node.this, title_of),
                read_having(node.expression, title_of),
            )
        case "Or":
            return Or(
                read_having(node.this, title_of),
                read_having(node.expression, title_of),
            )
        case "Not":
            return Not(read_having(node.this, title_of))
        case kind if kind in _OPERATOR_BY_NODE:
            name = ColumnName(title_of(node.this))
            literal = _read_literal(node.expression)
            return ColumnComparison(name, _OPERATOR_BY_NODE[kind], literal)
    raise refuse_node(node)


def _read_literal(node: Any) -> Literal:
    if type(node).__name__ == "Literal" and node.args.get("is_string"):
        return Literal(str(node.this))
    if type(node).__name__ == "Boolean":
        return Literal(bool(node.this))
    return Literal(number_of(node))
