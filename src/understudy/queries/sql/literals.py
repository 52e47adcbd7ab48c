"""Names and constants in SQL, and constants in the words of a predicate."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from understudy.accounting.budget import to_exact_fraction
from understudy.queries.sql.refusals import refuse_node
from understudy.schema.columns.cell import decimal_text
from understudy.schema.predicates.ast import Literal

_COMPARISON_BY_SIGN: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def skip_brackets(node: Any) -> Any:
    """What is inside of brackets."""
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def compare_constants(left: Any, sign: str, right: Any) -> bool:
    """Whether a comparison of two constants holds."""
    return compare_values(read_constant(left), sign, right)


def compare_values(one: Any, sign: str, right: Any) -> bool:
    """Whether the comparison of a value with a constant holds."""
    other = read_constant(right)
    if isinstance(one, str) != isinstance(other, str):
        raise refuse_node(right)
    return bool(_COMPARISON_BY_SIGN[sign](one, other))


def read_constant(node: Any) -> Any:
    """The number, text or truth in a constant."""
    node = skip_brackets(node)
    kind = type(node).__name__
    if kind == "Boolean":
        return bool(node.this)
    if kind == "Cast" and type(node.this).__name__ == "Literal":
        # DATE '2020-01-01' is its text.
        return read_constant(node.this)
    is_text = kind == "Literal" and node.args.get("is_string")
    return str(node.this) if is_text else number_of(node)


def list_constants(nodes: Sequence[Any], *, is_text: bool) -> frozenset[Any]:
    """Constants that are all texts, or all numbers."""
    listed = [(read_constant(node), node) for node in nodes]
    for value, node in listed:
        if isinstance(value, str) != is_text:
            raise refuse_node(node)
    return frozenset(value for value, _ in listed)


def column_name(node: Any) -> str:
    """The name in a column; its table is the only one there is."""
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        raise refuse_node(node)
    return str(node.this.this)


def spell_literal(node: Any) -> str:
    """A constant in the words of a predicate."""
    match type(node).__name__:
        case "Literal" if node.args.get("is_string"):
            return str(Literal(str(node.this)))
        case "Literal":
            return spell_fraction(number_of(node))
        case "Neg":
            return spell_fraction(-number_of(node.this))
        case "Paren":
            return spell_literal(node.this)
        case "Boolean":
            return "true" if node.this else "false"
        case "Cast" if type(node.this).__name__ == "Literal":
            # DATE '2020-01-01': the column says how it is read.
            return spell_literal(node.this)
    raise refuse_node(node)


def spell_fraction(number: Fraction) -> str:
    """A number in the words of a predicate."""
    return decimal_text(number) or str(number)


def number_of(node: Any) -> Fraction:
    """The exact number in a literal."""
    name = type(node).__name__
    if name == "Neg":
        return -number_of(node.this)
    if name == "Paren":
        return number_of(node.this)
    if name != "Literal" or node.args.get("is_string"):
        raise refuse_node(node)
    try:
        # Numbers of ordinary size only: 1e999999999 would fill the memory.
        return to_exact_fraction(str(node.this))
    except ValueError:
        raise refuse_node(node) from None


def is_constant(node: Any) -> bool:
    """Whether a node is a number, with a sign or in brackets."""
    while type(node).__name__ in ("Paren", "Neg"):
        node = node.this
    return type(node).__name__ == "Literal" and not node.args.get("is_string")
