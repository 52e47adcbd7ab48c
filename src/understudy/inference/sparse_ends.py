"""Ends of intervals of logarithms where what was measured has hardly any rows.

The delta method ends an interval of a logarithm z standard errors from the estimate. A
group of c rows that is known within s has a logarithm that is known within s/c, so the
interval ends at c·exp(−z s/c) rows. But rows are measured on their own scale: if c is
2 s, that end lies 1.1 s away and not z = 1.96, and a group whose noise happened to be
large keeps an interval that is too narrow to reach back.

So where the measurements do not exclude an end, it moves on. They are asked along the
line on which the estimate changes most for what they say of it, λ(t) = λ̂ + tδ, with

    D(t) = (n u·(p(t) − p̂))² / (n Var_p(t)(u) + noise of u) + prior of tδ,

u the combination of contrasts that says all about the estimate: the score test on a
line, t² near 0. If D(z) < z², the end is the estimate from the shares p(t) where
D(t) = z². It never moves in: with many rows both agree, and without noise the
logarithm's own interval is the better one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.inference.contrast_model import ContrastModel

END_STEPS = 40
"""Halvings of the logarithm of a factor: far finer than an interval is printed."""

MIN_PRIOR_PART = 1e-8
"""Least part of the prior in D: it bounds how far an end is looked for, at 10,000
standard errors.
"""


Refit = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""The estimates from other shares of the cells."""


def find_stretches(
    model: ContrastModel, influence: NDArray[np.float64], level: float, refit: Refit
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """By which factors, from 1 up, the lower and the upper reach of each interval grow."""
    reach = float(ndtri((1 + level) / 2))
    line = _EstimateLine(model, influence)
    below, above = (
        _stretch_side(line, side * reach, model.shares, refit) for side in (-1.0, 1.0)
    )
    return below, above


def _stretch_side(
    line: _EstimateLine, reach: float, shares: NDArray[np.float64], refit: Refit
) -> NDArray[np.float64]:
    factors = _find_crossing(line, reach)
    stretches, moved = np.ones(len(factors)), line.shares(reach * factors)
    for place in np.flatnonzero(factors > 1):
        change = refit(moved[:, place])[place] - refit(shares)[place]
        stretches[place] = max(change / (reach * line.error[place]), 1.0)
    return stretches


class _EstimateLine:
    """For each estimate, the line along which it changes most for what is known."""

    def __init__(self, model: ContrastModel, influence: NDArray[np.float64]) -> None:
        error = np.sqrt(np.diag(model.propagate(influence)))
        self.error = np.maximum(error, np.finfo(float).tiny)
        moves = model.follow_rates(influence) / self.error
        said = model.follow_weights(influence) / (model.rows * self.error)
        found = model.found
        self._rows, self._sampling = model.rows, model.sampling_rows
        with np.errstate(divide="ignore"):
            self._logs = np.log(model.shares)[:, None]
        self._moved, self._said = found.matrix @ moves, found.matrix @ said
        self._noise = (said * (found.noise @ said)).sum(axis=0)
        prior = (found.prior_precision[:, None] * moves**2).sum(axis=0)
        self.prior = np.maximum(prior, MIN_PRIOR_PART)
        self._mean = model.shares @ self._said

    def shares(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """The shares of all cells at one place on each line."""
        logs = self._logs + places * self._moved
        shares = np.exp(logs - logs.max(axis=0))
        return np.asarray(shares / shares.sum(axis=0))

    def distance(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """D of one place on each line."""
        shares = self.shares(places)
        mean = (shares * self._said).sum(axis=0)
        spread = (shares * (self._said - mean) ** 2).sum(axis=0)
        variance = self._sampling * spread + self._noise
        miss = self._rows * (mean - self._mean)
        gap = miss**2 / np.maximum(variance, np.finfo(float).tiny)
        return np.asarray(gap + self.prior * places**2)


def _find_crossing(line: _EstimateLine, reach: float) -> NDArray[np.float64]:
    """The factors of the reach, 1 or more, at which D is the square of the reach."""
    near = np.zeros(len(line.prior))
    is_excluded = line.distance(reach * np.exp(near)) >= reach**2
    # There the prior alone says that it is far enough.
    far = np.where(is_excluded, 0.0, -0.5 * np.log(line.prior))
    for _ in range(END_STEPS):
        middle = (near + far) / 2
        is_inside = line.distance(reach * np.exp(middle)) < reach**2
        near, far = np.where(is_inside, middle, near), np.where(is_inside, far, middle)
    return np.asarray(np.exp(far))
