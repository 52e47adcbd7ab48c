"""What a predicate means for one row of Python values: the reference semantics.

A predicate compares values as the schema stores them: rounded to their lattice, clipped
to their bounds, unlisted labels as `other`. A comparison with a missing value is false.
Everything is compared exactly, as fractions, texts or truth values. on_values.py gives
the same answers for many decoded rows at once, on_cells.py for the cells of a marginal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from understudy.schema.columns.code_layout import OTHER_STATE, VALUE_STATE
from understudy.schema.columns.codec import Codec
from understudy.schema.columns.discrete import Boolean, Categorical
from understudy.schema.columns.lattice import Lattice
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    InCombinations,
    IsMissing,
    LinearComparison,
    Literal,
    Not,
    Operand,
    Operator,
    Or,
    Predicate,
)
from understudy.schema.predicates.comparable import (
    ScaleValue,
    family_of_column,
    label_order_of,
    scale_step_of,
    scale_value_of,
)


def holds_for_row(
    predicate: Predicate, row: Mapping[str, object], codecs: Mapping[str, Codec]
) -> bool:
    """Whether a predicate holds for one row of Python values.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=90))}
    >>> older = parse_predicate("age > 60")
    >>> holds_for_row(older, {"age": 61}, codecs), holds_for_row(older, {"age": None}, codecs)
    (True, False)
    """
    return _evaluate_on_row(predicate, _ScaledRow(row, codecs))


@dataclass(frozen=True)
class _ScaledRow:
    """A row whose values are looked up on the scale of their column's family."""

    values: Mapping[str, object]
    codecs: Mapping[str, Codec]

    def codec_of(self, name: ColumnName) -> Codec:
        return self.codecs[name.column]

    def scale_value(self, name: ColumnName) -> ScaleValue | None:
        """The value on its family's scale; None if it is missing."""
        codec = self.codec_of(name)
        index, state = codec.locate_value(self.values[name.column])
        if state not in (VALUE_STATE, OTHER_STATE):
            return None
        column = codec.column
        if isinstance(column, Lattice):
            return index * scale_step_of(column)
        if isinstance(column, Boolean):
            return index == 1
        assert isinstance(column, Categorical)
        assert column.values is not None
        return column.other if state == OTHER_STATE else column.values[index]

    def constant(self, name: ColumnName, literal: Literal) -> ScaleValue | None:
        """A constant on the scale of the column it is compared with."""
        return scale_value_of(self.codec_of(name).column, literal)


def _evaluate_on_row(predicate: Predicate, row: _ScaledRow) -> bool:
    match predicate:
        case And(left, right):
            return _evaluate_on_row(left, row) and _evaluate_on_row(right, row)
        case Or(left, right):
            return _evaluate_on_row(left, row) or _evaluate_on_row(right, row)
        case Not(part):
            return not _evaluate_on_row(part, row)
        case IfThen(premise, conclusion):
            if not _evaluate_on_row(premise, row):
                return True
            return _evaluate_on_row(conclusion, row)
    return _evaluate_test(predicate, row)


def _evaluate_test(predicate: Predicate, row: _ScaledRow) -> bool:
    """A predicate without `and`, `or`, `not` or `if`."""
    match predicate:
        case IsMissing(name, negated):
            return (row.scale_value(name) is None) != negated
        case In(name, values, negated):
            value = row.scale_value(name)
            if value is None:
                return False
            listed = any(value == row.constant(name, literal) for literal in values)
            return listed != negated
        case InCombinations():
            return _is_in_combinations(predicate, row)
        case LinearComparison(terms, operator, constant):
            total = _sum_terms(terms, row)
            return total is not None and _compare_scalars(total, operator, constant)
        case ColumnComparison(name, operator, right):
            return _compare_operands(name, operator, right, row)
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def _is_in_combinations(predicate: InCombinations, row: _ScaledRow) -> bool:
    values = tuple(row.scale_value(name) for name in predicate.names)
    if None in values:
        return False
    combinations = (
        tuple(map(row.constant, predicate.names, literals))
        for literals in predicate.rows
    )
    listed = any(values == combination for combination in combinations)
    return listed != predicate.negated


def _sum_terms(
    terms: tuple[tuple[Fraction, ColumnName], ...], row: _ScaledRow
) -> Fraction | None:
    """The weighted sum; None if a value is missing or no number."""
    total = Fraction(0)
    for weight, name in terms:
        value = row.scale_value(name)
        # A learned type may have made labels of a column that a declared sum adds up.
        if not isinstance(value, Fraction):
            return None
        total += weight * value
    return total


def _compare_operands(
    name: ColumnName, operator: Operator, right: Operand, row: _ScaledRow
) -> bool:
    column = row.codec_of(name).column
    here = row.scale_value(name)
    if isinstance(right, Literal):
        there = row.constant(name, right)
    # A learned type may leave two columns that share no scale.
    elif family_of_column(column) != family_of_column(row.codec_of(right).column):
        return False
    else:
        there = row.scale_value(right)
    if here is None or there is None:
        return False
    if not operator.needs_order:
        return (here == there) == (operator is Operator.EQUAL)
    order = label_order_of(column)
    if order is None:
        return _compare_scalars(here, operator, there)
    # `other` and labels that are not listed have no rank, so they are never ordered.
    if here not in order or there not in order:
        return False
    return _compare_scalars(order.index(here), operator, order.index(there))


def _compare_scalars(here: object, operator: Operator, there: object) -> bool:
    assert isinstance(here, Fraction | int)
    assert isinstance(there, Fraction | int)
    match operator:
        case Operator.LESS:
            return here < there
        case Operator.AT_MOST:
            return here <= there
        case Operator.MORE:
            return here > there
        case Operator.AT_LEAST:
            return here >= there
    return (here == there) == (operator is Operator.EQUAL)
