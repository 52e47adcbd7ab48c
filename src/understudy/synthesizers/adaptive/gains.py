"""What measuring a marginal gains, as a function of its part of the budget.

Let a count have mean e under the model and variance τ²e around it
(models/fitting/marginal_strength.py). The L1 distance between the marginal and the
model is then √(2/π)·τ·Σ√e in the mean, so a noisy distance d gives

    τ = d / (√(2/π)·Σ√e).

Measured with noise of variance v and shrunk by the best linear estimate, the variance
of a count falls to τ²e·v / (τ²e + v), and the marginal gains, in mean L1 distance,

    G(b) = √(2/π)·Σ τ√e · (1 − 1/√(1 + τ²e/v(b))).

For Gaussian noise 1/v is proportional to the part b, and G is concave with G(0) = 0. A
small, strong and full marginal gains much from a small part; a large, weak or mostly
empty one gains little from a large part. For Laplace noise 1/v is proportional to b²,
G is convex near zero, and its concave hull takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.fitting.constants import MAX_CELL_KINDS
from understudy.models.fitting.marginal_strength import fold_many_cells
from understudy.synthesizers.adaptive.constants import BUDGET_PART_GRID

Array = NDArray[np.float64]

GAUSSIAN_NOISE_POWER, LAPLACE_NOISE_POWER = 0.5, 1.0
"""Noise with the part b of a budget has a standard deviation ∝ b^−power."""

WHOLE_BUDGET_INDEX = int(np.searchsorted(BUDGET_PART_GRID, 1.0 - 1e-9))
"""Where the part 1 stands in the grid."""

MAX_BATCH_NUMBERS = 1 << 18
"""Numbers of an array while gains are computed: a few such arrays fit the cache."""


def prior_deviation(expected: Array, distance: float) -> float:
    """The τ of a marginal at this L1 distance from its expected counts."""
    sizes, cells = fold_many_cells(expected.reshape(1, -1))
    return float(_prior_deviations(sizes, cells, np.array([distance]))[0])


def gain_curve(expected: Array, distance: float, noise: float, power: float) -> Array:
    """The gain G of a marginal, in rows, at each part of BUDGET_PART_GRID.

    `distance` is its L1 distance from the `expected` counts, and `noise` the standard
    deviation that the whole budget would buy.

    >>> curve = gain_curve(np.full(10, 100.0), 200.0, noise=1.0, power=0.5)
    >>> bool(curve[0] == 0 and 0.9 * 200 < curve[-1] < 200 and np.all(np.diff(curve) > 0))
    True
    """
    gains, _ = gain_curves([expected], np.array([distance]), np.array([noise]), power)
    return np.asarray(gains[0])


def gain_curves(
    expected: Sequence[Array], distances: Array, noises: Array, power: float
) -> tuple[Array, Array]:
    """The gains of many marginals, one in each row, and their τ.

    >>> tables = [np.full(10, 100.0), np.full((2, 3), 100.0)]
    >>> gains, tau = gain_curves(tables, np.full(2, 200.0), np.ones(2), power=0.5)
    >>> gains.shape == (2, BUDGET_PART_GRID.size), bool(tau[0] < tau[1])
    (True, True)
    """
    gains = np.empty((len(expected), BUDGET_PART_GRID.size))
    deviations = np.empty(len(expected))
    for rows in _batch_by_cells(expected):
        tables = np.stack([np.ravel(expected[i]) for i in rows])
        sizes, cells = fold_many_cells(tables)
        tau = _prior_deviations(sizes, cells, distances[rows])
        # Bins that are empty in every table of the batch need no curve.
        filled = cells.any(axis=0)
        spread = tau[:, None] * np.sqrt(sizes[:, filled])
        weights = MEAN_ABS_NORMAL * cells[:, filled] * spread
        gains[rows] = _sum_gains(spread**2, weights, noises[rows], power)
        deviations[rows] = tau
    if power > GAUSSIAN_NOISE_POWER:
        for curve in gains:
            curve[:] = _concave_hull(curve)
    return gains, deviations


def _batch_by_cells(tables: Sequence[Array]) -> list[NDArray[np.intp]]:
    """The places of tables with as many cells, in batches of bounded memory."""
    by_cells: dict[int, list[int]] = {}
    for i, table in enumerate(tables):
        by_cells.setdefault(table.size, []).append(i)
    batches: list[NDArray[np.intp]] = []
    for cells, places in by_cells.items():
        row_numbers = max(cells, MAX_CELL_KINDS * BUDGET_PART_GRID.size)
        step = max(MAX_BATCH_NUMBERS // row_numbers, 1)
        batches += [
            np.array(places[start : start + step], np.intp)
            for start in range(0, len(places), step)
        ]
    return batches


def _prior_deviations(sizes: Array, cells: Array, distances: Array) -> Array:
    """The τ of marginals whose cells are folded into bins, one in each row."""
    unit_distances = MEAN_ABS_NORMAL * (cells * np.sqrt(sizes)).sum(axis=1)
    return np.asarray(np.maximum(distances, 0.0) / unit_distances)


def _sum_gains(variances: Array, weights: Array, noises: Array, power: float) -> Array:
    """Σ weight · (1 − 1/√(1 + variance/noise variance)) over the bins of each row, at
    each part of BUDGET_PART_GRID.
    """
    parts = BUDGET_PART_GRID ** (2 * power)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Without noise every part but none has all there is to gain.
        units = np.where(noises[:, None] > 0, parts / noises[:, None] ** 2, math.inf)
    precision = np.where(parts > 0, units, 0.0)
    # 0 · ∞ must not arise where both the deviation and the noise are zero.
    kept = np.maximum(variances, 1e-300)
    ratios = kept[:, :, None] * precision[:, None, :]
    left = 1 / np.sqrt(1 + ratios)
    return np.asarray(np.einsum("rk,rkp->rp", weights, 1 - left))


def _concave_hull(gains: Array) -> Array:
    """The least concave function above the gains of at most the whole budget; constant
    beyond, since a hull through larger parts would promise more than the budget can pay.
    """
    kept: list[int] = []
    for i in range(WHOLE_BUDGET_INDEX + 1):
        while len(kept) > 1 and _is_below_chord(gains, kept[-2], kept[-1], i):
            kept.pop()
        kept.append(i)
    return np.asarray(np.interp(BUDGET_PART_GRID, BUDGET_PART_GRID[kept], gains[kept]))


def _is_below_chord(gains: Array, a: int, b: int, c: int) -> bool:
    """Whether the middle one of three points lies below the line through the others."""
    first_rise = (gains[b] - gains[a]) * (BUDGET_PART_GRID[c] - BUDGET_PART_GRID[a])
    whole_rise = (gains[c] - gains[a]) * (BUDGET_PART_GRID[b] - BUDGET_PART_GRID[a])
    return bool(first_rise <= whole_rise)
