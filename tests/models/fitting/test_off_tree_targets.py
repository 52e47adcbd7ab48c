"""What measured marginals beyond a tree become."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from kit.models.build import listed, measured, schema_of
from understudy.accounting import Law
from understudy.measurements import Centring
from understudy.models import RefinedTreeModel, TreeModel
from understudy.models.fitting.off_tree_targets import add_target_marginals

SCHEMA = schema_of(2, 2, 2)
SINGLES = {
    ("a",): np.array([600.0, 400.0]),
    ("b",): np.array([500.0, 500.0]),
    ("c",): np.array([500.0, 500.0]),
}
TREE = TreeModel.from_marginals(SCHEMA, 1000.0, SINGLES)


def look(clique, values, scale=2):
    return measured(clique, values, scale=Fraction(scale), law=Law.DISCRETE_GAUSSIAN)


def test_a_tree_that_holds_everything_stays_a_tree():
    assert add_target_marginals(TREE, listed(look(("a",), [601, 398]))) is TREE


def test_a_clear_pair_is_believed_and_has_the_trees_columns():
    model = add_target_marginals(
        TREE, listed(look(("b", "a"), [[402, 101], [199, 300]]))
    )
    assert isinstance(model, RefinedTreeModel)
    found = model.marginal(("a", "b"))
    assert np.abs(found - [[400, 200], [100, 300]]).max() < 5
    assert np.allclose(found.sum(axis=1), [600, 400])
    assert np.allclose(found.sum(axis=0), [500, 500])


def test_noise_is_not_believed():
    model = add_target_marginals(
        TREE, listed(look(("a", "b"), [[350, 150], [310, 190]], scale=2000))
    )
    assert (
        np.abs(model.marginal(("a", "b")) - np.outer([600, 400], [0.5, 0.5])).max() < 5
    )


def test_a_triple_leans_to_its_pairs():
    pair = np.array([[400, 200], [100, 300]])
    half = np.stack([pair, pair], axis=2) // 2
    model = add_target_marginals(
        TREE, listed(look(("a", "b"), pair), look(("a", "b", "c"), half, scale=1000))
    )
    assert np.allclose(
        model.marginal(("a", "b", "c")).sum(axis=2),
        model.marginal(("a", "b")),
        rtol=1e-3,
    )
    assert np.abs(model.marginal(("a", "b", "c")) - half).max() < 5


def test_parity_is_seen_by_a_triple():
    even = np.indices((2, 2, 2)).sum(axis=0) % 2 == 0
    expected = 1000 * np.multiply.outer(np.outer([0.6, 0.4], [0.5, 0.5]), [0.5, 0.5])
    model = add_target_marginals(
        TREE,
        listed(
            look(("a", "b", "c"), (expected * np.where(even, 1.5, 0.5)).astype(int))
        ),
    )
    rows = model.sample(2000, np.random.default_rng(0))
    assert abs(np.mean((rows["a"] + rows["b"] + rows["c"]) % 2 == 0) - 0.75) < 0.02


def test_differences_are_believed_as_counts_are():
    """b is a column of two values: how a's two rows differ in it is all that was asked."""
    counts = np.array([[400, 200], [100, 300]])
    centred = (Centring(2), Centring(2))
    asked = Centring(2).matrix() @ counts @ Centring(2).matrix().T
    model = add_target_marginals(
        TREE,
        listed(
            measured(
                ("a", "b"),
                asked,
                scale=Fraction(2),
                law=Law.DISCRETE_GAUSSIAN,
                maps=centred,
            )
        ),
    )
    assert np.abs(model.marginal(("a", "b")) - counts).max() < 5


def test_no_rows_no_aims():
    nothing = TreeModel.from_potentials(SCHEMA, 0.0, [], {})
    assert (
        add_target_marginals(nothing, listed(look(("a", "b"), [[1, 0], [0, 0]])))
        is nothing
    )
