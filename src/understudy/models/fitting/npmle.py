"""Nonparametric maximum likelihood of a mixing distribution on a grid.

Many observations each depend on a hidden value of their own: the prior variance of a
marginal, the relative variance of a cell, the shape of a column. The distribution of
those values is unknown, and all observations together estimate it (Laird,
"Nonparametric maximum likelihood estimation of a mixing distribution", 1978). On a grid
of g values it is a vector w of g weights that maximises

    Σ_i log Σ_k w_k·L_ik  +  a·Σ_k w⁰_k·log w_k

with L_ik the likelihood of observation i under value k. The second term is a Dirichlet
prior: w⁰, a distribution on the grid, counts as much as `a` observations. The problem
is concave in w, and each EM round increases it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.models.arrays import Array


@dataclass(frozen=True, eq=False)
class MixingPrior:
    """What is assumed of a mixing distribution before any observation.

    `weights` are those of the grid's values and sum to one; they count as
    `observations` observations. `rounds` is the number of EM rounds.
    """

    weights: Array
    observations: float
    rounds: int

    @classmethod
    def uniform(cls, size: int, observations: float, rounds: int) -> MixingPrior:
        """All values of a grid of this size are equally likely."""
        return cls(np.full(size, 1 / size), observations, rounds)


def fit_mixing_weights(log_likelihoods: Array, prior: MixingPrior) -> Array:
    """The weights of the grid's values (columns), given observations (rows).

    >>> prior = MixingPrior.uniform(2, observations=1.0, rounds=50)
    >>> fit_mixing_weights(np.log([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]), prior).round(2).tolist()
    [0.84, 0.16]
    """
    likelihoods = _scale_likelihoods(log_likelihoods)
    # Started at the prior: few rounds leave the estimate near it, which is wanted where
    # observations are few.
    weights = prior.weights
    for _ in range(prior.rounds):
        counts = _normalise_rows(likelihoods * weights).sum(axis=0)
        weights = (counts + prior.observations * prior.weights) / (
            len(likelihoods) + prior.observations
        )
    return np.asarray(weights)


def posterior_weights(log_likelihoods: Array, weights: Array) -> Array:
    """For every observation (row), how likely each value of the grid is."""
    return _normalise_rows(_scale_likelihoods(log_likelihoods) * weights)


def _scale_likelihoods(log_likelihoods: Array) -> Array:
    """Likelihoods with the largest of each row as one, so that none underflows."""
    largest = log_likelihoods.max(axis=1, keepdims=True)
    return np.asarray(np.exp(log_likelihoods - largest))


def _normalise_rows(rows: Array) -> Array:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
