"""Truth of a test of one column against constants, for each of its codes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.schema.columns.discrete import Boolean
from understudy.schema.columns.lattice import Lattice
from understudy.schema.predicates.ast import Literal, Operator
from understudy.schema.predicates.comparable import (
    ScaleValue,
    integer_bound,
    scale_step_of,
    scale_value_of,
)
from understudy.schema.predicates.kleene import (
    TruthArray,
    code_ranges,
    compare_range_with_bound,
    is_value_code,
    pad_to_codes,
    truth_from_flags,
    undecided_truth,
)

BEYOND_DOMAIN_CODE, WRONG_FAMILY_CODE = -1, -2
"""In the place of a code: a constant beyond the column's values, and one of another
family.
"""


def truth_of_missing(codec: Codec, *, negated: bool) -> TruthArray:
    """Truth of `is missing`, or of `is not missing`, for each code."""
    flags = is_value_code(codec) == negated
    return truth_from_flags(flags, flags)


def truth_of_membership(
    codec: Codec, literals: Sequence[Literal], *, negated: bool
) -> TruthArray:
    """Truth of `in`, or of `not in`, for each code: TRUE if all values of the code are
    listed, MAYBE if some are.
    """
    values = {scale_value_of(codec.column, literal) for literal in literals}
    if None in values:
        return undecided_truth(codec)
    valued = is_value_code(codec)
    hits, width = _count_listed(codec, values)
    if negated:
        return truth_from_flags(valued & (hits == 0), valued & (hits < width))
    return truth_from_flags(valued & (hits == width), valued & (hits > 0))


def _count_listed(
    codec: Codec, values: set[ScaleValue | None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many values of each code are listed, and how many values it has."""
    hits = np.zeros(codec.size, np.int64)
    width = np.ones(codec.size, np.int64)
    if not isinstance(codec.bins, BinEdges):
        codes = codes_by_label(codec)
        hits[[codes[value] for value in values if value in codes]] = 1
        return hits, width
    width[: len(codec.bins)] = np.diff(codec.edges)
    for value in values:
        assert isinstance(value, Fraction)
        code = _code_of_number(codec, value)
        if code is not None:
            hits[code] += 1
    return hits, width


def _code_of_number(codec: Codec, value: Fraction) -> int | None:
    """The bin of a point on the scale; None if it is off the lattice or out of bounds."""
    assert isinstance(codec.column, Lattice)
    assert isinstance(codec.bins, BinEdges)
    edges = codec.bins.edges
    index = value / scale_step_of(codec.column)
    if index.denominator != 1 or not edges[0] <= index < edges[-1]:
        return None
    return bisect_right(edges, int(index)) - 1


def codes_by_label(codec: Codec) -> Mapping[Any, int]:
    """The code of each value of a column of labels, or of true and false."""
    return {False: 0, True: 1} if isinstance(codec.column, Boolean) else codec.places


def compare_with_constant(
    codec: Codec, operator: Operator, literal: Literal
) -> TruthArray:
    """Truth of an order between a column and a constant, for each code."""
    ranges = code_ranges(codec)
    value = scale_value_of(codec.column, literal)
    if ranges is not None and isinstance(value, str):
        rank = codec.places.get(value, len(ranges))
        value = Fraction(rank) if rank < len(ranges) else None
    if ranges is None or not isinstance(value, Fraction):
        return undecided_truth(codec)
    bound = integer_bound(operator, value / ranges.unit)
    ends = ranges.low, ranges.high
    truth = truth_from_flags(*compare_range_with_bound(ends, operator, bound))
    # Missing codes compare as false; so does `other`, which has no rank.
    return pad_to_codes(truth, codec.size)


def places_of_literals(
    codec: Codec, literals: Sequence[Literal]
) -> list[tuple[int, int]]:
    """The code that holds each constant, and how many values that code has."""
    places = codec.literal_places
    result = []
    for literal in literals:
        # In Python True == 1, so the type is part of the key.
        key = type(literal.value), literal.value
        if key not in places:
            places[key] = _find_literal_place(codec, literal)
        result.append(places[key])
    return result


def _find_literal_place(codec: Codec, literal: Literal) -> tuple[int, int]:
    value = scale_value_of(codec.column, literal)
    if value is None:
        return WRONG_FAMILY_CODE, 0
    if not isinstance(codec.bins, BinEdges):
        return codes_by_label(codec).get(value, BEYOND_DOMAIN_CODE), 1
    assert isinstance(value, Fraction)
    code = _code_of_number(codec, value)
    if code is None:
        return BEYOND_DOMAIN_CODE, 0
    edges = codec.bins.edges
    return code, edges[code + 1] - edges[code]
