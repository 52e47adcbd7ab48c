"""The mixing distribution that makes many observations likeliest."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.fitting.npmle import (
    MixingPrior,
    fit_mixing_weights,
    posterior_weights,
)

GRID = np.geomspace(0.1, 100.0, 25)


def log_likelihoods(draws: np.ndarray) -> np.ndarray:
    """Of normal numbers, under every variance of the grid."""
    return -(np.log(GRID) + draws[:, None] ** 2 / GRID) / 2


def objective(logs: np.ndarray, weights: np.ndarray, prior: MixingPrior) -> float:
    mixed = np.exp(logs) @ weights
    pull = prior.observations * prior.weights @ np.log(weights)
    return float(np.log(mixed).sum() + pull)


def test_a_mixture_of_two_variances_is_found():
    rng = np.random.default_rng(1)
    deviation = np.where(np.arange(40_000) % 4 == 0, 8.0, 1.0)
    logs = log_likelihoods(rng.normal(0.0, deviation))
    weights = fit_mixing_weights(logs, MixingPrior.uniform(GRID.size, 1.0, 300))
    assert weights.sum() == pytest.approx(1)
    assert weights[GRID > 8].sum() == pytest.approx(0.25, abs=0.02)
    # An observation far out belongs to the wide component, one at zero to the narrow.
    far, near = posterior_weights(log_likelihoods(np.array([12.0, 0.0])), weights)
    assert far @ GRID > 40
    assert near @ GRID < 5


def test_every_round_raises_the_objective():
    logs = log_likelihoods(np.random.default_rng(2).normal(0.0, 3.0, 50))
    values = []
    for rounds in range(12):
        prior = MixingPrior.uniform(GRID.size, 0.5, rounds)
        values.append(objective(logs, fit_mixing_weights(logs, prior), prior))
    assert np.all(np.diff(values) > 0)


def test_without_information_the_prior_stays():
    prior = MixingPrior(np.arange(1, 6) / 15, 10.0, 40)
    flat = np.zeros((7, 5))
    assert fit_mixing_weights(flat, prior) == pytest.approx(prior.weights)


def test_hopeless_likelihoods_do_not_underflow():
    logs = log_likelihoods(np.array([1e4, 2e4]))
    weights = fit_mixing_weights(logs, MixingPrior.uniform(GRID.size, 1.0, 20))
    assert np.all(np.isfinite(weights))
    assert weights.argmax() == GRID.size - 1
