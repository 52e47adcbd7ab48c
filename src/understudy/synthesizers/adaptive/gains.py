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

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.fitting.marginal_strength import fold_cells
from understudy.synthesizers.adaptive.constants import BUDGET_PART_GRID

Array = NDArray[np.float64]

GAUSSIAN_NOISE_POWER, LAPLACE_NOISE_POWER = 0.5, 1.0
"""Noise with the part b of a budget has a standard deviation ∝ b^−power."""

WHOLE_BUDGET_INDEX = int(np.searchsorted(BUDGET_PART_GRID, 1.0 - 1e-9))
"""Where the part 1 stands in the grid."""


def prior_deviation(expected: Array, distance: float) -> float:
    """The τ of a marginal at this L1 distance from its expected counts."""
    sizes, cells = fold_cells(expected)
    unit_distance = MEAN_ABS_NORMAL * float((cells * np.sqrt(sizes)).sum())
    return max(distance, 0.0) / unit_distance


def gain_curve(expected: Array, distance: float, noise: float, power: float) -> Array:
    """The gain G of a marginal, in rows, at each part of BUDGET_PART_GRID.

    `distance` is its L1 distance from the `expected` counts, and `noise` the standard
    deviation that the whole budget would buy.

    >>> curve = gain_curve(np.full(10, 100.0), 200.0, noise=1.0, power=0.5)
    >>> bool(curve[0] == 0 and 0.9 * 200 < curve[-1] < 200 and np.all(np.diff(curve) > 0))
    True
    """
    sizes, cells = fold_cells(expected)
    deviations = prior_deviation(expected, distance) * np.sqrt(sizes)
    if noise > 0:
        precision = BUDGET_PART_GRID ** (2 * power) / noise**2
    else:
        precision = np.where(BUDGET_PART_GRID > 0, math.inf, 0.0)
    # 0 · ∞ must not arise where both the deviation and the noise are zero.
    variances = np.maximum(deviations**2, 1e-300)
    with np.errstate(invalid="ignore"):
        left = 1 / np.sqrt(1 + np.multiply.outer(variances, precision))
    gains = np.asarray(MEAN_ABS_NORMAL * (cells * deviations) @ (1 - left))
    return gains if power <= GAUSSIAN_NOISE_POWER else _concave_hull(gains)


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
