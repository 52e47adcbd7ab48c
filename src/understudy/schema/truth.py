"""What a predicate means on the cells of a marginal, and on rows of codes. What it means on values is in schema/instance.py.

On codes an answer has three values, because a bin may hold values of both kinds: FALSE of every value of the cell, TRUE of every one,
or MAYBE. They are combined as Kleene did (and is the smaller, or the larger, not the mirror image), which is sound: what is TRUE here
holds for every value in the cell. It is not always sharp: `age < 3 or age >= 3` is MAYBE on a bin that holds 3.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.axes import Axes, Dense, Rows
from understudy.schema.codec import Codec, Edges
from understudy.schema.column import Boolean, Categorical, Lattice
from understudy.schema.predicate import (
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
from understudy.schema.scale import Spot, family, order_of, spot, unit_of

FALSE, MAYBE, TRUE = 0, 1, 2
_NOWHERE, _FOREIGN = -1, -2
"""A constant beyond the column's values, and one that is none of its kind."""

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
            columns = [name.column for name in names]
            return axes.lay(columns, _combined([codecs[name] for name in columns], rows, negated))
        case Linear(terms, operator, constant):
            return _summed(terms, operator, constant, codecs, axes)
        case Comparison(name, Operator.EQUAL | Operator.UNEQUAL as operator, Literal() as literal):
            listed = _listed(codecs[name.column], (literal,), operator is Operator.UNEQUAL)
            return axes.lay([name.column], listed)
        case Comparison(name, operator, Literal() as literal):
            return axes.lay([name.column], _against_constant(codecs[name.column], operator, literal))
        case Comparison(name, operator, Name() as other):
            table = _between(codecs[name.column], operator, codecs[other.column])
            return axes.lay([name.column, other.column], table)
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
        width[: len(edges) - 1] = np.diff(np.array(edges, np.int64))
        for found in spots:
            assert isinstance(found, Fraction)
            index = found / unit_of(column)
            if index.denominator == 1 and edges[0] <= index < edges[-1]:
                hits[bisect_right(edges, int(index)) - 1] += 1
    else:
        for code, known in enumerate(_labels(codec)):
            hits[code] = known in spots
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


def _ends(codec: Codec) -> list[tuple[Fraction, Fraction]] | None:
    """First and last value of each code that is a value, on a scale with an order; None where there is none."""
    column = codec.column
    if isinstance(codec.bins, Edges):
        assert isinstance(column, Lattice)
        unit, edges = unit_of(column), codec.bins.edges
        return [(a * unit, (b - 1) * unit) for a, b in pairwise(edges)]
    order = order_of(column)
    return [(Fraction(i), Fraction(i)) for i in range(len(order))] if order else None


def _against_constant(codec: Codec, operator: Operator, literal: Literal) -> Truth:
    ends, found = _ends(codec), spot(codec.column, literal)
    order = order_of(codec.column)
    if order is not None and isinstance(found, str):
        found = Fraction(order.index(found)) if found in order else None
    if ends is None or not isinstance(found, Fraction):
        return _undecided(codec)
    truth = _compare_ranges(ends, operator, [(found, found)])[:, 0]
    return np.pad(
        truth, (0, codec.size - len(ends))
    )  # missing codes compare as false; so does `other`, which has no rank


def _between(here: Codec, operator: Operator, there: Codec) -> Truth:
    """A comparison of two columns, over both their codes."""
    if family(here.column) != family(there.column):
        return np.minimum.outer(_undecided(here), _undecided(there)).astype(np.int8)
    return _paired(here, operator, there)


def _combined(codecs: Sequence[Codec], rows: Sequence[Sequence[Literal]], negated: bool) -> Truth:
    """Whether a combination of codes is listed: surely where each of its codes is a single value, else maybe."""
    listed = np.zeros([codec.size for codec in codecs], np.int8)
    valued = np.ones((), np.int8)
    for codec in codecs:
        valued = np.multiply.outer(valued, _valued(codec).astype(np.int8))
    columns = [_places(codec, [row[i] for row in rows]) for i, codec in enumerate(codecs)]
    places = np.array([[place for place, _ in column] for column in columns], np.int64).reshape(len(codecs), -1)
    sure = np.array([[width == 1 for _, width in column] for column in columns], np.bool_).reshape(places.shape)
    inside, foreign = np.all(places >= 0, axis=0), np.any(places == _FOREIGN, axis=0)
    at = tuple(places[:, inside])
    np.maximum.at(
        listed, at, _truth(np.all(sure[:, inside], axis=0, keepdims=True)[0], np.ones(int(inside.sum()), np.bool_))
    )
    if foreign.any():  # a constant that is none of the column's kind, as a learned type may leave it: nothing is known
        listed = valued * np.maximum(listed, np.int8(MAYBE))
    return valued * (np.int8(TRUE) - listed) if negated else listed


def _places(codec: Codec, literals: Sequence[Literal]) -> list[tuple[int, int]]:
    """The code that holds each constant, and how many values that code holds."""
    column, found = codec.column, []
    labels = {} if isinstance(codec.bins, Edges) else {known: code for code, known in enumerate(_labels(codec))}
    for literal in literals:
        here = spot(column, literal)
        if here is None:
            found.append((_FOREIGN, 0))
        elif isinstance(codec.bins, Edges):
            assert isinstance(here, Fraction)
            assert isinstance(column, Lattice)
            edges, index = codec.bins.edges, here / unit_of(column)
            if index.denominator == 1 and edges[0] <= index < edges[-1]:
                place = bisect_right(edges, int(index)) - 1
                found.append((place, edges[place + 1] - edges[place]))
            else:
                found.append((_NOWHERE, 0))
        else:
            found.append((labels.get(here, _NOWHERE), 1))
    return found


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
    weighed = [[sorted((w * a, w * b)) for a, b in pairs or ()] for (w, _), pairs in zip(terms, ends, strict=True)]
    unit = math.lcm(constant.denominator, *(end.denominator for pairs in weighed for pair in pairs for end in pair))
    largest = sum(max((abs(end) for pair in pairs for end in pair), default=Fraction(0)) for pairs in weighed)
    kind = np.int64 if (largest + abs(constant)) * unit < 2**62 else object
    low, high = np.zeros((), kind), np.zeros((), kind)
    for (_, name), pairs in zip(terms, weighed, strict=True):
        padded = [*pairs, *[[Fraction(0)] * 2] * (codecs[name.column].size - len(pairs))]
        low = low + axes.lay([name.column], np.array([int(a * unit) for a, _ in padded], kind))
        high = high + axes.lay([name.column], np.array([int(b * unit) for _, b in padded], kind))
    bound = int(constant * unit)
    sure, possible = _range_against(low, high, operator, bound)
    return _truth(everywhere & sure, everywhere & possible)


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


def _paired(here: Codec, operator: Operator, there: Codec) -> Truth:
    table = np.zeros((here.size, there.size), np.int8)
    if not operator.ordering and not isinstance(here.bins, Edges):
        first, second = _labels(here), _labels(there)
        ranks = {label: rank for rank, label in enumerate({*first, *second})}
        same = np.equal.outer([ranks[x] for x in first], [ranks[x] for x in second])
        kept = same if operator is Operator.EQUAL else ~same
        table[: len(first), : len(second)] = TRUE * kept.astype(np.int8)
        return table
    one, two = _ends(here), _ends(there)
    if one is None or two is None or order_of(here.column) != order_of(there.column):
        return np.minimum.outer(_undecided(here), _undecided(there)).astype(np.int8)
    table[: len(one), : len(two)] = _compare_ranges(one, operator, two)
    return table


def _compare_ranges(
    one: Sequence[tuple[Fraction, Fraction]], operator: Operator, two: Sequence[tuple[Fraction, Fraction]]
) -> Truth:
    """Each range of values against each other; exact, for ends are compared by rank."""
    ranks = {end: rank for rank, end in enumerate(sorted({end for pair in (*one, *two) for end in pair}))}
    low1, high1 = (np.array([ranks[pair[i]] for pair in one])[:, None] for i in (0, 1))
    low2, high2 = (np.array([ranks[pair[i]] for pair in two])[None, :] for i in (0, 1))
    match operator:
        case Operator.LESS:
            return _truth(high1 < low2, low1 < high2)
        case Operator.AT_MOST:
            return _truth(high1 <= low2, low1 <= high2)
        case Operator.MORE:
            return _truth(low1 > high2, high1 > low2)
        case Operator.AT_LEAST:
            return _truth(low1 >= high2, high1 >= low2)
    single = (low1 == high1) & (low2 == high2) & (low1 == low2)
    meet = (low1 <= high2) & (low2 <= high1)
    return _truth(single, meet) if operator is Operator.EQUAL else _truth(~meet, ~single)
