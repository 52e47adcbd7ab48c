"""Systematic sampling of many groups at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import surprising
from understudy.models.inference.calibrated_tree import Beliefs
from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.sampling import tree_rows
from understudy.models.sampling.tree_evidence import complete_tree
from understudy.models.sampling.tree_rows import (
    OFFSET_STRATA,
    _deal_codes,
    _stratified_offsets,
    drawing_order,
    sample_tree,
    shuffle_in_groups,
)

RNG = np.random.default_rng
BYTE = np.dtype(np.uint8)


@given(
    st.integers(1, 6), st.integers(1, 5), st.integers(0, 300), st.integers(0, 2**32 - 1)
)
def test_every_group_has_its_rounded_counts(groups, size, rows, seed):
    rng = RNG(seed)
    weights = rng.random((groups, size)) * (rng.random((groups, size)) < 0.7)
    weights[:, 0] += 1e-3
    members = rng.integers(0, groups, rows)
    codes = _deal_codes(weights, members, rng, BYTE)
    for group in range(groups):
        found = np.bincount(codes[members == group], minlength=size)
        expected = weights[group] / weights[group].sum() * found.sum()
        assert np.all(np.abs(found - expected) < 1 + 1e-6)
        assert not np.any(found[weights[group] == 0])


def test_blocks_make_no_difference_to_the_counts(monkeypatch):
    members = np.repeat(np.arange(50), 4)
    weights = np.full((50, 4), 0.25)
    monkeypatch.setattr(tree_rows, "SAMPLING_BLOCK_CELLS", 8)
    codes = _deal_codes(weights, members, RNG(0), BYTE)
    assert np.all(np.bincount(members * 4 + codes) == 1)


def test_groups_are_gathered_in_random_order():
    """The first of each group is any of its rows equally often."""
    members = np.tile([1, 0], 10)
    firsts = np.zeros(20, int)
    for seed in range(2000):
        order = shuffle_in_groups(members, 2, RNG(seed))
        assert np.array_equal(members[order], np.repeat([0, 1], 10))
        firsts[order[[0, 10]]] += 1
    assert not any(surprising(int(hits), 2000, 0.1, tests=20) for hits in firsts)


def test_more_rows_than_a_sort_can_hold_are_refused():
    with pytest.raises(ValueError, match="chunks"):
        shuffle_in_groups(np.zeros(2**10, np.int64), 2**45, RNG(0))


def test_neighbouring_offsets_share_out_the_unit_interval():
    offsets = _stratified_offsets(3 * OFFSET_STRATA + 5, RNG(0))
    assert offsets.size == 3 * OFFSET_STRATA + 5
    for block in range(3):
        here = offsets[block * OFFSET_STRATA : (block + 1) * OFFSET_STRATA]
        assert sorted((here * OFFSET_STRATA).astype(int)) == list(range(OFFSET_STRATA))


def test_columns_come_root_first():
    sizes = {"a": 2, "b": 3, "c": 4}
    tree = JunctionTree.of([("a", "b"), ("b", "c")], sizes)
    beliefs = Beliefs(
        tree,
        tuple(
            np.full([sizes[n] for n in node], 1 / tree.size(node))
            for node in tree.nodes
        ),
    )
    assert drawing_order(beliefs) == ("b", "c", "a")
    codes = sample_tree(beliefs, 24, RNG(0), dict.fromkeys(sizes, BYTE))
    assert tuple(codes) == ("b", "c", "a")
    assert np.all(np.bincount(codes["b"].astype(int) * 4 + codes["c"]) == 2)


def test_rows_without_mass_are_pointed_out():
    tree = JunctionTree.of([("a", "b")], {"a": 2, "b": 2})
    beliefs = Beliefs(tree, (np.array([[0.5, 0.0], [0.25, 0.25]]),))
    given_codes = {"a": np.array([0, 0, 1]), "b": np.array([0, 1, 1])}
    _, lost = complete_tree(beliefs, given_codes, 3, RNG(0), dict.fromkeys("ab", BYTE))
    assert lost.tolist() == [False, True, False]
