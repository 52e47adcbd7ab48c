"""Labels by logistic regression: `logreg` for two, `polyreg` for more.

Where a predictor separates the labels, the likelihood has no maximum. A few weighted
rows that show every label at every predictor's mean plus and minus half a deviation keep
it finite (White, Daniel, Royston, "Avoiding bias due to perfect prediction in multiple
imputation of incomplete categorical variables", 2010). There each label weighs the same,
which with 150 predictors makes a label of one row in five hundred eight times as
frequent; here each weighs by its share, which keeps it (Clogg, Rubin, Schenker, Schultz,
Weidman, "Multiple imputation of industry and occupation codes in census public-use
samples using Bayesian logistic regression", 1991).

Drawn parameters are those of a bootstrap sample of the rows, for the same reason: a
normal draw of the coefficients of rare labels, whose posterior is skewed, makes them
more frequent.
"""

from __future__ import annotations

from collections.abc import Callable
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

DRAWN_GRADIENT_TOLERANCE = 0.1
"""The same for drawn coefficients: a tenth of a deviation is one percent of the variance
with which they are drawn.
"""

HESSIAN_RIDGE = 1e-6
"""Added to the diagonal of the information, a millionth of one row: collinear
predictors then have an inverse.
"""

MAX_LINEAR_PREDICTOR = 30.0
"""Beyond this a probability is 0 or 1 in double precision."""


@dataclass(frozen=True, eq=False)
class WeighedRows:
    """Weighted rows with an intercept, and the index of each one's label. The last rows
    are added against separation: each has every label, weighted by its share.
    """

    rows: NDArray[np.float64]
    place: NDArray[np.int64]
    weight: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        x: NDArray[np.float64],
        added: NDArray[np.float64],
        place: NDArray[np.int64],
        labels: int,
    ) -> WeighedRows:
        """Every row once, and the rows against separation."""
        count, width = x.shape
        rows = np.empty((count + len(added), width + 1))
        rows[:, 0] = 1.0
        rows[:count, 1:], rows[count:, 1:] = x, added
        weight = np.ones(len(rows))
        weight[count:] = find_added_weight(width)
        return cls(rows, place, weight, np.bincount(place, minlength=labels) / count)

    def draw_bootstrap(self, rng: Generator) -> WeighedRows:
        """A bootstrap sample: each row as often as it was drawn."""
        count = len(self.place)
        times = np.bincount(rng.integers(count, size=count), minlength=count)
        # The rows against separation stay, or a sample could have no maximum.
        weight = np.concatenate([times, self.weight[count:]]).astype(np.float64)
        drawn = weight > 0
        return WeighedRows(
            self.rows[drawn], self.place[drawn[:count]], weight[drawn], self.shares
        )

    def measure(
        self, coefficients: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """The logarithm of the likelihood, and its slope."""
        count = len(self.place)
        at, others = np.arange(count), self.weight[count:]
        chances = _label_chances(self.rows, coefficients)
        shown = float(self.weight[:count] @ np.log(chances[at, self.place]))
        shown += float(others @ (np.log(chances[count:]) @ self.shares))
        surplus = chances * self.weight[:, None]
        surplus[at, self.place] -= self.weight[:count]
        surplus[count:] -= others[:, None] * self.shares
        return shown, -(surplus[:, 1:].T @ self.rows)

    def find_factors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coordinates in which the likelihood is round.

        Where no predictor matters the information is (diag(p) − pp') ⊗ X'X, whose factor
        comes from two small ones. In coordinates in which it is the identity a few steps
        of a quasi-Newton method arrive, and each costs one pass over the rows.
        """
        shares = self.shares[1:]
        label_factor = cholesky(np.diag(shares) - np.outer(shares, shares), lower=True)
        squares = weigh_squares(self.rows, self.weight)
        squares[np.diag_indices_from(squares)] += HESSIAN_RIDGE
        return label_factor, cholesky(squares, lower=True)


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """Log odds of each label against the first, linear in the predictors.

    `read_rows` gives the rows that it was fitted on: kept, they would take as much
    memory as a copy. `factors` are coordinates for further fits.
    """

    labels: NDArray[np.int64]
    read_rows: Callable[[], WeighedRows]
    factors: tuple[NDArray[np.float64], NDArray[np.float64]]
    center: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    def draw_parameters(self, rng: Generator) -> LogisticModel:
        """The same model with the coefficients of a bootstrap sample of its rows."""
        sample = self.read_rows().draw_bootstrap(rng)
        drawn = _climb_likelihood(
            sample, self.center, self.factors, DRAWN_GRADIENT_TOLERANCE
        )
        return replace(self, coefficients=drawn)

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


def fit_logistic(
    y: NDArray[np.int64],
    x: NDArray[np.float64],
    read_rows: Callable[[], NDArray[np.float64]] | None = None,
) -> LogisticModel:
    """The multinomial logistic model of labels; the first label is the reference.
    `read_rows` gives `x` again when parameters are drawn; by default it is kept.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 1))
    >>> y = (rng.random(2000) < 1 / (1 + np.exp(-2 * x[:, 0]))).astype(np.int64)
    >>> bool(abs(fit_logistic(y, x).coefficients[0, 1] - 2) < 0.4)
    True
    """
    labels, place = np.unique(y, return_inverse=True)
    added, place = list_added_rows(x), place.reshape(-1)
    rows = WeighedRows.of(x, added, place, len(labels))
    read = read_rows or (lambda: x)

    def weigh_rows() -> WeighedRows:
        return WeighedRows.of(read(), added, place, len(labels))

    factors = rows.find_factors()
    start = np.zeros((len(labels) - 1, rows.rows.shape[1]))
    # Where no predictor matters, this is the maximum.
    start[:, 0] = np.log(rows.shares[1:] / rows.shares[0])
    center = _climb_likelihood(rows, start, factors, LOGIT_GRADIENT_TOLERANCE)
    return LogisticModel(labels, weigh_rows, factors, center, center)


def _climb_likelihood(
    rows: WeighedRows,
    start: NDArray[np.float64],
    factors: tuple[NDArray[np.float64], NDArray[np.float64]],
    tolerance: float,
) -> NDArray[np.float64]:
    """Coefficients of the largest likelihood, by steps in the factors' coordinates."""
    label_factor, row_factor = factors

    def move(steps: NDArray[np.float64]) -> NDArray[np.float64]:
        by_row = solve_triangular(row_factor, steps.T, lower=True, trans="T").T
        by_label = solve_triangular(label_factor, by_row, lower=True, trans="T")
        return start + np.asarray(by_label)

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = rows.measure(move(flat.reshape(start.shape)))
        by_row = solve_triangular(row_factor, slope.T, lower=True).T
        by_label = solve_triangular(label_factor, by_row, lower=True)
        return -value, -np.asarray(by_label).reshape(-1)

    # A step of 1 in these coordinates is a standard deviation of a coefficient.
    flat = minimize(
        loss,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_LOGIT_STEPS, "gtol": tolerance, "ftol": 0.0},
    ).x
    return move(flat.reshape(start.shape))


def _label_chances(
    rows: NDArray[np.float64], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probability of each label, the reference first."""
    chances = np.empty((len(rows), len(coefficients) + 1))
    chances[:, 0] = 1.0
    odds = rows @ coefficients.T
    np.clip(odds, -MAX_LINEAR_PREDICTOR, MAX_LINEAR_PREDICTOR, out=odds)
    np.exp(odds, out=chances[:, 1:])
    chances /= chances.sum(axis=1, keepdims=True)
    return chances


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
    added = list_added_rows(x)
    rows = np.concatenate([x, np.repeat(added, labels, axis=0)])
    shown = np.concatenate([place, np.tile(np.arange(labels), len(added))])
    weight = np.ones(len(rows))
    shares = np.bincount(place, minlength=labels) / len(place)
    weight[len(x) :] = find_added_weight(x.shape[1]) * np.tile(shares, len(added))
    return rows, shown, weight


def list_added_rows(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of all predictors but one, which is half a deviation below or above."""
    width = x.shape[1]
    if not width:
        return np.zeros((0, 0))
    mean, spread = x.mean(axis=0), x.std(axis=0)
    low, high = x.min(axis=0), x.max(axis=0)
    added = np.tile(mean, (2 * width, 1))
    one = np.arange(width)
    added[2 * one, one] = np.clip(mean - 0.5 * spread, low, high)
    added[2 * one + 1, one] = np.clip(mean + 0.5 * spread, low, high)
    return added


def find_added_weight(width: int) -> float:
    """The weight of each added row: together as much as there are coefficients."""
    return (width + 1) / (2 * width) if width else 0.0
