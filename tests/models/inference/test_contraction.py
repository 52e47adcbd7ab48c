"""Sums of products over a node: by groups and matrix products, against einsum over the
whole node.
"""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.models.inference import contraction
from understudy.models.inference.axis_sums import sum_over_axis
from understudy.models.inference.contraction import (
    Contraction,
    axes_of_mask,
    split_axes,
)

LETTERS = "abcdefghij"


@st.composite
def nodes(draw):
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    scope = st.integers(0, 2 ** len(lengths) - 1)
    small = scope.filter(lambda mask: mask.bit_count() <= 3)
    scopes = draw(
        st.lists(st.one_of(small, small, small, scope), min_size=0, max_size=8)
    )
    missing = draw(st.lists(st.booleans(), min_size=len(scopes), max_size=len(scopes)))
    return tuple(lengths), tuple(scopes), missing, draw(st.integers(0, 2**32 - 1))


def whole(lengths, scopes, factors):
    """The node laid out, by einsum."""
    joint = np.ones(lengths)
    for scope, factor in zip(scopes, factors, strict=True):
        if factor is not None:
            joint = joint * factor.reshape(
                [n if scope >> i & 1 else 1 for i, n in enumerate(lengths)]
            )
    return joint


@pytest.mark.parametrize("small", [0, contraction.MAX_WHOLE_NODE_CELLS])
@given(node=nodes())
def test_marginals_and_the_joint_are_those_of_the_whole_node(node, small):
    lengths, scopes, missing, seed = node
    rng = np.random.default_rng(seed)
    factors = [
        None if no else rng.random([lengths[i] for i in axes_of_mask(s)])
        for s, no in zip(scopes, missing, strict=True)
    ]
    with (
        patch.object(contraction, "MAX_WHOLE_NODE_CELLS", small),
        patch.multiple(contraction, BATCH_COST=0.0, SPLIT_COST=0.0),
    ):
        plan = Contraction(lengths, scopes)
    joint = whole(lengths, scopes, factors)
    tables = plan.tables(
        [None if f is None else f.copy() for f in factors], [True] * len(factors)
    )
    for scope, found in zip(scopes, plan.marginals(tables), strict=True):
        truth = joint.sum(
            axis=tuple(i for i in range(len(lengths)) if not scope >> i & 1)
        )
        np.testing.assert_allclose(found, truth, rtol=1e-10)
    np.testing.assert_allclose(plan.joint(tables), joint, rtol=1e-10)
    assert plan.mass(tables) == pytest.approx(joint.sum())


@pytest.mark.parametrize("small", [0, contraction.MAX_WHOLE_NODE_CELLS])
@given(node=nodes())
def test_a_factor_that_comes_late_counts_like_the_others(node, small):
    lengths, scopes, _, seed = node
    if not scopes:
        return
    rng = np.random.default_rng(seed)
    factors = [rng.random([lengths[i] for i in axes_of_mask(s)]) for s in scopes]
    with (
        patch.object(contraction, "MAX_WHOLE_NODE_CELLS", small),
        patch.multiple(contraction, BATCH_COST=0.0, SPLIT_COST=0.0),
    ):
        plan = Contraction(lengths, scopes)
    tables = plan.tables([*factors[:-1], None])
    last = len(scopes) - 1
    tables[plan.place[last]] = plan.multiply_into(
        tables[plan.place[last]], last, factors[-1]
    )
    np.testing.assert_allclose(
        plan.joint(tables), whole(lengths, scopes, factors), rtol=1e-10
    )


def test_factors_that_are_not_spare_stay_as_they_are():
    """A message is needed again on the way down; only what nobody needs may be written
    over.
    """
    first, second = np.full((2, 3), 2.0), np.full((2, 3), 3.0)
    plan = Contraction((2, 3), (0b11, 0b11))
    plan.tables([first, second], [False, False])
    assert np.all(first == 2)
    assert np.all(second == 3)


@given(
    lengths=st.lists(st.integers(2, 40), min_size=1, max_size=10),
    data=st.data(),
)
def test_every_scope_misses_a_group(lengths, data):
    scopes = data.draw(st.lists(st.integers(0, 2 ** len(lengths) - 1), max_size=12))
    z, *groups = split_axes(lengths, scopes)
    assert z + sum(groups) == 2 ** len(lengths) - 1
    for scope in scopes:
        assert any(scope & group == 0 for group in groups)


def test_pairs_split_a_large_node_into_three():
    """Ten pairs over five columns: three tables, together below a twentieth of the
    node.
    """
    lengths = (7, 15, 16, 32, 42)
    plan = Contraction(lengths, [1 << i | 1 << j for i in range(5) for j in range(i)])
    assert sum(math.prod(shape) for shape in plan.shapes) < math.prod(lengths) / 20


@pytest.mark.parametrize(
    "shape", [(3, 4, 1), (1, 4, 3), (9, 4, 3), (9, 4, 40), (2, 4, 3)]
)
def test_an_axis_is_summed_whatever_stands_around_it(shape):
    values = np.random.default_rng(0).random(shape)
    np.testing.assert_allclose(
        sum_over_axis(values, shape[0], shape[1]).reshape(shape[0], shape[2]),
        values.sum(axis=1),
    )
