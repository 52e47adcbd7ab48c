"""A tree of noisy counts, and the cells it comes down to."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.curator.discovery.tree_counts import CountTree, TreeLevel


def grown(top, low, variance=1.0):
    """Cells of ten values each, every one of them cut into single values."""
    cells = len(top)
    starts = np.arange(cells) * 10
    singles = np.arange(cells * 10)
    return CountTree(
        (
            TreeLevel(starts, starts + 10, np.zeros(cells, np.int64), np.asarray(top)),
            TreeLevel(singles, singles + 1, singles // 10, np.asarray(low)),
        ),
        variance,
    )


def test_the_levels_agree_as_least_squares_says():
    rng = np.random.default_rng(2)
    top, low = rng.integers(50, 90, 3), rng.integers(0, 12, 30)
    design = np.vstack([np.kron(np.eye(3), np.ones((1, 10))), np.eye(30)])
    expected, *_ = np.linalg.lstsq(
        design, np.concatenate([top, low]).astype(float), rcond=None
    )
    assert np.allclose(grown(top, low).leaves().counts, expected)


def test_a_cell_that_was_not_cut_stays_as_it_is():
    starts = np.array([0, 10])
    tree = CountTree(
        (
            TreeLevel(starts, starts + 10, np.zeros(2, np.int64), np.array([100, 7])),
            TreeLevel(
                np.arange(10), np.arange(1, 11), np.zeros(10, np.int64), np.full(10, 10)
            ),
        ),
        4.0,
    )
    leaves = tree.leaves()
    assert leaves.edges.tolist() == [*range(11), 20]
    assert leaves.counts[-1] == 7


def test_noise_alone_is_smoothed_away():
    """Of 400 groups of cells that differ by noise alone, few are taken for uneven."""
    rng = np.random.default_rng(3)
    lows = 50 + np.rint(rng.normal(0, 3, (50, 80))).astype(int)
    # Every level has noise of its own: a sum of ten noisy cells has ten times as much.
    tops = 500 + np.rint(rng.normal(0, 3, (50, 8))).astype(int)
    trees = [grown(top, low, 9.0) for top, low in zip(tops, lows, strict=True)]
    kept = [len(tree.smooth().counts) for tree in trees]
    assert sum(kept) - 50 < 0.05 * 4000


@pytest.mark.parametrize("at", [0, 7, 9, 43, 79])
def test_a_peak_stays(at):
    rng = np.random.default_rng(4)
    low = 50 + np.rint(rng.normal(0, 3, 80)).astype(int)
    low[at] += 60
    smooth = grown(low.reshape(8, 10).sum(1), low, 9.0).smooth()
    i = int(np.searchsorted(smooth.edges, at))
    assert smooth.edges[i] == at
    assert smooth.widths[i] == 1
    assert abs(smooth.counts[i] - low[at]) < 15


def test_smoothing_keeps_the_sum():
    rng = np.random.default_rng(5)
    low = rng.poisson(20, 60)
    tree = grown(low.reshape(6, 10).sum(1), low, 2.0)
    assert tree.smooth().counts.sum() == pytest.approx(tree.leaves().counts.sum())
