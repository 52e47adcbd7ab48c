"""What a predicate means for many decoded rows at once.

The answers are those of on_row.py, vectorised. Columns are compared as whole numbers
(lattice indices, positions of labels, sums over a common denominator), so no answer
depends on rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.columns.code_layout import (
    OTHER_STATE,
    VALUE_STATE,
    DecodedCells,
)
from understudy.schema.columns.codec import Codec
from understudy.schema.columns.discrete import Boolean, Categorical
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX, Lattice
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
    exact_integer_dtype,
    family_of_column,
    integer_bound,
    label_order_of,
    scale_step_of,
    scale_value_of,
)

DecodedByColumn = Mapping[str, DecodedCells]
"""Decoded rows, column by column."""

RowFlags = NDArray[np.bool_]


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
            return true_rows(Or(Not(premise), conclusion), codecs, rows)
        case ColumnComparison(name, operator, ColumnName() as other):
            return _compare_columns(name.column, operator, other.column, codecs, rows)
        case ColumnComparison(name, operator, Literal() as literal):
            codec = codecs[name.column]
            cells = rows[name.column]
            return _compare_with_constant(codec, cells, operator, literal)
    return _rows_passing_test(predicate, codecs, rows)


def _rows_passing_test(
    predicate: Predicate, codecs: Mapping[str, Codec], rows: DecodedByColumn
) -> RowFlags:
    """The rows that pass a test of missing values, of a list, or of a sum."""
    match predicate:
        case IsMissing(name, negated):
            return np.equal(has_value(rows[name.column]), negated)
        case In(name, values, negated):
            codec = codecs[name.column]
            cells = rows[name.column]
            return _is_listed(codec, cells, values, negated=negated)
        case InCombinations(names, combinations, negated):
            listed = _is_listed_combination(names, combinations, codecs, rows)
            return _has_all_values(names, rows) & np.not_equal(listed, negated)
        case LinearComparison(terms, operator, constant):
            total, bound = weighted_sum(terms, constant, codecs, rows)
            complete = _has_all_values([name for _, name in terms], rows)
            return complete & compare_arrays(total, operator, bound)
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def has_value(cells: DecodedCells) -> RowFlags:
    """Which cells have a value; `other` is one."""
    return np.less_equal(cells.state, OTHER_STATE)


def _has_all_values(names: Sequence[ColumnName], rows: DecodedByColumn) -> RowFlags:
    flags = [has_value(rows[name.column]) for name in names]
    return np.asarray(np.logical_and.reduce(flags), np.bool_)


def _no_rows(cells: DecodedCells) -> RowFlags:
    return np.zeros(len(cells.index), np.bool_)


def value_positions(codec: Codec, cells: DecodedCells) -> NDArray[np.int64]:
    """Lattice indices, or positions among the labels with `other` behind them."""
    return np.where(cells.state == OTHER_STATE, len(codec.bins), cells.index)


def weighted_sum(
    terms: Sequence[tuple[Fraction, ColumnName]],
    constant: Fraction,
    codecs: Mapping[str, Codec],
    rows: DecodedByColumn,
) -> tuple[NDArray[Any], int]:
    """The weighted sum of numeric columns and the constant, both as whole numbers in
    the same unit; the sum never overflows.
    """
    steps = [weight * _step_on_scale(codecs[name.column]) for weight, name in terms]
    # Over a common denominator every step is whole, so the sum is exact.
    unit = math.lcm(constant.denominator, *(step.denominator for step in steps))
    factors = [int(step * unit) for step in steps]
    indices = [rows[name.column].index for _, name in terms]
    magnitude = 0
    for factor, index in zip(factors, indices, strict=True):
        magnitude += abs(factor) * int(np.abs(index).max(initial=0))
    dtype = exact_integer_dtype(magnitude)
    total: NDArray[Any] = np.zeros((), dtype)
    for factor, index in zip(factors, indices, strict=True):
        total = total + factor * index.astype(dtype)
    return np.asarray(total), int(constant * unit)


def _step_on_scale(codec: Codec) -> Fraction:
    """One lattice step of a numeric column on its scale, 0 for any other column.

    A learned type may turn a column of a declared sum into labels. A paid answer must
    not end in an error then, so such a column adds nothing.
    """
    column = codec.column
    return scale_step_of(column) if isinstance(column, Lattice) else Fraction(0)


def compare_arrays(numbers: NDArray[Any], operator: Operator, bound: Any) -> RowFlags:
    """Compare whole numbers with a bound, or with others one by one."""
    match operator:
        case Operator.LESS:
            flags = numbers < bound
        case Operator.AT_MOST:
            flags = numbers <= bound
        case Operator.MORE:
            flags = numbers > bound
        case Operator.AT_LEAST:
            flags = numbers >= bound
        case Operator.EQUAL:
            flags = numbers == bound
        case _:
            flags = numbers != bound
    return np.asarray(flags, np.bool_)


def place_of_literal(codec: Codec, literal: Literal) -> int | None:
    """Where a constant stands in a column, as `value_positions` counts; None if the
    column has no such value.
    """
    # In Python True == 1, so the type is part of the key.
    key = type(literal.value), literal.value
    if key not in codec.positions:
        codec.positions[key] = _find_literal_place(codec, literal)
    return codec.positions[key]


def _find_literal_place(codec: Codec, literal: Literal) -> int | None:
    column = codec.column
    value = scale_value_of(codec.column, literal)
    if value is None:
        return None
    if isinstance(value, Fraction):
        assert isinstance(column, Lattice)
        index = value / scale_step_of(column)
        on_lattice = index.denominator == 1 and abs(index) < MAX_LATTICE_INDEX
        return int(index) if on_lattice else None
    label = str(value)
    return codec.places.get(label.lower() if isinstance(column, Boolean) else label)


def _is_listed(
    codec: Codec, cells: DecodedCells, literals: Sequence[Literal], *, negated: bool
) -> RowFlags:
    places = [place_of_literal(codec, literal) for literal in literals]
    listed = np.isin(
        value_positions(codec, cells), [place for place in places if place is not None]
    )
    return has_value(cells) & np.not_equal(listed, negated)


def _is_listed_combination(
    names: Sequence[ColumnName],
    combinations: Sequence[Sequence[Literal]],
    codecs: Mapping[str, Codec],
    rows: DecodedByColumn,
) -> RowFlags:
    """Which rows have a listed combination of values.

    Combinations are compared column by column. After each column the listed prefixes
    are numbered anew, so that no number grows beyond how many are listed.
    """
    count = len(rows[names[0].column].index)
    row_prefix = np.zeros(count, np.int64)
    listed_prefix = np.zeros(len(combinations), np.int64)
    in_list = np.ones(count, np.bool_)
    reachable = np.ones(len(combinations), np.bool_)
    for at, name in enumerate(names):
        codec = codecs[name.column]
        wanted = [place_of_literal(codec, literals[at]) for literals in combinations]
        reachable &= np.array([place is not None for place in wanted], np.bool_)
        known = [place for place in wanted if place is not None]
        if not known:
            return np.zeros(count, np.bool_)
        places = np.unique(np.array(known, np.int64))
        rank, is_place = _rank_among(places, value_positions(codec, rows[name.column]))
        # A combination with an impossible value keeps any rank; `reachable` drops it.
        wanted_rank = np.searchsorted(places, [place or 0 for place in wanted])
        row_prefix = row_prefix * places.size + rank
        listed_prefix = listed_prefix * places.size + wanted_rank
        prefixes = np.unique(listed_prefix)
        listed_prefix = np.searchsorted(prefixes, listed_prefix)
        row_prefix, is_prefix = _rank_among(prefixes, row_prefix)
        in_list &= is_place & is_prefix
    return in_list & np.isin(row_prefix, listed_prefix[reachable])


def _rank_among(
    known: NDArray[np.int64], numbers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], RowFlags]:
    """The rank of each number among sorted known ones, and whether it is one of them."""
    rank = np.minimum(np.searchsorted(known, numbers), known.size - 1)
    return rank, np.equal(known[rank], numbers)


def _compare_with_constant(
    codec: Codec, cells: DecodedCells, operator: Operator, literal: Literal
) -> RowFlags:
    column = codec.column
    value = scale_value_of(codec.column, literal)
    if not operator.needs_order:
        # A constant of another family differs from nothing and equals nothing.
        if value is None:
            return _no_rows(cells)
        negated = operator is Operator.UNEQUAL
        return _is_listed(codec, cells, (literal,), negated=negated)
    order = label_order_of(column)
    if order is not None:
        place = codec.places.get(value) if isinstance(value, str) else None
        if place is None or place >= len(order):
            return _no_rows(cells)
        ranked = np.equal(cells.state, VALUE_STATE)
        return ranked & compare_arrays(cells.index, operator, place)
    if not isinstance(value, Fraction) or not isinstance(column, Lattice):
        return _no_rows(cells)
    bound = integer_bound(operator, value / scale_step_of(column))
    return has_value(cells) & compare_arrays(cells.index, operator, bound)


def _compare_columns(
    left: str,
    operator: Operator,
    right: str,
    codecs: Mapping[str, Codec],
    rows: DecodedByColumn,
) -> RowFlags:
    here = codecs[left]
    there = codecs[right]
    if family_of_column(here.column) != family_of_column(there.column):
        return _no_rows(rows[left])
    complete = has_value(rows[left]) & has_value(rows[right])
    if isinstance(here.column, Lattice) and isinstance(there.column, Lattice):
        # left ⋚ right is left - right ⋚ 0, which is exact whatever their steps.
        terms = ((Fraction(1), ColumnName(left)), (Fraction(-1), ColumnName(right)))
        total, bound = weighted_sum(terms, Fraction(0), codecs, rows)
        return complete & compare_arrays(total, operator, bound)
    if operator.needs_order:
        return _compare_label_order(left, operator, right, codecs, rows)
    numbers: dict[object, int] = {}
    left_labels = _label_numbers(here, numbers)
    right_labels = _label_numbers(there, numbers)
    return complete & compare_arrays(
        left_labels[value_positions(here, rows[left])],
        operator,
        right_labels[value_positions(there, rows[right])],
    )


def _compare_label_order(
    left: str,
    operator: Operator,
    right: str,
    codecs: Mapping[str, Codec],
    rows: DecodedByColumn,
) -> RowFlags:
    """Ordered labels against each other; both columns must list the same ones."""
    order = label_order_of(codecs[left].column)
    if not order or order != label_order_of(codecs[right].column):
        return _no_rows(rows[left])
    here = rows[left]
    there = rows[right]
    ranked = np.equal(here.state, VALUE_STATE) & np.equal(there.state, VALUE_STATE)
    return ranked & compare_arrays(here.index, operator, there.index)


def _label_numbers(codec: Codec, numbers: dict[object, int]) -> NDArray[np.int64]:
    """A number for each label, the same for the same label in any column; -1 behind
    them, where missing cells look.
    """
    column = codec.column
    labels: list[object] = [False, True]
    if isinstance(column, Categorical):
        labels = list(column.values or ())
        if column.other is not None:
            labels.append(column.other)
    known = [numbers.setdefault(label, len(numbers)) for label in labels]
    return np.array([*known, -1], np.int64)
