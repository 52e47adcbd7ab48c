"""Ordered labels by the proportional odds model: `polr`.

P(y ≤ c) = expit(θ_c − x'b) with cuts θ_1 < θ_2 < …: one set of coefficients for all
labels, where the multinomial model has one for each. McCullagh, "Regression models for
ordinal data", 1980.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from understudy.imputation.logistic import HESSIAN_RIDGE, augment_rows, draw_labels

MIN_LABEL_CHANCE = 1e-12
"""Smallest chance of a label: its logarithm stays finite."""


@dataclass(frozen=True, eq=False)
class OrderedModel:
    """Cuts and coefficients, as `_split_parameters` reads them, with the factor of
    their information.
    """

    labels: NDArray[np.int64]
    center: NDArray[np.float64]
    factor: NDArray[np.float64]
    parameters: NDArray[np.float64]

    def draw_parameters(self, rng: Generator) -> OrderedModel:
        """The same model with parameters drawn from their approximate posterior."""
        normal = rng.standard_normal(self.center.size)
        # The information is LL', so L'⁻¹e has its inverse as covariance.
        shift = solve_triangular(self.factor, normal, lower=True, trans="T")
        return replace(self, parameters=self.center + np.asarray(shift, np.float64))

    def log_chances(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the chance of each label, for each row of predictors."""
        return np.log(self._label_chances(x))

    def draw(self, x: NDArray[np.float64], rng: Generator) -> NDArray[np.int64]:
        """One label for each row of predictors."""
        return draw_labels(self.labels, self._label_chances(x), rng)

    def _label_chances(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        cuts, slopes = _split_parameters(self.parameters, len(self.labels) - 1)
        below = _chances_below(cuts, x @ slopes)
        chances: NDArray[np.float64] = np.diff(below, axis=1)
        return np.maximum(chances, MIN_LABEL_CHANCE)


def fit_ordered(y: NDArray[np.int64], x: NDArray[np.float64]) -> OrderedModel:
    """The proportional odds model of labels whose codes have an order.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(3000, 1))
    >>> y = np.digitize(2 * x[:, 0] + rng.logistic(size=3000), [-1.0, 1.0])
    >>> bool(abs(fit_ordered(y, x).parameters[-1] - 2) < 0.4)
    True
    """
    labels, place = np.unique(y, return_inverse=True)
    design, place, weight = augment_rows(x, place.reshape(-1), len(labels))
    start = _start_parameters(place, weight, len(labels), design.shape[1])

    def loss(
        parameters: NDArray[np.float64],
    ) -> tuple[float, NDArray[np.float64]]:
        logs, scores = _score_rows(parameters, design, place, len(labels))
        return -float(weight @ logs), -(weight @ scores)

    center = minimize(loss, start, jac=True, method="L-BFGS-B").x
    scores = _score_rows(center, design, place, len(labels))[1]
    # At the maximum the squares of the scores add up to the information.
    information = scores.T @ (scores * weight[:, None])
    information[np.diag_indices_from(information)] += HESSIAN_RIDGE
    return OrderedModel(labels, center, cholesky(information, lower=True), center)


def _start_parameters(
    place: NDArray[np.int64], weight: NDArray[np.float64], labels: int, width: int
) -> NDArray[np.float64]:
    """The cuts of the labels' shares, and no slope."""
    shares = np.cumsum(np.bincount(place, weights=weight, minlength=labels))[:-1]
    below = shares / weight.sum()
    cuts = np.log(below / (1 - below))
    gaps = np.log(np.maximum(np.diff(cuts), 1e-6))
    return np.concatenate([cuts[:1], gaps, np.zeros(width)])


def _split_parameters(
    parameters: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cuts and slopes: parameters hold the first cut, then logarithms of the gaps, so
    that every draw of them is in order.
    """
    gaps = np.exp(parameters[1:count])
    cuts = parameters[0] + np.concatenate([[0.0], np.cumsum(gaps)])
    return cuts, parameters[count:]


def _chances_below(
    cuts: NDArray[np.float64], predicted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(y ≤ c) for each row, from 0 before the first label to 1 at the last."""
    inner = expit(cuts[None, :] - predicted[:, None])
    rows = len(predicted)
    return np.column_stack([np.zeros(rows), inner, np.ones(rows)])


def _score_rows(
    parameters: NDArray[np.float64],
    x: NDArray[np.float64],
    place: NDArray[np.int64],
    labels: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-likelihood of each row, and its derivatives by the parameters."""
    count = labels - 1
    cuts, slopes = _split_parameters(parameters, count)
    below = _chances_below(cuts, x @ slopes)
    density = below * (1 - below)
    rows = np.arange(len(place))
    chance = below[rows, place + 1] - below[rows, place]
    chance = np.maximum(chance, MIN_LABEL_CHANCE)
    upper, lower = density[rows, place + 1] / chance, density[rows, place] / chance
    by_cut = np.zeros((len(place), labels + 1))
    by_cut[rows, place + 1] += upper
    by_cut[rows, place] -= lower
    # A gap moves every cut after it.
    moved = np.cumsum(by_cut[:, 1:labels][:, ::-1], axis=1)[:, ::-1]
    moved[:, 1:] *= np.exp(parameters[1:count])
    by_slope = -(upper - lower)[:, None] * x
    return np.log(chance), np.column_stack([moved, by_slope])
