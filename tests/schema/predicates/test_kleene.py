"""Three-valued truth on ranges: what all pairs of values say, and what any pair says."""

from __future__ import annotations

import operator as ops
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.schema.predicates.ast import Operator
from understudy.schema.predicates.kleene import (
    compare_range_with_bound,
    compare_ranges,
    truth_from_flags,
)

COMPARE = {
    Operator.EQUAL: ops.eq,
    Operator.UNEQUAL: ops.ne,
    Operator.LESS: ops.lt,
    Operator.AT_MOST: ops.le,
    Operator.MORE: ops.gt,
    Operator.AT_LEAST: ops.ge,
}
RANGES = [(low, high) for low, high in product(range(4), repeat=2) if low <= high]


def values(ends):
    return range(ends[0], ends[1] + 1)


@pytest.mark.parametrize("dtype", [np.int64, object])
@pytest.mark.parametrize("operator", Operator)
def test_ranges_compare_as_all_their_values_do(operator, dtype):
    pairs = list(product(RANGES, RANGES))
    ends = np.array([[*left, *right] for left, right in pairs], dtype).T
    surely, possibly = compare_ranges((ends[0], ends[1]), operator, (ends[2], ends[3]))
    for at, (left, right) in enumerate(pairs):
        answers = [
            COMPARE[operator](x, y) for x, y in product(values(left), values(right))
        ]
        assert surely[at] == all(answers)
        assert possibly[at] == any(answers)


@pytest.mark.parametrize("operator", Operator)
def test_a_bound_is_a_range_of_one_value(operator):
    ends = np.array(RANGES, np.int64).T
    for bound in (-1, 0, 2, 5, 2**62 + 1):
        surely, possibly = compare_range_with_bound((ends[0], ends[1]), operator, bound)
        for at, found in enumerate(RANGES):
            answers = [COMPARE[operator](x, bound) for x in values(found)]
            assert (surely[at], possibly[at]) == (all(answers), any(answers))


@given(st.lists(st.booleans(), min_size=1), st.data())
def test_what_is_sure_is_possible(surely, data):
    possibly = [flag or data.draw(st.booleans()) for flag in surely]
    truth = truth_from_flags(np.array(surely), np.array(possibly))
    pairs = zip(surely, possibly, strict=True)
    assert truth.tolist() == [2 if s else int(p) for s, p in pairs]
