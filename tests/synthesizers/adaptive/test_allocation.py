"""Gains and the best split of a budget."""

from __future__ import annotations

import math

import numpy as np
import pytest

from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.synthesizers.adaptive.allocation import (
    BUDGET_PART_GRID,
    best_parts,
    gain_curve,
)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_a_gain_is_concave_and_at_most_the_distance(power):
    expected = np.random.default_rng(0).gamma(0.5, 100.0, (20, 30))
    curve = gain_curve(expected, 3000.0, 40.0, power)
    assert curve[0] == 0
    assert curve[-1] <= 3000
    slopes = np.diff(curve) / np.diff(BUDGET_PART_GRID)
    assert np.all(np.diff(slopes) <= 1e-6 * slopes[0])


def test_the_gain_is_what_the_best_linear_guess_gains():
    """Simulated: true counts around the expected ones, noisy ones around those."""
    draw = np.random.default_rng(1)
    expected, tau, noise = np.full(200_000, 50.0), 3.0, 30.0
    true = draw.normal(expected, tau * np.sqrt(expected))
    noisy = draw.normal(true, noise)
    belief = tau**2 * 50 / (tau**2 * 50 + noise**2)
    before, after = (
        np.abs(true - expected).sum(),
        np.abs(expected + belief * (noisy - expected) - true).sum(),
    )
    curve = gain_curve(
        expected, MEAN_ABS_NORMAL * tau * math.sqrt(50) * expected.size, noise, 0.5
    )
    assert curve[-1] == pytest.approx(before - after, rel=0.02)


def test_the_best_parts_beat_any_other():
    draw = np.random.default_rng(2)
    curves = [
        gain_curve(draw.gamma(0.5, 100.0, size), far, 60.0, 0.5)
        for size, far in ((20, 900), (400, 4000), (60, 50))
    ]
    weights = [1.0, 2.0, 1.0]
    parts, gains = best_parts(curves, weights)
    assert parts.sum() == pytest.approx(1)
    for _ in range(200):
        other = draw.dirichlet(np.ones(3))
        worth = sum(
            w * np.interp(p, BUDGET_PART_GRID, c)
            for p, c, w in zip(other, curves, weights, strict=True)
        )
        assert worth <= gains.sum() * (1 + 1e-3)


def test_no_distance_gains_nothing():
    curves = [gain_curve(np.full(5, 10.0), far, 5.0, 0.5) for far in (0.0, 0.0)]
    parts, gains = best_parts(curves, [1.0, 1.0])
    assert parts.sum() == pytest.approx(1)
    assert not gains.any()


def test_exact_answers_gain_everything():
    assert gain_curve(np.full(5, 10.0), 20.0, 0.0, 0.5)[1:] == pytest.approx(20)
