"""Intervals cover, at every sample size; display is display."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from understudy.local.estimates import (
    FrequencyTable,
    binomial_interval,
    estimate_shares,
    norm_sub,
)
from understudy.local.support import SupportProbabilities

OUE_AT_ONE = SupportProbabilities(Fraction(1, 2), Fraction(269, 1000))


@pytest.mark.parametrize("n", [5, 60])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("fixed", [True, False])
def test_intervals_cover(n: int, share: float, fixed: bool) -> None:
    """Exactly, by the law of the number of supporting reports: for respondents drawn
    from a population, and for these respondents alone.
    """
    p, q = float(OUE_AT_ONE.p), float(OUE_AT_ONE.q)
    hits = np.arange(n + 1)
    if fixed:
        holders = round(share * n)
        law = np.convolve(
            stats.binom.pmf(np.arange(holders + 1), holders, p),
            stats.binom.pmf(np.arange(n - holders + 1), n - holders, q),
        )
        share = holders / n
    else:
        law = stats.binom.pmf(hits, n, q + share * (p - q))
    table = estimate_shares(tuple(map(str, hits)), hits, n, OUE_AT_ONE, 0.95)
    covers = (table.low <= share + 1e-12) & (share - 1e-12 <= table.high)
    assert law[covers].sum() >= 0.95


def test_a_wald_interval_would_not() -> None:
    """The check has teeth: the usual interval misses at n = 5."""
    hits = np.arange(6)
    rate = 0.1
    spread = 1.96 * np.sqrt(hits / 5 * (1 - hits / 5) / 5)
    covers = np.abs(hits / 5 - rate) <= spread
    assert stats.binom.pmf(hits, 5, rate)[covers].sum() < 0.95
    low, high = binomial_interval(hits, 5, 0.95)
    assert stats.binom.pmf(hits, 5, rate)[(low <= rate) & (rate <= high)].sum() >= 0.95


def test_norm_sub_is_the_nearest_distribution() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        raw = rng.normal(0.1, 0.2, 8)
        shown = norm_sub(raw)
        assert shown.min() >= 0
        assert shown.sum() == pytest.approx(1)
        others = rng.dirichlet(np.ones(8), 200)
        assert ((shown - raw) ** 2).sum() <= ((others - raw) ** 2).sum(axis=1).min()


def test_display_shares_are_the_nearest_that_could_be() -> None:
    """Of all values a distribution; of some of them anything that adds up to less."""
    for raw, is_whole, shown in (
        ([0.5, 0.2, -0.1], True, [19 / 30, 1 / 3, 1 / 30]),
        ([0.5, 0.2, -0.1], False, [0.5, 0.2, 0.0]),
        ([0.9, 0.5, -0.1], False, [0.7, 0.3, 0.0]),
    ):
        ends = np.array(raw)
        table = FrequencyTable(
            ("a", "b", "c"), ends, ends, ends, 0.95, 9, is_whole=is_whole
        )
        assert table.display_shares() == pytest.approx(shown)


def test_display_shares_of_large_values_are_biased() -> None:
    """Why they are for display: noise of many small values takes from large ones."""
    rng = np.random.default_rng(4)
    truth = np.concatenate([[0.3], np.full(700, 0.001)])
    raw = truth + rng.normal(0, 0.02, (200, 701))
    shown = np.array([norm_sub(row)[0] for row in raw])
    assert abs(raw[:, 0].mean() - 0.3) < 5 * 0.02 / 200**0.5
    assert shown.mean() < 0.28
