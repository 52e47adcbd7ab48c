"""Labels by logistic regression: `logreg` for two, `polyreg` for more.

Where a predictor separates the labels, the likelihood has no maximum. A few weighted
rows that show every label at every predictor's mean plus and minus half a deviation keep
it finite (White, Daniel, Royston, "Avoiding bias due to perfect prediction in multiple
imputation of incomplete categorical variables", 2010).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from understudy.imputation.linear import add_intercept

MAX_LOGIT_STEPS = 100
"""Steps of ascent. Each costs one pass over the rows; a dozen is usual."""

LOGIT_GRADIENT_TOLERANCE = 0.01
"""Largest slope of the log-likelihood that ends the steps, by coordinates of which a
unit is about a deviation of a coefficient: what is left is far below the deviation with
which coefficients are drawn.
"""

HESSIAN_RIDGE = 1e-6
"""Added to the diagonal of the information, a millionth of one row: collinear
predictors then have an inverse.
"""

MAX_LINEAR_PREDICTOR = 30.0
"""Beyond this a probability is 0 or 1 in double precision."""


def draw_posterior(
    center: NDArray[np.float64], factor: NDArray[np.float64], rng: Generator
) -> NDArray[np.float64]:
    """Parameters drawn around their mode, given the Cholesky factor of their
    information.
    """
    normal = rng.standard_normal(center.size)
    # The information is LL', so L'⁻¹e has its inverse as covariance.
    shift = solve_triangular(factor, normal, lower=True, trans="T")
    return center + np.asarray(shift, np.float64).reshape(center.shape)


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """Log odds of each label against the first, linear in the predictors."""

    labels: NDArray[np.int64]
    center: NDArray[np.float64]
    factor: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    def draw_parameters(self, rng: Generator) -> LogisticModel:
        """The same model with coefficients drawn from their approximate posterior."""
        return replace(self, coefficients=draw_posterior(self.center, self.factor, rng))

    def log_chances(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the chance of each label, for each row of predictors."""
        return np.log(_label_chances(add_intercept(x), self.coefficients))

    def draw(self, x: NDArray[np.float64], rng: Generator) -> NDArray[np.int64]:
        """One label for each row of predictors."""
        chances = _label_chances(add_intercept(x), self.coefficients)
        return draw_labels(self.labels, chances, rng)


def draw_labels(
    labels: NDArray[np.int64], chances: NDArray[np.float64], rng: Generator
) -> NDArray[np.int64]:
    """One label a row, by the row's chances."""
    edges = np.cumsum(chances, axis=1)
    point = rng.random(len(chances)) * edges[:, -1]
    chosen = (edges < point[:, None]).sum(axis=1)
    drawn: NDArray[np.int64] = labels[np.minimum(chosen, len(labels) - 1)]
    return drawn


def fit_logistic(y: NDArray[np.int64], x: NDArray[np.float64]) -> LogisticModel:
    """The multinomial logistic model of labels; the first label is the reference.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 1))
    >>> y = (rng.random(2000) < 1 / (1 + np.exp(-2 * x[:, 0]))).astype(np.int64)
    >>> bool(abs(fit_logistic(y, x).coefficients[0, 1] - 2) < 0.4)
    True
    """
    labels, place = np.unique(y, return_inverse=True)
    design, place, weight = augment_rows(x, place.reshape(-1), len(labels))
    rows = add_intercept(design)
    targets = (place[:, None] == np.arange(1, len(labels))).astype(np.float64)
    center = _climb_likelihood(rows, targets, weight)
    chances = _label_chances(rows, center)[:, 1:]
    factor = cholesky(_information(rows, chances, weight), lower=True)
    return LogisticModel(labels, center, factor, center)


def _climb_likelihood(
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Coefficients of the largest likelihood, from those of the labels' shares.

    Where no predictor matters the information is (diag(p) − pp') ⊗ X'X, whose factor
    comes from two small ones. In coordinates in which it is the identity a few steps of
    a quasi-Newton method arrive, and each costs one pass over the rows.
    """
    shares = _shrink_shares(targets, weight)
    label_factor = cholesky(np.diag(shares) - np.outer(shares, shares), lower=True)
    squares = weigh_squares(rows, weight)
    squares[np.diag_indices_from(squares)] += HESSIAN_RIDGE
    row_factor = cholesky(squares, lower=True)
    start = np.zeros((targets.shape[1], rows.shape[1]))
    start[:, 0] = np.log(shares / (1 - shares.sum()))

    def move(steps: NDArray[np.float64]) -> NDArray[np.float64]:
        by_row = solve_triangular(row_factor, steps.T, lower=True, trans="T").T
        by_label = solve_triangular(label_factor, by_row, lower=True, trans="T")
        return start + np.asarray(by_label)

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        chances = _label_chances(rows, move(flat.reshape(start.shape)))
        shown = (targets * chances[:, 1:]).sum(axis=1)
        shown += (1 - targets.sum(axis=1)) * chances[:, 0]
        gradient = ((chances[:, 1:] - targets) * weight[:, None]).T @ rows
        by_row = solve_triangular(row_factor, gradient.T, lower=True).T
        by_label = solve_triangular(label_factor, by_row, lower=True)
        return -float(weight @ np.log(shown)), np.asarray(by_label).reshape(-1)

    # A step of 1 in these coordinates is a standard deviation of a coefficient.
    flat = minimize(
        loss,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": MAX_LOGIT_STEPS,
            "gtol": LOGIT_GRADIENT_TOLERANCE,
            "ftol": 0.0,
        },
    ).x
    return move(flat.reshape(start.shape))


def _shrink_shares(
    targets: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Shares of the labels but the first, each away from 0 and 1 by half a row."""
    count, total = targets.shape[1] + 1, float(weight.sum())
    shares: NDArray[np.float64] = (weight @ targets + 0.5) / (total + 0.5 * count)
    return shares


def _label_chances(
    rows: NDArray[np.float64], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probability of each label, the reference first."""
    odds = np.clip(rows @ coefficients.T, -MAX_LINEAR_PREDICTOR, MAX_LINEAR_PREDICTOR)
    weights = np.column_stack([np.ones(len(rows)), np.exp(odds)])
    chances: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return chances


def _information(
    rows: NDArray[np.float64],
    chances: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Fisher information of all coefficients, label by label."""
    count, width = chances.shape[1], rows.shape[1]
    blocks = np.empty((count, width, count, width))
    for i in range(count):
        for j in range(i, count):
            same = 1.0 if i == j else 0.0
            variance = weight * chances[:, i] * np.abs(same - chances[:, j])
            block = weigh_squares(rows, variance)
            if i != j:
                block = -block
            blocks[i, :, j], blocks[j, :, i] = block, block
    information = blocks.reshape(count * width, count * width)
    information[np.diag_indices_from(information)] += HESSIAN_RIDGE
    return information


def weigh_squares(
    rows: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """X'WX for weights that are not negative."""
    # A matrix times its own transpose takes half the products of two matrices.
    scaled = rows * np.sqrt(weight)[:, None]
    squares: NDArray[np.float64] = scaled.T @ scaled
    return squares


def augment_rows(
    x: NDArray[np.float64], place: NDArray[np.int64], labels: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Rows, labels and weights with those that keep the likelihood bounded."""
    width = x.shape[1]
    if not width:
        return x, place, np.ones(len(x))
    mean, spread = x.mean(axis=0), x.std(axis=0)
    low, high = x.min(axis=0), x.max(axis=0)
    added = np.tile(mean, (2 * width, 1))
    for i in range(width):
        ends = mean[i] + np.array([-0.5, 0.5]) * spread[i]
        added[2 * i : 2 * i + 2, i] = np.clip(ends, low[i], high[i])
    rows = np.concatenate([x, np.repeat(added, labels, axis=0)])
    shown = np.concatenate([place, np.tile(np.arange(labels), 2 * width)])
    weight = np.ones(len(rows))
    # Together the added rows weigh as much as there are coefficients.
    weight[len(x) :] = (width + 1) / (2 * width * labels)
    return rows, shown, weight
