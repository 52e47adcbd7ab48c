"""One-way counts, estimated from noisy ones by a gamma mixture prior.

Columns differ: in one a single value holds nearly all rows, in another all values are
about equally frequent. Let the counts of a column be drawn from a gamma law whose mean
is the column's average count. Its shape tells the two kinds apart: far below one where
a few values hold nearly everything, large for even counts. The distribution of shapes
over all columns is estimated from their noisy counts (models/fitting/npmle.py), which
helps a column whose own counts noise hides.

The estimate of a count is its posterior mean: never negative, close to zero in a column
of mostly empty values, close to the noisy count where that is far above the noise. The
estimates of a column must add up to the total, so one number is subtracted from all
noisy counts until they do. The nearest non-negative counts
(models/estimates/consistency.py) are found in the same way without the prior.

Integrals over the true count are sums over a grid in standard deviations of the noise.
Above FAR_ANSWER_DEVIATIONS the posterior mode stands for the posterior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammainc, gammaln

from understudy.models.arrays import Array
from understudy.models.estimates.loss_terms import Term
from understudy.models.fitting.constants import (
    ANSWER_GRID,
    COUNT_GRID_EDGES,
    FAR_ANSWER_DEVIATIONS,
    GAMMA_SHAPES,
    MAX_EXACT_ANSWERS,
    MIN_COUNT_DIVISOR,
    MIN_SHAPE_WEIGHT,
    SHAPE_EM_ROUNDS,
    SHIFT_BISECTIONS,
    UNIFORM_SHAPE_WEIGHT,
)
from understudy.models.fitting.npmle import (
    MixingPrior,
    fit_mixing_weights,
    posterior_weights,
)

COUNT_GRID_MIDPOINTS: Array = (COUNT_GRID_EDGES[1:] + COUNT_GRID_EDGES[:-1]) / 2

_SHAPE_PRIOR = MixingPrior.uniform(
    GAMMA_SHAPES.size, UNIFORM_SHAPE_WEIGHT, SHAPE_EM_ROUNDS
)


def denoise_one_ways(columns: Sequence[tuple[Term, Array]]) -> list[Term]:
    """The posterior mean counts of single columns.

    Each column comes with the counts it would have if even, zero where impossible.

    >>> from understudy.measurements import Identity
    >>> noisy = np.array([90.0, -10.0, 20.0, 0.0])
    >>> terms = [Term(("a",), (Identity(4),), noisy, variance) for variance in (1.0, 1e8)]
    >>> even = np.array([100 / 3, 100 / 3, 100 / 3, 0.0])  # the last one is impossible
    >>> [denoise_one_ways([(term, even)])[0].values.round().tolist() for term in terms]
    [[85.0, 0.0, 15.0, 0.0], [33.0, 33.0, 33.0, 0.0]]
    """
    observations = [_NoisyColumn(term, even) for term, even in columns]
    if not observations:
        return []
    log_likelihoods = np.stack(
        [observation.log_likelihoods for observation in observations]
    )
    weights = fit_mixing_weights(log_likelihoods, _SHAPE_PRIOR)
    posterior = posterior_weights(log_likelihoods, weights)
    return [
        Term(
            observation.term.clique,
            observation.term.maps,
            observation.mean_counts(row),
            observation.term.variance,
        )
        for observation, row in zip(observations, posterior, strict=True)
    ]


class _NoisyColumn:
    """One column in standard deviations of its noise, and the log-likelihood of its
    noisy counts under every shape.
    """

    def __init__(self, term: Term, even: Array) -> None:
        self.term, self.possible = term, even > 0
        self.deviation = math.sqrt(term.variance)
        self.answers = term.values[self.possible] / self.deviation
        self.total = float(even.sum()) / self.deviation
        self.mean = max(self.total / max(self.answers.size, 1), MIN_COUNT_DIVISOR)
        shapes = GAMMA_SHAPES[:, None]
        # The prior probability of every interval of the grid, under every shape.
        self.mass = np.diff(
            gammainc(shapes, shapes * COUNT_GRID_EDGES / self.mean), axis=1
        )
        is_near = self.answers < FAR_ANSWER_DEVIATIONS
        near = _sum_log_likelihoods(self.answers[is_near], self.mass)
        far = _far_log_likelihood(self.answers[~is_near, None], self.mean)
        self.log_likelihoods = near + far.sum(axis=0)

    def mean_counts(self, weights: Array) -> Array:
        """The posterior mean of every count under shapes with these weights, in rows,
        shifted so that they add up to the total.
        """
        # Most shapes are ruled out by the counts; each one left costs an integral.
        likely = weights > MIN_SHAPE_WEIGHT * weights.max()
        kept = weights[likely]
        shares = kept / kept.sum()
        # In a column of very many values the mean, a smooth function of the answer, is
        # computed once at the points of a grid.
        grid_means: Array | None = None
        if self.answers.size > MAX_EXACT_ANSWERS:
            grid_means = self._near_means(ANSWER_GRID, likely, shares)

        def means_after(shift: float) -> Array:
            answers = self.answers - shift
            return self._posterior_means(answers, likely, shares, grid_means)

        means = means_after(self._find_shift(means_after))
        mean_total = float(means.sum())
        counts = np.zeros(self.possible.shape)
        scaled = means * (self.total / mean_total) if mean_total > 0 else self.mean
        counts[self.possible] = self.deviation * scaled
        return counts

    def _near_means(self, answers: Array, likely: Array, shares: Array) -> Array:
        likelihood, moment = _near_likelihood(answers, self.mass[likely])
        return np.asarray((moment / likelihood) @ shares)

    def _posterior_means(
        self, answers: Array, likely: Array, shares: Array, grid_means: Array | None
    ) -> Array:
        is_near = answers < FAR_ANSWER_DEVIATIONS
        means = np.zeros(answers.size)
        if grid_means is None:
            means[is_near] = self._near_means(answers[is_near], likely, shares)
        else:
            means[is_near] = np.interp(answers[is_near], ANSWER_GRID, grid_means)
        modes = _far_posterior_mode(
            answers[~is_near, None], GAMMA_SHAPES[likely], self.mean
        )
        means[~is_near] = modes @ shares
        return means

    def _find_shift(self, means_after: Callable[[float], Array]) -> float:
        """The number to subtract from all answers so that the means add up."""
        low, high = -1.0, 1.0
        # Beyond these ends every count is zero, or the shift larger than any noise.
        while low > -FAR_ANSWER_DEVIATIONS and means_after(low).sum() < self.total:
            low *= 2
        largest = self.answers.max(initial=0.0)
        while high < largest and means_after(high).sum() > self.total:
            high *= 2
        for _ in range(SHIFT_BISECTIONS):
            middle = (low + high) / 2
            if means_after(middle).sum() > self.total:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def _sum_log_likelihoods(answers: Array, mass: Array) -> Array:
    """The log-likelihood of all answers together under every shape."""
    if answers.size <= MAX_EXACT_ANSWERS:
        return np.asarray(np.log(_near_likelihood(answers, mass)[0]).sum(axis=0))
    # Each answer counts at the two points of the grid beside it, in proportion.
    step = ANSWER_GRID[1] - ANSWER_GRID[0]
    place = np.maximum(answers - ANSWER_GRID[0], 0.0) / step
    below = np.minimum(place.astype(np.int64), ANSWER_GRID.size - 2)
    above_share = place - below
    counts = np.bincount(below, 1 - above_share, ANSWER_GRID.size)
    counts += np.bincount(below + 1, above_share, ANSWER_GRID.size)
    return np.asarray(counts @ np.log(_near_likelihood(ANSWER_GRID, mass)[0]))


def _near_likelihood(answers: Array, mass: Array) -> tuple[Array, Array]:
    """The likelihood of answers under every shape, up to a common factor, and the same
    times the true count.
    """
    # An answer far below zero says no more than one FAR_ANSWER_DEVIATIONS below it.
    bounded = np.maximum(answers, -FAR_ANSWER_DEVIATIONS)[:, None]
    density = np.exp(-((bounded - COUNT_GRID_MIDPOINTS) ** 2) / 2)
    likelihood = np.maximum(density @ mass.T, MIN_COUNT_DIVISOR)
    return likelihood, (density * COUNT_GRID_MIDPOINTS) @ mass.T


def _far_log_likelihood(answers: Array, mean: float) -> Array:
    """The same for answers far above the noise, by Laplace's method at the mode."""
    shapes = GAMMA_SHAPES
    counts = _far_posterior_mode(answers, shapes, mean)
    rate = shapes / mean
    log_prior = (shapes - 1) * np.log(counts) - rate * counts
    log_prior += shapes * np.log(rate) - gammaln(shapes)
    # A shape below one makes the prior convex at zero; the answer is far from there.
    curvature = np.maximum(1 + (shapes - 1) / counts**2, 0.1)
    log_noise = -((counts - answers) ** 2) / 2
    log_width = np.log(2 * np.pi / curvature) / 2
    return np.asarray(log_prior + log_noise + log_width)


def _far_posterior_mode(answers: Array, shapes: Array, mean: float) -> Array:
    """The mode x of the true count given y: x − y = (shape − 1)/x − shape/mean."""
    pulled = answers - shapes / mean
    discriminant = np.maximum(pulled**2 + 4 * (shapes - 1), 0.0)
    mode = (pulled + np.sqrt(discriminant)) / 2
    return np.asarray(np.maximum(mode, COUNT_GRID_EDGES[1]))
