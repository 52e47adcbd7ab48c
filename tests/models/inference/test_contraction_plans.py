"""Plans for products and sums of tables: right whatever the axes, and no larger on the
way than they have to be.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from understudy.models.inference.contraction_plans import (
    ProductPlan,
    SumPlan,
    TableLayout,
    axes_of_mask,
)


@st.composite
def tables(draw):
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    axes = draw(st.permutations(range(len(lengths))))
    scopes = draw(
        st.lists(st.integers(0, 2 ** len(lengths) - 1), min_size=1, max_size=7)
    )
    return lengths, axes, scopes, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def laid(values, lengths, scope, axes):
    """A factor spread out over a table's own axes."""
    return values.reshape(
        [n if scope >> i & 1 else 1 for i, n in enumerate(lengths)]
    ).transpose(axes)


@given(tables(), st.data())
def test_a_product_is_that_of_all_factors_that_are_there(table, data):
    lengths, axes, scopes, rng = table
    factors = [
        rng.random([lengths[i] for i in axes_of_mask(scope)]) for scope in scopes
    ]
    there = data.draw(
        st.lists(st.booleans(), min_size=len(scopes), max_size=len(scopes))
    )
    truth = np.ones([lengths[i] for i in axes])
    for scope, factor, is_there in zip(scopes, factors, there, strict=True):
        truth = truth * laid(factor, lengths, scope, axes) if is_there else truth
    given_ = [
        factor.copy() if is_there else None
        for factor, is_there in zip(factors, there, strict=True)
    ]
    found = ProductPlan(TableLayout(lengths, axes), scopes)(
        given_, [True] * len(scopes)
    )
    if not any(there):
        assert found is None
        return
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, truth, rtol=1e-12)


@given(tables())
def test_sums_are_those_over_all_other_axes(table):
    lengths, axes, scopes, rng = table
    values = rng.random(lengths)
    sums = SumPlan(TableLayout(lengths, axes), scopes)
    found = sums(
        np.ascontiguousarray(values.transpose(axes)), tuple(range(len(scopes)))
    )
    for scope, sum_ in zip(scopes, found, strict=True):
        truth = values.sum(
            axis=tuple(i for i in range(len(lengths)) if not scope >> i & 1)
        )
        np.testing.assert_allclose(sum_, truth, rtol=1e-12)


def test_two_factors_make_the_whole_table_once():
    """Everything that fits into one of the two is multiplied into it first."""
    lengths = (2, 9, 20, 32)
    scopes = [0b0011, 0b1100, 0b1001, 0b0101, 0b1110, 0b1101]
    plan = ProductPlan(TableLayout(lengths, range(4)), scopes)._plan_steps(
        tuple(range(6))
    )
    stack, sizes = [], []
    for step in plan:
        if step >= 0:
            stack.append(scopes[step])
            continue
        stack.append(stack.pop() | stack.pop())
        sizes.append(math.prod(lengths[i] for i in axes_of_mask(stack[-1])))
    assert stack == [0b1111]
    assert sizes.count(math.prod(lengths)) == 2


def test_axes_that_nobody_else_wants_are_summed_in_one_call():
    lone, shared = (
        SumPlan(TableLayout((2, 3, 4, 5), range(4)), [0b0001]),
        SumPlan(TableLayout((2, 3, 4, 5), range(4)), [0b0001, 0b0110]),
    )
    assert [result for _, _, result in lone._plan_steps([0b0001])] == [0b0001]
    # What the second scope needs on the way is kept where it is wanted.
    assert [result for _, _, result in shared._plan_steps([0b0110, 0b0001])][
        -1
    ] == 0b0001
