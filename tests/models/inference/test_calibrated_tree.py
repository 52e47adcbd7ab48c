"""Node marginals: summed in any order of columns, conditioned on what a parent shares,
seen from any node.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from understudy.models.inference.calibrated_tree import (
    Beliefs,
    divide_or_zero,
    sum_to_clique,
)
from understudy.models.inference.junction_tree import JunctionTree

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}
JOINT = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(2, 3, 4)


def one_node() -> Beliefs:
    tree = JunctionTree.of([("a", "b", "c")], SIZES)
    assert tree.nodes == (("a", "b", "c"),)
    return Beliefs(tree, (JOINT,))


def test_every_clique_of_a_node_is_its_sum_whatever_was_asked_before():
    beliefs = one_node()
    for k in range(4):
        for clique in itertools.permutations("abc", k):
            np.testing.assert_allclose(
                beliefs.inside(0, clique), sum_to_clique(JOINT, ("a", "b", "c"), clique)
            )


def test_a_child_is_conditioned_on_what_it_shares():
    tree = JunctionTree.of([("a", "b"), ("b", "c")], SIZES)
    tables = [sum_to_clique(JOINT, ("a", "b", "c"), node) for node in tree.nodes]
    beliefs = Beliefs(tree, tuple(tables))
    child = 1 - tree.root
    found = beliefs.conditional(child, beliefs.new_columns(child))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(
        beliefs.conditional(tree.root, beliefs.new_columns(tree.root)).sum(), 1
    )


def test_another_root_keeps_the_tables():
    tree = JunctionTree.of([("a", "b"), ("b", "c")], SIZES)
    beliefs = Beliefs(
        tree, tuple(sum_to_clique(JOINT, ("a", "b", "c"), node) for node in tree.nodes)
    )
    other = beliefs.reroot_at(1 - tree.root)
    assert other.tree.root == 1 - tree.root
    assert other.tables is beliefs.tables
    assert beliefs.reroot_at(tree.root) is beliefs


def test_nothing_by_nothing_is_nothing():
    found = divide_or_zero(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[2.0], [0.0]]))
    assert found.tolist() == [[0.0, 0.5], [0.0, 0.0]]
    assert np.isfinite(found).all()


def test_a_column_that_is_not_there_is_an_error():
    with pytest.raises(ValueError):
        one_node().inside(0, ("d",))
