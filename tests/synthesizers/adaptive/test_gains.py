"""What a marginal gains from a part of the budget."""

from __future__ import annotations

import math

import numpy as np
import pytest

from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.synthesizers.adaptive.constants import BUDGET_PART_GRID
from understudy.synthesizers.adaptive.gains import (
    WHOLE_BUDGET_INDEX,
    gain_curve,
    prior_deviation,
)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_a_gain_is_concave_and_at_most_the_distance(power):
    expected = np.random.default_rng(0).gamma(0.5, 100.0, (20, 30))
    curve = gain_curve(expected, 3000.0, 40.0, power)
    assert curve[0] == 0
    assert curve[-1] <= 3000
    slopes = np.diff(curve) / np.diff(BUDGET_PART_GRID)
    assert np.all(np.diff(slopes) <= 1e-6 * slopes[0])


def test_the_gain_is_what_the_best_linear_estimate_gains():
    """Simulated: true counts around the expected ones, noisy ones around those."""
    draw = np.random.default_rng(1)
    expected, tau, noise = np.full(200_000, 50.0), 3.0, 30.0
    true = draw.normal(expected, tau * np.sqrt(expected))
    noisy = draw.normal(true, noise)
    shrinkage = tau**2 * 50 / (tau**2 * 50 + noise**2)
    before = np.abs(true - expected).sum()
    after = np.abs(expected + shrinkage * (noisy - expected) - true).sum()
    distance = MEAN_ABS_NORMAL * tau * math.sqrt(50) * expected.size
    curve = gain_curve(expected, distance, noise, 0.5)
    assert BUDGET_PART_GRID[WHOLE_BUDGET_INDEX] == pytest.approx(1)
    assert curve[WHOLE_BUDGET_INDEX] == pytest.approx(before - after, rel=0.02)
    assert prior_deviation(expected, distance) == pytest.approx(tau)


def test_exact_answers_gain_everything():
    assert gain_curve(np.full(5, 10.0), 20.0, 0.0, 0.5)[1:] == pytest.approx(20)


def test_a_hull_promises_no_more_than_the_whole_budget_buys():
    """Beyond the whole budget Laplace noise would gain more, but nobody can pay it."""
    expected = np.full(50, 10.0)
    plain = gain_curve(expected, 300.0, 200.0, 0.5)
    hull = gain_curve(expected, 300.0, 200.0, 1.0)
    assert hull[WHOLE_BUDGET_INDEX] == pytest.approx(plain[WHOLE_BUDGET_INDEX])
    assert np.all(hull[WHOLE_BUDGET_INDEX:] == hull[WHOLE_BUDGET_INDEX])
