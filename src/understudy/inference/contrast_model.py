"""A log-linear model of some columns from noisy marginals, with its uncertainty.

The pooled measurements of a release split into contrasts: for each measured set τ of
columns the centred table of its counts, in an orthogonal basis, with noise of known
variance. With T the matrix of contrasts of the cells and n the number of rows,

    p ∝ exp(Tλ),    c ~ N(n T'p, n Cov_p(T) + S),

where n Cov_p(T) is the error of sampling n people from a population, and S the noise.
The mode of λ is found by Gauss–Newton steps; the inverse of the information there is its
covariance. This is the Laplace approximation of Räisä, Jälkö, Kaski, Honkela,
"Noise-aware statistical inference with differentially private synthetic data", 2023, on
contrasts that are independent of each other.

It holds where every pair of the columns was measured. For a pair that was not, the model
says that it has no association of its own: no interval can be right about that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, helmert

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Schema

MAX_FORMULA_CELLS = 1 << 16
"""Cells of the columns of a formula: a model of more takes minutes."""

MAX_FORMULA_CONTRASTS = 2_000
"""Contrasts of a model: its information matrix is inverted."""

PRIOR_DEVIATIONS = {1: 10.0, 2: 5.0, 3: 2.5}
"""Prior standard deviation of a contrast of one, two and three columns, in logarithms of
a share: so wide that data of a hundred rows decide, and cells without rows stay finite.
"""

MAX_MODE_STEPS = 60
"""Gauss–Newton steps; six to twenty are usual."""

MAX_STEP_HALVINGS = 20
"""Halvings of a step that leads away from what is observed."""

MODE_TOLERANCE = 1e-5
"""Change of a contrast, in logarithms of a share, below which the mode is found: a
thousandth of the smallest standard error that matters.
"""


@dataclass(frozen=True, eq=False)
class ContrastModel:
    """The fitted shares of all cells, the contrasts, and the covariance of λ."""

    columns: Clique
    shape: tuple[int, ...]
    shares: NDArray[np.float64]
    contrasts: NDArray[np.float64]
    covariance: NDArray[np.float64]
    rows: float

    def propagate(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        """The covariance of estimates whose change with the shares is `influence`: one
        row a cell, one column an estimate.
        """
        mean = self.shares @ self.contrasts
        slope = (influence * self.shares[:, None]).T @ (self.contrasts - mean)
        spread: NDArray[np.float64] = slope @ self.covariance @ slope.T
        return spread


@dataclass(frozen=True, eq=False)
class _Contrasts:
    """The contrasts of the measured sets: of the cells, as observed, and their noise."""

    matrix: NDArray[np.float64]
    observed: NDArray[np.float64]
    noise: NDArray[np.float64]
    prior_precision: NDArray[np.float64]


def list_unmeasured_pairs(pooled: PooledResiduals, columns: Clique) -> list[Clique]:
    """The pairs of columns of which nothing but their single columns was measured."""
    return [pair for pair in combinations(columns, 2) if not pooled.is_measured(pair)]


def fit_contrasts(
    pooled: PooledResiduals, columns: Clique, *, is_census: bool = False
) -> ContrastModel:
    """The model of these columns, whose pairs were all measured. For a census the people
    in the table are all there are: no sampling error is added.
    """
    schema = pooled.schema
    shape = schema.sizes(columns)
    cells = math.prod(shape)
    if cells > MAX_FORMULA_CELLS:
        raise Refused(
            f"infer: the columns have {cells:,} cells together; at most"
            f" {MAX_FORMULA_CELLS:,} can be modelled. Name fewer columns"
        )
    found = _collect_contrasts(pooled, columns, shape)
    possible = _possible_cells(schema, columns, shape)
    rows = max(pooled.total, 1.0)
    weight = 0.0 if is_census else rows
    rates = np.zeros(len(found.observed))
    for _ in range(MAX_MODE_STEPS):
        moved = _climb_step(found, rates, possible, rows, weight)
        change = float(np.abs(moved - rates).max())
        rates = moved
        if change < MODE_TOLERANCE:
            break
    shares = _shares_of(found, rates, possible)
    information, _ = _weigh_miss(found, rates, shares, rows, weight)
    covariance = np.linalg.inv(information).astype(np.float64)
    return ContrastModel(columns, shape, shares, found.matrix, covariance, rows)


def _climb_step(
    found: _Contrasts,
    rates: NDArray[np.float64],
    possible: NDArray[np.bool_],
    rows: float,
    weight: float,
) -> NDArray[np.float64]:
    """λ after one Gauss–Newton step, halved until it is nearer to the observed
    contrasts. The covariance that weighs the distance stays that of the start: the
    estimate solves unbiased equations, and a wide spread explains nothing.
    """
    shares = _shares_of(found, rates, possible)
    information, pull = _weigh_miss(found, rates, shares, rows, weight)
    step = np.linalg.solve(information, pull).astype(np.float64)
    spread = weight * _spread_of(found, shares) + found.noise
    factor = cho_factor(spread, lower=True)

    def distance(tried: NDArray[np.float64]) -> float:
        miss = found.observed - rows * (
            _shares_of(found, tried, possible) @ found.matrix
        )
        prior = float(found.prior_precision @ tried**2)
        return float(miss @ cho_solve(factor, miss)) + prior

    here = distance(rates)
    for halving in range(MAX_STEP_HALVINGS):
        tried = rates + step / 2**halving
        if distance(tried) < here:
            return np.asarray(tried)
    return rates


def _collect_contrasts(
    pooled: PooledResiduals, columns: Clique, shape: tuple[int, ...]
) -> _Contrasts:
    matrices, observed, noises, priors = [], [], [], []
    # Scaled so that a contrast has mean square 1 over the cells, whatever their number.
    bases = {
        name: helmert(size) * math.sqrt(size)
        for name, size in zip(columns, shape, strict=True)
    }
    for order in range(1, 4):
        for tau in combinations(columns, order):
            values = pooled.part_values(tau)
            if values is None or min(pooled.schema.sizes(tau)) < 2:
                continue
            basis = _join_bases(
                bases[name] if name in tau else np.ones((1, size))
                for name, size in zip(columns, shape, strict=True)
            )
            own_basis = _join_bases(bases[name] for name in tau)
            matrices.append(basis.T)
            observed.append(own_basis @ values.ravel())
            noises.append(own_basis @ pooled.part_covariance(tau) @ own_basis.T)
            priors.append(np.full(len(basis), PRIOR_DEVIATIONS[order] ** -2))
    count = sum(len(part) for part in observed)
    if count > MAX_FORMULA_CONTRASTS:
        raise Refused(
            f"infer: the columns have {count:,} contrasts together; at most"
            f" {MAX_FORMULA_CONTRASTS:,} can be modelled. Name fewer columns"
        )
    noise = np.zeros((count, count))
    start = 0
    for block in noises:
        end = start + len(block)
        noise[start:end, start:end] = block
        start = end
    return _Contrasts(
        np.column_stack(matrices),
        np.concatenate(observed),
        noise,
        np.concatenate(priors),
    )


def _join_bases(bases: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The basis of all columns together: every product of one contrast of each."""
    joint = np.ones((1, 1))
    for basis in bases:
        joint = np.kron(joint, basis).astype(np.float64)
    return joint


def _possible_cells(
    schema: Schema, columns: Clique, shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    zeros = schema.zeros(columns)
    if zeros is None:
        return np.ones(math.prod(shape), np.bool_)
    return ~np.asarray(zeros, np.bool_).ravel()


def _shares_of(
    found: _Contrasts, rates: NDArray[np.float64], possible: NDArray[np.bool_]
) -> NDArray[np.float64]:
    logs = np.where(possible, found.matrix @ rates, -np.inf)
    weights = np.exp(logs - logs.max())
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def _spread_of(found: _Contrasts, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance of the contrasts of one person."""
    mean = shares @ found.matrix
    centered = found.matrix - mean
    spread: NDArray[np.float64] = (centered * shares[:, None]).T @ centered
    return spread


def _weigh_miss(
    found: _Contrasts,
    rates: NDArray[np.float64],
    shares: NDArray[np.float64],
    rows: float,
    weight: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The information about λ, and the pull of what is observed."""
    slope = _spread_of(found, shares)
    factor = cho_factor(weight * slope + found.noise, lower=True)
    miss = found.observed - rows * (shares @ found.matrix)
    solved = cho_solve(factor, np.column_stack([miss, rows * slope]))
    information = rows * slope @ solved[:, 1:]
    information[np.diag_indices_from(information)] += found.prior_precision
    pull = rows * slope @ solved[:, 0] - found.prior_precision * rates
    return (information + information.T) / 2, pull
