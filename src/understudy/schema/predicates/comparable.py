"""Which columns and constants of a predicate can be compared, and on which scale.

Columns of one family share a scale: numbers as they are; dates and wall-clock moments,
instants, and times of day in microseconds; labels; true and false. A constant is read
by the column it is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column
from understudy.schema.columns.cell import parse_moment
from understudy.schema.columns.discrete import Boolean, Categorical, UndeclaredColumn
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX, Lattice
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import (
    EPOCH_MOMENT,
    MICROSECOND_SPAN,
    Date,
    Datetime,
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
    Operator,
    Or,
    Predicate,
)

ScaleValue = Fraction | str | bool
"""A value on a scale that the columns of one family share."""

_DAY_MICROSECONDS = 86_400_000_000

MAX_VALUES_NAMED = 6
"""Values of a column that an error names: more would hide what it says."""

_LITERAL_SPELLING_HINTS = {
    "number": "as a number",
    "wall clock": "in full, as '2024-12-31' or '2024-12-31 23:59'",
    "instant": "in full, as '2024-12-31 23:59'",
    "time of day": "as '23:59'",
    "label": "in single quotes",
    "truth": "as true or false",
}


def family_of_column(column: Column) -> str | None:
    """The family whose columns and constants a column can be compared with; None if it
    can be compared with nothing (free text, identifiers, undeclared columns).
    """
    match column:
        case Integer() | Real():
            return "number"
        # A date is a wall-clock time at midnight; an instant has an offset as well.
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
    """Where a constant lies on a column's scale; None if it belongs to another family.

    >>> scale_value_of(Date(name="born"), Literal("1970-01-02"))
    Fraction(86400000000, 1)
    """
    match column, literal.value:
        case (Integer() | Real(), Fraction() as number):
            return number
        case (Date(), str() as text):
            return _wall_clock_microseconds(text)
        case (Datetime() | Time(), str() as text):
            return _clock_microseconds(column, text)
        case (Categorical(), str() as label):
            return label
        case (Boolean(), bool() as truth):
            return truth
    return None


def _wall_clock_microseconds(text: str) -> Fraction | None:
    """A moment as a date compares with it: unlike a cell, a constant keeps its clock,
    so that `born < '2024-05-01 12:00'` is true of that day.
    """
    moment = parse_moment(text)
    if moment is None:
        return None
    return Fraction((moment.replace(tzinfo=None) - EPOCH_MOMENT) // MICROSECOND_SPAN)


def _clock_microseconds(column: Datetime | Time, text: str) -> Fraction | None:
    value = column.parse(text)
    if value is None:
        return None
    try:
        return column.position_of(value) * scale_step_of(column)
    except (ValueError, OverflowError):
        # In some zones a moment near the end of the calendar has no counterpart in UTC.
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
            return Fraction(_DAY_MICROSECONDS)


def exact_integer_dtype(magnitude: int) -> np.dtype[np.int64] | np.dtype[np.object_]:
    """A type in which whole numbers up to a magnitude add and compare exactly: 64 bits
    with one to spare, or Python's own numbers, which are slower and never overflow.

    >>> exact_integer_dtype(10), exact_integer_dtype(2**62)
    (dtype('int64'), dtype('O'))
    """
    return np.dtype(np.int64) if magnitude < 2**62 else np.dtype(np.object_)


def integer_bound(operator: Operator, position: Fraction) -> int:
    """The whole number that orders whole numbers as a fraction does.

    Whole numbers below 2.5 are those below 3; those up to 2.5 are those up to 2. A
    bound beyond every lattice index is moved to the nearest 64-bit one that is.

    >>> half = Fraction(5, 2)
    >>> integer_bound(Operator.LESS, half), integer_bound(Operator.AT_MOST, half)
    (3, 2)
    """
    rounds_down = operator in (Operator.AT_MOST, Operator.MORE)
    bound = math.floor(position) if rounds_down else math.ceil(position)
    unreachable = MAX_LATTICE_INDEX + 1
    return min(max(bound, -unreachable), unreachable)


def label_order_of(column: Column) -> tuple[str, ...] | None:
    """The labels of an ordered column in their order; empty if the labels have no
    order, None if the column has no labels.
    """
    if not isinstance(column, Categorical):
        return None
    return column.values if column.ordered and column.values is not None else ()


def check_predicate(predicate: Predicate, columns: Mapping[str, Column]) -> None:
    """Refuse a predicate that makes no sense for the columns it names.

    Learned types and values are not checked: whatever the curator finds, an answer that
    was paid for must not end in an error.
    """
    # Sorted, so that the same mistake gives the same message.
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
        case _:
            _check_test(predicate, columns)


def _check_test(predicate: Predicate, columns: Mapping[str, Column]) -> None:
    """Check a predicate without `and`, `or`, `not` or `if`."""
    match predicate:
        case IsMissing(name):
            _require_family(columns[name.column])
        case In(name, literals):
            for literal in literals:
                _check_constant(columns[name.column], literal, ordering=False)
        case InCombinations():
            _check_combinations(predicate, columns)
        case LinearComparison(terms):
            for _, name in terms:
                _check_addend(columns[name.column])
        case ColumnComparison(name, operator, Literal() as literal):
            column = columns[name.column]
            ordering = operator.needs_order
            _check_constant(column, literal, ordering=ordering)
        case ColumnComparison(name, operator, ColumnName() as other):
            left = columns[name.column]
            right = columns[other.column]
            _check_pair(left, right, ordering=operator.needs_order)


def _check_combinations(
    predicate: InCombinations, columns: Mapping[str, Column]
) -> None:
    for name in predicate.names:
        _require_family(columns[name.column])
    for row in predicate.rows:
        for name, literal in zip(predicate.names, row, strict=True):
            _check_constant(columns[name.column], literal, ordering=False)


def _check_addend(column: Column) -> None:
    if _require_family(column) not in (None, "number"):
        raise SchemaError(f'column "{column.name}": only numbers can be added up')


def _require_family(column: Column) -> str | None:
    """A column's family; None while its type is learned, and so may be any."""
    if isinstance(column, UndeclaredColumn) or "type" in column.learned:
        return None
    family = family_of_column(column)
    if family is None:
        raise SchemaError(
            f'column "{column.name}" is {column.type}, which a predicate cannot'
            " speak of"
        )
    return family


def _check_constant(column: Column, literal: Literal, *, ordering: bool) -> None:
    family = _require_family(column)
    if family is None:
        return
    if scale_value_of(column, literal) is None:
        raise SchemaError(
            f'column "{column.name}": {literal} is none of its values. Write them'
            f" {_LITERAL_SPELLING_HINTS[family]}"
        )
    if ordering:
        _check_order(column)
    if not isinstance(column, Categorical) or column.values is None:
        return
    # A learned list may lack a value that the owner knows of.
    if "values" not in column.learned and literal.value not in column.value_set:
        listed = ", ".join(map(str, column.values[:MAX_VALUES_NAMED]))
        more = ", …" if len(column.values) > MAX_VALUES_NAMED else ""
        raise SchemaError(
            f'column "{column.name}": {literal} is not one of its values: {listed}{more}'
        )


def _check_order(column: Column) -> None:
    unordered = isinstance(column, Categorical) and not column.ordered
    if unordered or isinstance(column, Boolean):
        raise SchemaError(
            f'column "{column.name}": its values have no order. Add `ordered: true`, or'
            " compare with `=`"
        )


def _check_pair(left: Column, right: Column, *, ordering: bool) -> None:
    families = _require_family(left), _require_family(right)
    if None in families:
        return
    if families[0] != families[1]:
        raise SchemaError(
            f'columns "{left.name}" ({families[0]}) and "{right.name}" ({families[1]})'
            " cannot be compared"
        )
    if not ordering:
        return
    _check_order(left)
    _check_order(right)
    # Learned lists of values may differ; the comparison is then false of every row.
    if "values" in (*left.learned, *right.learned):
        return
    orders = label_order_of(left), label_order_of(right)
    if None not in orders and orders[0] != orders[1]:
        raise SchemaError(
            f'columns "{left.name}" and "{right.name}" list different values, so'
            " neither is below the other"
        )
