"""Three-valued truth of a predicate on codes.

A bin may hold values for which a predicate is true and others for which it is false.
So on codes an answer is FALSE (of every value of the code), TRUE (of every value) or
MAYBE. Answers are combined as Kleene did: `and` is the smaller, `or` the larger, `not`
the mirror image (Kleene, "Introduction to Metamathematics", 1952).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.schema.columns.lattice import Lattice
from understudy.schema.predicates.ast import Operator
from understudy.schema.predicates.comparable import label_order_of, scale_step_of

# The order matters: `and` is np.minimum, `or` is np.maximum, `not` is TRUE - truth.
KLEENE_FALSE, KLEENE_MAYBE, KLEENE_TRUE = 0, 1, 2

TruthArray = NDArray[np.int8]
CodeFlags = NDArray[np.bool_]


def truth_from_flags(surely: CodeFlags, possibly: CodeFlags) -> TruthArray:
    """TRUE where a predicate surely holds, MAYBE where it only possibly does.

    >>> truth_from_flags(np.array([True, False]), np.array([True, True])).tolist()
    [2, 1]
    """
    # What holds surely holds possibly too, so the sum is 0, 1 or 2.
    return surely.astype(np.int8) + possibly.astype(np.int8)


def is_value_code(codec: Codec) -> CodeFlags:
    """Which codes are values; `other` is one, missing codes are not."""
    return codec.is_value


def undecided_truth(codec: Codec) -> TruthArray:
    """MAYBE for every value: what is known if a constant belongs to another family, as
    it may after a type was learned.
    """
    valued = is_value_code(codec)
    return truth_from_flags(np.zeros_like(valued), valued)


def pad_to_codes(table: NDArray[Any], size: int) -> NDArray[Any]:
    """A table over the first codes, with 0 for the codes behind them."""
    # np.pad would turn a table of Python's own numbers into floats.
    padded = np.zeros(size, table.dtype)
    padded[: len(table)] = table
    return padded


@dataclass(frozen=True)
class CodeRanges:
    """The first and the last value of each code of an ordered column, as whole
    multiples of `unit` on the scale of its family. Codes behind the first `ranks` have
    no place in the order, and 0 here.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    ranks: int
    unit: Fraction

    def __len__(self) -> int:
        return self.ranks

    @property
    def low(self) -> NDArray[np.int64]:
        """The first value of each code that has a place in the order."""
        return self.first[: self.ranks]

    @property
    def high(self) -> NDArray[np.int64]:
        """The last value of each such code."""
        return self.last[: self.ranks]

    @property
    def magnitude(self) -> int:
        """The largest distance of an end from 0, in units."""
        if not self.ranks:
            return 0
        # Codes are in order, so the extremes stand at the ends.
        return max(abs(int(self.low[0])), abs(int(self.high[-1])))


def code_ranges(codec: Codec) -> CodeRanges | None:
    """The ranges of a column's codes; None if its values have no order.

    >>> from understudy.schema import Integer, codec_of
    >>> code_ranges(codec_of(Integer(name="age", min=0, max=9, bins=(0, 5, 10)))).high.tolist()
    [4, 9]
    """
    column = codec.column
    if isinstance(codec.bins, BinEdges):
        assert isinstance(column, Lattice)
        unit = scale_step_of(column)
        return CodeRanges(
            codec.first_indices, codec.last_indices, len(codec.bins), unit
        )
    order = label_order_of(column)
    if not order:
        return None
    # An ordered label is a range of one value: its rank.
    return CodeRanges(codec.first_indices, codec.last_indices, len(order), Fraction(1))


Range = tuple[NDArray[Any], NDArray[Any]]
"""The smallest and the largest value of each entry."""


def compare_range_with_bound(
    values: Range, operator: Operator, bound: int
) -> tuple[CodeFlags, CodeFlags]:
    """Whether all values of a range, and whether any of them, compare so with a bound."""
    edge = np.asarray(bound)
    return compare_ranges(values, operator, (edge, edge))


def compare_ranges(
    left: Range, operator: Operator, right: Range
) -> tuple[CodeFlags, CodeFlags]:
    """Whether all pairs of values of two ranges, and whether any pair, compare so.

    >>> one, two = (np.array([0]), np.array([4])), (np.array([4]), np.array([9]))
    >>> [bool(flag[0]) for flag in compare_ranges(one, Operator.LESS, two)]
    [False, True]
    """
    (low1, high1), (low2, high2) = left, right
    match operator:
        case Operator.LESS:
            surely, possibly = high1 < low2, low1 < high2
        case Operator.AT_MOST:
            surely, possibly = high1 <= low2, low1 <= high2
        case Operator.MORE:
            surely, possibly = low1 > high2, high1 > low2
        case Operator.AT_LEAST:
            surely, possibly = low1 >= high2, high1 >= low2
        case _:
            return _compare_equality(left, right, equal=operator is Operator.EQUAL)
    return np.asarray(surely, np.bool_), np.asarray(possibly, np.bool_)


def _compare_equality(
    left: Range, right: Range, *, equal: bool
) -> tuple[CodeFlags, CodeFlags]:
    (low1, high1), (low2, high2) = left, right
    # Two ranges are surely equal only if both hold one value, and the same.
    single = (low1 == high1) & (low2 == high2) & (low1 == low2)
    overlap = (low1 <= high2) & (low2 <= high1)
    # Comparisons of Python's own numbers give arrays of objects; ~ needs truth values.
    surely = np.asarray(single, np.bool_)
    possibly = np.asarray(overlap, np.bool_)
    return (surely, possibly) if equal else (~possibly, ~surely)
