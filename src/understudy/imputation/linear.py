"""Numbers by linear regression: `norm` draws them from a normal model, `normrank` draws
their ranks so that the released values have the margin of the original ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

RIDGE_SHARE = 1e-5
"""Part of each diagonal element of X'X that is added to it: collinear predictors then
have an inverse, and the others move by less than rounding of a table shows.
"""


@dataclass(frozen=True, eq=False)
class NormModel:
    """y = Xb + σe. `center` and `root` describe the posterior of b for a given σ."""

    center: NDArray[np.float64]
    root: NDArray[np.float64]
    residual_squares: float
    degrees: int
    coefficients: NDArray[np.float64]
    deviation: float

    def draw_parameters(self, rng: Generator) -> NormModel:
        """The same model with parameters drawn from their posterior."""
        # σ² is scaled inverse chi-square under the usual flat prior; b is normal given
        # σ.
        deviation = np.sqrt(self.residual_squares / rng.chisquare(self.degrees))
        shift = deviation * (self.root @ rng.standard_normal(len(self.center)))
        return replace(
            self, coefficients=self.center + shift, deviation=float(deviation)
        )

    def predict(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean for each row of predictors."""
        mean: NDArray[np.float64] = add_intercept(x) @ self.coefficients
        return mean

    def draw(self, x: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
        """One value for each row of predictors."""
        return self.predict(x) + self.deviation * rng.standard_normal(len(x))


def fit_norm(y: NDArray[np.float64], x: NDArray[np.float64]) -> NormModel:
    """The normal linear model of a number.

    >>> x = np.arange(10.0)[:, None]
    >>> fit_norm(3 * x[:, 0] + 1, x).coefficients.round(2).tolist()
    [1.0, 3.0]
    """
    design = add_intercept(x)
    squares = design.T @ design
    squares += np.diag(RIDGE_SHARE * np.diag(squares))
    inverse = np.linalg.inv(squares)
    center = inverse @ (design.T @ y)
    residual_squares = float(((y - design @ center) ** 2).sum())
    # A table with fewer rows than predictors leaves no residual to learn σ from.
    degrees = max(len(y) - design.shape[1], 1)
    return NormModel(
        center=center,
        root=np.linalg.cholesky((inverse + inverse.T) / 2).astype(np.float64),
        residual_squares=residual_squares,
        degrees=degrees,
        coefficients=center,
        deviation=float(np.sqrt(residual_squares / degrees)),
    )


def add_intercept(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predictors with a column of ones before them."""
    return np.column_stack([np.ones(len(x)), x])


@dataclass(frozen=True, eq=False)
class RankModel:
    """A normal model of normal scores, with the sorted values that ranks stand for."""

    scores: NormModel
    values: NDArray[np.float64]

    def draw_parameters(self, rng: Generator) -> RankModel:
        """The same model with parameters drawn from their posterior."""
        return replace(self, scores=self.scores.draw_parameters(rng))

    def draw(self, x: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
        """One value for each row of predictors."""
        count = len(self.values)
        # Ranks over n + 1, so that no score is infinite.
        rank = np.rint(ndtr(self.scores.draw(x, rng)) * (count + 1)).astype(np.int64)
        return self.values[np.clip(rank, 1, count) - 1]


def fit_normrank(y: NDArray[np.float64], x: NDArray[np.float64]) -> RankModel:
    """The normal linear model of a number's normal scores.

    Equal values share the mean of their scores, so that the order of the rows says
    nothing. That mean follows predictors less than a score does, by the share of the
    variance that lies between values, if scores and predictors are normal: slopes are
    divided by it. What predictors do not tell is left to chance, for the margin.
    """
    count = len(y)
    scores = ndtri(np.arange(1, count + 1) / (count + 1))
    values, place, rows = np.unique(y, return_inverse=True, return_counts=True)
    ordered = np.repeat(np.arange(len(values)), rows)
    shared = (np.bincount(ordered, weights=scores) / rows)[place.reshape(-1)]
    model = fit_norm(shared, x)
    total = float((scores**2).sum())
    told = float((model.predict(x) ** 2).sum())
    factor = total / float((shared**2).sum())
    if factor**2 * told > total:
        # Predictors that are not normal may seem to tell more than there is.
        factor = float(np.sqrt(total / told))
    left = max(total - factor**2 * told, 0.0)
    center = factor * model.center
    latent = replace(
        model,
        center=center,
        coefficients=center,
        residual_squares=left,
        deviation=float(np.sqrt(left / model.degrees)),
    )
    return RankModel(latent, values[ordered])
