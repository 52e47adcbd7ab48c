"""Scales: which columns and constants of a predicate can be compared, and where they
lie.

Columns of one family share a scale: numbers as they are; dates and wall-clock moments,
instants, and times of day in microseconds; labels; true and false. A constant is read
by the column it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column
from understudy.schema.columns.cell import parse_moment
from understudy.schema.columns.discrete import Boolean, Categorical, UndeclaredColumn
from understudy.schema.columns.lattice import (
    EPOCH_MOMENT,
    MICROSECOND_SPAN,
    Date,
    Datetime,
    Integer,
    Lattice,
    Real,
    Time,
)
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
    Or,
    Predicate,
)

ScaleValue = Fraction | str | bool
"""A value on a scale that the columns of one family share."""

_LITERAL_SPELLING_HINTS = {
    "number": "as a number",
    "wall clock": "in full, as '2024-12-31' or '2024-12-31 23:59'",
    "instant": "in full, as '2024-12-31 23:59'",
    "time of day": "as '23:59'",
    "label": "in single quotes",
    "truth": "as true or false",
}


def family_of_column(column: Column) -> str | None:
    """What a column's values can be compared with: columns and constants of the same
    family; None for nothing.
    """
    match column:
        case Integer() | Real():
            return "number"
        case Date():
            return "wall clock"
        case Datetime():
            return "wall clock" if column.zone is None else "instant"
        case Time():
            return "time of day"
        case Categorical():
            return "label"
        case Boolean():
            return "truth"
        case _:
            return None


def scale_value_of(column: Column, literal: Literal) -> ScaleValue | None:
    """Where a constant lies among a column's values; None where it is none of the
    column's kind.
    """
    match column, literal.value:
        case (Integer() | Real(), Fraction() as number):
            return number
        case (Date(), str() as text):
            moment = parse_moment(text)
            return (
                None
                if moment is None
                else Fraction(
                    (moment.replace(tzinfo=None) - EPOCH_MOMENT) // MICROSECOND_SPAN
                )
            )
        case (Datetime() | Time(), str() as text):
            value = column.parse(text)
            try:
                return (
                    None
                    if value is None
                    else column.position_of(value) * scale_step_of(column)
                )
            except (ValueError, OverflowError):
                return None
        case (Categorical(), str() as label):
            return label
        case (Boolean(), bool() as truth):
            return truth
    return None


def scale_step_of(column: Lattice) -> Fraction:
    """One lattice step on the family's scale: numbers as they are, clocks in
    microseconds.
    """
    match column:
        case Integer() | Real():
            return Fraction(column.step)
        case Datetime() | Time():
            return Fraction(column.resolution // MICROSECOND_SPAN)
        case _:
            return Fraction(86_400_000_000)


def label_order_of(column: Column) -> tuple[str, ...] | None:
    """The order of an ordered column's labels; empty where labels have none."""
    if not isinstance(column, Categorical):
        return None
    return column.values if column.ordered and column.values is not None else ()


def check_predicate(predicate: Predicate, columns: Mapping[str, Column]) -> None:
    """Refuse a predicate that makes no sense for the columns it names.

    What is left to learn, or was learned, is not checked: whatever the curator finds, a
    paid answer must not end in an error.
    """
    for column in sorted(predicate.columns - set(columns)):
        raise SchemaError(
            f'column "{column}" is not in the schema. Labels stand in single quotes:'
            f" '{column}'"
        )
    match predicate:
        case And(left, right) | Or(left, right) | IfThen(left, right):
            check_predicate(left, columns)
            check_predicate(right, columns)
        case Not(part):
            check_predicate(part, columns)
        case IsMissing(name):
            _require_family(columns[name.column])
        case In(name, values):
            for literal in values:
                _check_constant(columns[name.column], literal, ordering=False)
        case LinearComparison(terms):
            for _, name in terms:
                if _require_family(columns[name.column]) not in (None, "number"):
                    raise SchemaError(
                        f'column "{name.column}": only numbers can be added up'
                    )
        case InCombinations(names, rows):
            for name in names:
                _require_family(columns[name.column])
            for row in rows:
                for name, literal in zip(names, row, strict=True):
                    _check_constant(columns[name.column], literal, ordering=False)
        case ColumnComparison(name, operator, Literal() as literal):
            _check_constant(
                columns[name.column], literal, ordering=operator.needs_order
            )
        case ColumnComparison(name, operator, ColumnName() as other):
            _check_pair(
                columns[name.column],
                columns[other.column],
                ordering=operator.needs_order,
            )


def _has_declared_type(column: Column) -> bool:
    return not isinstance(column, UndeclaredColumn) and "type" not in column.learned


def _require_family(column: Column) -> str | None:
    if not _has_declared_type(column):
        return None
    found = family_of_column(column)
    if found is None:
        raise SchemaError(
            f'column "{column.name}" is {column.type}, which a predicate cannot'
            " speak of"
        )
    return found


def _check_constant(column: Column, literal: Literal, *, ordering: bool) -> None:
    found = _require_family(column)
    if found is None:
        return
    if scale_value_of(column, literal) is None:
        raise SchemaError(
            f'column "{column.name}": {literal} is none of its values. Write them'
            f" {_LITERAL_SPELLING_HINTS[found]}"
        )
    if ordering:
        _check_order(column)
    if (
        not isinstance(column, Categorical)
        or column.values is None
        or "values" in column.learned
    ):
        return
    if literal.value not in column.listed:
        raise SchemaError(f'column "{column.name}": {literal} is not one of its values')


def _check_order(column: Column) -> None:
    if isinstance(column, Boolean) or (
        isinstance(column, Categorical) and not column.ordered
    ):
        raise SchemaError(
            f'column "{column.name}": its values have no order. Add `ordered: true`, or'
            " compare with `=`"
        )


def _check_pair(one: Column, two: Column, *, ordering: bool) -> None:
    families = _require_family(one), _require_family(two)
    if None in families:
        return
    if families[0] != families[1]:
        raise SchemaError(
            f'columns "{one.name}" ({families[0]}) and "{two.name}" ({families[1]})'
            " cannot be compared"
        )
    if not ordering:
        return
    for column in (one, two):
        _check_order(column)
    declared = all("values" not in column.learned for column in (one, two))
    if (
        declared
        and None not in (label_order_of(one), label_order_of(two))
        and label_order_of(one) != label_order_of(two)
    ):
        raise SchemaError(
            f'columns "{one.name}" and "{two.name}" list different values, so neither'
            " is below the other"
        )
