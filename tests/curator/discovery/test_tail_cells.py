"""Tails of a descent: cut where distances double, with the counts of a smooth law."""

import numpy as np

from understudy.curator.discovery.bins import cut_column
from understudy.curator.discovery.tail_cells import shape_tails
from understudy.curator.discovery.tree_counts import CountTree, TreeLevel
from understudy.schema import Integer


def level_of(counts: np.ndarray, width: int = 100, start: int = 0) -> TreeLevel:
    starts = start + width * np.arange(len(counts))
    return TreeLevel(starts, starts + width, np.zeros(len(counts), np.int64), counts)


def noisy_tree(rng: np.random.Generator, *, mirrored: bool = False) -> CountTree:
    """Rows that halve with every cell, and noise up to the end."""
    true = 4000 * 0.5 ** np.arange(64)
    counts = np.rint(true + rng.normal(0, 40, 64)).astype(np.int64)
    if mirrored:
        return CountTree((level_of(counts[::-1], start=-6400),), 1600.0)
    return CountTree((level_of(counts),), 1600.0)


def test_noise_beyond_the_values_holds_no_rows():
    """Without the law, sixty cells of noise seem to hold hundreds of rows."""
    rng = np.random.default_rng(1)
    shaped = [shape_tails(noisy_tree(rng), 4).leaves for _ in range(20)]
    far = [leaves.counts[leaves.edges[:-1] >= 2000].clip(0).sum() for leaves in shaped]
    assert np.median(far) < 1


def test_the_lower_tail_is_the_mirror_image():
    upper = shape_tails(noisy_tree(np.random.default_rng(2)), 4)
    lower = shape_tails(noisy_tree(np.random.default_rng(2), mirrored=True), 4)
    assert np.array_equal(lower.leaves.edges, -upper.leaves.edges[::-1])
    assert np.allclose(lower.leaves.counts, upper.leaves.counts[::-1])
    assert sorted(-f for f in lower.fences) == sorted(upper.fences)


def test_bins_of_a_tail_widen():
    """Each reaches at most four times as far as it begins, but for the last."""
    column = Integer(name="x", min=0, max=6399)
    cut = cut_column(column, noisy_tree(np.random.default_rng(3)), most=20, least=40.0)
    assert cut.bins is not None
    far = np.array(cut.bins[:-1])
    far = far[far >= 800]
    assert np.all(far[1:] <= 4 * far[:-1] + 4)
    assert len(far) < 8
