"""Fences: where the conditions of a schema cut a column. They are public, and a bin
that begins there is surely on one side of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from understudy.schema.columns.lattice import Lattice
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
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
    """Lattice indices, between the bounds, at which some condition on the column
    changes.

    >>> from understudy.schema import Integer, parse_predicate
    >>> cut_points_in_bounds(Integer(name="age", min=0, max=99),
    ...     [parse_predicate("age < 15 and smoker = true"), parse_predicate("age = 40")])
    (15, 40, 41)
    """
    low, high = column.low, column.high
    if low is None or high is None:
        return ()
    found = {
        at
        for predicate in predicates
        for at in cut_points_of_predicate(column, predicate)
    }
    return tuple(sorted(at for at in found if low < at <= high))


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
        case ColumnComparison(name, operator, Literal() as literal) if (
            name.column == column.name
        ):
            yield from _cut_points_of_comparison(column, operator, literal)
        case In(name, values) if name.column == column.name:
            for literal in values:
                yield from _cut_points_of_comparison(column, Operator.EQUAL, literal)
        case InCombinations(names, rows):
            for i, name in enumerate(names):
                for row in rows if name.column == column.name else ():
                    yield from _cut_points_of_comparison(column, Operator.EQUAL, row[i])


def _cut_points_of_comparison(
    column: Lattice, operator: Operator, literal: Literal
) -> Iterator[int]:
    """Where the values begin for which a comparison turns from true to false or back."""
    found = scale_value_of(column, literal)
    if found is None or isinstance(found, str | bool):
        return
    place = found / scale_step_of(column)
    if operator not in (Operator.AT_MOST, Operator.MORE):
        yield math.ceil(place)
    if operator not in (Operator.LESS, Operator.AT_LEAST):
        yield math.floor(place) + 1
