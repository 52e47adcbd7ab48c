"""A semiparametric Gaussian copula of mixed columns, by the extended rank likelihood.

Every column has a latent normal one whose order agrees with its own; the margins stay as
they are, and only the covariance of the latent columns is modelled. Hoff, "Extending the
rank likelihood for semiparametric copula estimation", 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr, ndtri
from scipy.stats import invwishart

MAX_RANKED_LEVELS = 100
"""Levels up to which latent values are drawn within the bounds of their level; a column
with more keeps its normal scores, which hardly move.
"""

UNKNOWN_LEVEL = -1
"""The level of a missing cell: its latent value has no bounds."""

MIN_TAIL_CHANCE = 1e-12
"""Chances stay this far from 0 and 1, so that no latent value is infinite."""


@dataclass(frozen=True, eq=False)
class RankedColumn:
    """The level of each row, from 0 up, and how many levels there are."""

    levels: NDArray[np.int64]
    count: int

    @property
    def scores(self) -> NDArray[np.float64]:
        """Normal scores of the levels' upper ends, one below the last."""
        known = self.levels[self.levels != UNKNOWN_LEVEL]
        rows = np.bincount(known, minlength=self.count)
        # Over n + 1, so that the last level has a finite score.
        return np.asarray(ndtri(np.cumsum(rows) / (len(known) + 1)))


@dataclass(frozen=True, eq=False)
class CopulaState:
    """A state of the chain: latent rows, and their covariance."""

    latent: NDArray[np.float64]
    covariance: NDArray[np.float64]


def start_chain(columns: Sequence[RankedColumn], rng: Generator) -> CopulaState:
    """Normal scores drawn within the interval of each level, and no correlation.

    The bounds between levels move by little in a sweep, so they begin where the margins
    put them.
    """
    parts = []
    for column in columns:
        ends = np.concatenate([[0.0], ndtr(column.scores)])
        low, high = ends[column.levels], ends[column.levels + 1]
        point = low + (high - low) * rng.random(len(low))
        unknown = column.levels == UNKNOWN_LEVEL
        point = np.where(unknown, rng.random(len(low)), point)
        parts.append(ndtri(np.clip(point, MIN_TAIL_CHANCE, 1 - MIN_TAIL_CHANCE)))
    return CopulaState(np.column_stack(parts), np.eye(len(columns)))


def sweep_chain(
    columns: Sequence[RankedColumn], state: CopulaState, sweeps: int, rng: Generator
) -> CopulaState:
    """The chain after some visits of every latent column and of the covariance."""
    latent, covariance = state.latent.copy(), state.covariance
    rows, width = latent.shape
    # The prior of Hoff: a unit covariance that weighs as much as a few rows.
    prior = width + 2
    for _ in range(sweeps):
        for j in rng.permutation(width):
            mean, deviation = condition_on_others(latent, covariance, int(j))
            _redraw_latent(columns[j], latent[:, j], mean, deviation, rng)
        scale = prior * np.eye(width) + latent.T @ latent
        drawn = invwishart.rvs(df=prior + rows, scale=scale, random_state=rng)
        covariance = np.asarray(drawn, np.float64).reshape(width, width)
    return CopulaState(latent, covariance)


def condition_on_others(
    latent: NDArray[np.float64], covariance: NDArray[np.float64], place: int
) -> tuple[NDArray[np.float64], float]:
    """Mean of each row and deviation of one latent column given the others."""
    others = np.arange(len(covariance)) != place
    if not others.any():
        return np.zeros(len(latent)), float(np.sqrt(covariance[place, place]))
    factor = cho_factor(covariance[np.ix_(others, others)])
    weights = cho_solve(factor, covariance[others, place])
    variance = covariance[place, place] - covariance[place, others] @ weights
    return latent[:, others] @ weights, float(np.sqrt(variance))


def _redraw_latent(
    column: RankedColumn,
    latent: NDArray[np.float64],
    mean: NDArray[np.float64],
    deviation: float,
    rng: Generator,
) -> None:
    """Draw one latent column anew, in place, level by level from below."""
    unknown = column.levels == UNKNOWN_LEVEL
    noise = rng.standard_normal(int(unknown.sum()))
    latent[unknown] = mean[unknown] + deviation * noise
    if column.count > MAX_RANKED_LEVELS:
        return
    low = -np.inf
    rows_of = [np.flatnonzero(column.levels == level) for level in range(column.count)]
    for level, rows in enumerate(rows_of):
        after = rows_of[level + 1] if level + 1 < column.count else rows[:0]
        high = latent[after].min() if len(after) else np.inf
        latent[rows] = draw_between(mean[rows], deviation, low, high, rng)
        low = latent[rows].max()


def draw_between(
    mean: NDArray[np.float64],
    deviation: float,
    low: float | NDArray[np.float64],
    high: float | NDArray[np.float64],
    rng: Generator,
) -> NDArray[np.float64]:
    """Normal draws between bounds."""
    below, above = ndtr((low - mean) / deviation), ndtr((high - mean) / deviation)
    chance = below + (above - below) * rng.random(len(mean))
    chance = np.clip(chance, MIN_TAIL_CHANCE, 1 - MIN_TAIL_CHANCE)
    # Where both bounds lie in a far tail, rounding may leave them.
    drawn: NDArray[np.float64] = np.clip(mean + deviation * ndtri(chance), low, high)
    return drawn
