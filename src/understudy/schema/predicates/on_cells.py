"""What a predicate means on the cells of a marginal, and on rows of codes. What it means on values is in schema/predicates/on_values.py.

On codes an answer has three values, because a bin may hold values of both kinds: FALSE of every value of the cell, TRUE of every one,
or MAYBE. They are combined as Kleene did (and is the smaller, or the larger, not the mirror image), which is sound: what is TRUE here
holds for every value in the cell. It is not always sharp: `age < 3 or age >= 3` is MAYBE on a bin that holds 3.
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

from understudy.schema.columns.axes import Axes, Dense, Rows
from understudy.schema.columns.codec import Codec, Edges
from understudy.schema.columns.discrete import Boolean, Categorical, Lattice
from understudy.schema.predicates.ast import (
    And,
    Comparison,
    IfThen,
    In,
    Linear,
    Listed,
    Literal,
    Missing,
    Name,
    Not,
    Operator,
    Or,
    Predicate,
)
from understudy.schema.predicates.comparable import Spot, family, order_of, spot, unit_of

FALSE, MAYBE, TRUE = 0, 1, 2
_NOWHERE, _FOREIGN = -1, -2
"""A constant beyond the column's values, and one that is none of its kind."""

BEYOND = 2**62 + 1
"""A lattice index beyond all that columns have."""

Truth = NDArray[np.int8]


def cells(predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]) -> Truth:
    """FALSE, MAYBE or TRUE for every cell of a clique that holds the predicate's columns.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))}
    >>> cells(parse_predicate("age > 4"), codecs, ("age",)).tolist()
    [0, 1, 2, 0]
    """
    sizes = tuple(codecs[name].size for name in clique)
    return np.broadcast_to(_cells(predicate, codecs, Dense(clique)), sizes).copy()


def rows_surely(
    predicate: Predicate, codecs: Mapping[str, Codec], codes: Mapping[str, NDArray[np.integer]]
) -> NDArray[np.bool_]:
    """The rows of codes for which the predicate holds whatever their values; no table of all cells is made.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))}
    >>> rows_surely(parse_predicate("age > 4"), codecs, {"age": np.array([0, 1, 2])}).tolist()
    [False, False, True]
    """
    return np.equal(_cells(predicate, codecs, Rows(codes)), TRUE)


def surely(predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]) -> NDArray[np.bool_]:
    """The cells in which the predicate holds for every value."""
    return np.equal(cells(predicate, codecs, clique), TRUE)


def possibly(predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]) -> NDArray[np.bool_]:
    """The cells outside which the predicate holds for no value."""
    return np.not_equal(cells(predicate, codecs, clique), FALSE)


def _cells(predicate: Predicate, codecs: Mapping[str, Codec], axes: Axes) -> Truth:
    match predicate:
        case And(left, right):
            return np.minimum(_cells(left, codecs, axes), _cells(right, codecs, axes))
        case Or(left, right):
            return np.maximum(_cells(left, codecs, axes), _cells(right, codecs, axes))
        case Not(part):
            return (TRUE - _cells(part, codecs, axes)).astype(np.int8)
        case IfThen(premise, conclusion):
            return _cells(Or(Not(premise), conclusion), codecs, axes)
        case Missing(name, negated):
            valued = _valued(codecs[name.column])
            return axes.lay([name.column], _truth(valued == negated, valued == negated))
        case In(name, values, negated):
            return axes.lay([name.column], _listed(codecs[name.column], values, negated))
        case Listed(names, rows, negated):
            return _combined([name.column for name in names], rows, negated, codecs, axes)
        case Linear(terms, operator, constant):
            return _summed(terms, operator, constant, codecs, axes)
        case Comparison(name, Operator.EQUAL | Operator.UNEQUAL as operator, Literal() as literal):
            listed = _listed(codecs[name.column], (literal,), operator is Operator.UNEQUAL)
            return axes.lay([name.column], listed)
        case Comparison(name, operator, Literal() as literal):
            return axes.lay([name.column], _against_constant(codecs[name.column], operator, literal))
        case Comparison(name, operator, Name() as other):
            return _between(name.column, operator, other.column, codecs, axes)
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def _truth(sure: NDArray[np.bool_], possible: NDArray[np.bool_]) -> Truth:
    return sure.astype(np.int8) + possible.astype(np.int8)


def _valued(codec: Codec) -> NDArray[np.bool_]:
    """Which codes are values; `other` is one, missing codes are not."""
    return np.arange(codec.size) < len(codec.bins) + codec.has_other


def _undecided(codec: Codec) -> Truth:
    """For constants that are none of the column's kind, as a learned type may leave them: nothing is known of any value."""
    valued = _valued(codec)
    return _truth(np.zeros_like(valued), valued)


def _listed(codec: Codec, literals: Sequence[Literal], negated: bool) -> Truth:
    """How many of a code's values are listed decides: all, none, or some."""
    column, valued = codec.column, _valued(codec)
    spots = {spot(column, literal) for literal in literals}
    if None in spots:
        return _undecided(codec)
    hits, width = np.zeros(codec.size, np.int64), np.ones(codec.size, np.int64)
    if isinstance(codec.bins, Edges):
        assert isinstance(column, Lattice)
        edges = codec.bins.edges
        width[: len(edges) - 1] = np.diff(codec.edges)
        for found in spots:
            assert isinstance(found, Fraction)
            index = found / unit_of(column)
            if index.denominator == 1 and edges[0] <= index < edges[-1]:
                hits[bisect_right(edges, int(index)) - 1] += 1
    else:
        places = _label_places(codec)
        hits[[places[found] for found in spots if found in places]] = 1
    if negated:
        return _truth(valued & (hits == 0), valued & (hits < width))
    return _truth(valued & (hits == width), valued & (hits > 0))


def _labels(codec: Codec) -> list[Spot]:
    """The value of each code that is one, where codes are labels."""
    if isinstance(codec.column, Boolean):
        return [False, True]
    assert isinstance(codec.column, Categorical)
    assert codec.column.values is not None
    return [*codec.column.values, *([codec.column.other] if codec.column.other is not None else [])]


def _label_places(codec: Codec) -> Mapping[Any, int]:
    """The code of each value, where codes are labels."""
    return {False: 0, True: 1} if isinstance(codec.column, Boolean) else codec.places


@dataclass(frozen=True)
class _Ends:
    """First and last value of each code that is a value, on a scale with an order, in whole units of it."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    unit: Fraction

    def __len__(self) -> int:
        return len(self.low)


def _ends(codec: Codec) -> _Ends | None:
    """The ends of a column's codes; None where it has no order."""
    column = codec.column
    if isinstance(codec.bins, Edges):
        assert isinstance(column, Lattice)
        return _Ends(codec.edges[:-1], codec.edges[1:] - 1, unit_of(column))
    order = order_of(column)
    ranks = np.arange(len(order or ()), dtype=np.int64)
    return _Ends(ranks, ranks, Fraction(1)) if order else None


def _against_constant(codec: Codec, operator: Operator, literal: Literal) -> Truth:
    ends, found = _ends(codec), spot(codec.column, literal)
    if ends is not None and isinstance(found, str):
        rank = codec.places.get(found, len(ends))
        found = Fraction(rank) if rank < len(ends) else None
    if ends is None or not isinstance(found, Fraction):
        return _undecided(codec)
    exact = found / ends.unit
    # Of whole numbers, those below 2.5 are those below 3, and those up to 2.5 are those up to 2.
    bound = math.floor(exact) if operator in (Operator.AT_MOST, Operator.MORE) else math.ceil(exact)
    truth = _truth(*_range_against(ends.low, ends.high, operator, min(max(bound, -BEYOND), BEYOND)))
    # Missing codes compare as false; so does `other`, which has no rank.
    return _padded(truth, codec.size)


def _combined(
    names: Sequence[str], rows: Sequence[Sequence[Literal]], negated: bool, codecs: Mapping[str, Codec], axes: Axes
) -> Truth:
    """Whether a combination of codes is listed: surely where each of its codes is a single value, else maybe."""
    valued = reduce(np.multiply, [axes.lay([name], _valued(codecs[name]).astype(np.int8)) for name in names])
    columns = [_places(codecs[name], [row[i] for row in rows]) for i, name in enumerate(names)]
    places = np.array([[place for place, _ in column] for column in columns], np.int64).reshape(len(names), -1)
    sure = np.array([[width == 1 for _, width in column] for column in columns], np.bool_).reshape(places.shape)
    inside, foreign = np.all(places >= 0, axis=0), np.any(places == _FOREIGN, axis=0)
    single = np.all(sure[:, inside], axis=0)
    sizes = [codecs[name].size for name in names]
    listed = axes.mark(names, sizes, places[:, inside], _truth(single, np.ones_like(single)))
    if foreign.any():  # a constant that is none of the column's kind, as a learned type may leave it: nothing is known
        listed = valued * np.maximum(listed, np.int8(MAYBE))
    return valued * (np.int8(TRUE) - listed) if negated else listed


def _places(codec: Codec, literals: Sequence[Literal]) -> list[tuple[int, int]]:
    """The code that holds each constant, and how many values that code holds."""
    known, found = codec.literals, []
    for literal in literals:
        key = type(literal.value), literal.value  # true is not 1
        if key not in known:
            known[key] = _place(codec, literal)
        found.append(known[key])
    return found


def _place(codec: Codec, literal: Literal) -> tuple[int, int]:
    column, here = codec.column, spot(codec.column, literal)
    if here is None:
        return _FOREIGN, 0
    if not isinstance(codec.bins, Edges):
        return _label_places(codec).get(here, _NOWHERE), 1
    assert isinstance(here, Fraction)
    assert isinstance(column, Lattice)
    edges, index = codec.bins.edges, here / unit_of(column)
    if index.denominator != 1 or not edges[0] <= index < edges[-1]:
        return _NOWHERE, 0
    place = bisect_right(edges, int(index)) - 1
    return place, edges[place + 1] - edges[place]


def _summed(
    terms: Sequence[tuple[Fraction, Name]],
    operator: Operator,
    constant: Fraction,
    codecs: Mapping[str, Codec],
    axes: Axes,
) -> Truth:
    """A sum of columns by interval arithmetic, exact on whole numbers: what the least and the largest values add up to."""
    ends = [_ends(codecs[name.column]) if family(codecs[name.column].column) == "number" else None for _, name in terms]
    valued = [axes.lay([name.column], _valued(codecs[name.column])) for _, name in terms]
    everywhere = np.asarray(np.logical_and.reduce(np.broadcast_arrays(*valued)), np.bool_)
    if any(pairs is None for pairs in ends):
        return _truth(np.zeros_like(everywhere), everywhere)
    weights = [weight * pairs.unit for (weight, _), pairs in zip(terms, ends, strict=True) if pairs is not None]
    unit = math.lcm(constant.denominator, *(weight.denominator for weight in weights))
    factors, bound = [int(weight * unit) for weight in weights], int(constant * unit)
    largest = sum(abs(factor) * _reach(pairs) for factor, pairs in zip(factors, ends, strict=True) if pairs is not None)
    kind = np.int64 if largest + abs(bound) < 2**62 else object
    low, high = np.zeros((), kind), np.zeros((), kind)
    for (_, name), factor, pairs in zip(terms, factors, ends, strict=True):
        assert pairs is not None
        first, last = (pairs.low, pairs.high) if factor > 0 else (pairs.high, pairs.low)
        size = codecs[name.column].size
        low = low + axes.lay([name.column], _padded(factor * first.astype(kind), size))
        high = high + axes.lay([name.column], _padded(factor * last.astype(kind), size))
    sure, possible = _range_against(low, high, operator, bound)
    return _truth(everywhere & sure, everywhere & possible)


def _padded(table: NDArray[Any], size: int) -> NDArray[Any]:
    """A table over values, with 0 for the codes behind them; of Python's own numbers where they are those, which have no largest."""
    padded = np.zeros(size, table.dtype)
    padded[: len(table)] = table
    return padded


def _reach(ends: _Ends) -> int:
    """No end lies farther from 0 than this, in units of the column."""
    return max(abs(int(ends.low.min(initial=0))), abs(int(ends.high.max(initial=0))))


def _range_against(
    low: NDArray[Any], high: NDArray[Any], operator: Operator, bound: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether every number, and whether any number, of a range compares so with a bound."""
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
            inside, single = (low <= bound) & (high >= bound), (low == bound) & (high == bound)
            found = (single, inside) if operator is Operator.EQUAL else (~inside.astype(bool), ~single.astype(bool))
    return np.asarray(found[0], np.bool_), np.asarray(found[1], np.bool_)


def _between(left: str, operator: Operator, right: str, codecs: Mapping[str, Codec], axes: Axes) -> Truth:
    """Two columns against each other."""
    here, there = codecs[left], codecs[right]
    same = family(here.column) == family(there.column)
    if same and not operator.ordering and not isinstance(here.bins, Edges):
        return _same_label(left, operator, right, codecs, axes)
    one, two = _ends(here), _ends(there)
    if not same or one is None or two is None or order_of(here.column) != order_of(there.column):
        undecided: Truth = np.minimum(axes.lay([left], _undecided(here)), axes.lay([right], _undecided(there)))
        return undecided
    unit = math.lcm(one.unit.denominator, two.unit.denominator)
    scales = int(one.unit * unit), int(two.unit * unit)
    kind = np.int64 if max(scales[0] * _reach(one), scales[1] * _reach(two)) < 2**62 else object
    sides = []
    for name, ends, scale in ((left, one, scales[0]), (right, two, scales[1])):
        size = codecs[name].size
        known = np.arange(size) < len(ends)
        ranges = (_padded(scale * end.astype(kind), size) for end in (ends.low, ends.high))
        sides.append([axes.lay([name], table) for table in (known, *ranges)])
    (known1, *range1), (known2, *range2) = sides
    sure, possible = _compare_ranges(range1, operator, range2)
    both = known1 & known2
    return _truth(both & sure, both & possible)


def _same_label(left: str, operator: Operator, right: str, codecs: Mapping[str, Codec], axes: Axes) -> Truth:
    """Whether two columns have the same label, or different ones; missing codes have none."""
    ranks: dict[Spot, int] = {}
    sides = []
    for name in (left, right):
        numbers = [ranks.setdefault(label, len(ranks)) for label in _labels(codecs[name])]
        beyond = (0, codecs[name].size - len(numbers))
        sides.append(axes.lay([name], np.pad(np.array(numbers, np.int64), beyond, constant_values=-1)))
    alike = sides[0] == sides[1]
    kept = alike if operator is Operator.EQUAL else ~alike
    labelled = np.asarray(kept & (sides[0] >= 0) & (sides[1] >= 0), np.bool_)
    return _truth(labelled, labelled)


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
            single = ((low1 == high1) & (low2 == high2) & (low1 == low2)).astype(np.bool_)
            meet = ((low1 <= high2) & (low2 <= high1)).astype(np.bool_)
            found = (single, meet) if operator is Operator.EQUAL else (~meet, ~single)
    return np.asarray(found[0], np.bool_), np.asarray(found[1], np.bool_)
