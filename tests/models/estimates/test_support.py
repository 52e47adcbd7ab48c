"""Codes that occur, by noisy counts."""

import numpy as np
import pytest

from understudy.models.estimates.support import (
    count_run_bins,
    find_supported_bins,
    find_supported_codes,
)

SIGMA, RUNS = 20.0, 400


def noisy_counts(exact, *, seed=3):
    rng = np.random.default_rng(seed)
    return exact + np.rint(rng.normal(0, SIGMA, (RUNS, len(exact))))


def test_bins_of_noise_at_the_ends_are_dropped():
    """Ages from 20 to 60 of 0 to 120. The runs next to the ages exceed the noise in
    about 3 % of runs; the seed is fixed.
    """
    exact = np.zeros(121)
    exact[20:61] = 150
    ends = [np.flatnonzero(find_supported_bins(c, SIGMA))[[0, -1]] for c in noisy_counts(exact)]  # fmt: skip
    first, last = np.array(ends).T
    assert (first <= 20).all()
    assert (last >= 60).all()
    assert (first == 20).mean() > 0.9
    assert (last == 60).mean() > 0.9


def test_a_thin_tail_is_kept_by_its_sum():
    """No bin of the tail stands out, but its twenty bins together hold 20 sigma."""
    exact = np.concatenate([[3000.0, 2000.0], np.full(20, SIGMA)])
    kept = [find_supported_bins(c, SIGMA).sum() for c in noisy_counts(exact)]
    assert np.mean(kept) > 15


def test_where_no_value_stands_out_its_neighbours_help():
    """1,000 rows on 121 values: single counts are below their noise."""
    exact = np.zeros(121)
    exact[20:70] = 20
    masks = np.array([find_supported_bins(c, SIGMA) for c in noisy_counts(exact)])
    assert masks[:, 40].all()
    assert masks[:, -20:].mean() < 0.2


def test_nothing_that_stands_out_rules_nothing_out():
    assert find_supported_bins(np.array([3.0, -2.0, 9.0]), SIGMA).all()
    assert find_supported_codes(np.array([1.0, 2.0]), SIGMA, bins=0, is_ordered=False).all()  # fmt: skip


@pytest.mark.parametrize("count", [0.0, 400.0])
def test_blanks_need_evidence(count):
    exact = np.array([900.0, 700.0, count])
    found = [find_supported_codes(c, SIGMA, bins=2, is_ordered=True) for c in noisy_counts(exact)]  # fmt: skip
    assert np.mean([codes[:2].all() for codes in found]) == 1
    kept = np.mean([codes[2] for codes in found])
    assert kept == 1 if count else kept < 0.03


def test_runs_are_as_long_as_they_may_be():
    counts = np.full(8, 4.0)
    assert count_run_bins(counts, 9.0) == 6
    assert count_run_bins(counts, 9.0, most=4) == 0
