"""What measuring a marginal gains, and how a budget is shared out so that all of it
gains most.

Let a count lie around what a model expects of it, e, with variance τ²·e
(models/fitting/marginal_strength.py); τ is told from the noisy distance between the
marginal and the model, which is Σ √(2/π)·τ·√e in the mean. Measured with noise of
variance v and believed as far as that deserves, its variance falls to τ²e·v / (τ²e +
v), so the marginal gains

    Σ √(2/π)·τ√e · (1 − 1/√(1 + τ²e/v))          in mean L1 distance.

In a Gaussian run 1/v is ∝ the part of the budget, and the gain is a concave function of
it that starts at nothing: a marginal that is small, strong and full gains much from
little, one that is large, weak or mostly empty gains little from much. The best shares
are those at which one more bit of budget gains the same everywhere, and a marginal
whose first bit gains less than that is not measured. No threshold is set anywhere. For
Laplace noise 1/v is ∝ the part squared, and the gain's concave hull takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.fitting.marginal_strength import fold_cells

Array = NDArray[np.float64]

BUDGET_PART_GRID: Array = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 73)])
"""Parts of a budget at which gains are tabulated."""

LOG_FIRST_PART, LOG_PART_STEP = (
    math.log(BUDGET_PART_GRID[1]),
    math.log(BUDGET_PART_GRID[2] / BUDGET_PART_GRID[1]),
)
"""Where the tabulated parts begin and how far apart they are, as logarithms."""

ALLOCATION_UPDATES = 200
"""Times all parts are moved towards those whose next bit gains more."""


def gain_curve(expected: Array, distance: float, noise: float, power: float) -> Array:
    """The gain of a marginal in rows for each of PARTS, made concave.

    `distance` is its L1 distance to what is `expected`; `noise` the deviation that the
    whole budget would buy, ∝ part^-power.

    >>> curve = gain_curve(np.full(10, 100.0), 200.0, noise=1.0, power=0.5)
    >>> bool(curve[0] == 0 and 0.9 * 200 < curve[-1] < 200 and np.all(np.diff(curve) > 0))
    True
    """
    sizes, many = fold_cells(expected)
    tau = max(distance, 0.0) / (MEAN_ABS_NORMAL * float((many * np.sqrt(sizes)).sum()))
    spread = tau * np.sqrt(sizes)
    precision = (
        BUDGET_PART_GRID ** (2 * power) / noise**2
        if noise > 0
        else np.where(BUDGET_PART_GRID > 0, math.inf, 0.0)
    )
    with np.errstate(invalid="ignore"):
        left = 1 / np.sqrt(
            1 + np.multiply.outer(np.maximum(spread**2, 1e-300), precision)
        )
    gains = np.asarray(MEAN_ABS_NORMAL * (many * spread) @ (1 - left))
    return gains if power <= 0.5 else _concave_hull(gains)


def best_parts(
    curves: Sequence[Array],
    weights: Sequence[float],
    links: Sequence[tuple[int, int, float]] = (),
) -> tuple[Array, Array]:
    """The parts that gain most in all, weighted, and what each one gains. Parts sum to
    one; some may be nothing.

    A link (i, j, f) says that a part of marginal i is worth f times as much for
    marginal j, which it holds: a pair tells of its columns.

    >>> strong, weak = (gain_curve(np.full(10, 100.0), far, 100.0, 0.5) for far in (500.0, 20.0))
    >>> parts, gains = best_parts([strong, weak], [1.0, 1.0])
    >>> bool(parts[0] > 0.9), round(float(parts.sum()), 9)
    (True, 1.0)
    >>> parts, gains = best_parts([strong, strong], [1.0, 1.0], [(0, 1, 0.9)])
    >>> bool(parts[0] > 0.7)
    True
    """
    table = np.stack(curves) * np.asarray(weights, np.float64)[:, None]
    slopes = np.maximum(np.diff(table, axis=1) / np.diff(BUDGET_PART_GRID), 1e-300)
    slopes = np.minimum.accumulate(slopes, axis=1)
    if not table.any():
        return np.eye(1, len(table), dtype=np.float64)[0], np.zeros(len(table))
    givers, takers = (np.array([link[at] for link in links], np.int64) for at in (0, 1))
    worth = np.array([factor for *_, factor in links])
    prices = np.log(slopes)
    rows = np.arange(len(table))
    parts = np.full(len(table), 1 / len(table))
    for _ in range(ALLOCATION_UPDATES):
        reached = parts + np.bincount(
            takers, worth * parts[givers], minlength=parts.size
        )
        # The gain of one more bit, between the tabulated parts by interpolation.
        spot = np.clip(
            (np.log(np.maximum(reached, BUDGET_PART_GRID[1])) - LOG_FIRST_PART)
            / LOG_PART_STEP,
            0,
            BUDGET_PART_GRID.size - 2.001,
        )
        low = spot.astype(np.int64)
        price = prices[rows, low] + (spot - low) * (
            prices[rows, np.minimum(low + 1, BUDGET_PART_GRID.size - 2)]
            - prices[rows, low]
        )
        bit = np.exp(price)
        bit += np.bincount(givers, worth * bit[takers], minlength=parts.size)
        parts = np.maximum(parts * np.sqrt(bit / bit.max()), 1e-300)
        parts /= parts.sum()
    parts = np.where(parts < BUDGET_PART_GRID[1], 0.0, parts)
    parts /= parts.sum()
    reached = np.minimum(
        parts + np.bincount(takers, worth * parts[givers], minlength=parts.size), 1.0
    )
    return parts, np.array(
        [
            np.interp(part, BUDGET_PART_GRID, row)
            for part, row in zip(reached, table, strict=True)
        ]
    )


def _concave_hull(gains: Array) -> Array:
    """The least concave function above these gains."""
    kept: list[int] = []
    for i in range(gains.size):
        while len(kept) > 1 and _is_below_chord(gains, kept[-2], kept[-1], i):
            kept.pop()
        kept.append(i)
    return np.asarray(np.interp(BUDGET_PART_GRID, BUDGET_PART_GRID[kept], gains[kept]))


def _is_below_chord(gains: Array, a: int, b: int, c: int) -> bool:
    """Whether the middle one of three points lies below the line through the others."""
    return bool(
        (gains[b] - gains[a]) * (BUDGET_PART_GRID[c] - BUDGET_PART_GRID[a])
        <= (gains[c] - gains[a]) * (BUDGET_PART_GRID[b] - BUDGET_PART_GRID[a])
    )
