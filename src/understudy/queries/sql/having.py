"""HAVING as a predicate on the columns of the answer."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from understudy.queries.sql.literals import number_of
from understudy.queries.sql.refusals import refuse_node
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    In,
    IsMissing,
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

_TURNED_OPERATOR = {
    Operator.LESS: Operator.MORE,
    Operator.MORE: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}
_LITERAL_NODES = ("Literal", "Neg", "Boolean", "Null")


def read_having(
    node: Any, title_of: Callable[[Any], str], flags: Collection[str]
) -> Predicate:
    """A condition on columns of the answer; `title_of` says which column an expression
    is, and adds it if it is a new aggregate. `flags` are conditions by themselves.
    """
    match type(node).__name__:
        case "Paren":
            return read_having(node.this, title_of, flags)
        case "And":
            return And(
                read_having(node.this, title_of, flags),
                read_having(node.expression, title_of, flags),
            )
        case "Or":
            return Or(
                read_having(node.this, title_of, flags),
                read_having(node.expression, title_of, flags),
            )
        case "Not":
            return Not(read_having(node.this, title_of, flags))
        case "Between" if not node.args.get("symmetric"):
            name = ColumnName(title_of(node.this))
            low, high = (_read_literal(node.args[end]) for end in ("low", "high"))
            return And(
                ColumnComparison(name, Operator.AT_LEAST, low),
                ColumnComparison(name, Operator.AT_MOST, high),
            )
        case "In" if node.expressions:
            values = tuple(_read_literal(each) for each in node.expressions)
            return In(ColumnName(title_of(node.this)), values)
        case "Is" if type(node.expression).__name__ == "Null":
            return IsMissing(ColumnName(title_of(node.this)))
        case "Column" if title_of(node) in flags:
            name = ColumnName(title_of(node))
            return ColumnComparison(name, Operator.EQUAL, Literal(True))
        case kind if kind in _OPERATOR_BY_NODE:
            return _read_comparison(node, title_of)
    raise refuse_node(node)


def _read_comparison(node: Any, title_of: Callable[[Any], str]) -> Predicate:
    """A column of the answer beside a constant, or beside another column."""
    left, right = node.this, node.expression
    operator = _OPERATOR_BY_NODE[type(node).__name__]
    if type(left).__name__ in _LITERAL_NODES:
        left, right = right, left
        operator = _TURNED_OPERATOR.get(operator, operator)
    name = ColumnName(title_of(left))
    if type(right).__name__ in _LITERAL_NODES:
        return ColumnComparison(name, operator, _read_literal(right))
    return ColumnComparison(name, operator, ColumnName(title_of(right)))


def _read_literal(node: Any) -> Literal:
    if type(node).__name__ == "Literal" and node.args.get("is_string"):
        return Literal(str(node.this))
    if type(node).__name__ == "Boolean":
        return Literal(bool(node.this))
    return Literal(number_of(node))
