"""How strongly columns depend on each other, told from noisy marginals, and how far each marginal is therefore to be believed.

Empirical Bayes (Efron, Morris 1973). Let a true count lie around its expectation e under independence with variance τ²·e, as counts do, and
the noisy one around it with the noise's variance v. Then |y − e| is √(2/π)·√(v + τ²e) in the mean, and the τ² at which the sum over all
cells comes out right tells the strength of the interaction: 1 is chance, hundreds are common.

A fit with penalty N·KL(p ‖ product of columns) gives a count the prior variance e. So a marginal of strength τ² is to enter such a fit
with the variance v/τ²: alone, it is then moved to e + (y − e)·τ²e/(τ²e + v), the best linear guess. A strong interaction is believed, one
that noise hides is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from understudy.models.terms import Array, Term

LEAST = 0.1
"""The smallest strength: columns are seldom less dependent than chance makes them."""

MOST = 4.0
"""The largest strength in parts of the noise's deviation. Beyond it nothing is shrunk to speak of, and a fit takes ever longer."""

COLUMN = 100.0
"""The strength of a single column: what was measured of it is believed."""

FOLD, HALVINGS = 40, 30
"""Kinds of cells that are told apart by what they expect, and steps in which the strength is narrowed down."""


def strength(noisy: Array, expected: Array, variance: float) -> float:
    """The τ² of a noisy marginal around what independence expects, when its noise has this variance.

    >>> expected = np.array([[400.0, 400.0], [100.0, 100.0]])
    >>> away = np.array([[40.0, -40.0], [-20.0, 20.0]])
    >>> round(strength(expected + away, expected, 1.0), 1)
    6.3
    >>> strength(expected + away, expected, 10_000.0)
    0.1
    """
    seen = float(np.abs(noisy - expected).sum()) / math.sqrt(2 / math.pi)
    sizes, many = folded(expected)
    low, high = LEAST, max(LEAST, 2 * (seen / max(float((many * np.sqrt(sizes)).sum()), 1e-300)) ** 2)
    if float((many * np.sqrt(variance + low * sizes)).sum()) >= seen:
        return LEAST
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        small = float((many * np.sqrt(variance + middle * sizes)).sum()) < seen
        low, high = (middle, high) if small else (low, middle)
    return low


def folded(expected: Array) -> tuple[Array, Array]:
    """Expected counts of a few kinds, and how many cells are of each: cells that expect about as many rows are of one.

    >>> sizes, many = folded(np.array([100.0, 100.0, 1.0]))
    >>> sizes.round(9).tolist(), many.tolist()
    ([1.0, 100.0], [1.0, 2.0])
    """
    flat = np.maximum(expected.ravel(), 1e-9)
    order = np.log(flat)
    low, high = float(order.min()), float(order.max())
    kind = np.minimum(((order - low) * (FOLD / max(high - low, 1e-9))).astype(np.int64), FOLD - 1)
    many = np.bincount(kind, minlength=FOLD).astype(np.float64)
    root = np.bincount(kind, np.sqrt(flat), minlength=FOLD)
    there = many > 0
    return (root[there] / many[there]) ** 2, many[there]


def believed(terms: Sequence[Term], columns: Mapping[str, Array], total: float) -> tuple[list[Term], float]:
    """The terms with variances for a fit with penalty N·KL around the product of columns, and the mean strength of their numbers."""
    made, weight, cells = [], 0.0, 0
    for term in terms:
        factor = COLUMN
        if len(term.clique) > 1:
            expected = np.array(total)
            for name in term.clique:
                expected = np.multiply.outer(expected, columns[name] / total)
            factor = strength(term.values, term.answer(expected), term.variance) if _counts(term) else COLUMN
            factor = max(min(factor, MOST * math.sqrt(term.variance)), LEAST)
        made.append(Term(term.clique, term.maps, term.values, term.variance / factor))
        weight, cells = weight + factor * term.values.size, cells + term.values.size
    return made, weight / max(cells, 1)


def _counts(term: Term) -> bool:
    """Whether the term holds counts, of cells or of bins, rather than centred ones."""
    return term.row_variance == term.variance
