"""Aggregate functions in SQL. Those of a linear expression are computed of those of its
column, Σ(2x + 1) = 2·Σx + n, and those of a CASE of those of its branches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from understudy.errors import Refused
from understudy.queries.builders import quantile
from understudy.queries.formulas import (
    Formula,
    FormulaColumn,
    FormulaNumber,
    call_operation,
)
from understudy.queries.query import Aggregate, AggregateKind
from understudy.queries.sql.cases import CASE_NODES, CaseBranch, read_branches
from understudy.queries.sql.conditions import (
    CONDITION_NODES,
    WHOLE_SQL_TYPES,
    ConditionReader,
    find_schema_column,
)
from understudy.queries.sql.literals import (
    column_name,
    is_constant,
    number_of,
    skip_brackets,
)
from understudy.queries.sql.refusals import refuse_node
from understudy.schema import Boolean, Column, Schema, codec_of
from understudy.schema.predicates.ast import Or, Predicate

_KIND_BY_NODE = {
    "Sum": AggregateKind.SUM,
    "Avg": AggregateKind.MEAN,
    "Variance": AggregateKind.VARIANCE,
    "Stddev": AggregateKind.DEVIATION,
    "StddevSamp": AggregateKind.DEVIATION,
    "Corr": AggregateKind.CORRELATION,
    "CovarSamp": AggregateKind.COVARIANCE,
}
_KIND_BY_NAME = {
    "VAR": AggregateKind.VARIANCE,
    "STD": AggregateKind.DEVIATION,
    "STDEV": AggregateKind.DEVIATION,
    "MEAN": AggregateKind.MEAN,
    "AVERAGE": AggregateKind.MEAN,
}
"""Names of other databases, which the parser leaves as they are."""

_QUANTILE_NODES = (
    "Median",
    "PercentileDisc",
    "PercentileCont",
    "Quantile",
    "WithinGroup",
)
AGGREGATE_NODES = frozenset(
    {*_KIND_BY_NODE, *_QUANTILE_NODES, "Count", "CountIf", "Filter", "Anonymous"}
)
"""What adds up rows."""

PutAggregate = Callable[[Aggregate], str]
"""Adds an aggregate to the question, and says what its column is called."""


@dataclass(frozen=True)
class AggregateReader:
    """Reads an aggregate by itself, or as a formula of several, which `put` adds."""

    schema: Schema
    put: PutAggregate

    def read_aggregate(self, node: Any) -> Aggregate | Formula:
        """An aggregate function, with its FILTER."""
        name = type(node).__name__
        if name == "Filter":
            return self._read_filtered(node)
        if name == "Count":
            return self._read_count(node)
        if name == "CountIf":
            condition = ConditionReader(self.schema).read(node.this)
            return Aggregate(AggregateKind.COUNT, condition=condition)
        if name in _QUANTILE_NODES:
            return self._read_quantile(node)
        kind, arguments = _KIND_BY_NODE.get(name), [node.this]
        if name == "Anonymous":
            kind = _KIND_BY_NAME.get(str(node.this).upper())
            arguments = node.expressions
        if kind is None or not arguments:
            raise refuse_node(node)
        if kind in (AggregateKind.CORRELATION, AggregateKind.COVARIANCE):
            pair = (self._column(node.this), self._column(node.expression))
            return Aggregate(kind, pair)
        if len(arguments) != 1:
            raise refuse_node(node)
        return self._read_of(kind, arguments[0])

    def _read_filtered(self, node: Any) -> Aggregate:
        inner = self.read_aggregate(node.this)
        if not isinstance(inner, Aggregate) or inner.condition is not None:
            raise refuse_node(node)
        condition = ConditionReader(self.schema).read(node.expression.this)
        return replace(inner, condition=condition)

    def _read_count(self, node: Any) -> Aggregate | Formula:
        inner = node.this
        if inner is None or node.args.get("expressions"):
            raise refuse_node(node)
        inner = self._read_truth(skip_brackets(inner))
        match type(inner).__name__:
            case "Star" | "Literal":
                return Aggregate(AggregateKind.COUNT)
            case "Distinct" if len(inner.expressions) == 1:
                column = self._column(inner.expressions[0])
                return Aggregate(AggregateKind.DISTINCT, (column,))
            case kind if kind in CASE_NODES:
                return self._read_case(AggregateKind.COUNT, inner)
        return Aggregate(AggregateKind.COUNT, (self._column(inner),))

    def _read_of(self, kind: AggregateKind, node: Any) -> Aggregate | Formula:
        """An aggregate of a column, of a linear expression of one, or of a CASE."""
        node = self._read_truth(skip_brackets(node))
        if type(node).__name__ in CASE_NODES:
            return self._read_case(kind, node)
        if type(node).__name__ == "Column":
            return Aggregate(kind, (self._column(node),))
        if type(node).__name__ == "Literal" and kind is AggregateKind.SUM:
            return scale_formula(
                number_of(node), self._put(Aggregate(AggregateKind.COUNT))
            )
        slope, column, offset = self._read_line(node)
        aggregate = Aggregate(kind, (column,))
        return self._transform(aggregate, slope, offset)

    def _read_truth(self, node: Any) -> Any:
        """A condition as a number, as CAST(x > 3 AS INT) says it: 1, 0 or NULL."""
        inner = node
        if type(node).__name__ == "Cast":
            inner = skip_brackets(node.this)
            is_whole = (
                str(getattr(node.args["to"].this, "value", "")) in WHOLE_SQL_TYPES
            )
            is_flag = type(inner).__name__ == "Column" and isinstance(
                self.schema[self._column(inner)], Boolean
            )
            if not is_whole or not (is_flag or type(inner).__name__ in CONDITION_NODES):
                return node
        elif type(node).__name__ not in CONDITION_NODES:
            return node
        from sqlglot import exp

        case = exp.Case().when(inner.copy(), exp.Literal.number(1))
        named = {self._column(each) for each in inner.find_all(exp.Column)}
        # Never NULL: a share of all rows, whose interval is narrower than a quotient's.
        if all(_is_always_there(self.schema[name]) for name in named):
            return case.else_(exp.Literal.number(0))
        return case.when(exp.Not(this=inner.copy()), exp.Literal.number(0))

    def _transform(
        self, aggregate: Aggregate, slope: Fraction, offset: Fraction
    ) -> Formula:
        """The aggregate of slope·x + offset, from that of x."""
        own = self._put(aggregate)
        match aggregate.kind:
            case AggregateKind.SUM:
                count = replace(aggregate, kind=AggregateKind.COUNT)
                scaled = scale_formula(slope, own)
                if not offset:
                    return scaled
                return call_operation(
                    "+", [scaled, scale_formula(offset, self._put(count))]
                )
            case AggregateKind.MEAN:
                return call_operation(
                    "+", [scale_formula(slope, own), FormulaNumber(offset)]
                )
            case AggregateKind.VARIANCE:
                return scale_formula(slope**2, own)
            case AggregateKind.DEVIATION:
                return scale_formula(abs(slope), own)
        raise Refused("SQL: this aggregate is of a column by itself. Nothing was spent")

    def _read_line(self, node: Any) -> tuple[Fraction, str, Fraction]:
        """Slope, column and offset of a linear expression of one column."""
        match type(node).__name__:
            case "Column":
                return Fraction(1), self._column(node), Fraction(0)
            case "Paren":
                return self._read_line(node.this)
            case "Neg":
                slope, column, offset = self._read_line(node.this)
                return -slope, column, -offset
            case "Add" | "Sub" | "Mul" | "Div" as sign:
                return self._read_side(node, sign)
        raise refuse_node(node)

    def _read_side(self, node: Any, sign: str) -> tuple[Fraction, str, Fraction]:
        left, right = node.this, node.expression
        if is_constant(left) and sign != "Div":
            slope, column, offset = self._read_line(right)
            number = number_of(left)
            if sign == "Mul":
                return number * slope, column, number * offset
            turned = -1 if sign == "Sub" else 1
            return turned * slope, column, number + turned * offset
        if not is_constant(right):
            raise refuse_node(node)
        slope, column, offset = self._read_line(left)
        number = number_of(right)
        if sign == "Add":
            return slope, column, offset + number
        if sign == "Sub":
            return slope, column, offset - number
        if sign == "Div" and not number:
            raise refuse_node(node)
        factor = number if sign == "Mul" else 1 / number
        return factor * slope, column, factor * offset

    def _read_case(self, kind: AggregateKind, node: Any) -> Aggregate | Formula:
        """An aggregate of the results of branches."""
        branches = read_branches(node, self.schema)
        named = [each for each in branches if each.result is not None]
        is_column = [type(each.result).__name__ == "Column" for each in named]
        if len(named) == 1 and is_column[0]:
            column = self._column(named[0].result)
            return Aggregate(kind, (column,), named[0].condition)
        if not named:
            raise refuse_node(node)
        match kind:
            case AggregateKind.COUNT:
                return self._count_branches(named)
            case AggregateKind.SUM:
                return self._sum_branches(named)
            case AggregateKind.MEAN:
                return self._average_branches(named, branches)
        raise refuse_node(node)

    def _count_branches(self, branches: list[CaseBranch]) -> Aggregate | Formula:
        """The rows that are given something: constants of all branches together."""
        parts: list[Aggregate] = []
        given: Predicate | None = None
        for branch in branches:
            if type(branch.result).__name__ == "Column":
                column = self._column(branch.result)
                parts.append(
                    Aggregate(AggregateKind.COUNT, (column,), branch.condition)
                )
                continue
            _refuse_variable(branch.result)
            given = branch.condition if given is None else Or(given, branch.condition)
        if given is not None:
            parts.append(Aggregate(AggregateKind.COUNT, condition=given))
        return parts[0] if len(parts) == 1 else self._add_up([*map(self._put, parts)])

    def _sum_branches(self, branches: list[CaseBranch]) -> Aggregate | Formula:
        parts: list[tuple[Fraction, Aggregate]] = []
        for branch in branches:
            if type(branch.result).__name__ == "Column":
                column = self._column(branch.result)
                own = Aggregate(AggregateKind.SUM, (column,), branch.condition)
                parts.append((Fraction(1), own))
                continue
            number = number_of(branch.result)
            if number:
                counted = Aggregate(AggregateKind.COUNT, condition=branch.condition)
                parts.append((number, counted))
        if not parts:
            raise Refused("SQL: every row adds 0 to this sum. Nothing was spent")
        if len(parts) == 1 and parts[0][0] == 1:
            return parts[0][1]
        return self._add_up(
            [scale_formula(number, self._put(each)) for number, each in parts]
        )

    def _average_branches(
        self, named: list[CaseBranch], branches: list[CaseBranch]
    ) -> Aggregate | Formula:
        """A share, or a sum of shares, where all rows are given constants."""
        has_constants = all(is_constant(each.result) for each in named)
        if has_constants and len(named) == len(branches):
            shares = [
                (number_of(each.result), each.condition)
                for each in named
                if number_of(each.result)
            ]
            if len(shares) == 1 and shares[0][0] == 1:
                return Aggregate(AggregateKind.SHARE, condition=shares[0][1])
            parts = [
                scale_formula(
                    number, self._put(Aggregate(AggregateKind.SHARE, condition=met))
                )
                for number, met in shares
            ]
            return self._add_up(parts or [FormulaNumber(Fraction(0))])
        total = as_formula(self._sum_branches(named), self.put)
        return call_operation(
            "/", [total, as_formula(self._count_branches(named), self.put)]
        )

    def _add_up(self, parts: list[Formula]) -> Formula:
        first, *rest = parts
        for part in rest:
            first = call_operation("+", [first, part])
        return first

    def _put(self, aggregate: Aggregate) -> FormulaColumn:
        return FormulaColumn(self.put(aggregate))

    def _read_quantile(self, node: Any) -> Aggregate:
        name = type(node).__name__
        level = Fraction(1, 2)
        if name == "WithinGroup":
            inner, ordered = node.this, node.expression.expressions
            is_known = type(inner).__name__ in ("PercentileDisc", "PercentileCont")
            if not is_known or len(ordered) != 1 or ordered[0].args.get("desc"):
                raise refuse_node(node)
            level, column = number_of(inner.this), ordered[0].this
        elif name == "Median":
            column = node.this
        elif name == "Quantile":
            level, column = number_of(node.args["quantile"]), node.this
        else:
            level, column = number_of(node.expression), node.this
        (aggregate,) = quantile(self._column(column), level).aggregates
        return aggregate

    def _column(self, node: Any) -> str:
        return find_schema_column(column_name(node), self.schema)


def as_formula(found: Aggregate | Formula, put: PutAggregate) -> Formula:
    """What was read as a part of a formula: an aggregate is a column of the answer."""
    return FormulaColumn(put(found)) if isinstance(found, Aggregate) else found


def scale_formula(factor: Fraction, part: Formula) -> Formula:
    """A multiple of a formula."""
    return part if factor == 1 else call_operation("*", [FormulaNumber(factor), part])


def _is_always_there(column: Column) -> bool:
    return column.is_closed and bool(codec_of(column).is_value.all())


def _refuse_variable(node: Any) -> None:
    """Refuse what is no constant: a row that is given it may be given NULL."""
    is_text = type(node).__name__ == "Literal"
    if not is_constant(node) and not is_text and type(node).__name__ != "Boolean":
        raise refuse_node(node)
