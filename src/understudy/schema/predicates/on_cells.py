"""What a predicate means on the cells of a marginal, and on rows of codes. What it
means on values is in schema/predicates/on_values.py.

On codes an answer has three values, because a bin may hold values of both kinds: FALSE
of every value of the cell, TRUE of every one, or MAYBE. They are combined as Kleene did
(and is the smaller, or the larger, not the mirror image), which is sound: what is TRUE
here holds for every value in the cell. It is not always sharp: `age < 3 or age >= 3` is
MAYBE on a bin that holds 3.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.columns.axes import CliqueAxes, RowAxes, TableAxes
from understudy.schema.columns.codec import BinEdges, Codec
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

KLEENE_FALSE, KLEENE_MAYBE, KLEENE_TRUE = 0, 1, 2
_BEYOND_DOMAIN, _WRONG_FAMILY = -1, -2
"""A constant beyond the column's values, and one that is none of its kind."""

UNREACHABLE_INDEX = 2**62 + 1
"""A lattice index beyond all that columns have."""

TruthArray = NDArray[np.int8]


def truth_of_cells(
    predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]
) -> TruthArray:
    """FALSE, MAYBE or TRUE for every cell of a clique that holds the predicate's
    columns.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))}
    >>> truth_of_cells(parse_predicate("age > 4"), codecs, ("age",)).tolist()
    [0, 1, 2, 0]
    """
    sizes = tuple(codecs[name].size for name in clique)
    return np.broadcast_to(
        _evaluate_predicate(predicate, codecs, CliqueAxes(clique)), sizes
    ).copy()


def surely_true_rows(
    predicate: Predicate,
    codecs: Mapping[str, Codec],
    codes: Mapping[str, NDArray[np.integer]],
) -> NDArray[np.bool_]:
    """The rows of codes for which the predicate holds whatever their values; no table
    of all cells is made.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))}
    >>> surely_true_rows(parse_predicate("age > 4"), codecs, {"age": np.array([0, 1, 2])}).tolist()
    [False, False, True]
    """
    return np.equal(_evaluate_predicate(predicate, codecs, RowAxes(codes)), KLEENE_TRUE)


def surely_true_cells(
    predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]
) -> NDArray[np.bool_]:
    """The cells in which the predicate holds for every value."""
    return np.equal(truth_of_cells(predicate, codecs, clique), KLEENE_TRUE)


def possibly_true_cells(
    predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]
) -> NDArray[np.bool_]:
    """The cells outside which the predicate holds for no value."""
    return np.not_equal(truth_of_cells(predicate, codecs, clique), KLEENE_FALSE)


def _evaluate_predicate(
    predicate: Predicate, codecs: Mapping[str, Codec], axes: TableAxes
) -> TruthArray:
    match predicate:
        case And(left, right):
            return np.minimum(
                _evaluate_predicate(left, codecs, axes),
                _evaluate_predicate(right, codecs, axes),
            )
        case Or(left, right):
            return np.maximum(
                _evaluate_predicate(left, codecs, axes),
                _evaluate_predicate(right, codecs, axes),
            )
        case Not(part):
            return (KLEENE_TRUE - _evaluate_predicate(part, codecs, axes)).astype(
                np.int8
            )
        case IfThen(premise, conclusion):
            return _evaluate_predicate(Or(Not(premise), conclusion), codecs, axes)
        case IsMissing(name, negated):
            valued = _is_value_code(codecs[name.column])
            return axes.align_table(
                [name.column], _truth_from_flags(valued == negated, valued == negated)
            )
        case In(name, values, negated):
            return axes.align_table(
                [name.column],
                _truth_of_membership(codecs[name.column], values, negated),
            )
        case InCombinations(names, rows, negated):
            return _truth_of_combinations(
                [name.column for name in names], rows, negated, codecs, axes
            )
        case LinearComparison(terms, operator, constant):
            return _truth_of_sum(terms, operator, constant, codecs, axes)
        case ColumnComparison(
            name, Operator.EQUAL | Operator.UNEQUAL as operator, Literal() as literal
        ):
            listed = _truth_of_membership(
                codecs[name.column], (literal,), operator is Operator.UNEQUAL
            )
            return axes.align_table([name.column], listed)
        case ColumnComparison(name, operator, Literal() as literal):
            return axes.align_table(
                [name.column],
                _compare_with_constant(codecs[name.column], operator, literal),
            )
        case ColumnComparison(name, operator, ColumnName() as other):
            return _compare_columns(name.column, operator, other.column, codecs, axes)
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def _truth_from_flags(
    sure: NDArray[np.bool_], possible: NDArray[np.bool_]
) -> TruthArray:
    return sure.astype(np.int8) + possible.astype(np.int8)


def _is_value_code(codec: Codec) -> NDArray[np.bool_]:
    """Which codes are values; `other` is one, missing codes are not."""
    return np.arange(codec.size) < len(codec.bins) + codec.has_other


def _undecided_truth(codec: Codec) -> TruthArray:
    """For constants that are none of the column's kind, as a learned type may leave
    them: nothing is known of any value.
    """
    valued = _is_value_code(codec)
    return _truth_from_flags(np.zeros_like(valued), valued)


def _truth_of_membership(
    codec: Codec, literals: Sequence[Literal], negated: bool
) -> TruthArray:
    """How many of a code's values are listed decides: all, none, or some."""
    column, valued = codec.column, _is_value_code(codec)
    spots = {scale_value_of(column, literal) for literal in literals}
    if None in spots:
        return _undecided_truth(codec)
    hits, width = np.zeros(codec.size, np.int64), np.ones(codec.size, np.int64)
    if isinstance(codec.bins, BinEdges):
        assert isinstance(column, Lattice)
        edges = codec.bins.edges
        width[: len(edges) - 1] = np.diff(codec.edges)
        for found in spots:
            assert isinstance(found, Fraction)
            index = found / scale_step_of(column)
            if index.denominator == 1 and edges[0] <= index < edges[-1]:
                hits[bisect_right(edges, int(index)) - 1] += 1
    else:
        places = _codes_by_label(codec)
        hits[[places[found] for found in spots if found in places]] = 1
    if negated:
        return _truth_from_flags(valued & (hits == 0), valued & (hits < width))
    return _truth_from_flags(valued & (hits == width), valued & (hits > 0))


def _value_labels(codec: Codec) -> list[ScaleValue]:
    """The value of each code that is one, where codes are labels."""
    if isinstance(codec.column, Boolean):
        return [False, True]
    assert isinstance(codec.column, Categorical)
    assert codec.column.values is not None
    return [
        *codec.column.values,
        *([codec.column.other] if codec.column.other is not None else []),
    ]


def _codes_by_label(codec: Codec) -> Mapping[Any, int]:
    """The code of each value, where codes are labels."""
    return {False: 0, True: 1} if isinstance(codec.column, Boolean) else codec.places


@dataclass(frozen=True)
class _CodeRanges:
    """First and last value of each code that is a value, on a scale with an order, in
    whole units of it.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    unit: Fraction

    def __len__(self) -> int:
        return len(self.low)


def _code_ranges(codec: Codec) -> _CodeRanges | None:
    """The ends of a column's codes; None where it has no order."""
    column = codec.column
    if isinstance(codec.bins, BinEdges):
        assert isinstance(column, Lattice)
        return _CodeRanges(codec.edges[:-1], codec.edges[1:] - 1, scale_step_of(column))
    order = label_order_of(column)
    ranks = np.arange(len(order or ()), dtype=np.int64)
    return _CodeRanges(ranks, ranks, Fraction(1)) if order else None


def _compare_with_constant(
    codec: Codec, operator: Operator, literal: Literal
) -> TruthArray:
    ends, found = _code_ranges(codec), scale_value_of(codec.column, literal)
    if ends is not None and isinstance(found, str):
        rank = codec.places.get(found, len(ends))
        found = Fraction(rank) if rank < len(ends) else None
    if ends is None or not isinstance(found, Fraction):
        return _undecided_truth(codec)
    exact = found / ends.unit
    # Of whole numbers, those below 2.5 are those below 3, and those up to 2.5 are those
    # up to 2.
    bound = (
        math.floor(exact)
        if operator in (Operator.AT_MOST, Operator.MORE)
        else math.ceil(exact)
    )
    truth = _truth_from_flags(
        *_compare_range_with_bound(
            ends.low,
            ends.high,
            operator,
            min(max(bound, -UNREACHABLE_INDEX), UNREACHABLE_INDEX),
        )
    )
    # Missing codes compare as false; so does `other`, which has no rank.
    return _pad_to_codes(truth, codec.size)


def _truth_of_combinations(
    names: Sequence[str],
    rows: Sequence[Sequence[Literal]],
    negated: bool,
    codecs: Mapping[str, Codec],
    axes: TableAxes,
) -> TruthArray:
    """Whether a combination of codes is listed: surely where each of its codes is a
    single value, else maybe.
    """
    valued = reduce(
        np.multiply,
        [
            axes.align_table([name], _is_value_code(codecs[name]).astype(np.int8))
            for name in names
        ],
    )
    columns = [
        _literal_places(codecs[name], [row[i] for row in rows])
        for i, name in enumerate(names)
    ]
    places = np.array(
        [[place for place, _ in column] for column in columns], np.int64
    ).reshape(len(names), -1)
    sure = np.array(
        [[width == 1 for _, width in column] for column in columns], np.bool_
    ).reshape(places.shape)
    inside, foreign = (
        np.all(places >= 0, axis=0),
        np.any(places == _WRONG_FAMILY, axis=0),
    )
    single = np.all(sure[:, inside], axis=0)
    sizes = [codecs[name].size for name in names]
    listed = axes.mark(
        names, sizes, places[:, inside], _truth_from_flags(single, np.ones_like(single))
    )
    if foreign.any():  # a constant that is none of the column's kind, as a learned type may leave it: nothing is known
        listed = valued * np.maximum(listed, np.int8(KLEENE_MAYBE))
    return valued * (np.int8(KLEENE_TRUE) - listed) if negated else listed


def _literal_places(codec: Codec, literals: Sequence[Literal]) -> list[tuple[int, int]]:
    """The code that holds each constant, and how many values that code holds."""
    known, found = codec.literal_places, []
    for literal in literals:
        key = type(literal.value), literal.value  # true is not 1
        if key not in known:
            known[key] = _find_literal_place(codec, literal)
        found.append(known[key])
    return found


def _find_literal_place(codec: Codec, literal: Literal) -> tuple[int, int]:
    column, here = codec.column, scale_value_of(codec.column, literal)
    if here is None:
        return _WRONG_FAMILY, 0
    if not isinstance(codec.bins, BinEdges):
        return _codes_by_label(codec).get(here, _BEYOND_DOMAIN), 1
    assert isinstance(here, Fraction)
    assert isinstance(column, Lattice)
    edges, index = codec.bins.edges, here / scale_step_of(column)
    if index.denominator != 1 or not edges[0] <= index < edges[-1]:
        return _BEYOND_DOMAIN, 0
    place = bisect_right(edges, int(index)) - 1
    return place, edges[place + 1] - edges[place]


def _truth_of_sum(
    terms: Sequence[tuple[Fraction, ColumnName]],
    operator: Operator,
    constant: Fraction,
    codecs: Mapping[str, Codec],
    axes: TableAxes,
) -> TruthArray:
    """A sum of columns by interval arithmetic, exact on whole numbers: what the least
    and the largest values add up to.
    """
    ends = [
        (
            _code_ranges(codecs[name.column])
            if family_of_column(codecs[name.column].column) == "number"
            else None
        )
        for _, name in terms
    ]
    valued = [
        axes.align_table([name.column], _is_value_code(codecs[name.column]))
        for _, name in terms
    ]
    everywhere = np.asarray(
        np.logical_and.reduce(np.broadcast_arrays(*valued)), np.bool_
    )
    if any(pairs is None for pairs in ends):
        return _truth_from_flags(np.zeros_like(everywhere), everywhere)
    weights = [
        weight * pairs.unit
        for (weight, _), pairs in zip(terms, ends, strict=True)
        if pairs is not None
    ]
    unit = math.lcm(constant.denominator, *(weight.denominator for weight in weights))
    factors, bound = [int(weight * unit) for weight in weights], int(constant * unit)
    largest = sum(
        abs(factor) * _largest_magnitude(pairs)
        for factor, pairs in zip(factors, ends, strict=True)
        if pairs is not None
    )
    kind = np.int64 if largest + abs(bound) < 2**62 else object
    low, high = np.zeros((), kind), np.zeros((), kind)
    for (_, name), factor, pairs in zip(terms, factors, ends, strict=True):
        assert pairs is not None
        first, last = (pairs.low, pairs.high) if factor > 0 else (pairs.high, pairs.low)
        size = codecs[name.column].size
        low = low + axes.align_table(
            [name.column], _pad_to_codes(factor * first.astype(kind), size)
        )
        high = high + axes.align_table(
            [name.column], _pad_to_codes(factor * last.astype(kind), size)
        )
    sure, possible = _compare_range_with_bound(low, high, operator, bound)
    return _truth_from_flags(everywhere & sure, everywhere & possible)


def _pad_to_codes(table: NDArray[Any], size: int) -> NDArray[Any]:
    """A table over values, with 0 for the codes behind them; of Python's own numbers
    where they are those, which have no largest.
    """
    padded = np.zeros(size, table.dtype)
    padded[: len(table)] = table
    return padded


def _largest_magnitude(ends: _CodeRanges) -> int:
    """No end lies farther from 0 than this, in units of the column."""
    return max(abs(int(ends.low.min(initial=0))), abs(int(ends.high.max(initial=0))))


def _compare_range_with_bound(
    low: NDArray[Any], high: NDArray[Any], operator: Operator, bound: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether every number, and whether any number, of a range compares so with a
    bound.
    """
    found: tuple[object, object]
    match operator:
        case Operator.LESS:
            found = high < bound, low < bound
        case Operator.AT_MOST:
            found = high <= bound, low <= bound
        case Operator.MORE:
            found = low > bound, high > bound
        case Operator.AT_LEAST:
            found = low >= bound, high >= bound
        case _:
            inside, single = (
                (low <= bound) & (high >= bound),
                (low == bound) & (high == bound),
            )
            found = (
                (single, inside)
                if operator is Operator.EQUAL
                else (~inside.astype(bool), ~single.astype(bool))
            )
    return np.asarray(found[0], np.bool_), np.asarray(found[1], np.bool_)


def _compare_columns(
    left: str,
    operator: Operator,
    right: str,
    codecs: Mapping[str, Codec],
    axes: TableAxes,
) -> TruthArray:
    """Two columns against each other."""
    here, there = codecs[left], codecs[right]
    same = family_of_column(here.column) == family_of_column(there.column)
    if same and not operator.needs_order and not isinstance(here.bins, BinEdges):
        return _compare_labels(left, operator, right, codecs, axes)
    one, two = _code_ranges(here), _code_ranges(there)
    if (
        not same
        or one is None
        or two is None
        or label_order_of(here.column) != label_order_of(there.column)
    ):
        undecided: TruthArray = np.minimum(
            axes.align_table([left], _undecided_truth(here)),
            axes.align_table([right], _undecided_truth(there)),
        )
        return undecided
    unit = math.lcm(one.unit.denominator, two.unit.denominator)
    scales = int(one.unit * unit), int(two.unit * unit)
    kind = (
        np.int64
        if max(scales[0] * _largest_magnitude(one), scales[1] * _largest_magnitude(two))
        < 2**62
        else object
    )
    sides = []
    for name, ends, scale in ((left, one, scales[0]), (right, two, scales[1])):
        size = codecs[name].size
        known = np.arange(size) < len(ends)
        ranges = (
            _pad_to_codes(scale * end.astype(kind), size)
            for end in (ends.low, ends.high)
        )
        sides.append([axes.align_table([name], table) for table in (known, *ranges)])
    (known1, *range1), (known2, *range2) = sides
    sure, possible = _compare_ranges(range1, operator, range2)
    both = known1 & known2
    return _truth_from_flags(both & sure, both & possible)


def _compare_labels(
    left: str,
    operator: Operator,
    right: str,
    codecs: Mapping[str, Codec],
    axes: TableAxes,
) -> TruthArray:
    """Whether two columns have the same label, or different ones; missing codes have
    none.
    """
    ranks: dict[ScaleValue, int] = {}
    sides = []
    for name in (left, right):
        numbers = [
            ranks.setdefault(label, len(ranks)) for label in _value_labels(codecs[name])
        ]
        beyond = (0, codecs[name].size - len(numbers))
        sides.append(
            axes.align_table(
                [name], np.pad(np.array(numbers, np.int64), beyond, constant_values=-1)
            )
        )
    alike = sides[0] == sides[1]
    kept = alike if operator is Operator.EQUAL else ~alike
    labelled = np.asarray(kept & (sides[0] >= 0) & (sides[1] >= 0), np.bool_)
    return _truth_from_flags(labelled, labelled)


def _compare_ranges(
    one: Sequence[NDArray[Any]], operator: Operator, two: Sequence[NDArray[Any]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether every pair of values of two ranges compares so, and whether any does."""
    (low1, high1), (low2, high2) = one, two
    found: tuple[object, object]
    match operator:
        case Operator.LESS:
            found = high1 < low2, low1 < high2
        case Operator.AT_MOST:
            found = high1 <= low2, low1 <= high2
        case Operator.MORE:
            found = low1 > high2, high1 > low2
        case Operator.AT_LEAST:
            found = low1 >= high2, high1 >= low2
        case _:
            single = ((low1 == high1) & (low2 == high2) & (low1 == low2)).astype(
                np.bool_
            )
            meet = ((low1 <= high2) & (low2 <= high1)).astype(np.bool_)
            found = (single, meet) if operator is Operator.EQUAL else (~meet, ~single)
    return np.asarray(found[0], np.bool_), np.asarray(found[1], np.bool_)
