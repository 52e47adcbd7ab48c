"""Several noisy measurements of one thing, pooled by precision.

Every measurement is unbiased and its noise independent of the others', so the best
linear estimate weighs each by 1/variance. For the number of rows this is generalised
least squares over all measurements at once: the total of a marginal is the only part of
it that says anything about the number of rows (the residual decomposition of Xiao, He,
Zhang, Kifer 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.special import log_ndtr

from understudy.measurements import (
    Centring,
    Clique,
    Measurement,
    Measurements,
    Partition,
)
from understudy.models.estimates.noise_moments import (
    MIN_NOISE_VARIANCE,
    cell_variance,
    noise_variance,
)
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class PooledMarginal:
    """An unbiased estimate of a marginal and the variance of each of its cells."""

    values: NDArray[np.float64]
    variance: float


def pool_total(schema: Schema, measurements: Measurements) -> tuple[float, float]:
    """The number of rows and its variance: the declared number where it is public, else
    the pooled noisy one.

    It may come out negative; without any measurement it is 0 with infinite variance.
    """
    if schema.rows is not None:
        return float(schema.rows), 0.0
    # A centred axis says nothing of the total.
    usable = [m for m in measurements if not _has_centred_axis(m)]
    weights = [1 / (cell_variance(m) * max(_noisy_cells(schema, m), 1)) for m in usable]
    if not weights:
        return 0.0, math.inf
    precision = sum(weights)
    return (
        sum(w * float(m.values.sum()) for w, m in zip(weights, usable, strict=True))
        / precision,
        1 / precision,
    )


def likely_total(schema: Schema, measurements: Measurements) -> float:
    """The number of rows a model takes, never negative: the mean of all numbers that
    the noise of the pooled one leaves possible.

    A table of few rows would else come out empty about as often as noise is larger than
    it. Where noise is small, nothing changes.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    >>> def seen(rows):
    ...     return Measurement(
    ...         (),
    ...         (),
    ...         np.array(rows),
    ...         Law.DISCRETE_GAUSSIAN,
    ...         Fraction(100),
    ...         Cost(Accounting.GDP, Fraction(1)),
    ...     )
    >>> [round(likely_total(schema, Measurements((seen(rows),)))) for rows in (1000, 100, -100)]
    [1000, 129, 53]
    """
    total, variance = pool_total(schema, measurements)
    if not 0 < variance < math.inf:
        return max(total, 0.0)
    deviation = math.sqrt(variance)
    there = total / deviation
    if (
        there < -30
    ):  # where the difference of two large numbers is lost, and this is its limit
        return deviation / -there
    density = math.exp(-(there**2) / 2 - float(log_ndtr(there))) / math.sqrt(
        2 * math.pi
    )
    return max(total + deviation * density, 0.0)


def pool_marginal(clique: Clique, measurements: Measurements) -> PooledMarginal | None:
    """The marginal of a clique from every plain measurement of it or of a larger
    clique; None where there is none.
    """
    top: NDArray[np.float64] | float = 0.0
    precision = 0.0
    for m in measurements:
        if not m.plain or not set(clique) <= set(m.clique):
            continue
        rest = tuple(i for i, name in enumerate(m.clique) if name not in clique)
        kept = [name for name in m.clique if name in clique]
        values = m.values.sum(axis=rest).transpose(
            [kept.index(name) for name in clique]
        )
        weight = 1 / (cell_variance(m) * math.prod(m.values.shape[i] for i in rest))
        top = top + weight * values
        precision += weight
    return (
        PooledMarginal(np.asarray(top / precision, np.float64), 1 / precision)
        if precision
        else None
    )


def pool_column(
    schema: Schema, name: str, measurements: Measurements
) -> NDArray[np.float64] | None:
    """The counts of one column from every measurement that says something about it,
    coarser bins included; None where there is none.

    What only coarser bins were measured of is spread evenly inside them.
    """
    plain = pool_marginal((name,), measurements)
    coarse = [
        m
        for m in measurements
        if m.clique == (name,) and isinstance(m.maps[0], Partition)
    ]
    if not coarse:
        return None if plain is None else plain.values
    (size,) = schema.sizes((name,))
    precision = np.zeros((size, size))
    pull = np.zeros(size)
    if plain is not None:
        precision[np.diag_indices(size)] += 1 / plain.variance
        pull += plain.values / plain.variance
    for m in coarse:
        bins = m.maps[0].matrix().astype(np.float64)
        precision += bins.T @ bins / cell_variance(m)
        pull += bins.T @ m.values / cell_variance(m)
    # Directions no measurement speaks of are flat; a billionth of the strongest
    # precision, towards zero, makes them even.
    ridge = 1e-9 * float(np.trace(precision)) / size
    return np.asarray(
        solve(precision + ridge * np.eye(size), pull, assume_a="pos"), np.float64
    )


def pool_cells(
    clique: Clique, measurements: Measurements
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The cells that any sparse measurement of a clique shows, in its order of columns,
    and their pooled counts.

    A cell that only some of several measurements show is pooled from those: where it
    was not shown, nothing was said of it.
    """
    observations = [s for s in measurements.sparse if set(s.clique) == set(clique)]
    codes = []
    for observation in observations:
        places = [observation.clique.index(name) for name in clique]
        codes.append(observation.codes[:, places])
    cells, member = np.unique(
        np.concatenate([np.zeros((0, len(clique)), np.int64), *codes]),
        axis=0,
        return_inverse=True,
    )
    precision = [
        np.full(
            s.values.size, 1 / max(noise_variance(s.law, s.scale), MIN_NOISE_VARIANCE)
        )
        for s in observations
    ]
    weights = np.concatenate([np.zeros(0), *precision])
    values = np.concatenate([np.zeros(0), *(s.values for s in observations)])
    top, bottom = (
        np.bincount(member.reshape(-1), w, minlength=len(cells))
        for w in (weights * values, weights)
    )
    return cells, np.asarray(top / bottom, np.float64)


def _noisy_cells(schema: Schema, measurement: Measurement) -> int:
    """Cells that carry noise: all of them but the structural zeros of a plain
    measurement.
    """
    zeros = schema.zeros(measurement.clique) if measurement.plain else None
    return measurement.values.size - (
        0 if zeros is None else int(np.count_nonzero(zeros))
    )


def _has_centred_axis(measurement: Measurement) -> bool:
    return any(isinstance(axis, Centring) for axis in measurement.maps)
