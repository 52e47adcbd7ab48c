"""What a predicate means: on values, and on the cells of a marginal.

A predicate speaks of values as the schema knows them: on their lattice, within their bounds, unlisted labels as `other`. A comparison
with a missing value is false.

On codes an answer has three values, because a bin may hold values of both kinds: FALSE of every value of the cell, TRUE of every one,
or MAYBE. They are combined as Kleene did (and is the smaller, or the larger, not the mirror image), which is sound: what is TRUE here
holds for every value in the cell. It is not always sharp: `age < 3 or age >= 3` is MAYBE on a bin that holds 3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.schema.codec import OTHER, VALUE, Codec, Edges
from understudy.schema.column import Boolean, Categorical, Lattice
from understudy.schema.predicate import (
    And,
    Comparison,
    IfThen,
    In,
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

Truth = NDArray[np.int8]


# --- on values -------------------------------------------------------------------------------------------------------------------------


def holds(predicate: Predicate, row: Mapping[str, object], codecs: Mapping[str, Codec]) -> bool:
    """Whether a predicate holds for one row of Python values.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=90))}
    >>> holds(parse_predicate("age > 60"), {"age": 61}, codecs), holds(parse_predicate("age > 60"), {"age": None}, codecs)
    (True, False)
    """
    match predicate:
        case And(left, right):
            return holds(left, row, codecs) and holds(right, row, codecs)
        case Or(left, right):
            return holds(left, row, codecs) or holds(right, row, codecs)
        case Not(part):
            return not holds(part, row, codecs)
        case IfThen(premise, conclusion):
            return not holds(premise, row, codecs) or holds(conclusion, row, codecs)
        case Missing(name, negated):
            return (_known(codecs[name.column], row[name.column]) is None) != negated
        case In(name, values, negated):
            codec = codecs[name.column]
            known = _known(codec, row[name.column])
            return known is not None and any(known == spot(codec.column, v) for v in values) != negated
        case Comparison(name, operator, right):
            return _compare(name, operator, right, row, codecs)
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def _compare(
    name: Name, operator: Operator, right: Name | Literal, row: Mapping[str, object], codecs: Mapping[str, Codec]
) -> bool:
    codec = codecs[name.column]
    here = _known(codec, row[name.column])
    if isinstance(right, Name):
        if family(codec.column) != family(codecs[right.column].column):
            return False
        there = _known(codecs[right.column], row[right.column])
    else:
        there = spot(codec.column, right)
    if here is None or there is None:
        return False
    if operator.ordering:
        order = order_of(codec.column)
        if order is not None:
            return here in order and there in order and _ordered(order.index(here), operator, order.index(there))
        return _ordered(here, operator, there)
    return (here == there) == (operator is Operator.EQUAL)


def _known(codec: Codec, value: object) -> Spot | None:
    """A value on its family's scale, None where it is missing."""
    index, state = codec.locate(value)
    if state not in (VALUE, OTHER):
        return None
    column = codec.column
    if isinstance(column, Lattice):
        return index * unit_of(column)
    if isinstance(column, Boolean):
        return index == 1
    assert isinstance(column, Categorical)
    assert column.values is not None
    return column.other if state == OTHER else column.values[index]


def _ordered(here: object, operator: Operator, there: object) -> bool:
    assert isinstance(here, Fraction | int)
    assert isinstance(there, Fraction | int)
    match operator:
        case Operator.LESS:
            return here < there
        case Operator.AT_MOST:
            return here <= there
        case Operator.MORE:
            return here > there
        case _:
            return here >= there


# --- on codes --------------------------------------------------------------------------------------------------------------------------


def cells(predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]) -> Truth:
    """FALSE, MAYBE or TRUE for every cell of a clique that holds the predicate's columns.

    >>> from understudy.schema import Integer, codec_of, parse_predicate
    >>> codecs = {"age": codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))}
    >>> cells(parse_predicate("age > 4"), codecs, ("age",)).tolist()
    [0, 1, 2, 0]
    """
    sizes = tuple(codecs[name].size for name in clique)
    return np.broadcast_to(_cells(predicate, codecs, list(clique)), sizes).copy()


def surely(predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]) -> NDArray[np.bool_]:
    """The cells in which the predicate holds for every value."""
    return np.equal(cells(predicate, codecs, clique), TRUE)


def possibly(predicate: Predicate, codecs: Mapping[str, Codec], clique: Sequence[str]) -> NDArray[np.bool_]:
    """The cells outside which the predicate holds for no value."""
    return np.not_equal(cells(predicate, codecs, clique), FALSE)


def _cells(predicate: Predicate, codecs: Mapping[str, Codec], clique: list[str]) -> Truth:
    match predicate:
        case And(left, right):
            return np.minimum(_cells(left, codecs, clique), _cells(right, codecs, clique))
        case Or(left, right):
            return np.maximum(_cells(left, codecs, clique), _cells(right, codecs, clique))
        case Not(part):
            return (TRUE - _cells(part, codecs, clique)).astype(np.int8)
        case IfThen(premise, conclusion):
            return _cells(Or(Not(premise), conclusion), codecs, clique)
        case Missing(name, negated):
            valued = _valued(codecs[name.column])
            return _along(_truth(valued == negated, valued == negated), name.column, clique)
        case In(name, values, negated):
            return _along(_listed(codecs[name.column], values, negated), name.column, clique)
        case Comparison(name, Operator.EQUAL | Operator.UNEQUAL as operator, Literal() as literal):
            listed = _listed(codecs[name.column], (literal,), operator is Operator.UNEQUAL)
            return _along(listed, name.column, clique)
        case Comparison(name, operator, Literal() as literal):
            return _along(_against_constant(codecs[name.column], operator, literal), name.column, clique)
        case Comparison(name, operator, Name() as other):
            return _between(codecs, name.column, operator, other.column, clique)
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def _truth(sure: NDArray[np.bool_], possible: NDArray[np.bool_]) -> Truth:
    return sure.astype(np.int8) + possible.astype(np.int8)


def _along(truth: Truth, column: str, clique: list[str]) -> Truth:
    """One column's answers, laid along its axis."""
    return truth.reshape([-1 if name == column else 1 for name in clique])


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


def _between(codecs: Mapping[str, Codec], left: str, operator: Operator, right: str, clique: list[str]) -> Truth:
    """A comparison of two columns, over both their axes."""
    here, there = codecs[left], codecs[right]
    if family(here.column) != family(there.column):
        table = np.minimum.outer(_undecided(here), _undecided(there)).astype(np.int8)
    else:
        table = _paired(here, operator, there)
    if clique.index(left) > clique.index(right):
        table = table.T
    return table.reshape([codecs[name].size if name in (left, right) else 1 for name in clique])


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
