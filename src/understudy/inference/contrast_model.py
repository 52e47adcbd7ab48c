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
says that it has no association of its own: no interval can be right about that. Whoever
assumes how large it may be gets contrasts of it with that prior and no observation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from understudy.errors import Refused
from understudy.inference.contrasts import ObservedContrasts, collect_contrasts
from understudy.inference.matrix_threads import use_threads_for
from understudy.measurements import Clique
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Schema

MAX_FORMULA_CELLS = 1 << 16
"""Cells of the columns of a formula: a model of more takes minutes."""

MAX_MODE_STEPS = 60
"""Gauss–Newton steps; six to twenty are usual."""

MAX_STEP_HALVINGS = 20
"""Halvings of a step that leads away from what is observed."""

MODE_TOLERANCE = 0.005
"""Length of a step, in standard errors of all contrasts together, below which the mode
is found: no interval moves visibly by that.
"""


@dataclass(frozen=True, eq=False)
class ContrastModel:
    """The fitted shares of all cells, the contrasts, and the mode of λ with its
    covariance. `sampling_rows` times the covariance of one row is the error of
    sampling: 0 for a census, `rows` for rows that were sampled one by one.
    """

    columns: Clique
    shape: tuple[int, ...]
    shares: NDArray[np.float64]
    found: ObservedContrasts
    possible: NDArray[np.bool_]
    rates: NDArray[np.float64]
    covariance: NDArray[np.float64]
    rows: float
    sampling_rows: float
    unit: str = ""

    def propagate(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        """The covariance of estimates whose change with the shares is `influence`: one
        row a cell, one column an estimate.
        """
        slope = self._slope_of(influence)
        spread: NDArray[np.float64] = slope @ self.covariance @ slope.T
        return spread

    def find_assumed_parts(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        """The part of each estimate's variance that would be gone if what was assumed
        were known.
        """
        is_assumed = self.found.is_assumed
        if not is_assumed.any():
            return np.zeros(influence.shape[1])
        moved = self._slope_of(influence) @ self.covariance
        total = np.diag(self.propagate(influence))
        # Measured contrasts follow the assumed ones, as what was measured stays as it is.
        shared = moved[:, is_assumed]
        block = self.covariance[np.ix_(is_assumed, is_assumed)]
        # The variance that a regression on the assumed contrasts explains: c' B⁻¹ c.
        explained = (shared * np.linalg.solve(block, shared.T).T).sum(axis=1)
        return np.asarray(explained / np.maximum(total, np.finfo(float).tiny))

    def follow_rates(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        """The covariance of λ with each estimate: how λ follows when one moves."""
        rates: NDArray[np.float64] = self.covariance @ self._slope_of(influence).T
        return rates

    def follow_weights(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights of the contrasts by which estimates follow what moves elsewhere,
        while what was measured stays as it is.
        """
        slope = _spread_of(self.found, self.shares)
        spread = self.sampling_rows * slope + self.found.noise
        factor = cho_factor(spread, lower=True)
        pulled = slope @ self.follow_rates(influence)
        weights: NDArray[np.float64] = self.rows**2 * cho_solve(factor, pulled)
        return weights

    def _slope_of(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        mean = self.shares @ self.found.matrix
        # dp = p · (T − E T) dλ: shares sum to one, so they cannot all rise.
        slope: NDArray[np.float64] = (influence * self.shares[:, None]).T @ (
            self.found.matrix - mean
        )
        return slope

    def draw_shares(self, rng: Generator) -> NDArray[np.float64]:
        """The shares of all cells, drawn from about what is known of them: those that
        are fitted when noise and sampling happen once more.

        Draws of λ itself from a normal distribution fail where a cell has hardly any
        rows: its logarithm is known to be small and not how small, and a few standard
        deviations up the cell would hold the table.
        """
        with use_threads_for(_count_products(self.found)):
            return self._fit_drawn(rng)

    def _fit_drawn(self, rng: Generator) -> NDArray[np.float64]:
        """The shares fitted to contrasts that are drawn anew."""
        sampling = self.sampling_rows * _spread_of(self.found, self.shares)
        spread = sampling + self.found.noise
        is_measured = ~self.found.is_assumed
        # Assumed contrasts have no observation that could be drawn again.
        root = np.linalg.cholesky(spread[np.ix_(is_measured, is_measured)])
        expected = self.rows * (self.shares @ self.found.matrix)
        expected[is_measured] += root @ rng.standard_normal(len(root))
        moved = replace(
            self.found, observed=expected, prior_mean=self._draw_assumed(rng)
        )
        rates = _find_mode(
            moved, self.rates, self.possible, self.rows, self.sampling_rows
        )
        return _shares_of(moved, rates, self.possible)

    def _draw_assumed(self, rng: Generator) -> NDArray[np.float64]:
        """What the assumed contrasts would be: nothing but their prior says it."""
        drawn = rng.standard_normal(len(self.rates)) / np.sqrt(
            self.found.prior_precision
        )
        return np.where(self.found.is_assumed, drawn, 0.0)


def list_unmeasured(pooled: PooledResiduals, cliques: Iterable[Clique]) -> list[Clique]:
    """The cliques that have a part which was not measured."""
    return [clique for clique in cliques if not pooled.is_measured(clique)]


def fit_contrasts(
    pooled: PooledResiduals,
    columns: Clique,
    *,
    is_census: bool = False,
    assumed: Sequence[Clique] = (),
    assumed_deviation: float = 1.0,
) -> ContrastModel:
    """The model of these columns. For a census the people in the table are all there
    are: no sampling error is added. Where a unit has several rows, units were sampled,
    and the error is that of units whose rows are alike. Contrasts of the sets in
    `assumed`, none of which was measured, have this prior standard deviation.
    """
    schema = pooled.schema
    shape = schema.sizes(columns)
    refuse_large_formula(schema, columns)
    # A noisy total may be negative, but a covariance needs a positive number of rows.
    rows = max(pooled.total, 1.0)
    found = collect_contrasts(pooled, columns, assumed, assumed_deviation, rows)
    possible = _possible_cells(schema, columns, shape)
    weight = 0.0 if is_census else rows * schema.unit.sampling_factor
    start = np.zeros(len(found.observed))
    with use_threads_for(_count_products(found)):
        rates = _find_mode(found, start, possible, rows, weight)
        shares = _shares_of(found, rates, possible)
        information, _ = _weigh_miss(found, rates, shares, rows, weight)
        covariance = np.linalg.inv(information).astype(np.float64)
    return ContrastModel(
        columns=columns,
        shape=shape,
        shares=shares,
        found=found,
        possible=possible,
        rates=rates,
        # Rounding leaves the inverse slightly asymmetric.
        covariance=(covariance + covariance.T) / 2,
        rows=rows,
        sampling_rows=weight,
        unit=schema.unit.clustered_noun,
    )


def _count_products(found: ObservedContrasts) -> float:
    """Multiplications in the covariance of the contrasts, a sum over the cells."""
    cells, contrasts = found.matrix.shape
    products: int = cells * contrasts**2
    return products


def refuse_large_formula(schema: Schema, columns: Clique) -> None:
    """Refuse columns whose cells no model here can hold."""
    cells = math.prod(schema.sizes(columns))
    if cells > MAX_FORMULA_CELLS:
        raise Refused(
            f"the columns of the formula have {cells:,} cells together; at most"
            f" {MAX_FORMULA_CELLS:,} can be modelled. Name fewer columns, or declare"
            " wider bins in the schema"
        )


def _find_mode(
    found: ObservedContrasts,
    start: NDArray[np.float64],
    possible: NDArray[np.bool_],
    rows: float,
    weight: float,
) -> NDArray[np.float64]:
    rates = start
    for _ in range(MAX_MODE_STEPS):
        rates, length = _climb_step(found, rates, possible, rows, weight)
        if length < MODE_TOLERANCE:
            break
    return rates


def _climb_step(
    found: ObservedContrasts,
    rates: NDArray[np.float64],
    possible: NDArray[np.bool_],
    rows: float,
    weight: float,
) -> tuple[NDArray[np.float64], float]:
    """λ after one Gauss–Newton step, halved until it is nearer to the observed
    contrasts. The covariance that weighs the distance stays that of the start: the
    estimate solves unbiased equations, and a wide spread explains nothing. Also the
    length of the step in standard errors.
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
        prior = float(found.prior_precision @ (tried - found.prior_mean) ** 2)
        return float(miss @ cho_solve(factor, miss)) + prior

    here = distance(rates)
    # A full step overshoots where a share is near 0 and its logarithm is steep.
    for halving in range(MAX_STEP_HALVINGS):
        tried = rates + step / 2**halving
        if distance(tried) < here:
            length = math.sqrt(max(float(step @ information @ step), 0.0)) / 2**halving
            return np.asarray(tried), length
    # No shorter step is better: this is the mode, up to rounding.
    return rates, 0.0


def _possible_cells(
    schema: Schema, columns: Clique, shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    zeros = schema.zeros(columns)
    if zeros is None:
        return np.ones(math.prod(shape), np.bool_)
    return ~np.asarray(zeros, np.bool_).ravel()


def _shares_of(
    found: ObservedContrasts, rates: NDArray[np.float64], possible: NDArray[np.bool_]
) -> NDArray[np.float64]:
    logs = np.where(possible, found.matrix @ rates, -np.inf)
    # The largest is subtracted so that exp cannot overflow.
    weights = np.exp(logs - logs.max())
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def _spread_of(
    found: ObservedContrasts, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Covariance of the contrasts of one person."""
    mean = shares @ found.matrix
    centered = found.matrix - mean
    spread: NDArray[np.float64] = (centered * shares[:, None]).T @ centered
    return spread


def _weigh_miss(
    found: ObservedContrasts,
    rates: NDArray[np.float64],
    shares: NDArray[np.float64],
    rows: float,
    weight: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The information about λ, and the pull of what is observed."""
    slope = _spread_of(found, shares)
    factor = cho_factor(weight * slope + found.noise, lower=True)
    miss = found.observed - rows * (shares @ found.matrix)
    # One factorisation serves both right-hand sides.
    solved = cho_solve(factor, np.column_stack([miss, rows * slope]))
    information = rows * slope @ solved[:, 1:]
    # The prior keeps the matrix regular where noise drowns a contrast.
    information[np.diag_indices_from(information)] += found.prior_precision
    pull = rows * slope @ solved[:, 0] - found.prior_precision * (
        rates - found.prior_mean
    )
    return (information + information.T) / 2, pull
