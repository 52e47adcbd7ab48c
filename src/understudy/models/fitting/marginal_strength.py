"""The prior variance of a marginal, estimated from noisy marginals, and the shrinkage
that follows from it.

Empirical Bayes (Efron, Morris 1973). Let a true count have mean e, the count expected
under independence, and variance τ²·e, and let the noise have variance v. Then a noisy
count y has variance v + τ²e around e. The normal likelihood of a marginal's cells as a
function of τ² says how strong its interaction is: 1 is chance, hundreds are common. The
same holds for differences of counts, whose variance is τ² times the sum of the two
expected counts.

At a large noise the likeliest τ² of a single marginal is often large by chance. So the
distribution of τ² over all marginals is estimated first (models/fitting/npmle.py), and
the τ² of a marginal is its posterior mean under that distribution.

A fit with penalty N·KL(p ‖ product of columns) gives a count the prior variance e. A
marginal with prior variance τ²e therefore enters such a fit with the noise variance
v/τ²: alone, it is then moved to e + (y − e)·τ²e/(τ²e + v), the best linear estimate.
Cells that stand out from their marginal have a prior variance of their own
(models/fitting/cell_strength.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.estimates.loss_terms import Term
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.fitting.cell_strength import adjust_cell_answers
from understudy.models.fitting.constants import (
    COLUMN_PRIOR_VARIANCE,
    MAX_CELL_KINDS,
    MAX_PRIOR_NOISE_DEVIATIONS,
    MIN_PRIOR_VARIANCE,
    PRIOR_VARIANCE_GRID,
    UNIFORM_VARIANCE_WEIGHT,
    VARIANCE_EM_ROUNDS,
)
from understudy.models.fitting.npmle import (
    MixingPrior,
    fit_mixing_weights,
    posterior_weights,
)

MIN_EXPECTED_COUNT = 1e-9
"""Smallest expected count of a cell: keeps logarithms and roots finite."""

_VARIANCE_PRIOR = MixingPrior.uniform(
    PRIOR_VARIANCE_GRID.size, UNIFORM_VARIANCE_WEIGHT, VARIANCE_EM_ROUNDS
)


def prior_variances(observations: Sequence[tuple[Term, Array]]) -> Array:
    """The τ² of every noisy marginal, each given with the expected counts of its cells.

    >>> expected = np.array([[400.0, 400.0], [100.0, 100.0]])
    >>> away = np.array([[40.0, -40.0], [-20.0, 20.0]])
    >>> from understudy.measurements import Identity
    >>> term = Term(("a", "b"), (Identity(2), Identity(2)), expected + away, 1.0)
    >>> bool(3 < prior_variances([(term, expected)])[0] < 20)
    True
    """
    if not observations:
        return np.zeros(0)
    log_likelihoods = np.stack(
        [_log_likelihoods(*observation) for observation in observations]
    )
    # Marginals of one table are alike, so a hidden one is judged by the others.
    weights = fit_mixing_weights(log_likelihoods, _VARIANCE_PRIOR)
    return np.asarray(posterior_weights(log_likelihoods, weights) @ PRIOR_VARIANCE_GRID)


def _log_likelihoods(term: Term, expected: Array) -> Array:
    """The log-likelihood of a marginal under each τ² of the grid, up to a constant."""
    means = np.maximum(term.square(expected).ravel(), MIN_EXPECTED_COUNT)
    squares = ((term.values - term.answer(expected)) ** 2).ravel()
    # Cells with about the same mean are binned: a marginal of 100,000 cells costs 40.
    kind = _cell_kinds(means)
    cells = np.bincount(kind, minlength=MAX_CELL_KINDS)
    filled = cells > 0
    mean = np.bincount(kind, means, MAX_CELL_KINDS)[filled] / cells[filled]
    square = np.bincount(kind, squares, MAX_CELL_KINDS)[filled]
    variance = term.variance + np.multiply.outer(PRIOR_VARIANCE_GRID, mean)
    deviance = np.log(variance) @ cells[filled] + (square / variance).sum(axis=1)
    largest = max(max_prior_variance(term.square(expected)), MIN_PRIOR_VARIANCE)
    return np.where(largest < PRIOR_VARIANCE_GRID, -math.inf, -deviance / 2)


def max_prior_variance(expected: Array) -> float:
    """About the largest τ² that counts can have around these expected counts.

    Far beyond it lies only what noise without signal suggests by chance. Moving all N
    rows is an L1 distance of 2N, which τ makes with √(2/π)·τ·Σ√e. And if every column is
    a function of the one with most values, the squared distances divided by expected
    counts add up to N times the number of value combinations of the other columns. No
    two columns are further apart; more columns may be where rows are few and values
    rare, and nothing is shrunk there to speak of.

    >>> [round(max_prior_variance(np.full(shape, 40.0))) for shape in ((8, 8), (2, 100))]
    [280, 251]
    """
    total = float(expected.sum())
    unit_distance = MEAN_ABS_NORMAL * float(np.sqrt(np.maximum(expected, 0)).sum())
    if unit_distance <= 0:
        return 0.0
    most_values = max(expected.shape) if expected.ndim > 1 else 1
    others = expected.size / most_values
    return max((2 * total / unit_distance) ** 2, total * (others - 1) / expected.size)


def fold_cells(expected: Array) -> tuple[Array, Array]:
    """Expected counts in a few bins: a typical count of each bin, and its cells.

    The sum of √e over all cells, which gains depend on, is kept.

    >>> sizes, cells = fold_cells(np.array([100.0, 100.0, 1.0]))
    >>> sizes.round(9).tolist(), cells.tolist()
    ([1.0, 100.0], [1.0, 2.0])
    """
    sizes, cells = fold_many_cells(expected.reshape(1, -1))
    filled = cells[0] > 0
    return sizes[0][filled], cells[0][filled]


def fold_many_cells(tables: Array) -> tuple[Array, Array]:
    """The same for many tables of as many cells, one in each row: MAX_CELL_KINDS bins
    each, those without cells included.
    """
    flat = np.maximum(tables, MIN_EXPECTED_COUNT)
    count = len(flat)
    bins = _cell_kinds(flat) + MAX_CELL_KINDS * np.arange(count)[:, None]
    shape, most = (count, MAX_CELL_KINDS), count * MAX_CELL_KINDS
    cells = np.bincount(bins.ravel(), minlength=most).reshape(shape).astype(np.float64)
    roots = np.bincount(bins.ravel(), np.sqrt(flat).ravel(), most).reshape(shape)
    return (roots / np.maximum(cells, 1)) ** 2, cells


def independent_counts(
    clique: Clique, columns: Mapping[str, Array], total: float
) -> Array:
    """The counts that independent columns would have in the cells of a clique."""
    expected = np.array(total)
    for name in clique:
        expected = np.multiply.outer(expected, columns[name] / total)
    return expected


def shrink_terms_to_columns(
    terms: Sequence[Term],
    columns: Mapping[str, Array],
    total: float,
) -> tuple[list[Term], float]:
    """`shrink_terms_to_expected` around the product of columns."""
    observations: list[tuple[Term, Array | None]] = []
    for term in terms:
        is_column = len(term.clique) < 2
        expected = (
            None if is_column else independent_counts(term.clique, columns, total)
        )
        observations.append((term, expected))
    return shrink_terms_to_expected(observations)


def shrink_terms_to_expected(
    observations: Sequence[tuple[Term, Array | None]],
) -> tuple[list[Term], float]:
    """The terms with variances for a fit with penalty N·KL around the expected counts,
    and twice the loss that their noise leaves it.

    A term without expected counts is a single column: it is not shrunk.
    """
    joint = [
        (term, expected) for term, expected in observations if expected is not None
    ]
    variances = prior_variances(joint)
    bounded = [
        _bound_prior_variance(float(tau), term)
        for tau, (term, _) in zip(variances, joint, strict=True)
    ]
    answers = adjust_cell_answers(joint, variances, bounded)
    shrunk = iter(zip(bounded, answers, strict=True))
    # Columns weigh hundreds of times as much as pairs. A tolerance that includes their
    # noise would end the fit before it has used the pairs, so they count only if alone.
    terms: list[Term] = []
    joint_loss, column_loss = 0.0, 0.0
    for term, expected in observations:
        if expected is None:
            factor, values = COLUMN_PRIOR_VARIANCE, term.values
            column_loss += factor * values.size
        else:
            factor, values = next(shrunk)
            joint_loss += factor * values.size
        terms.append(Term(term.clique, term.maps, values, term.variance / factor))
    return terms, joint_loss or column_loss


def _bound_prior_variance(variance: float, term: Term) -> float:
    largest = MAX_PRIOR_NOISE_DEVIATIONS * math.sqrt(term.row_variance)
    return max(min(variance, largest), MIN_PRIOR_VARIANCE)


def _cell_kinds(expected: Array) -> NDArray[np.int64]:
    """The bin of each cell in its row, on a logarithmic scale of its expected count."""
    logs = np.log(expected)
    low = logs.min(axis=-1, keepdims=True)
    high = logs.max(axis=-1, keepdims=True)
    bins_per_unit = MAX_CELL_KINDS / np.maximum(high - low, 1e-9)
    kinds = ((logs - low) * bins_per_unit).astype(np.int64)
    return np.asarray(np.minimum(kinds, MAX_CELL_KINDS - 1))
