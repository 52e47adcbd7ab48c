"""Conditions on the columns of an answer (HAVING): what they may say, and whether a row
meets them. They see noisy numbers alone, so they cost nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

from understudy.errors import Refused, SchemaError
from understudy.queries.cells import KeyValue
from understudy.queries.conditions import label_bare_words, shorten_refusal
from understudy.schema import parse_predicate
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


def read_kept(
    condition: Predicate | str, titles: Collection[str], texts: Collection[str]
) -> Predicate:
    """The condition on an answer with these columns, of which `texts` are called by
    texts; Refused, before anything is spent, if it is about others, does more than
    compare, or compares texts with numbers.

    >>> print(read_kept("sex = F and count > 50", ("sex", "count"), ("sex",)))
    sex = 'F' and count > 50
    """
    try:
        read = condition
        if not isinstance(read, Predicate):
            read = parse_predicate(read)
        read = label_bare_words(read, titles)
    except SchemaError as error:
        raise shorten_refusal(
            Refused(
                f"The condition on the answer cannot be read: {error}. Write it as in"
                " `count > 50 and sex = 'F'`. Nothing was spent"
            )
        ) from None
    for title in sorted(read.columns.difference(titles)):
        raise Refused(
            f'The answer has no column "{title[:60]}" to be limited by. Its columns:'
            f" {', '.join(titles)}. Nothing was spent"
        )
    _check_shape(read, texts)
    return read


def _check_shape(predicate: Predicate, texts: Collection[str]) -> None:
    match predicate:
        case And(left, right) | Or(left, right):
            _check_shape(left, texts)
            _check_shape(right, texts)
        case Not(part):
            _check_shape(part, texts)
        case IsMissing():
            return
        case In(name, values):
            for value in values:
                _check_kinds(name, value, texts)
        case ColumnComparison(name, _, (Literal() | ColumnName()) as other):
            _check_kinds(name, other, texts)
        case _:
            raise _unanswerable_error()


def _check_kinds(
    name: ColumnName, other: Literal | ColumnName, texts: Collection[str]
) -> None:
    """Refuse a comparison of a text with a number: no row could ever meet it."""
    is_text = name.column in texts
    is_alike = is_text == (
        other.column in texts
        if isinstance(other, ColumnName)
        else isinstance(other.value, str)
    )
    if is_alike:
        return
    remedy = "Its values are no texts: leave the quotes out"
    if is_text:
        remedy = "Its values are texts: write them in single quotes"
    raise Refused(
        f"The condition on the answer compares {name.column} with something of another"
        f" kind. {remedy}. Nothing was spent"
    )


def _unanswerable_error() -> Refused:
    return Refused(
        "A condition on an answer compares its columns with constants or with one"
        " another: compute what else it needs as a column. Nothing was spent"
    )


def holds(predicate: Predicate, cells: Mapping[str, KeyValue]) -> bool | None:
    """Whether a row of an answer meets a condition; None, which is as SQL has it
    neither yes nor no, where that depends on a missing key.
    """
    match predicate:
        case And(left, right):
            return _hold_both(holds(left, cells), holds(right, cells))
        case Or(left, right):
            either = _hold_both(
                _negate(holds(left, cells)), _negate(holds(right, cells))
            )
            return _negate(either)
        case Not(part):
            return _negate(holds(part, cells))
        case IsMissing(name, negated):
            return (cells[name.column] is None) != negated
        case In(name, values, negated):
            cell = cells[name.column]
            is_listed = any(_compare(cell, Operator.EQUAL, v.value) for v in values)
            return None if cell is None else is_listed != negated
        case ColumnComparison(name, operator, Literal(value)):
            return _compare(cells[name.column], operator, value)
        case ColumnComparison(name, operator, ColumnName(other)):
            return _compare(cells[name.column], operator, cells[other])
    raise _unanswerable_error()


def _hold_both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _negate(one: bool | None) -> bool | None:
    return None if one is None else not one


def _compare(cell: KeyValue, operator: Operator, value: object) -> bool | None:
    other = float(value) if isinstance(value, Fraction) else value
    if cell is None or other is None:
        return None
    if isinstance(cell, str) != isinstance(other, str):
        return False
    one: Any = cell
    match operator:
        case Operator.EQUAL:
            return bool(one == other)
        case Operator.UNEQUAL:
            return bool(one != other)
        case Operator.LESS:
            return bool(one < other)
        case Operator.AT_MOST:
            return bool(one <= other)
        case Operator.MORE:
            return bool(one > other)
    return bool(one >= other)
