"""How far a measured marginal of a release may be from the truth, computed from the
measurements alone: post-processing, free of charge.

Least squares gives the marginal as the truth t and Gaussian noise z of known
covariance, y = t + z. The released table is m, and d = m − y is known. Neither m nor t
holds a negative count, so

    ‖m − t‖₁ = 2·Σ(m − t)₊ + Σt − Σm,    (m − t)₊ = (d + z)₊ ≤ min(m, (d + z)₊),    Σt = Σy − Σz.

Cell by cell, min(m, (d + z)₊) is at most min(m, d₊), which is known, and the part of
the noise between the levels a = (−d)₊ and b = a + m − min(m, d₊): less noise than a
only makes good what the table fell short of the answer, and for more than b there are
no rows. Which cell has which noise is not known, for m was made from the same answers.
But at a height s no more cells take noise than have a < s ≤ b, and no more than have z
> s, whichever they are:

    Σ(m − t)₊ ≤ Σ min(m, d₊) + ∫ min(#{a < s ≤ b}, #{z > s}) ds    over s > 0.

So ‖m − t‖₁ ≤ 2·Σ min(m, d₊) + 2·∫ min(…) ds + Σy − Σm − Σz. Its law is simulated from
the exact covariance, cells and total together: where noise adds rows to cells it adds
them to the total too, and the two make up for each other in part. Of n draws of one
law, put in order, the ⌈(n + 1)·95 %⌉-th is exceeded by another draw at most 5 times in
100, whatever the law (Dwass, "Modified randomization tests for nonparametric
hypotheses", 1957). That is so on average over draws; these are always the same ones, so
the one two deviations of its rank further up is taken, which holds for 49 in 50 sets of
draws by themselves. The levels a and b are taken as they stand, although they come from
the same answers: a release would have to know its own noise to make use of that.

In a sparse table most cells of m are near zero and leave no room for noise, which is
why this is far below the triangle inequality ‖m − y‖₁ + ‖z‖₁ (McKenna, Mullins,
Sheldon, Miklau, "AIM", 2022, §5).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.uncertainty.intervals import (
    BOUND_CONFIDENCE,
    ErrorBound,
    simulate_noise,
)

# Tables of noise that a bound is simulated from; fewer where a table is large, for
# its sum hardly varies.
MAX_BOUND_DRAWS = 800

# Draws for the largest tables; and so many that one of them, by its rank, is the
# bound: sums over larger tables are normal.
MIN_BOUND_DRAWS, MIN_RANK_DRAWS = 12, 200

# Cells that all draws of one bound may have together, but for the fewest draws.
MAX_BOUND_DRAW_CELLS = 200_000

# Slices that levels are cut into. Within a slice the lesser integral stands for the
# integral of the lesser, which is never more.
LEVEL_SLICES = 128


def measured_bound(
    pooled: PooledResiduals,
    clique: Clique,
    table: Array,
    *,
    confidence: float = BOUND_CONFIDENCE,
) -> ErrorBound:
    """The bound for a marginal whose every part was measured with Gaussian noise.

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
    >>> bound = measured_bound(
    ...     PooledResiduals.of(schema, Measurements((noisy,))), ("smoker",), counts.astype(float)
    ... )
    >>> 25 < bound.rows < 38, round(bound.noise, 1)
    (True, 8.0)
    """
    counts = np.maximum(table, 0.0).ravel()
    away = counts - pooled.marginal(clique).ravel()
    known = np.clip(away, 0.0, counts)
    bottom = np.maximum(-away, 0.0)
    top = bottom + counts - known
    count = MAX_BOUND_DRAW_CELLS // max(counts.size, 1)
    count = min(max(count, MIN_BOUND_DRAWS), MAX_BOUND_DRAWS)
    noise = simulate_noise(pooled, clique, count)
    highest = max(float(noise.max()), 1e-9)
    room = _slice_heights(top[None], highest) - _slice_heights(bottom[None], highest)
    taken = np.minimum(_slice_heights(noise, highest), room).sum(axis=1)
    fixed = 2 * float(known.sum()) + pooled.total - float(counts.sum())
    rows = fixed + _upper_quantile(2 * taken - noise.sum(axis=1), confidence)
    deviation = np.sqrt(pooled.variance(clique))
    return ErrorBound(max(rows, 0.0), MEAN_ABS_NORMAL * float(deviation.mean()), True)


def _slice_heights(heights: Array, highest: float) -> Array:
    """For each row, how much of its heights lies in each of the slices between zero and
    the highest: the integral of #{height > s}.
    """
    thick = highest / LEVEL_SLICES
    within = np.clip(heights, 0.0, highest)
    place = np.minimum((within / thick).astype(np.int64), LEVEL_SLICES - 1)
    flat = (place + LEVEL_SLICES * np.arange(len(heights))[:, None]).ravel()
    shape = (len(heights), LEVEL_SLICES)
    ending = np.bincount(flat, minlength=math.prod(shape)).reshape(shape)
    part = np.bincount(
        flat, (within - thick * place).ravel(), minlength=math.prod(shape)
    ).reshape(shape)
    through = ending[:, ::-1].cumsum(axis=1)[:, ::-1] - ending
    return np.asarray(through * thick + part)


def _upper_quantile(found: Array, confidence: float) -> float:
    """A number that another draw exceeds as seldom as asked for, although these draws
    may happen to be low ones.
    """
    if len(found) < MIN_RANK_DRAWS:
        return float(
            found.mean()
            + stdtrit(len(found) - 1, confidence)
            * math.sqrt(1 + 1 / len(found))
            * found.std(ddof=1)
        )
    count = len(found) + 1
    rank = min(
        math.ceil(
            count * confidence + 2 * math.sqrt(count * confidence * (1 - confidence))
        ),
        len(found),
    )
    return float(np.partition(found, rank - 1)[rank - 1])
