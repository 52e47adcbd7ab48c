"""How strongly columns depend on each other, told from noisy marginals, and how far
each marginal is therefore to be believed.

Empirical Bayes (Efron, Morris 1973). Let a true count lie around its expectation e
under independence with variance τ²·e, as counts do, and the noisy one around it with
the noise's variance v. Then y − e has variance v + τ²e, and the τ² under which all of a
marginal's cells are likeliest, were they normal, tells the strength of the interaction:
1 is chance, hundreds are common. The same holds for differences of counts, whose
variance is τ² times the sum of what both expect.

Where noise hides all, the likeliest τ² of one marginal is large by chance often enough
to hurt. Marginals of a table are alike: how strengths are spread among all of them
(Laird, "Nonparametric maximum likelihood estimation of a mixing distribution", 1978) is
what each is judged by, and its strength is the mean of those that it and the others
leave likely.

A fit with penalty N·KL(p ‖ product of columns) gives a count the prior variance e. So a
marginal of strength τ² is to enter such a fit with the variance v/τ²: alone, it is then
moved to e + (y − e)·τ²e/(τ²e + v), the best linear guess. A strong interaction is
believed, one that noise hides is not. Within a marginal, cells that stand out are told
from the others (models/fitting/cell_strength.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.models.estimates.loss_terms import Array, Term
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.fitting.cell_strength import adjust_cell_answers

MIN_PRIOR_VARIANCE = 0.1
"""The smallest strength: columns are seldom less dependent than chance makes them."""

MAX_PRIOR_NOISE_DEVIATIONS = 4.0
"""The largest strength in parts of the noise's deviation. Beyond it nothing is shrunk
to speak of, and a fit takes ever longer.
"""

COLUMN_PRIOR_VARIANCE = 300.0
"""The strength of a single column: what was measured of it is believed."""

MAX_CELL_KINDS = 40
"""Kinds of cells that are told apart by what they expect."""

PRIOR_VARIANCE_GRID: Array = np.geomspace(MIN_PRIOR_VARIANCE, 1e5, 121)
"""Strengths that are tried."""


UNIFORM_VARIANCE_WEIGHT = 0.05
"""That all strengths are as likely as each other, which is known before any marginal
was looked at, weighs as much as so many of them.
"""

VARIANCE_EM_ROUNDS = 20
"""Times the spread of strengths is told anew from what it makes of every marginal."""


def prior_variances(looks: Sequence[tuple[Term, Array]]) -> Array:
    """The τ² of every noisy marginal around what is expected of its cells.

    >>> expected = np.array([[400.0, 400.0], [100.0, 100.0]])
    >>> away = np.array([[40.0, -40.0], [-20.0, 20.0]])
    >>> from understudy.measurements import Identity
    >>> def seen(variance): return Term(("a", "b"), (Identity(2), Identity(2)), expected + away, variance), expected
    >>> bool(3 < prior_variances([seen(1.0)])[0] < 20)
    True
    """
    if not looks:
        return np.zeros(0)
    unlikely = np.stack(
        [_deviance_by_variance(term, expected) for term, expected in looks]
    )
    possible = np.array(
        [max_prior_variance(term.square(expected)) for term, expected in looks]
    )
    unlikely[
        np.maximum(possible, MIN_PRIOR_VARIANCE)[:, None] < PRIOR_VARIANCE_GRID
    ] = math.inf
    likely = np.exp((unlikely.min(axis=1, keepdims=True) - unlikely) / 2)
    even = np.full(PRIOR_VARIANCE_GRID.size, 1 / PRIOR_VARIANCE_GRID.size)
    spread = even
    for _ in range(VARIANCE_EM_ROUNDS):
        spread = (
            _normalise_rows(likely * spread).sum(axis=0)
            + UNIFORM_VARIANCE_WEIGHT * even
        ) / (len(looks) + UNIFORM_VARIANCE_WEIGHT)
    return np.asarray(_normalise_rows(likely * spread) @ PRIOR_VARIANCE_GRID)


def max_prior_variance(expected: Array) -> float:
    """About the largest strength that counts can have around these; far beyond it lies
    only what hopeless noise makes by chance.

    Moving all N rows is a distance of 2N, which a strength τ² makes with MEAN·τ·Σ√e.
    And if all columns follow one, that with most values, the squared distances in parts
    of what is expected add up to N times the values that the others would have
    together; no two columns are further off, nor more of them unless rows are few where
    all are rare, and there nothing is shrunk to speak of.

    >>> round(max_prior_variance(np.full((8, 8), 10.0))), round(max_prior_variance(np.full((2, 100), 100.0)))
    (70, 628)
    """
    total = float(expected.sum())
    even = float(np.sqrt(np.maximum(expected, 0)).sum()) * MEAN_ABS_NORMAL
    if even <= 0:
        return 0.0
    others = expected.size / (max(expected.shape) if expected.ndim > 1 else 1)
    return max((2 * total / even) ** 2, total * (others - 1) / expected.size)


def _normalise_rows(rows: Array) -> Array:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _deviance_by_variance(term: Term, expected: Array) -> Array:
    """How unlikely the answers are under each of STRENGTHS: minus twice the logarithm
    of their density, up to a constant.
    """
    flat = np.maximum(term.square(expected).ravel(), 1e-9)
    kind = _cell_kinds(flat)
    away = (term.values - term.answer(expected)) ** 2
    many, sizes, squares = (
        np.bincount(kind, of, minlength=MAX_CELL_KINDS)
        for of in (None, flat, away.ravel())
    )
    there = many > 0
    both = term.variance + np.multiply.outer(
        PRIOR_VARIANCE_GRID, sizes[there] / many[there]
    )
    return np.asarray(np.log(both) @ many[there] + (squares[there] / both).sum(axis=1))


def fold_cells(expected: Array) -> tuple[Array, Array]:
    """Expected counts of a few kinds, and how many cells are of each: cells that expect
    about as many rows are of one.

    >>> sizes, many = fold_cells(np.array([100.0, 100.0, 1.0]))
    >>> sizes.round(9).tolist(), many.tolist()
    ([1.0, 100.0], [1.0, 2.0])
    """
    flat = np.maximum(expected.ravel(), 1e-9)
    kind = _cell_kinds(flat)
    many = np.bincount(kind, minlength=MAX_CELL_KINDS).astype(np.float64)
    root = np.bincount(kind, np.sqrt(flat), minlength=MAX_CELL_KINDS)
    there = many > 0
    return (root[there] / many[there]) ** 2, many[there]


def shrink_terms_to_columns(
    terms: Sequence[Term],
    columns: Mapping[str, Array],
    total: float,
    trust: float = 1.0,
) -> tuple[list[Term], float]:
    """The terms with variances for a fit with penalty N·KL around the product of
    columns, and the loss that noise leaves it, twice.

    `trust` is what all strengths are multiplied by.
    """
    return shrink_terms_to_expected(
        [
            (
                t,
                (
                    independent_counts(t.clique, columns, total)
                    if len(t.clique) > 1
                    else None
                ),
            )
            for t in terms
        ],
        trust,
    )


def independent_counts(
    clique: Clique, columns: Mapping[str, Array], total: float
) -> Array:
    """The counts that independent columns would have in the cells of a clique."""
    expected = np.array(total)
    for name in clique:
        expected = np.multiply.outer(expected, columns[name] / total)
    return expected


def shrink_terms_to_expected(
    looks: Sequence[tuple[Term, Array | None]], trust: float = 1.0
) -> tuple[list[Term], float]:
    """The same around any expected counts; a term without them is believed as a single
    column is.
    """
    some = [(term, expected) for term, expected in looks if expected is not None]
    found = trust * prior_variances(some)
    bounded = [
        max(
            min(float(s), MAX_PRIOR_NOISE_DEVIATIONS * math.sqrt(t.row_variance)),
            MIN_PRIOR_VARIANCE,
        )
        for s, (t, _) in zip(found, some, strict=True)
    ]
    told = iter(zip(bounded, adjust_cell_answers(some, found, bounded), strict=True))
    # Columns weigh hundreds of times as much as pairs: a fit that is judged by their
    # noise too may end before it has heard the pairs.
    made, loss, columns = [], 0.0, 0.0
    for term, expected in looks:
        factor, values = (
            (COLUMN_PRIOR_VARIANCE, term.values) if expected is None else next(told)
        )
        made.append(Term(term.clique, term.maps, values, term.variance / factor))
        if expected is None:
            columns += factor * term.values.size
        else:
            loss += factor * term.values.size
    return made, loss or columns


def _cell_kinds(expected: Array) -> NDArray[np.int64]:
    """The kind of each cell: FOLD of them, on a logarithmic scale from the least
    expected count to the largest.
    """
    order = np.log(expected)
    low, high = float(order.min()), float(order.max())
    return np.minimum(
        ((order - low) * (MAX_CELL_KINDS / max(high - low, 1e-9))).astype(np.int64),
        MAX_CELL_KINDS - 1,
    )
