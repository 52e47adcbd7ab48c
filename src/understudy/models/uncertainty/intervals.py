"""How far a table may be from the truth, computed from the measurements alone:
post-processing, free of charge.

Least squares (models/estimates/residuals.py) gives every measured marginal as the truth
t plus Gaussian noise z of known covariance, y = t + z. A released table m is some
function of the same answers, so it depends on z. Both m and t hold no negative count;
therefore

    ‖m − t‖₁ = 2·Σ(m − t)₊ + (Σt − Σm)      and      (m − t)₊ ≤ min(m, (m − y)₊ + z₊),

cell by cell. Whatever cells m chose to be large in, Σ min(m, r + z₊) is at most the sum
in which the largest z₊ meet the cells with the most room for them. Its distribution is
simulated from the exact covariance, part by part; the bound is its mean and so many of
its deviations. In a sparse table most cells of m are near zero and leave no room for
noise, which is why this is far below the triangle inequality ‖m − y‖₁ + ‖z‖₁ (McKenna,
Mullins, Sheldon, Miklau, "AIM", 2022, §5).

Where a marginal was not measured but a noisy distance e to a public estimate p was: ‖m
− t‖₁ ≤ ‖m − p‖₁ + e + its noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import ndtri

from understudy.accounting.law import Law
from understudy.measurements import Clique, EstimateDistance
from understudy.models.arrays import Array
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL, noise_variance
from understudy.models.estimates.residual_parts import nonempty_subsets
from understudy.models.estimates.residuals import PooledResiduals

# How often a bound holds, at least.
BOUND_CONFIDENCE = 0.95

# Tables of noise that a bound is simulated from; fewer where a table is large, for
# its sum hardly varies.
MAX_SUPPORTED_DRAWS = 200

# Cells that all draws of one bound may have together.
MAX_SUPPORTED_DRAW_CELLS = 4_000_000

MIN_SUPPORTED_DRAWS = 12


@dataclass(frozen=True)
class ErrorBound:
    """A bound on ‖m − t‖₁ in rows, and what it rests on."""

    rows: float
    noise: float
    """The mean size of the noise that least squares leaves on a cell; nan where the
    marginal was not measured.
    """
    supported: bool


def supported_bound(
    pooled: PooledResiduals,
    clique: Clique,
    table: Array,
    *,
    confidence: float = BOUND_CONFIDENCE,
) -> ErrorBound:
    """The bound for a marginal whose every part was measured.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Identity, Measurement, Measurements
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    >>> counts = np.array([600, 400])
    >>> noisy = Measurement(
    ...     ("smoker",),
    ...     (Identity(2),),
    ...     counts,
    ...     Law.ROUNDED_GAUSSIAN,
    ...     Fraction(10),
    ...     Cost(Accounting.GDP, Fraction(1)),
    ... )
    >>> bound = supported_bound(
    ...     PooledResiduals.of(schema, Measurements((noisy,))), ("smoker",), counts.astype(float)
    ... )
    >>> 20 < bound.rows < 80, round(bound.noise, 1)
    (True, 8.0)
    """
    looked = pooled.marginal(clique)
    deviation = np.sqrt(pooled.variance(clique))
    room = np.maximum(table, 0.0)
    known = np.minimum(np.maximum(table - looked, 0.0), room).ravel()
    room = np.sort(room.ravel() - known)
    # Half of the doubt goes to the total, half to the cells.
    sure = float(ndtri(1 - (1 - confidence) / 2))
    count = MAX_SUPPORTED_DRAW_CELLS // max(room.size, 1)
    count = min(max(count, MIN_SUPPORTED_DRAWS), MAX_SUPPORTED_DRAWS)
    noise = np.maximum(simulate_noise(pooled, clique, count), 0.0)
    noise.sort(axis=1)
    sums = np.minimum(noise, room).sum(axis=1)
    cells = float(known.sum() + sums.mean() + sure * sums.std(ddof=1))
    off = max(pooled.total - float(table.sum()), 0.0) + sure * math.sqrt(
        pooled.total_variance
    )
    return ErrorBound(2 * cells + off, MEAN_ABS_NORMAL * float(deviation.mean()), True)


def distance_bound(
    gap: EstimateDistance, table: Array, *, confidence: float = BOUND_CONFIDENCE
) -> ErrorBound:
    """The bound for a marginal of which a noisy distance to an estimate was measured.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Distance
    >>> paid = Distance(
    ...     ("smoker",),
    ...     30 * 1024,
    ...     1024,
    ...     Law.ROUNDED_GAUSSIAN,
    ...     Fraction(10 * 1024),
    ...     Cost(Accounting.GDP, Fraction(1)),
    ... )
    >>> bound = distance_bound(
    ...     EstimateDistance.of(paid, np.array([600.0, 400.0])), np.array([605.0, 395.0])
    ... )
    >>> round(bound.rows, 1)
    56.4
    """
    distance = gap.distance
    deviation = math.sqrt(noise_variance(distance.law, distance.scale)) / distance.grid
    away = float(np.abs(table - gap.estimate / distance.grid).sum())
    sure = deviations_at_tail(
        1 - confidence, laplace=distance.law is Law.DISCRETE_LAPLACE
    )
    return ErrorBound(
        away + max(float(distance), 0.0) + sure * deviation, math.nan, False
    )


def deviations_at_tail(tail: float, *, laplace: bool) -> float:
    """How many standard deviations noise passes on one side no more often than this.
    Sums of Laplace noise lie between it and normal noise.

    >>> [round(deviations_at_tail(0.025, laplace=law), 2) for law in (False, True)]
    [1.96, 2.12]
    """
    normal = -float(ndtri(tail))
    return max(normal, -math.log(2 * tail) / math.sqrt(2)) if laplace else normal


def simulate_noise(pooled: PooledResiduals, clique: Clique, count: int) -> Array:
    """A table of noise in each row, as `pooled.marginal(clique)` carries it."""
    # A bound is a function of the release: it is the same each time it is asked for.
    rng = np.random.default_rng(0)
    return draw_noise_tables(pooled, clique, count, rng).reshape(count, -1)


def draw_noise_tables(
    pooled: PooledResiduals, clique: Clique, count: int, rng: Generator
) -> Array:
    """Tables of noise as `pooled.marginal(clique)` carries it: independent parts, each
    centred and spread over the other columns.
    """
    sizes = pooled.schema.sizes(clique)
    totals = math.sqrt(pooled.total_variance) * rng.standard_normal(count)
    noise = np.empty((count, *sizes))
    noise[...] = (totals / math.prod(sizes)).reshape((count, *(1 for _ in sizes)))
    for tau in nonempty_subsets(clique):
        part = pooled.noise(tau, totals, rng)
        if part is None:
            continue
        shape = [n if name in tau else 1 for name, n in zip(clique, sizes, strict=True)]
        rest = math.prod(
            n for name, n in zip(clique, sizes, strict=True) if name not in tau
        )
        noise += part.reshape((count, *shape)) / rest
    return noise


def deviation_of_sum(pooled: PooledResiduals, clique: Clique, weights: Array) -> float:
    """The standard deviation of Σ weights · marginal(clique); infinite where it takes a
    part that was not measured.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Identity, Measurement, Measurements
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    >>> cost = Cost(Accounting.GDP, Fraction(1))
    >>> noisy = Measurement(
    ...     ("smoker",),
    ...     (Identity(2),),
    ...     np.array([6, 4]),
    ...     Law.DISCRETE_GAUSSIAN,
    ...     Fraction(10),
    ...     cost,
    ... )
    >>> pooled = PooledResiduals.of(schema, Measurements((noisy,)))
    >>> (
    ...     round(deviation_of_sum(pooled, ("smoker",), np.array([1.0, 0.0])), 6),
    ...     round(deviation_of_sum(pooled, ("smoker",), np.ones(2)), 4),
    ... )
    (10.0, 14.1421)
    """
    sizes = pooled.schema.sizes(clique)
    # What one row more in the total adds to the answer.
    lean = float(weights.sum()) / math.prod(sizes)
    spread = 0.0
    for tau in nonempty_subsets(clique):
        inside = _center_weights(weights, clique, tau)
        if np.abs(inside).max(initial=0.0) <= 1e-12 * max(
            float(np.abs(weights).max(initial=0.0)), 1e-300
        ):
            continue
        column = pooled.columns.get(tau[0]) if len(tau) == 1 else None
        if column is not None:
            if np.any(~np.isfinite(column.variance) & (inside != 0)):
                return math.inf
            spread += float(inside @ column.covariance @ inside)
            lean += float(inside @ column.slope)
        else:
            precision = pooled.precision(tau)
            if precision is None:
                return math.inf
            spread += float(np.sum(inside**2)) / precision
    if lean != 0:
        spread += pooled.total_variance * lean**2
    return math.sqrt(spread)


def _center_weights(weights: Array, clique: Clique, tau: Clique) -> Array:
    """The part of weights that belongs to the residual of τ: averaged over the other
    columns, and centred along its own.
    """
    others = tuple(i for i, name in enumerate(clique) if name not in tau)
    inside = np.asarray(weights.mean(axis=others))
    for axis in range(inside.ndim):
        inside = inside - inside.mean(axis=axis, keepdims=True)
    return inside
