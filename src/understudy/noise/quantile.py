"""Any quantile of a column, on the column's declared integer lattice, by the
exponential mechanism.

Smith, "Privacy-preserving statistical estimation with optimal convergence rates", 2011.

The score of a lattice point c for the quantile α is -|(1-α)·#{x < c} - α·#{x > c}|:
zero where c splits the rows as α asks. With α = p/q it is counted in steps of 1/q, so
scores are integers. Equal values need no special care: a tie at the quantile is itself
a lattice point.

Why it is private. Adding or removing one row changes one of the two counts by one, so a
score by at most max(α, 1-α). Exchanging one row may move it from one side of c to the
other: (1-α) + α = 1. A unit of up to `max_rows` rows changes `max_rows` times as much.
Values outside the lattice are clipped to it row by row, which changes none of this. All
points between two neighbouring values have one score, so a run of them is one candidate
whose base measure is its length, and the point within it is uniform: the law is that of
the exponential mechanism over all lattice points, in time that grows with the distinct
values and not with the lattice.

Sensitivity and output probabilities are checked over all small datasets in
tests/noise/test_quantile.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.noise.choice import exact_sum, exponential_mechanism
from understudy.noise.source import OS_SOURCE, BitSource, draw_below


@dataclass(frozen=True, kw_only=True)
class ScoreRuns:
    """The lattice cut into runs of equal score: where each begins, how long it is, what
    it scores in steps of 1/q.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    scores: NDArray[np.int64]


def quantile(
    values: NDArray[np.int64],
    *,
    alpha: Fraction,
    lo: int,
    hi: int,
    epsilon: Fraction,
    neighbours: Neighbours,
    counts: NDArray[np.int64] | None = None,
    max_rows: int = 1,
    source: BitSource = OS_SOURCE,
) -> int:
    """A lattice point in lo..hi near the quantile `alpha`, ε-private. `counts` says how
    often each value occurs (default once).

    >>> half, much, relation = Fraction(1, 2), Fraction(50), Neighbours.ADD_REMOVE
    >>> values = np.arange(1001)
    >>> quantile(values, alpha=half, lo=0, hi=1000, epsilon=much, neighbours=relation)
    500
    """
    runs = score_runs(values, alpha=alpha, lo=lo, hi=hi, counts=counts)
    chosen = exponential_mechanism(
        runs.scores,
        epsilon=epsilon,
        sensitivity=quantile_sensitivity(
            alpha=alpha,
            neighbours=neighbours,
            max_rows=max_rows,
        ),
        grid=Fraction(1, alpha.denominator),
        base=runs.lengths,
        source=source,
    )
    # All points of a run have one score, so the mechanism is uniform among them.
    return int(runs.starts[chosen]) + draw_below(int(runs.lengths[chosen]), source)


def median(
    values: NDArray[np.int64],
    *,
    lo: int,
    hi: int,
    epsilon: Fraction,
    neighbours: Neighbours,
    counts: NDArray[np.int64] | None = None,
    max_rows: int = 1,
    source: BitSource = OS_SOURCE,
) -> int:
    """`quantile` at one half.

    >>> threes, relation = np.array([3] * 400), Neighbours.REPLACE
    >>> median(threes, lo=0, hi=9, epsilon=Fraction(9), neighbours=relation)
    3
    """
    half = Fraction(1, 2)
    return quantile(
        values,
        alpha=half,
        lo=lo,
        hi=hi,
        epsilon=epsilon,
        neighbours=neighbours,
        counts=counts,
        max_rows=max_rows,
        source=source,
    )


def quantile_sensitivity(
    *,
    alpha: Fraction,
    neighbours: Neighbours,
    max_rows: int = 1,
) -> Fraction:
    """How far one unit can move any lattice point's score.

    >>> quantile_sensitivity(alpha=Fraction(1, 4), neighbours=Neighbours.ADD_REMOVE)
    Fraction(3, 4)
    """
    one_row = (
        max(alpha, 1 - alpha)
        if Neighbours(neighbours) is Neighbours.ADD_REMOVE
        else Fraction(1)
    )
    return max_rows * one_row


def score_runs(
    values: NDArray[np.int64],
    *,
    alpha: Fraction,
    lo: int,
    hi: int,
    counts: NDArray[np.int64] | None = None,
) -> ScoreRuns:
    """Runs of lattice points with equal score.

    >>> runs = score_runs(np.array([2, 2, 5]), alpha=Fraction(1, 2), lo=0, hi=9)
    >>> runs.starts.tolist(), runs.lengths.tolist(), runs.scores.tolist()
    ([0, 2, 3, 5, 6], [2, 1, 2, 1, 4], [-3, -1, -1, -2, -3])
    """
    _refuse_bad_lattice(alpha, lo, hi)
    values = np.asarray(values)
    counts = (
        np.ones(values.shape, dtype=np.int64) if counts is None else np.asarray(counts)
    )
    _refuse_bad_values(values, counts)
    p = alpha.numerator
    q = alpha.denominator
    n = exact_sum(counts)
    # Scores are whole numbers of 1/q: beyond this they would wrap around.
    if n * q >= 2**62:
        raise Refused(
            "this quantile is too finely divided for this many rows; use fewer"
            " decimals. Nothing was chosen."
        )
    distinct, often = _tally_values(
        np.clip(values.astype(np.int64), lo, hi), counts.astype(np.int64)
    )
    upto = np.cumsum(often)
    # A run before the first value, then for each value itself and the points after it.
    starts = np.empty(2 * distinct.size + 1, dtype=np.int64)
    starts[0] = lo
    starts[1::2] = distinct
    starts[2::2] = distinct + 1
    lengths = np.diff(starts, append=hi + 1)
    less = np.zeros_like(starts)
    less[1::2] = upto - often
    less[2::2] = upto
    more = np.full_like(starts, n)
    more[1::2] = n - upto
    more[2::2] = n - upto
    scores = -np.abs((q - p) * less - p * more)
    # Neighbouring values leave no point between them.
    kept = lengths > 0
    return ScoreRuns(starts=starts[kept], lengths=lengths[kept], scores=scores[kept])


def _refuse_bad_lattice(alpha: Fraction, lo: int, hi: int) -> None:
    if not isinstance(alpha, Fraction) or not 0 <= alpha <= 1:
        raise Refused(
            "a quantile is an exact Fraction between 0 and 1. Nothing was chosen."
        )
    # Differences of two points, and one more, must fit 64 bits.
    if not -(2**61) <= lo <= hi <= 2**61:
        raise Refused(
            "a quantile needs a lattice lo..hi of integers within ±2^61. Nothing was"
            " chosen."
        )


def _refuse_bad_values(values: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    if values.ndim != 1 or values.dtype.kind != "i":
        raise Refused(
            "a quantile is taken of integers on the column's lattice. Nothing was"
            " chosen."
        )
    is_whole = counts.shape == values.shape and counts.dtype.kind in "iu"
    if not is_whole or counts.min(initial=0) < 0:
        raise Refused(
            "counts are one non-negative integer for each value. Nothing was chosen."
        )


def _tally_values(
    values: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct values in order and how often each occurs, those that never do left out."""
    distinct, place = np.unique(values, return_inverse=True)
    often = np.zeros(distinct.size, dtype=np.int64)
    np.add.at(often, place, counts)
    return distinct[often > 0], often[often > 0]
