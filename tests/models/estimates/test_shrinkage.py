"""Noisy marginals drawn towards independence."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.estimates.shrinkage import shrink_counts


def trial(seed, spread, variance=400.0):
    """Expected counts, true ones around them with variance spread · expected, and noisy
    ones.
    """
    rng = np.random.default_rng(seed)
    expected = rng.dirichlet(np.full(300, 0.3)) * 5_000
    true = expected + rng.normal(0, np.sqrt(spread * expected))
    return expected, true, true + rng.normal(0, np.sqrt(variance), 300), variance


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 1e5])
def test_shrunken_counts_are_nearer_to_the_truth(spread):
    """Mean squared error over fifty draws: never above that of the noisy counts, and
    far below where nothing differs.
    """
    before = after = 0.0
    for seed in range(50):
        expected, true, noisy, variance = trial(seed, spread)
        before += float(np.sum((noisy - true) ** 2))
        after += float(np.sum((shrink_counts(noisy, expected, variance) - true) ** 2))
    assert after < before
    if spread <= 1:
        assert after < 0.2 * before


def test_nothing_changes_without_noise_or_expectation():
    noisy = np.array([3.0, -1.0])
    assert shrink_counts(noisy, np.array([1.0, 1.0]), 0.0).tolist() == [3, -1]
    assert shrink_counts(noisy, np.zeros(2), 4.0).tolist() == [3, -1]
