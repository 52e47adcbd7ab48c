"""What a predicate means on values: of one row of Python values, and of many decoded
rows at once.

A predicate speaks of values as the schema knows them: on their lattice, within their
bounds, unlisted labels as `other`. A comparison with a missing value is false.
Everything is compared as whole numbers, so no answer is ever rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.columns.codec import (
    OTHER_STATE,
    VALUE_STATE,
    Codec,
    DecodedCells,
)
from understudy.schema.columns.discrete import Boolean, Categorical, Lattice
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
from understudy.schema.predicates.comparable import (
    ScaleValue,
    family_of_column,
    label_order_of,
    scale_step_of,
    scale_value_of,
)

DecodedByColumn = Mapping[str, DecodedCells]
"""Decoded rows, column by column."""

RowFlags = NDArray[np.bool_]


def holds_for_row(
    predicate: Predicate, row: Mapping[str, object], codecs: Mapping[str, Codec]
) -> bool:
    """Whether a predicate holds for one row of Python values.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=90))}
    >>> holds_for_row(parse_predicate("age > 60"), {"age": 61}, codecs), holds_for_row(parse_predicate("age > 60"), {"age": None}, codecs)
    (True, False)
    """
    match predicate:
        case And(left, right):
            return holds_for_row(left, row, codecs) and holds_for_row(
                right, row, codecs
            )
        case Or(left, right):
            return holds_for_row(left, row, codecs) or holds_for_row(right, row, codecs)
        case Not(part):
            return not holds_for_row(part, row, codecs)
        case IfThen(premise, conclusion):
            return not holds_for_row(premise, row, codecs) or holds_for_row(
                conclusion, row, codecs
            )
        case IsMissing(name, negated):
            return (
                _value_on_scale(codecs[name.column], row[name.column]) is None
            ) != negated
        case In(name, values, negated):
            codec = codecs[name.column]
            known = _value_on_scale(codec, row[name.column])
            return (
                known is not None
                and any(known == scale_value_of(codec.column, v) for v in values)
                != negated
            )
        case LinearComparison(terms, operator, constant):
            spots = [
                (weight, _value_on_scale(codecs[name.column], row[name.column]))
                for weight, name in terms
            ]
            if not all(isinstance(found, Fraction) for _, found in spots):
                return False
            total = sum(
                (
                    weight * Fraction(found)
                    for weight, found in spots
                    if found is not None
                ),
                Fraction(0),
            )
            return _compare_scalars(total, operator, constant)
        case InCombinations(names, rows, negated):
            known_ = tuple(
                _value_on_scale(codecs[name.column], row[name.column]) for name in names
            )
            listed = any(
                known_
                == tuple(
                    scale_value_of(codecs[n.column].column, v)
                    for n, v in zip(names, one, strict=True)
                )
                for one in rows
            )
            return None not in known_ and listed != negated
        case ColumnComparison(name, operator, right):
            return _compare_values(name, operator, right, row, codecs)
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def _compare_values(
    name: ColumnName,
    operator: Operator,
    right: ColumnName | Literal,
    row: Mapping[str, object],
    codecs: Mapping[str, Codec],
) -> bool:
    codec = codecs[name.column]
    here = _value_on_scale(codec, row[name.column])
    if isinstance(right, ColumnName):
        if family_of_column(codec.column) != family_of_column(
            codecs[right.column].column
        ):
            return False
        there = _value_on_scale(codecs[right.column], row[right.column])
    else:
        there = scale_value_of(codec.column, right)
    if here is None or there is None:
        return False
    if operator.needs_order:
        order = label_order_of(codec.column)
        if order is not None:
            return (
                here in order
                and there in order
                and _compare_scalars(order.index(here), operator, order.index(there))
            )
        return _compare_scalars(here, operator, there)
    return (here == there) == (operator is Operator.EQUAL)


def _value_on_scale(codec: Codec, value: object) -> ScaleValue | None:
    """A value on its family's scale, None where it is missing."""
    index, state = codec.locate_value(value)
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


def true_rows(
    predicate: Predicate, codecs: Mapping[str, Codec], rows: DecodedByColumn
) -> RowFlags:
    """Which decoded rows a predicate holds for: `holds_for_row`, for all of them at
    once.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {name: codec_of(Integer(name=name, min=0, max=90)) for name in ("first", "last")}
    >>> rows = {"first": DecodedCells(np.array([3, 5]), np.zeros(2, np.uint8)),
    ...     "last": DecodedCells(np.array([4, 4]), np.zeros(2, np.uint8))}
    >>> true_rows(parse_predicate("first <= last"), codecs, rows).tolist()
    [True, False]
    """
    match predicate:
        case And(left, right):
            return true_rows(left, codecs, rows) & true_rows(right, codecs, rows)
        case Or(left, right):
            return true_rows(left, codecs, rows) | true_rows(right, codecs, rows)
        case Not(part):
            return ~true_rows(part, codecs, rows)
        case IfThen(premise, conclusion):
            return ~true_rows(premise, codecs, rows) | true_rows(
                conclusion, codecs, rows
            )
        case IsMissing(name, negated):
            return np.equal(has_value(rows[name.column]), negated)
        case In(name, values, negated):
            listed = _is_among(codecs[name.column], rows[name.column], values)
            return has_value(rows[name.column]) & np.not_equal(listed, negated)
        case InCombinations(names, listed_rows, negated):
            every = _has_all_values(names, rows)
            return every & np.not_equal(
                _is_listed_row(names, listed_rows, codecs, rows), negated
            )
        case LinearComparison(terms, operator, constant):
            total, bound = weighted_sum(terms, constant, codecs, rows)
            every = _has_all_values([name for _, name in terms], rows)
            return every & compare_arrays(total, operator, bound)
        case ColumnComparison(
            name, Operator.EQUAL | Operator.UNEQUAL as operator, Literal() as literal
        ):
            if scale_value_of(codecs[name.column].column, literal) is None:
                return np.zeros(len(rows[name.column].index), np.bool_)
            return true_rows(
                In(name, (literal,), operator is Operator.UNEQUAL), codecs, rows
            )
        case ColumnComparison(name, operator, Literal() as literal):
            return _compare_with_constant(
                codecs[name.column], rows[name.column], operator, literal
            )
        case ColumnComparison(name, operator, ColumnName() as other):
            return _compare_columns(name.column, operator, other.column, codecs, rows)
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def has_value(cells: DecodedCells) -> RowFlags:
    """Which cells have a value; `other` is one."""
    return np.less_equal(cells.state, OTHER_STATE)


def _has_all_values(names: Sequence[ColumnName], rows: DecodedByColumn) -> RowFlags:
    return np.asarray(
        np.logical_and.reduce([has_value(rows[name.column]) for name in names]),
        np.bool_,
    )


def value_positions(codec: Codec, cells: DecodedCells) -> NDArray[np.int64]:
    """Lattice indices, or positions among the labels with `other` behind them."""
    return np.where(cells.state == OTHER_STATE, len(codec.bins), cells.index)


def weighted_sum(
    terms: Sequence[tuple[Fraction, ColumnName]],
    constant: Fraction,
    codecs: Mapping[str, Codec],
    rows: DecodedByColumn,
) -> tuple[NDArray[Any], int]:
    """The weighted sum of columns of numbers and the constant, both in the same whole
    unit; it never wraps.
    """
    steps = [weight * _step_on_scale(codecs[name.column]) for weight, name in terms]
    unit = math.lcm(constant.denominator, *(step.denominator for step in steps))
    factors = [int(step * unit) for step in steps]
    cells = [rows[name.column].index for _, name in terms]
    largest = sum(
        abs(factor) * int(np.abs(index).max(initial=0))
        for factor, index in zip(factors, cells, strict=True)
    )
    kind = np.int64 if largest < 2**62 else object
    total = sum(
        (
            factor * index.astype(kind)
            for factor, index in zip(factors, cells, strict=True)
        ),
        np.zeros((), kind),
    )
    return np.asarray(total), int(constant * unit)


def compare_arrays(numbers: NDArray[Any], operator: Operator, bound: Any) -> RowFlags:
    """Whole numbers against others."""
    match operator:
        case Operator.LESS:
            found = numbers < bound
        case Operator.AT_MOST:
            found = numbers <= bound
        case Operator.MORE:
            found = numbers > bound
        case Operator.AT_LEAST:
            found = numbers >= bound
        case Operator.EQUAL:
            found = numbers == bound
        case _:
            found = numbers != bound
    return np.asarray(found, np.bool_)


def _step_on_scale(codec: Codec) -> Fraction:
    """A step of a column of numbers; of any other, nothing: what a learned type may
    leave in a sum adds nothing to it.
    """
    return (
        scale_step_of(codec.column)
        if isinstance(codec.column, Lattice)
        else Fraction(0)
    )


def place_of_literal(codec: Codec, literal: Literal) -> int | None:
    """Where a constant stands in a column, as `value_positions` counts; None where none
    of its values is it.
    """
    key = type(literal.value), literal.value  # true is not 1
    if key not in codec.positions:
        codec.positions[key] = _find_literal_place(codec, literal)
    return codec.positions[key]


def _find_literal_place(codec: Codec, literal: Literal) -> int | None:
    column, found = codec.column, scale_value_of(codec.column, literal)
    if isinstance(found, Fraction):
        assert isinstance(column, Lattice)
        index = found / scale_step_of(column)
        return int(index) if index.denominator == 1 and abs(index) < 2**62 else None
    if found is None:
        return None
    return codec.places.get(
        str(found).lower() if isinstance(column, Boolean) else str(found)
    )


def _is_among(codec: Codec, cells: DecodedCells, listed: Sequence[Literal]) -> RowFlags:
    places = [
        place
        for literal in listed
        if (place := place_of_literal(codec, literal)) is not None
    ]
    return np.isin(value_positions(codec, cells), places)


def _is_listed_row(
    names: Sequence[ColumnName],
    listed: Sequence[Sequence[Literal]],
    codecs: Mapping[str, Codec],
    rows: DecodedByColumn,
) -> RowFlags:
    """Which combinations are listed: each column's places are numbered, and so is each
    listed beginning of a combination.
    """
    count = len(rows[names[0].column].index)
    mine, theirs = np.zeros(count, np.int64), np.zeros(len(listed), np.int64)
    found, sound = np.ones(count, np.bool_), np.ones(len(listed), np.bool_)
    for i, name in enumerate(names):
        codec = codecs[name.column]
        wanted = [place_of_literal(codec, row[i]) for row in listed]
        known = np.unique(
            np.array([place for place in wanted if place is not None], np.int64)
        )
        if not known.size:
            return np.zeros(count, np.bool_)
        here = value_positions(codec, rows[name.column])
        rank = np.minimum(np.searchsorted(known, here), known.size - 1)
        found &= known[rank] == here
        sound &= np.array([place is not None for place in wanted], np.bool_)
        mine = mine * known.size + rank
        theirs = theirs * known.size + np.searchsorted(
            known, [0 if place is None else place for place in wanted]
        )
        begun = np.unique(theirs)
        theirs, rank = (
            np.searchsorted(begun, theirs),
            np.minimum(np.searchsorted(begun, mine), begun.size - 1),
        )
        found &= begun[rank] == mine
        mine = rank
    return found & np.isin(mine, theirs[sound])


def _compare_with_constant(
    codec: Codec, cells: DecodedCells, operator: Operator, literal: Literal
) -> RowFlags:
    """An order between a column and a constant."""
    column, found = codec.column, scale_value_of(codec.column, literal)
    order = label_order_of(column)
    if order is not None:
        place = codec.places.get(found) if isinstance(found, str) else None
        if place is None or place >= len(order):
            return np.zeros(len(cells.index), np.bool_)
        return np.equal(cells.state, VALUE_STATE) & compare_arrays(
            cells.index, operator, place
        )
    if not isinstance(found, Fraction) or not isinstance(column, Lattice):
        return np.zeros(len(cells.index), np.bool_)
    exact = found / scale_step_of(column)
    whole = (
        math.floor(exact)
        if operator in (Operator.AT_MOST, Operator.MORE)
        else math.ceil(exact)
    )
    return has_value(cells) & compare_arrays(
        cells.index, operator, min(max(whole, -(2**62)), 2**62)
    )


def _compare_columns(
    left: str,
    operator: Operator,
    right: str,
    codecs: Mapping[str, Codec],
    rows: DecodedByColumn,
) -> RowFlags:
    """Two columns against each other."""
    here, there = codecs[left], codecs[right]
    every = has_value(rows[left]) & has_value(rows[right])
    if family_of_column(here.column) != family_of_column(there.column):
        return np.zeros(len(every), np.bool_)
    if isinstance(here.column, Lattice) and isinstance(there.column, Lattice):
        terms = ((Fraction(1), ColumnName(left)), (Fraction(-1), ColumnName(right)))
        total, bound = weighted_sum(terms, Fraction(0), codecs, rows)
        return every & compare_arrays(total, operator, bound)
    if operator.needs_order:
        order, other = label_order_of(here.column), label_order_of(there.column)
        if not order or order != other:
            return np.zeros(len(every), np.bool_)
        ranked = np.equal(rows[left].state, VALUE_STATE) & np.equal(
            rows[right].state, VALUE_STATE
        )
        return ranked & compare_arrays(rows[left].index, operator, rows[right].index)
    ranks: dict[object, int] = {}
    one, two = (
        _label_ranks(codec, ranks)[value_positions(codec, rows[name])]
        for codec, name in ((here, left), (there, right))
    )
    return every & compare_arrays(one, operator, two)


def _label_ranks(codec: Codec, ranks: dict[object, int]) -> NDArray[np.int64]:
    """A number for each label, the same for the same label in any column."""
    column = codec.column
    labels: tuple[object, ...] = (False, True)
    if isinstance(column, Categorical):
        labels = (
            *(column.values or ()),
            *(() if column.other is None else (column.other,)),
        )
    return np.array(
        [*(ranks.setdefault(label, len(ranks)) for label in labels), -1], np.int64
    )
