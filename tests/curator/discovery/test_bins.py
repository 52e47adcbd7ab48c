"""Bins and grain from noisy counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from understudy.curator.discovery.bins import (
    MAX_LEARNED_GRAIN,
    cut_column,
    find_bin_starts,
    join_grain,
)
from understudy.curator.discovery.tree_counts import CountTree, TreeLeaves, TreeLevel
from understudy.schema import Integer, codec_of


def leaves(counts, widths=None, variance=1.0):
    counts = np.asarray(counts, float)
    widths = np.ones(len(counts), np.int64) if widths is None else np.asarray(widths)
    return TreeLeaves(
        np.concatenate([[0], np.cumsum(widths)]),
        counts,
        np.full(len(counts), float(variance)),
    )


def test_bins_hold_about_as_many_rows_each():
    rng = np.random.default_rng(1)
    counts = np.bincount(
        np.minimum(rng.exponential(60, 20_000), 499).astype(int), minlength=500
    )
    starts = find_bin_starts(leaves(counts), most=20, least=10.0)
    assert len(starts) <= 20
    held = np.add.reduceat(counts, starts)
    assert held.max() < 3 * 20_000 / 20


def test_a_heavy_single_value_is_a_bin_of_its_own():
    counts = np.full(100, 10.0)
    counts[40] = 5000
    starts = find_bin_starts(leaves(counts), most=12, least=4.0).tolist()
    assert 40 in starts
    assert 41 in starts


def test_what_noise_could_have_made_is_no_bin():
    counts = np.zeros(100)
    counts[50] = 1000
    counts[10] = 3
    starts = find_bin_starts(leaves(counts), most=32, least=40.0)
    assert len(starts) <= 3 + 32 // 4


def test_fences_begin_bins():
    counts = np.full(100, 10.0)
    starts = find_bin_starts(
        leaves(counts), most=4, least=4.0, fences=[15, 65]
    ).tolist()
    assert {15, 65} <= set(starts)


def test_a_wide_tail_is_cut_finer_than_its_rows_say():
    starts = find_bin_starts(
        leaves([1000.0] * 20 + [60.0] * 40, [10] * 20 + [1000] * 40),
        most=24,
        least=50.0,
    )
    assert (starts >= 200).sum() >= 4


def test_even_counts_need_no_grain_and_a_peak_does():
    even = np.full(60, 30.0)
    assert len(join_grain(leaves(even, variance=25), np.array([0, 30]))[0]) == 2
    even[12] = 300
    begin, weight = join_grain(leaves(even, variance=25), np.array([0, 30]))
    assert weight[begin.tolist().index(12)] > 200


def test_grain_is_never_more_than_its_limit():
    rng = np.random.default_rng(2)
    begin, _ = join_grain(
        leaves(rng.integers(0, 10**6, 4000), variance=1e-9), np.array([0, 2000])
    )
    assert len(begin) <= MAX_LEARNED_GRAIN


@given(
    st.lists(st.integers(-200, 5000), min_size=2, max_size=60),
    st.integers(1, 40),
    st.floats(0.0, 500.0),
    st.lists(st.integers(-5, 500), max_size=4),
)
def test_whatever_the_noise_says_the_column_is_sound(counts, most, least, walls):
    cells = len(counts)
    starts = np.arange(cells) * 7
    tree = CountTree(
        (TreeLevel(starts, starts + 7, np.zeros(cells, np.int64), np.array(counts)),),
        100.0,
    )
    column = cut_column(
        Integer(name="x", min=0, max=7 * cells - 1),
        tree,
        most=most,
        least=least,
        fences=walls,
    )
    assert column.learned == ("bins",)
    inner = {w for w in walls if 0 < w < 7 * cells}
    assert inner <= set(column.bins)
    codec = codec_of(column)
    rng = np.random.default_rng(0)
    masses = np.zeros(codec.size)
    codes = np.repeat(np.arange(len(codec.bins)), 3)
    index = codec.decode(codes, rng, codec.bin_density(masses)).index
    assert (np.searchsorted(column.bins, index, side="right") - 1 == codes).all()


def test_counts_that_cancel_out_but_for_rounding_are_an_empty_bin():
    """0.1 + 0.2 − 0.3 is above zero by a rounding error: nobody is there, and no
    share-out of it can be found.
    """
    leaves = TreeLeaves(np.arange(4), np.array([0.1, 0.2, -0.3]), np.full(3, 1e-9))
    starts, weights = join_grain(leaves, np.array([0]))
    assert starts[0] == 0
    assert not weights.any()


def test_a_column_has_its_bins_where_its_values_are():
    """Dates of 500 days in a range of eleven years: noise in the empty cells seemed to
    hold a quarter of the rows, and had more bins than they.
    """
    rng = np.random.default_rng(7)
    true = np.zeros(64)
    true[29:37] = 500
    begin = 64 * np.arange(64)
    column = Integer(name="x", min=0, max=64 * 64 - 1)
    inside = []
    for _ in range(20):
        counts = np.rint(true + rng.normal(0, 60, 64)).astype(np.int64)
        level = TreeLevel(begin, begin + 64, np.zeros(64, np.int64), counts)
        cut = cut_column(column, CountTree((level,), 3600.0), most=15, least=100.0)
        bins = np.array(cut.bins)
        inside.append(np.sum((bins >= 64 * 29) & (bins < 64 * 37)))
    assert np.median(inside) >= 8
