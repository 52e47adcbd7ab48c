"""Far tails: estimated as a whole, so that no rows of noise are left far out."""

import math

import numpy as np
import pytest

from understudy.models.estimates.tail_shape import fit_upper_tail

EDGES = np.array([0, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 8192, 32768, 100_000.0])
SIGMA = 12.0
RUNS = 400


def lognormal_counts(rows: int, sigma: float) -> np.ndarray:
    below = [math.erfc(-(math.log(x / 54) / sigma) / 2**0.5) / 2 for x in EDGES[1:]]
    return rows * np.diff([0.0, *below])


def pareto_counts(rows: int, exponent: float) -> np.ndarray:
    return rows * -np.diff(np.minimum((EDGES + 1e-9) / 8, 1e9).clip(1) ** -exponent)


def tail_rows(counts: np.ndarray, rng: np.random.Generator, beyond: float) -> float:
    """Rows that a fit to noisy counts expects beyond a value; those that are measured
    where nothing is fitted, none below zero.
    """
    noisy = counts + rng.normal(0, SIGMA, counts.size)
    estimate = np.maximum(noisy, 0)
    tail = fit_upper_tail(EDGES, noisy, np.full(counts.size, SIGMA**2))
    if tail is not None:
        estimate[tail.first :] = tail.law.counts(EDGES[tail.first :])
    return float(estimate[EDGES[:-1] >= beyond].sum())


@pytest.mark.parametrize(
    "counts",
    [
        lognormal_counts(3000, 1.0),
        lognormal_counts(3000, 1.5),
        lognormal_counts(1500, 1.5),
        pareto_counts(3000, 1.5),
    ],
    ids=["lognormal", "wide", "few", "pareto"],
)
def test_hardly_a_row_of_noise_is_left_far_out(counts):
    """Non-negative counts alone leave 0.4 σ a bin, five rows in each of three bins."""
    rng = np.random.default_rng(1)
    fitted = np.mean([tail_rows(counts, rng, 2048) for _ in range(RUNS)])
    true = counts[EDGES[:-1] >= 2048].sum()
    assert abs(fitted - true) < 0.4 * SIGMA


def test_a_value_far_out_that_exceeds_its_noise_stays():
    """A code such as 99,999 is no tail: what lies beyond it would be."""
    counts = lognormal_counts(3000, 1.0)
    counts[-1] = 5 * SIGMA
    assert fit_upper_tail(EDGES, counts, np.full(counts.size, SIGMA**2)) is None


def test_more_rows_than_any_smooth_tail_has_are_left_as_measured():
    """Six bins that each nearly exceed their noise are no noise together."""
    counts = np.array([900.0, 500, 200, 60, *[3.4 * SIGMA] * 8])
    counts[4:6] = 0
    assert fit_upper_tail(EDGES, counts, np.full(counts.size, SIGMA**2)) is None


@pytest.mark.parametrize("counts", [[500] * 12, [0] * 12, [0] * 11 + [9000]])
def test_without_a_tail_nothing_is_estimated(counts):
    noisy = np.array(counts, np.float64)
    assert fit_upper_tail(EDGES, noisy, np.full(noisy.size, SIGMA**2)) is None


def test_a_short_end_is_no_tail():
    """Ages up to 85 in a range up to 120: noise there moves nothing."""
    edges = np.arange(0.0, 125, 5)
    noisy = np.where(edges[:-1] < 85, 100.0, 3.0)
    assert fit_upper_tail(edges, noisy, np.full(noisy.size, 25.0)) is None
