"""Message passing in logarithms: nothing underflows, minus infinity is a number like
any other.
"""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.inference.log_calibration import (
    align_axes,
    log_beliefs,
    log_marginals,
    logsumexp_to_clique,
)

NEVER = -np.inf


def test_axes_are_put_where_the_node_has_them():
    values = np.arange(6.0).reshape(2, 3)
    found = align_axes(values, ("b", "a"), ("a", "z", "b"))
    assert found.shape == (3, 1, 2)
    assert np.array_equal(found[:, 0, :], values.T)


def test_sums_of_what_cannot_be_are_minus_infinity():
    values = np.array([[NEVER, NEVER], [0.0, NEVER]])
    assert logsumexp_to_clique(values, ("a", "b"), ("a",)).tolist() == [NEVER, 0.0]
    assert logsumexp_to_clique(values, ("a", "b"), ()).item() == 0.0


def test_sums_far_beyond_any_float():
    values = np.array([[5000.0, 5000.0], [-5000.0, -5000.0]])
    np.testing.assert_allclose(
        logsumexp_to_clique(values, ("a", "b"), ("a",)),
        [5000 + np.log(2), -5000 + np.log(2)],
    )


def test_nodes_agree_on_log_z():
    sizes = {"a": 2, "b": 3, "c": 2}
    tree = JunctionTree.of([("a", "b"), ("b", "c")], sizes)
    rng = np.random.default_rng(0)
    placed = [
        (i, node, rng.normal(0, 300, [sizes[n] for n in node]))
        for i, node in enumerate(tree.nodes)
    ]
    masses = [
        float(logsumexp_to_clique(belief, node, ()))
        for belief, node in zip(log_beliefs(tree, placed), tree.nodes, strict=True)
    ]
    assert masses[0] == pytest.approx(masses[1])


def test_a_world_in_which_nothing_can_be():
    tree = JunctionTree.of([("a",)], {"a": 2})
    found, log_z = log_marginals(
        tree, {("a",): 0}, [(0, ("a",), np.array([NEVER, NEVER]))]
    )
    assert log_z == NEVER
    assert found["a",].tolist() == [0.0, 0.0]


def test_no_columns_have_a_log_z_too():
    found, log_z = log_marginals(
        JunctionTree.of([], {}), {(): 0}, [(0, (), np.array(2.5))]
    )
    assert log_z == 2.5
    assert found[()].item() == 1.0
