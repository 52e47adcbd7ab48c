"""What SQL computes of aggregates: 100 * SUM(x) / COUNT(*) is a formula of two.

SUM(x) / COUNT(x) is read as the mean, and a count of some rows over that of all as their
share: their intervals are narrower than those of a quotient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.errors import Refused
from understudy.queries.formulas import (
    Formula,
    FormulaNumber,
    call_operation,
)
from understudy.queries.query import Aggregate, AggregateKind
from understudy.queries.sql.aggregates import (
    AggregateReader,
    PutAggregate,
    as_formula,
    scale_formula,
)
from understudy.queries.sql.literals import column_name, is_constant, number_of
from understudy.queries.sql.refusals import refuse_node
from understudy.schema import Schema

_ARITHMETIC_BY_NODE = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_OPERATION_BY_NODE = {
    "Neg": "negate",
    "Abs": "abs",
    "Sqrt": "sqrt",
    "Exp": "exp",
    "Ln": "ln",
    "Floor": "floor",
    "Ceil": "ceil",
    "Pow": "power",
    "Round": "round",
    "Least": "least",
    "Greatest": "greatest",
}
_DECIMAL_SQL_TYPES = frozenset({"DOUBLE", "FLOAT", "DECIMAL"})


@dataclass(frozen=True)
class ExpressionReader:
    """Reads what is selected: an aggregate by itself, or a formula of several, which are
    added by `put`.
    """

    schema: Schema
    put: PutAggregate
    find_named: Callable[[str], Formula | None]
    """What a name of the answer means, in an expression of others."""

    @property
    def _aggregates(self) -> AggregateReader:
        return AggregateReader(self.schema, self.put)

    def read(self, node: Any) -> Aggregate | Formula:
        """What an expression of aggregates means."""
        kind = type(node).__name__
        match kind:
            case "Paren":
                return self.read(node.this)
            case "Literal":
                return FormulaNumber(number_of(node))
            case "Column":
                named = self.find_named(column_name(node))
                if named is not None:
                    return named
            case "Pi":
                return FormulaNumber(Fraction(math.pi))
            case "Cast":
                return self._read_cast(node)
            case "Div":
                return self._read_quotient(node)
            case "Coalesce" | "Nullif":
                return self._read_without_null(node)
            case "Log":
                return self._read_logarithm(node)
        if kind in _ARITHMETIC_BY_NODE:
            sides = [self._part(node.this), self._part(node.expression)]
            return call_operation(_ARITHMETIC_BY_NODE[kind], sides)
        if kind in _OPERATION_BY_NODE:
            arguments = [node.this, node.args.get("expression"), *node.expressions]
            arguments.append(node.args.get("decimals"))
            parts = [self._part(each) for each in arguments if each is not None]
            return call_operation(_OPERATION_BY_NODE[kind], parts)
        return self._aggregates.read_aggregate(node)

    def read_plain(self, node: Any) -> Aggregate:
        """An aggregate by itself; refused if it is computed of several."""
        found = self.read(node)
        if not isinstance(found, Aggregate):
            raise refuse_node(node)
        return found

    def _part(self, node: Any) -> Formula:
        return self._as_formula(self.read(node))

    def _as_formula(self, found: Aggregate | Formula) -> Formula:
        return as_formula(found, self.put)

    def _read_cast(self, node: Any) -> Aggregate | Formula:
        """A cast to numbers with decimals changes nothing; others would round."""
        named = str(getattr(node.args["to"].this, "value", ""))
        inner = self.read(node.this)
        is_count = isinstance(inner, Aggregate) and inner.kind is AggregateKind.COUNT
        if named not in _DECIMAL_SQL_TYPES and not is_count:
            raise refuse_node(node)
        return inner

    def _read_quotient(self, node: Any) -> Aggregate | Formula:
        factor, top = _split_factor(node.this)
        found = self.read(top)
        divisor = self.read(node.expression)
        if isinstance(found, Aggregate) and isinstance(divisor, Aggregate):
            ratio = _join_ratio(found, divisor)
            if ratio is not None and factor == 1:
                return ratio
            if ratio is not None:
                return scale_formula(factor, self._as_formula(ratio))
        numerator = scale_formula(factor, self._as_formula(found))
        return call_operation("/", [numerator, self._as_formula(divisor)])

    def _read_without_null(self, node: Any) -> Aggregate | Formula:
        """COALESCE(SUM(x), 0) and NULLIF(COUNT(*), 0): no count or sum here is NULL."""
        others = node.expressions or [node.args.get("expression")]
        found = self.read(node.this)
        is_plain = isinstance(found, Aggregate) and found.kind in (
            AggregateKind.COUNT,
            AggregateKind.SUM,
        )
        if not is_plain or len(others) != 1 or number_of(others[0]) != 0:
            raise Refused(
                "SQL: no number of an answer is NULL. Leave COALESCE and NULLIF out."
                " Nothing was spent"
            )
        return found

    def _read_logarithm(self, node: Any) -> Formula:
        """LOG(x) is that to the base 10, LOG(2, x) that to the base 2."""
        if node.args.get("expression") is None:
            return call_operation("log10", [self._part(node.this)])
        named = {Fraction(2): "log2", Fraction(10): "log10"}
        base = number_of(node.this)
        if base not in named:
            raise refuse_node(node)
        return call_operation(named[base], [self._part(node.expression)])


def _split_factor(node: Any) -> tuple[Fraction, Any]:
    """A constant factor of a product, and the rest of it."""
    while type(node).__name__ == "Paren":
        node = node.this
    if type(node).__name__ != "Mul":
        return Fraction(1), node
    for factor, rest in ((node.this, node.expression), (node.expression, node.this)):
        if is_constant(factor):
            return number_of(factor), rest
    return Fraction(1), node


def _join_ratio(top: Aggregate, bottom: Aggregate) -> Aggregate | None:
    """The mean or the share that a quotient is; None if it is neither."""
    if bottom.kind is not AggregateKind.COUNT:
        return None
    is_alike = (top.columns, top.condition) == (bottom.columns, bottom.condition)
    if top.kind is AggregateKind.SUM and is_alike:
        return Aggregate(AggregateKind.MEAN, top.columns, top.condition)
    is_of_all = not bottom.columns and bottom.condition is None
    is_of_some = not top.columns and top.condition is not None
    if top.kind is AggregateKind.COUNT and is_of_some and is_of_all:
        return Aggregate(AggregateKind.SHARE, condition=top.condition)
    return None
