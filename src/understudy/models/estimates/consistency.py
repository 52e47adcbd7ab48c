"""Noisy numbers made to look like counts: non-negative, whole, and adding up.

All of it is post-processing and free of charge. None of it is free of bias: an estimate
forced to be non-negative is too large on average where the truth is zero. The
measurements themselves stay unbiased, which is why a release keeps them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def project_simplex(
    values: NDArray[np.float64],
    total: float,
    *,
    allowed: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The nearest non-negative counts that sum to `total` (Euclidean distance):
    subtract one constant, cut at zero.

    Cells that are not `allowed` stay at exactly zero.

    >>> project_simplex(np.array([7.0, 5.0, -3.0]), 10.0).tolist()
    [6.0, 4.0, 0.0]
    """
    if not (math.isfinite(total) and total >= 0):
        raise ValueError("a total must be finite and not negative")
    result = np.zeros(np.shape(values))
    inside = np.ones(result.shape, bool) if allowed is None else allowed
    y = np.asarray(values, np.float64)[inside]
    if y.size == 0:
        if total > 0:
            raise ValueError("no cell may hold the total")
        return result
    # Shifting all values by one constant does not move their projection; this one keeps
    # large values from eating small differences.
    y = y - y.max()
    falling = np.sort(y)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, y.size + 1)
    kept = int(np.flatnonzero(falling - shifts >= 0)[-1])
    projected = np.maximum(y - shifts[kept], 0.0)
    mass = projected.sum()
    result[inside] = projected * (total / mass) if mass > 0 else total / y.size
    return result


def clamp(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Negative counts become zero and the rest stays. Simple, and biased upwards: see
    `clamp_bias`.

    >>> clamp(np.array([3.0, -2.0])).tolist()
    [3.0, 0.0]
    """
    return np.maximum(np.asarray(values, np.float64), 0.0)


def clamp_bias(scale: float) -> float:
    """Rows that clamping invents in every empty cell under discrete Laplace noise: E
    max(G, 0) = t/(1 - t²), t = exp(-1/scale).

    >>> round(clamp_bias(2.0), 2)
    0.96
    """
    return 0.5 / math.sinh(1 / scale)


def reconcile_values(
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    constraints: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The most likely numbers that satisfy A·x = 0, from independent noisy ones, and
    their variances.

    Generalised least squares: x = y - V Aᵀ (A V Aᵀ)⁻¹ A y. Each number gives way in
    proportion to its own variance; those with variance zero stay as they are. Rows of A
    may repeat each other.

    >>> total_is_men_plus_women = np.array([[1.0, -1.0, -1.0]])
    >>> values, variances = reconcile_values(
    ...     np.array([2005.0, 1001.0, 995.0]),
    ...     np.array([8.0, 50.0, 32.0]),
    ...     total_is_men_plus_women,
    ... )
    >>> values.round(1).tolist()
    [2004.2, 1006.0, 998.2]
    """
    y, v = np.asarray(values, np.float64), np.asarray(variances, np.float64)
    a = np.atleast_2d(np.asarray(constraints, np.float64))
    if y.ndim != 1 or v.shape != y.shape or a.shape[1] != y.size:
        raise ValueError(
            "one variance per value, and one column of the constraints per value"
        )
    if np.any(v < 0):
        raise ValueError("a variance cannot be negative")
    spread = v[:, None] * a.T
    gain = spread @ np.linalg.pinv(a @ spread, hermitian=True)
    left = np.maximum(v - np.einsum("ij,ij->i", gain, spread), 0.0)
    return y - gain @ (a @ y), left


def round_to_total(
    values: NDArray[np.float64], total: int | None = None
) -> NDArray[np.int64]:
    """The nearest whole counts that sum to `total` (by default the rounded sum):
    largest remainders first, the earlier cell on a tie.

    >>> round_to_total(np.array([1006.0, 998.2])).tolist()
    [1006, 998]
    >>> round_to_total(np.array([0.5, 0.5, 1.0])).tolist()
    [1, 0, 1]
    """
    y = np.asarray(values, np.float64)
    if np.any(y < 0) or not np.all(np.isfinite(y)):
        raise ValueError("counts must be finite and not negative")
    goal = round(float(y.sum())) if total is None else total
    whole = np.floor(y)
    missing = goal - int(whole.sum())
    if not 0 <= missing <= y.size:
        raise ValueError("the counts do not sum to about the total: scale them first")
    counts = whole.astype(np.int64)
    order = np.argsort(-(y - whole), axis=None, kind="stable")
    counts.reshape(-1)[order[:missing]] += 1
    return counts
