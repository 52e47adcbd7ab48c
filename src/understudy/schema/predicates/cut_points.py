"""Cut points: where the conditions of a schema change along a column.

Conditions are public, so learned bins may begin at their cut points. Such a bin is
surely on one side of the condition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from understudy.schema.columns.lattice import Lattice
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    InCombinations,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
)
from understudy.schema.predicates.comparable import scale_step_of, scale_value_of


def cut_points_in_bounds(
    column: Lattice, predicates: Iterable[Predicate]
) -> tuple[int, ...]:
    """Lattice indices, between the bounds, at which a condition on the column changes.

    >>> from understudy.schema import Integer, parse_predicate
    >>> texts = ("age < 15 and smoker = true", "age = 40")
    >>> age = Integer(name="age", min=0, max=99)
    >>> cut_points_in_bounds(age, [parse_predicate(text) for text in texts])
    (15, 40, 41)
    """
    low, high = column.low, column.high
    if low is None or high is None:
        return ()
    points: set[int] = set()
    for predicate in predicates:
        points.update(cut_points_of_predicate(column, predicate))
    return tuple(sorted(point for point in points if low < point <= high))


def cut_points_of_predicate(column: Lattice, predicate: Predicate) -> Iterator[int]:
    """Lattice indices at which a condition on the column changes, also beyond its
    bounds.
    """
    match predicate:
        case And(left, right) | Or(left, right) | IfThen(left, right):
            yield from cut_points_of_predicate(column, left)
            yield from cut_points_of_predicate(column, right)
        case Not(part):
            yield from cut_points_of_predicate(column, part)
        case _:
            for operator, literal in _comparisons_with(column.name, predicate):
                yield from _cut_points_of_comparison(column, operator, literal)


def _comparisons_with(
    name: str, predicate: Predicate
) -> Iterator[tuple[Operator, Literal]]:
    """The constants that a test compares a column with; a list is compared by `=`."""
    match predicate:
        case ColumnComparison(ColumnName(column), operator, Literal() as literal):
            if column == name:
                yield operator, literal
        case In(ColumnName(column), literals):
            if column == name:
                yield from ((Operator.EQUAL, literal) for literal in literals)
        case InCombinations(names, rows):
            if ColumnName(name) in names:
                at = names.index(ColumnName(name))
                yield from ((Operator.EQUAL, row[at]) for row in rows)


def _cut_points_of_comparison(
    column: Lattice, operator: Operator, literal: Literal
) -> Iterator[int]:
    """The lattice indices at which a comparison turns from true to false or back."""
    value = scale_value_of(column, literal)
    if value is None or isinstance(value, str | bool):
        return
    position = value / scale_step_of(column)
    # `<` and `>=` turn at the constant, `<=` and `>` right behind it, `=` at both.
    if operator not in (Operator.AT_MOST, Operator.MORE):
        yield math.ceil(position)
    if operator not in (Operator.LESS, Operator.AT_LEAST):
        yield math.floor(position) + 1
