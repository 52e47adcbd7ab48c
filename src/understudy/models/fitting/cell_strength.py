"""Cells that stand out of their marginal: each is believed by itself, as far as noise
and the others of its kind suggest.

A marginal has one strength τ² (models/fitting/marginal_strength.py), as if all its
cells were as far from what is expected of them, in deviations, as each other. They are
not: where one column follows another, a few cells hold nearly all that differs. Let a
cell's own strength be λτ², with λ spread in the same way among all cells of all
marginals; how it is spread is told from them (Laird, "Nonparametric maximum likelihood
estimation of a mixing distribution", 1978), and a cell far above the noise then has a
large λ, one within it a small one. Where all cells are alike, λ is 1 and nothing
changes.

A fit knows one variance for each marginal. Alone, a count with the expectation e, the
noisy answer y and the strength t is moved by a fit with penalty N·KL to the m with m +
(v/t)·log(m/e) = y. So a cell of strength t in a marginal that is fitted with strength f
is given the answer m + (v/f)·log(m/e): the fit then moves it to that same m. Of
differences of two values the same holds for both counts together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from understudy.measurements import Centring, Identity
from understudy.models.estimates.loss_terms import Array, Term
from understudy.models.fitting.npmle import (
    MixingPrior,
    fit_mixing_weights,
    posterior_weights,
)

CELL_SCALE_GRID: Array = np.geomspace(0.01, 300.0, 14)
"""Strengths of a cell in parts of its marginal's that are tried."""

CELL_SCALE_EM_ROUNDS = 30
"""Times their spread is told anew from what it makes of every cell."""

CELL_SCALE_PRIOR_WEIGHT = 200
"""That cells are much alike, which is known before any was looked at, weighs as much as
so many of them.
"""

_LOG_NORMAL = np.exp(-((np.log(CELL_SCALE_GRID) + 0.5) ** 2) / 2)
# Log-normal of mean one: without information, nothing changes.
_CELL_SCALE_PRIOR = MixingPrior(
    _LOG_NORMAL / _LOG_NORMAL.sum(), CELL_SCALE_PRIOR_WEIGHT, CELL_SCALE_EM_ROUNDS
)

MAX_CELL_SCALE_CELLS = 100_000
"""Cells that the spread is told from."""

MIN_CELL_PRIOR_VARIANCE, MAX_CELL_NOISE_DEVIATIONS = 0.01, 64.0
"""The smallest strength of a cell, and the largest in deviations of the noise: beyond
it nothing is shrunk to speak of.
"""

MAX_NEWTON_STEPS, NEWTON_TOLERANCE = 40, 1e-6
"""Steps of Newton's method, and how near in the logarithm is near enough."""


def adjust_cell_answers(
    looks: Sequence[tuple[Term, Array]], strengths: Array, fitted: Sequence[float]
) -> list[Array]:
    """The answers to give to a fit, so that each cell is believed by its own strength;
    `fitted` are those the fit works with.

    >>> from understudy.measurements import Identity
    >>> expected, noisy = np.full((10, 10), 50.0), np.full((10, 10), 50.0)
    >>> noisy[0, :] += 30 * np.resize([1.0, -1.0], 10)
    >>> noisy[5, 5] = 500.0
    >>> term = Term(("a", "b"), (Identity(10), Identity(10)), noisy, 900.0)
    >>> (answers,) = adjust_cell_answers([(term, expected)], np.array([20.0]), [20.0])
    >>> bool(answers[5, 5] > 500 and abs(answers[0, 0] - 50) < 30)  # what stands out is believed more, noise less
    True
    """
    views = [
        _StandardisedTerm.of(term, expected) if _is_cellwise(term) else None
        for term, expected in looks
    ]
    signals = [
        None if view is None else view.signal(tau)
        for view, tau in zip(views, strengths, strict=True)
    ]
    some = [
        (signal, view.square)
        for view, signal in zip(views, signals, strict=True)
        if view is not None and signal is not None
    ]
    if not some:
        return [term.values for term, _ in looks]
    spread = _cell_scale_mixture(
        *(np.concatenate([part[i].ravel() for part in some]) for i in range(2))
    )
    return [
        (
            term.values
            if view is None or signal is None
            else view.answers(_shrinkage_weights(signal, view.square, spread), strength)
        )
        for (term, _), view, signal, strength in zip(
            looks, views, signals, fitted, strict=True
        )
    ]


class _StandardisedTerm:
    """A term around what is expected of it, in deviations of its noise."""

    def __init__(
        self, term: Term, expected: Array, away: Array, variance: float
    ) -> None:
        self.term, self.expected, self.away, self.variance = (
            term,
            expected,
            away,
            variance,
        )
        self.size = np.asarray(term.square(expected))
        self.square = np.asarray(away**2 / variance)

    @classmethod
    def of(cls, term: Term, expected: Array) -> _StandardisedTerm:
        """Both numbers of a difference say the same of it: their mean has half the
        variance.
        """
        expected = np.maximum(expected, 1e-9)
        away, variance = term.values - term.answer(expected), term.variance
        for axis, m in enumerate(term.maps):
            if isinstance(m, Centring):
                away, variance = (
                    away - away.mean(axis=axis, keepdims=True),
                    variance / 2,
                )
        return cls(term, expected, away, variance)

    def signal(self, strength: float) -> Array:
        """The variance that cells of this strength have, in parts of the noise's."""
        return np.asarray(
            max(strength, MIN_CELL_PRIOR_VARIANCE) * self.size / self.variance
        )

    def answers(self, belief: Array, fitted: float) -> Array:
        """What to give to a fit with the strength `fitted` for all, so that each cell
        is moved as its own belief would.
        """
        doubt = 1 - np.minimum(belief, 1 - 1e-9)
        strength = np.clip(
            self.variance / self.size * (1 - doubt) / doubt,
            MIN_CELL_PRIOR_VARIANCE,
            MAX_CELL_NOISE_DEVIATIONS * math.sqrt(self.variance),
        )
        slack, wanted = (
            self.variance / strength,
            self.term.answer(self.expected) + self.away,
        )
        logs = np.zeros_like(self.away)
        for _ in range(MAX_NEWTON_STEPS):
            moved = self.expected * np.exp(logs)
            step = (self.term.answer(moved) + slack * logs - wanted) / (
                self.term.square(moved) + slack
            )
            logs = logs - np.clip(step, -1.0, 1.0)
            if np.abs(step).max() < NEWTON_TOLERANCE:
                break
        return np.asarray(wanted + (self.variance / fitted - slack) * logs)


def _is_cellwise(term: Term) -> bool:
    """Whether every cell, or every difference of two, was asked for on its own."""
    return len(term.clique) > 1 and all(
        isinstance(m, Identity) or (isinstance(m, Centring) and m.size == 2)
        for m in term.maps
    )


def _cell_scale_mixture(signal: Array, square: Array) -> Array:
    """How λ is spread among cells, told from so many of them."""
    step = math.ceil(signal.size / MAX_CELL_SCALE_CELLS)
    return fit_mixing_weights(
        _scale_log_likelihoods(signal[::step], square[::step]), _CELL_SCALE_PRIOR
    )


def _shrinkage_weights(signal: Array, square: Array, spread: Array) -> Array:
    """The share of every cell's distance that is believed, in the mean of what its λ
    may be.
    """
    posterior = posterior_weights(
        _scale_log_likelihoods(signal.ravel(), square.ravel()), spread
    )
    grown = np.multiply.outer(signal.ravel(), CELL_SCALE_GRID)
    weights = (posterior * (grown / (1 + grown))).sum(axis=1)
    return np.asarray(weights.reshape(signal.shape))


def _scale_log_likelihoods(signal: Array, square: Array) -> Array:
    """The log-likelihood of every cell's distance under each relative variance."""
    both = 1 + np.multiply.outer(signal, CELL_SCALE_GRID)
    return np.asarray(-(np.log(both) + square[:, None] / both) / 2)
