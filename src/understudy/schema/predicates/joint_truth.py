"""Truth of a test of several columns, for each combination of their codes: listed
combinations, sums, and one column against another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.columns.axes import TableAxes
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.schema.columns.discrete import Boolean, Categorical
from understudy.schema.predicates.ast import (
    ColumnName,
    InCombinations,
    LinearComparison,
    Operator,
)
from understudy.schema.predicates.column_truth import (
    WRONG_FAMILY_CODE,
    places_of_literals,
)
from understudy.schema.predicates.comparable import (
    ScaleValue,
    exact_integer_dtype,
    family_of_column,
    label_order_of,
)
from understudy.schema.predicates.kleene import (
    KLEENE_MAYBE,
    KLEENE_TRUE,
    CodeRanges,
    Range,
    TruthArray,
    code_ranges,
    compare_range_with_bound,
    compare_ranges,
    is_value_code,
    truth_from_flags,
    undecided_truth,
)


def truth_of_combinations(
    predicate: InCombinations, codecs: Mapping[str, Codec], axes: TableAxes
) -> TruthArray:
    """Whether a combination of codes is listed: surely if each of its codes is a single
    value, else maybe.
    """
    names = [name.column for name in predicate.names]
    # One row for each column, one entry for each listed combination.
    codes = np.empty((len(names), len(predicate.rows)), np.int64)
    widths = np.empty_like(codes)
    for at, name in enumerate(names):
        literals = [row[at] for row in predicate.rows]
        places = places_of_literals(codecs[name], literals)
        codes[at] = [code for code, _ in places]
        widths[at] = [width for _, width in places]
    inside = np.all(codes >= 0, axis=0)
    single = np.all(widths[:, inside] == 1, axis=0)
    marks = truth_from_flags(single, np.ones_like(single))
    sizes = [codecs[name].size for name in names]
    listed = axes.mark(names, sizes, codes[:, inside], marks)
    valued = _all_values(names, codecs, axes)
    # A learned type may leave constants of another family: then nothing is surely false.
    if np.any(codes == WRONG_FAMILY_CODE):
        listed = valued * np.maximum(listed, np.int8(KLEENE_MAYBE))
    return valued * (np.int8(KLEENE_TRUE) - listed) if predicate.negated else listed


def _all_values(
    names: Sequence[str], codecs: Mapping[str, Codec], axes: TableAxes
) -> NDArray[np.int8]:
    """1 where every column has a value, 0 where one is missing."""
    flags = [
        axes.align_table([name], is_value_code(codecs[name]).astype(np.int8))
        for name in names
    ]
    everywhere: NDArray[np.int8] = reduce(np.multiply, flags)
    return everywhere


def truth_of_sum(
    predicate: LinearComparison, codecs: Mapping[str, Codec], axes: TableAxes
) -> TruthArray:
    """A sum of columns by interval arithmetic on whole numbers: what the smallest and
    the largest values add up to, compared with the constant.
    """
    names = [name.column for _, name in predicate.terms]
    valued = _all_values(names, codecs, axes).astype(np.bool_)
    ranges = []
    for name in names:
        is_number = family_of_column(codecs[name].column) == "number"
        column_ranges = code_ranges(codecs[name]) if is_number else None
        # A learned type may leave a column in a sum that is no number.
        if column_ranges is None:
            return truth_from_flags(np.zeros_like(valued), valued)
        ranges.append(column_ranges)
    ends, bound = _sum_ranges(predicate, ranges, axes)
    surely, possibly = compare_range_with_bound(ends, predicate.operator, bound)
    return truth_from_flags(valued & surely, valued & possibly)


def _sum_ranges(
    predicate: LinearComparison,
    ranges: Sequence[CodeRanges],
    axes: TableAxes,
) -> tuple[Range, int]:
    """The range of a weighted sum and the constant it is compared with, both as whole
    numbers in the same unit.
    """
    steps = [
        weight * column_ranges.unit
        for (weight, _), column_ranges in zip(predicate.terms, ranges, strict=True)
    ]
    constant = predicate.constant
    # Over a common denominator every step is whole, so the sum is exact.
    unit = math.lcm(constant.denominator, *(step.denominator for step in steps))
    factors = [int(step * unit) for step in steps]
    bound = int(constant * unit)
    magnitude = abs(bound)
    for factor, column_ranges in zip(factors, ranges, strict=True):
        magnitude += abs(factor) * column_ranges.magnitude
    dtype = exact_integer_dtype(magnitude)
    low: NDArray[Any] = np.zeros((), dtype)
    high: NDArray[Any] = np.zeros((), dtype)
    for (_, name), factor, ends in zip(predicate.terms, factors, ranges, strict=True):
        first = axes.align_table([name.column], ends.first).astype(dtype)
        last = axes.align_table([name.column], ends.last).astype(dtype)
        # A negative factor turns the range round.
        smallest, largest = (first, last) if factor > 0 else (last, first)
        low = low + factor * smallest
        high = high + factor * largest
    return (low, high), bound


def compare_columns(
    left: ColumnName,
    operator: Operator,
    right: ColumnName,
    codecs: Mapping[str, Codec],
    axes: TableAxes,
) -> TruthArray:
    """Truth of a comparison of two columns, for each pair of codes."""
    here = codecs[left.column]
    there = codecs[right.column]
    comparable = family_of_column(here.column) == family_of_column(there.column)
    labelled = not isinstance(here.bins, BinEdges)
    if comparable and labelled and not operator.needs_order:
        return _compare_labels(left, operator, right, codecs, axes)
    left_ranges = code_ranges(here)
    right_ranges = code_ranges(there)
    same_order = label_order_of(here.column) == label_order_of(there.column)
    if not comparable or not same_order or left_ranges is None or right_ranges is None:
        undecided: TruthArray = np.minimum(
            axes.align_table([left.column], undecided_truth(here)),
            axes.align_table([right.column], undecided_truth(there)),
        )
        return undecided
    unit = math.lcm(left_ranges.unit.denominator, right_ranges.unit.denominator)
    left_ends = _align_range(left, left_ranges, unit, axes)
    right_ends = _align_range(right, right_ranges, unit, axes)
    surely, possibly = compare_ranges(left_ends, operator, right_ends)
    # Missing codes and `other` have no place in the order.
    ranked = axes.align_table([left.column], here.is_ranked) & axes.align_table(
        [right.column], there.is_ranked
    )
    return truth_from_flags(ranked & surely, ranked & possibly)


def _align_range(
    name: ColumnName,
    ranges: CodeRanges,
    unit: int,
    axes: TableAxes,
) -> Range:
    """The ends of a column's codes as whole numbers, `unit` of them to one on the
    scale.
    """
    factor = int(ranges.unit * unit)
    dtype = exact_integer_dtype(factor * ranges.magnitude)
    first = axes.align_table([name.column], ranges.first).astype(dtype)
    last = axes.align_table([name.column], ranges.last).astype(dtype)
    return factor * first, factor * last


def _compare_labels(
    left: ColumnName,
    operator: Operator,
    right: ColumnName,
    codecs: Mapping[str, Codec],
    axes: TableAxes,
) -> TruthArray:
    """Whether two columns have the same label, or different ones; missing codes have
    none.
    """
    numbers: dict[ScaleValue, int] = {}
    sides = []
    for name in (left, right):
        codec = codecs[name.column]
        known = [numbers.setdefault(label, len(numbers)) for label in _labels_of(codec)]
        padding = (0, codec.size - len(known))
        table = np.pad(np.array(known, np.int64), padding, constant_values=-1)
        sides.append(axes.align_table([name.column], table))
    alike = sides[0] == sides[1]
    compared = alike if operator is Operator.EQUAL else ~alike
    flags = np.asarray(compared & (sides[0] >= 0) & (sides[1] >= 0), np.bool_)
    return truth_from_flags(flags, flags)


def _labels_of(codec: Codec) -> list[ScaleValue]:
    """The value of each code of a column of labels, or of true and false."""
    column = codec.column
    if isinstance(column, Boolean):
        return [False, True]
    assert isinstance(column, Categorical)
    labels: list[ScaleValue] = list(column.values or ())
    if column.other is not None:
        labels.append(column.other)
    return labels
