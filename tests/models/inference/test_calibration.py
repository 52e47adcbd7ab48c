"""Calibration against brute force over every row of a small world."""

from __future__ import annotations

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.models.brute_force import brute
from understudy.errors import Refused
from understudy.models.inference import contraction
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.inference.log_calibration import log_marginals

NAMES = "abcdef"


@st.composite
def worlds(draw, *, spread: float = 5.0, zeros: bool = False):
    """Sizes, cliques in any order of their columns, and potentials for some of them."""
    names = NAMES[: draw(st.integers(1, 6))]
    sizes = {name: draw(st.integers(1, 4)) for name in names}
    some = st.lists(st.sampled_from(names), min_size=0, max_size=4, unique=True).map(
        tuple
    )
    cliques = [
        *draw(st.lists(some, min_size=1, max_size=8, unique=True)),
        tuple(names[:1]),
    ]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    potentials = {}
    for clique in dict.fromkeys(cliques):
        if draw(st.booleans()):
            theta = rng.normal(0, spread, [sizes[name] for name in clique])
            if zeros:
                theta[rng.random(theta.shape) < 0.2] = -np.inf
            potentials[clique] = theta
    return sizes, cliques, potentials


def agree(world) -> None:
    sizes, cliques, potentials = world
    ready = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)
    truth, log_z = brute(sizes, cliques, potentials)
    if truth is None:
        with pytest.raises(Refused, match="no row possible"):
            ready.run(potentials)
        return
    found, found_log_z = ready.run(potentials)
    assert found_log_z == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    assert set(found) == set(cliques)
    for clique in cliques:
        assert found[clique].shape == truth[clique].shape
        np.testing.assert_allclose(found[clique], truth[clique], rtol=1e-8, atol=1e-12)
    for node, belief in zip(ready.tree.nodes, ready.beliefs(potentials), strict=True):
        np.testing.assert_allclose(
            belief,
            brute(sizes, [*cliques, node], potentials)[0][node],
            rtol=1e-8,
            atol=1e-12,
        )


@given(worlds())
def test_marginals_and_log_z_are_exact(world):
    agree(world)


@given(worlds())
def test_so_they_are_where_every_node_is_large(world):
    """Small nodes are worked on whole; this is the way of the large ones."""
    with (
        patch.object(contraction, "MAX_WHOLE_NODE_CELLS", 0),
        patch.multiple(contraction, BATCH_COST=0.0, SPLIT_COST=0.0),
    ):
        agree(world)


@given(worlds(zeros=True))
def test_logarithms_and_shares_agree(world):
    sizes, cliques, potentials = world
    ready = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)
    placed = [
        (ready.homes[clique], clique, theta) for clique, theta in potentials.items()
    ]
    slow, slow_log_z = log_marginals(ready.tree, ready.homes, placed)
    if np.isfinite(slow_log_z):
        found, log_z = ready.run(potentials)
        assert log_z == pytest.approx(slow_log_z, rel=1e-9, abs=1e-9)
        for clique in cliques:
            np.testing.assert_allclose(
                found[clique], slow[clique], rtol=1e-8, atol=1e-12
            )


@given(worlds(zeros=True))
def test_impossible_cells_are_exact_too(world):
    agree(world)


@pytest.mark.parametrize("spread", [60.0, 200.0, 2000.0])
@settings(max_examples=50)
@given(data=st.data())
def test_potentials_beyond_any_float_are_exact_too(data, spread):
    agree(data.draw(worlds(spread=spread)))


def test_what_floats_cannot_hold_is_done_in_logarithms():
    """Two potentials that cancel: each alone says that the second code never is,
    together they say nothing.
    """
    steep = np.array([0.0, -900.0])
    sizes = {"a": 2, "b": 2}
    cliques = [("a",), ("a", "b")]
    ready = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes)
    found, log_z = ready.run(
        {("a",): steep, ("a", "b"): np.array([[-1000.0, -1000.0], [-100.0, -100.0]])}
    )
    np.testing.assert_allclose(found["a",], [0.5, 0.5])
    assert log_z == pytest.approx(-1000 + np.log(4))


def test_a_chain_of_sixty_columns():
    """A chain whose neighbours agree with probability 3/4: so do any two neighbours in
    the result, and every column is even.
    """
    names = [f"x{i}" for i in range(60)]
    cliques = list(itertools.pairwise(names))
    sizes = dict.fromkeys(names, 2)
    theta = np.log(np.array([[3.0, 1.0], [1.0, 3.0]]))
    found, log_z = Calibration(JunctionTree.of(cliques, sizes), cliques, sizes).run(
        dict.fromkeys(cliques, theta)
    )
    assert log_z == pytest.approx(np.log(2) + 59 * np.log(4))
    for clique in cliques:
        np.testing.assert_allclose(found[clique], [[0.375, 0.125], [0.125, 0.375]])


def test_what_is_no_number_is_refused():
    ready = Calibration(JunctionTree.of([("a",)], {"a": 2}), [("a",)], {"a": 2})
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="no number"):
            ready.run({("a",): np.array([0.0, bad])})


def test_potentials_are_left_as_they_are():
    theta = {("a", "b"): np.arange(6.0).reshape(2, 3), ("b",): np.arange(3.0)}
    before = {clique: values.copy() for clique, values in theta.items()}
    sizes = {"a": 2, "b": 3}
    Calibration(JunctionTree.of(theta, sizes), theta, sizes).run(theta)
    assert all(np.array_equal(theta[clique], before[clique]) for clique in theta)


def test_a_clique_outside_the_tree_is_refused():
    tree = JunctionTree.of([("a", "b")], {"a": 2, "b": 2, "c": 2})
    with pytest.raises(ValueError, match="no node"):
        Calibration(tree, [("a", "c")], {"a": 2, "b": 2, "c": 2})


@pytest.mark.parametrize(("clique", "shape"), [(("a", "b"), (2, 2)), (("b",), (3,))])
def test_potentials_that_do_not_fit_are_refused(clique, shape):
    sizes = {"a": 2, "b": 3}
    ready = Calibration(JunctionTree.of([("a", "b")], sizes), [("a", "b")], sizes)
    with pytest.raises(ValueError, match=", ".join(clique)):
        ready.run({clique: np.zeros(shape)})
