"""How rows are spread over the values of single columns, told from noisy counts.

Columns differ: one value may hold nearly all rows, or all may hold as many as each
other. Let the counts of a column be drawn from a gamma law whose mean is that of even
counts; its shape says which kind of column it is: large for even counts, far below one
where few values hold nearly everything. How likely the noisy counts are under each
shape tells the shape, and the same of other columns helps where noise hides it (Laird,
"Nonparametric maximum likelihood estimation of a mixing distribution", 1978). A count
is then what is to be expected of it, given its noisy answer: never negative, next to
nothing where most values are empty, the answer itself where that is far above the
noise. All of them add up to the total: one number is taken off all answers until they
do, as the nearest counts do (models/estimates/consistency.py), which are these without
the law.

The integral over true counts is a sum over a grid, in deviations of the noise; above
FAR of them the likeliest count stands for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammainc, gammaln

from understudy.models.estimates.loss_terms import Array, Term

GAMMA_SHAPES: Array = np.geomspace(0.02, 300.0, 28)
"""Shapes that are tried."""

COUNT_GRID_EDGES: Array = np.concatenate(
    [[0.0], np.geomspace(1e-4, 0.25, 24), np.arange(0.5, 16.1, 0.25)]
)
"""Between which true counts are taken to be alike, in deviations of the noise."""

COUNT_GRID_MIDPOINTS: Array = (COUNT_GRID_EDGES[1:] + COUNT_GRID_EDGES[:-1]) / 2

FAR_ANSWER_DEVIATIONS = 10.0
"""Deviations of the noise above which an answer is a count in any case."""

MIN_COUNT_DIVISOR = 1e-300
"""In the place of nothing where something is divided by it."""

UNIFORM_SHAPE_WEIGHT = 1.0
"""That all shapes are as likely as each other, which is known before any column was
looked at, weighs as much as so many columns.
"""

SHAPE_EM_ROUNDS = 10
"""Times the spread of shapes is told anew from what it makes of every column."""

MIN_SHAPE_WEIGHT = 1e-3
"""Shapes less likely than this have no say."""

SHIFT_BISECTIONS = 16
"""Times the stretch is halved in which the number lies that makes counts add up."""


def denoise_one_ways(columns: Sequence[tuple[Term, Array]]) -> list[Term]:
    """The counts to be expected of single columns, given noisy ones. With each come the
    counts it has if even, nothing where impossible.

    >>> from understudy.measurements import Identity
    >>> def seen(variance): return Term(("a",), (Identity(4),), np.array([90.0, -10.0, 20.0, 0.0]), variance)
    >>> even = np.array([100 / 3, 100 / 3, 100 / 3, 0.0])  # the last one is impossible
    >>> [denoise_one_ways([(seen(v), even)])[0].values.round().tolist() for v in (1.0, 1e8)]
    [[85.0, 0.0, 15.0, 0.0], [33.0, 33.0, 33.0, 0.0]]
    """
    looks = [_NoisyColumn(term, even) for term, even in columns]
    if not looks:
        return []
    unlikely = np.stack([look.unlikely for look in looks])
    likely = np.exp(unlikely.min(axis=1, keepdims=True) - unlikely)
    flat = np.full(GAMMA_SHAPES.size, 1 / GAMMA_SHAPES.size)
    spread = flat
    for _ in range(SHAPE_EM_ROUNDS):
        each = likely * spread
        spread = (
            (each / each.sum(axis=1, keepdims=True)).sum(axis=0)
            + UNIFORM_SHAPE_WEIGHT * flat
        ) / (len(looks) + UNIFORM_SHAPE_WEIGHT)
    return [
        Term(
            look.term.clique, look.term.maps, look.expected(weights), look.term.variance
        )
        for look, weights in zip(looks, likely * spread, strict=True)
    ]


class _NoisyColumn:
    """One column: its answers in deviations of their noise, and how unlikely they are
    under every shape.
    """

    def __init__(self, term: Term, even: Array) -> None:
        self.term, self.possible = term, even > 0
        self.deviation = math.sqrt(term.variance)
        self.answers = term.values[self.possible] / self.deviation
        self.total = float(even.sum()) / self.deviation
        self.mean = max(self.total / max(self.answers.size, 1), MIN_COUNT_DIVISOR)
        near = self.answers < FAR_ANSWER_DEVIATIONS
        mass = np.diff(
            gammainc(
                GAMMA_SHAPES[:, None],
                GAMMA_SHAPES[:, None] * COUNT_GRID_EDGES / self.mean,
            ),
            axis=1,
        )
        likely, _ = _near_likelihood(self.answers[near], mass)
        self.mass = mass
        far = self.answers[~near, None]
        counts = _far_posterior_mode(far, GAMMA_SHAPES, self.mean)
        law = (GAMMA_SHAPES - 1) * np.log(counts) - GAMMA_SHAPES * counts / self.mean
        law += GAMMA_SHAPES * np.log(GAMMA_SHAPES / self.mean) - gammaln(GAMMA_SHAPES)
        width = np.maximum(1 + (GAMMA_SHAPES - 1) / counts**2, 0.1)
        density = law - (counts - far) ** 2 / 2 + np.log(2 * np.pi / width) / 2
        self.unlikely = -(np.log(likely).sum(axis=0) + density.sum(axis=0))

    def expected(self, weights: Array) -> Array:
        """The mean of every count under shapes with these weights, all adding up to the
        total.
        """
        some = weights > MIN_SHAPE_WEIGHT * weights.max()
        shapes, mass, parts = (
            GAMMA_SHAPES[some],
            self.mass[some],
            weights[some] / weights[some].sum(),
        )

        def means_after_shift(taken: float) -> Array:
            """The mean of every count if so much is taken off all answers."""
            answers = self.answers - taken
            near, found = answers < FAR_ANSWER_DEVIATIONS, np.zeros(answers.size)
            likely, moment = _near_likelihood(answers[near], mass)
            found[near] = (moment / likely) @ parts
            found[~near] = (
                _far_posterior_mode(answers[~near, None], shapes, self.mean) @ parts
            )
            return found

        low, high = -1.0, 1.0
        while (
            low > -FAR_ANSWER_DEVIATIONS and means_after_shift(low).sum() < self.total
        ):
            low *= 2
        while (
            high < self.answers.max(initial=0.0)
            and means_after_shift(high).sum() > self.total
        ):
            high *= 2
        for _ in range(SHIFT_BISECTIONS):
            middle = (low + high) / 2
            low, high = (
                (middle, high)
                if means_after_shift(middle).sum() > self.total
                else (low, middle)
            )
        found = means_after_shift((low + high) / 2)
        counts, whole = np.zeros(self.possible.shape), float(found.sum())
        counts[self.possible] = self.deviation * (
            found * (self.total / whole) if whole > 0 else self.mean
        )
        return counts


def _near_likelihood(answers: Array, mass: Array) -> tuple[Array, Array]:
    """How likely answers are if true counts are spread like this, for each shape and
    but for a factor; the same times the true count.
    """
    # One far below nothing is as good as nothing.
    fits = np.exp(
        -(
            (
                np.maximum(answers, -FAR_ANSWER_DEVIATIONS)[:, None]
                - COUNT_GRID_MIDPOINTS
            )
            ** 2
        )
        / 2
    )
    return (
        np.maximum(fits @ mass.T, MIN_COUNT_DIVISOR),
        (fits * COUNT_GRID_MIDPOINTS) @ mass.T,
    )


def _far_posterior_mode(answers: Array, shapes: Array, mean: float) -> Array:
    """The likeliest true count x of an answer y: x − y = (shape − 1)/x − shape/mean."""
    pulled = answers - shapes / mean
    return np.asarray(
        np.maximum(
            (pulled + np.sqrt(np.maximum(pulled**2 + 4 * (shapes - 1), 0.0))) / 2,
            COUNT_GRID_EDGES[1],
        )
    )
