"""Far marginals: joined tables against einsum, pairs and triples against brute force,
and the guard.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.brute_force import brute
from understudy.errors import Refused
from understudy.models.inference import elimination
from understudy.models.inference.calibrated_tree import Beliefs, sum_to_clique
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.elimination import (
    eliminate_to_clique,
    multiply_and_sum,
    pair_marginals,
)
from understudy.models.inference.junction_tree import JunctionTree

SIZES = dict(zip("abcdef", (2, 3, 4, 2, 3, 2), strict=True))


@given(
    left=st.lists(st.sampled_from("abcd"), unique=True, max_size=4),
    right=st.lists(st.sampled_from("abcd"), unique=True, max_size=4),
    keep=st.sets(st.sampled_from("abcd")),
    seed=st.integers(0, 2**32 - 1),
)
def test_joining_is_multiplying_and_summing(left, right, keep, seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.random([SIZES[n] for n in names]) for names in (left, right))
    found, names = multiply_and_sum(a, tuple(left), b, tuple(right), keep)
    assert set(names) == keep & {*left, *right}
    truth = np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(names)}", a, b)
    np.testing.assert_allclose(found, truth)


def chain(seed: int = 0) -> tuple[Beliefs, np.ndarray]:
    """Six columns in a chain of triples and pairs, and the whole distribution."""
    cliques = [("a", "b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("b", "c", "d")]
    rng = np.random.default_rng(seed)
    potentials = {c: rng.normal(0, 1, [SIZES[n] for n in c]) for c in cliques}
    tree = JunctionTree.of(cliques, SIZES)
    tables = Calibration(tree, cliques, SIZES).beliefs(potentials)
    return Beliefs(tree, tuple(tables)), brute(SIZES, [tuple("abcdef")], potentials)[0][
        tuple("abcdef")
    ]


def test_any_columns_are_brought_together():
    beliefs, joint = chain()
    for k in range(5):
        for clique in itertools.combinations("fedcba", k):
            np.testing.assert_allclose(
                eliminate_to_clique(beliefs, clique),
                sum_to_clique(joint, tuple("abcdef"), clique),
                atol=1e-14,
            )


def test_pairs_share_their_walks_and_come_out_the_same():
    beliefs, joint = chain(1)
    pairs = list(itertools.permutations("abcdef", 2))
    found = pair_marginals(beliefs, pairs)
    assert set(found) == set(pairs)
    for pair, table in found.items():
        np.testing.assert_allclose(
            table, sum_to_clique(joint, tuple("abcdef"), pair), atol=1e-14
        )


def test_parts_that_nothing_ties_together_are_independent():
    tree = JunctionTree.of([("a",), ("b",)], SIZES)
    tables = {("a",): np.array([0.25, 0.75]), ("b",): np.array([0.5, 0.25, 0.25])}
    beliefs = Beliefs(tree, tuple(tables[node] for node in tree.nodes))
    expected = np.outer(tables["b",], tables["a",])
    np.testing.assert_allclose(eliminate_to_clique(beliefs, ("b", "a")), expected)
    np.testing.assert_allclose(
        pair_marginals(beliefs, [("b", "a")])["b", "a"], expected
    )


def test_too_large_a_table_is_refused(monkeypatch):
    monkeypatch.setattr(elimination, "MAX_MARGINAL_CELLS", 10)
    with pytest.raises(Refused, match="count rows of a sample"):
        eliminate_to_clique(chain()[0], ("a", "f", "e"))
