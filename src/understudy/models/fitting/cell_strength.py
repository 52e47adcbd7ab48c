"""Prior variances of single cells: a cell that stands out is shrunk less.

A marginal has one prior variance τ² (models/fitting/marginal_strength.py), as if all its
cells were equally far from their expected counts, in standard deviations. They are not:
where one column follows another, a few cells hold nearly all of the distance. Let a
cell's own prior variance be λτ², with λ from one distribution for all cells of all
marginals, which is estimated from them (models/fitting/npmle.py). A cell far above the
noise then has a large λ, one within the noise a small one. If all cells are alike, λ is
1 and nothing changes.

A fit knows one variance per marginal. Alone, a count with expectation e, noisy answer y
and prior variance t is moved by a fit with penalty N·KL to the m that solves
m + (v/t)·log(m/e) = y. So a cell with prior variance t in a marginal that is fitted with
f is given the answer m + (v/f)·log(m/e): the fit then moves it to that same m. For
differences of two values the same holds for both counts together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from understudy.measurements import Centring, Identity
from understudy.models.arrays import Array
from understudy.models.estimates.loss_terms import Term
from understudy.models.fitting.constants import (
    CELL_SCALE_EM_ROUNDS,
    CELL_SCALE_GRID,
    CELL_SCALE_PRIOR_WEIGHT,
    MAX_CELL_NOISE_DEVIATIONS,
    MAX_CELL_SCALE_CELLS,
    MAX_NEWTON_STEPS,
    MIN_CELL_PRIOR_VARIANCE,
    NEWTON_TOLERANCE,
)
from understudy.models.fitting.npmle import (
    MixingPrior,
    fit_mixing_weights,
    posterior_weights,
)

# Log-normal of mean one: without information nothing changes.
_LOG_NORMAL = np.exp(-((np.log(CELL_SCALE_GRID) + 0.5) ** 2) / 2)
_CELL_SCALE_PRIOR = MixingPrior(
    _LOG_NORMAL / _LOG_NORMAL.sum(), CELL_SCALE_PRIOR_WEIGHT, CELL_SCALE_EM_ROUNDS
)


def adjust_cell_answers(
    observations: Sequence[tuple[Term, Array]],
    variances: Array,
    fitted: Sequence[float],
) -> list[Array]:
    """The answers to give to a fit so that each cell is shrunk by its own prior
    variance.

    `variances` are the τ² of the marginals, `fitted` those that the fit works with.

    >>> from understudy.measurements import Identity
    >>> expected, noisy = np.full((10, 10), 50.0), np.full((10, 10), 50.0)
    >>> noisy[0, :] += 30 * np.resize([1.0, -1.0], 10)
    >>> noisy[5, 5] = 500.0
    >>> term = Term(("a", "b"), (Identity(10), Identity(10)), noisy, 900.0)
    >>> (answers,) = adjust_cell_answers([(term, expected)], np.array([20.0]), [20.0])
    >>> bool(answers[5, 5] > 500), bool(abs(answers[0, 0] - 50) < 30)  # the outlier, the noise
    (True, True)
    """
    answers = [term.values for term, _ in observations]
    views: dict[int, _StandardisedTerm] = {}
    for i, (term, expected) in enumerate(observations):
        if _is_cellwise(term):
            views[i] = _StandardisedTerm(term, expected, float(variances[i]))
    if not views:
        return answers
    signals = np.concatenate([view.signal.ravel() for view in views.values()])
    squares = np.concatenate([view.square.ravel() for view in views.values()])
    step = math.ceil(signals.size / MAX_CELL_SCALE_CELLS)
    weights = fit_mixing_weights(
        _log_likelihoods(signals[::step], squares[::step]), _CELL_SCALE_PRIOR
    )
    for i, view in views.items():
        answers[i] = view.adjust_answers(view.shrinkage(weights), fitted[i])
    return answers


class _StandardisedTerm:
    """A term around its expected counts: the squares of its distances, and the prior
    variances of its cells, both in noise variances.
    """

    def __init__(self, term: Term, expected: Array, prior_variance: float) -> None:
        self.term = term
        self.expected = np.maximum(expected, 1e-9)
        self.away = term.values - term.answer(self.expected)
        self.variance = term.variance
        for axis, axis_map in enumerate(term.maps):
            if isinstance(axis_map, Centring):
                # Both numbers of a difference say the same: their mean has half the
                # variance.
                self.away = self.away - self.away.mean(axis=axis, keepdims=True)
                self.variance /= 2
        self.size = np.asarray(term.square(self.expected))
        self.square = np.asarray(self.away**2 / self.variance)
        tau = max(prior_variance, MIN_CELL_PRIOR_VARIANCE)
        self.signal = np.asarray(tau * self.size / self.variance)

    def shrinkage(self, weights: Array) -> Array:
        """The posterior mean share of each cell's distance that is signal."""
        signal, square = self.signal.ravel(), self.square.ravel()
        posterior = posterior_weights(_log_likelihoods(signal, square), weights)
        scaled = np.multiply.outer(signal, CELL_SCALE_GRID)
        share = (posterior * (scaled / (1 + scaled))).sum(axis=1)
        return np.asarray(share.reshape(self.signal.shape))

    def adjust_answers(self, shrinkage: Array, fitted: float) -> Array:
        """What to give to a fit with the prior variance `fitted` for all cells, so that
        each is moved as its own shrinkage would.
        """
        doubt = 1 - np.minimum(shrinkage, 1 - 1e-9)
        prior = np.clip(
            self.variance / self.size * (1 - doubt) / doubt,
            MIN_CELL_PRIOR_VARIANCE,
            MAX_CELL_NOISE_DEVIATIONS * math.sqrt(self.variance),
        )
        slack = self.variance / prior
        wanted = self.term.answer(self.expected) + self.away
        logs = np.zeros_like(self.away)
        for _ in range(MAX_NEWTON_STEPS):
            moved = self.expected * np.exp(logs)
            residual = self.term.answer(moved) + slack * logs - wanted
            step = residual / (self.term.square(moved) + slack)
            # A full step may overshoot where the exponential is steep.
            logs = logs - np.clip(step, -1.0, 1.0)
            if np.abs(step).max() < NEWTON_TOLERANCE:
                break
        return np.asarray(wanted + (self.variance / fitted - slack) * logs)


def _is_cellwise(term: Term) -> bool:
    """Whether every cell, or every difference of two, was asked on its own."""
    return len(term.clique) > 1 and all(
        isinstance(m, Identity) or (isinstance(m, Centring) and m.size == 2)
        for m in term.maps
    )


def _log_likelihoods(signal: Array, square: Array) -> Array:
    """The log-likelihood of every cell's distance under each λ of the grid."""
    variance = 1 + np.multiply.outer(signal, CELL_SCALE_GRID)
    return np.asarray(-(np.log(variance) + square[:, None] / variance) / 2)
