"""How strongly columns depend on each other, told from noisy marginals, and how far each marginal is therefore to be believed.

Empirical Bayes (Efron, Morris 1973). Let a true count lie around its expectation e under independence with variance τ²·e, as counts do, and
the noisy one around it with the noise's variance v. Then y − e has variance v + τ²e, and the τ² under which all of a marginal's cells are
likeliest, were they normal, tells the strength of the interaction: 1 is chance, hundreds are common.

A fit with penalty N·KL(p ‖ product of columns) gives a count the prior variance e. So a marginal of strength τ² is to enter such a fit
with the variance v/τ²: alone, it is then moved to e + (y − e)·τ²e/(τ²e + v), the best linear guess. A strong interaction is believed, one
that noise hides is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.models.terms import Array, Term

LEAST = 0.1
"""The smallest strength: columns are seldom less dependent than chance makes them."""

MOST = 4.0
"""The largest strength in parts of the noise's deviation. Beyond it nothing is shrunk to speak of, and a fit takes ever longer."""

COLUMN = 300.0
"""The strength of a single column: what was measured of it is believed."""

FOLD = 40
"""Kinds of cells that are told apart by what they expect."""

STRENGTHS: Array = np.geomspace(LEAST, 1e5, 121)
"""Strengths that are tried."""


def strength(noisy: Array, expected: Array, variance: float) -> float:
    """The τ² of a noisy marginal around what independence expects, when its noise has this variance.

    >>> expected = np.array([[400.0, 400.0], [100.0, 100.0]])
    >>> away = np.array([[40.0, -40.0], [-20.0, 20.0]])
    >>> round(strength(expected + away, expected, 1.0), 1)
    4.0
    >>> strength(expected + away, expected, 10_000.0)
    0.1
    """
    flat = np.maximum(expected.ravel(), 1e-9)
    kind = _kinds(flat)
    many, sizes, squares = (
        np.bincount(kind, of, minlength=FOLD) for of in (None, flat, ((noisy - expected) ** 2).ravel())
    )
    there = many > 0
    spread = variance + np.multiply.outer(STRENGTHS, sizes[there] / many[there])
    unlikely = np.log(spread) @ many[there] + (squares[there] / spread).sum(axis=1)
    return float(STRENGTHS[int(np.argmin(unlikely))])


def folded(expected: Array) -> tuple[Array, Array]:
    """Expected counts of a few kinds, and how many cells are of each: cells that expect about as many rows are of one.

    >>> sizes, many = folded(np.array([100.0, 100.0, 1.0]))
    >>> sizes.round(9).tolist(), many.tolist()
    ([1.0, 100.0], [1.0, 2.0])
    """
    flat = np.maximum(expected.ravel(), 1e-9)
    kind = _kinds(flat)
    many = np.bincount(kind, minlength=FOLD).astype(np.float64)
    root = np.bincount(kind, np.sqrt(flat), minlength=FOLD)
    there = many > 0
    return (root[there] / many[there]) ** 2, many[there]


def believed(terms: Sequence[Term], columns: Mapping[str, Array], total: float) -> tuple[list[Term], float]:
    """The terms with variances for a fit with penalty N·KL around the product of columns, and the mean strength of their numbers."""
    looks = []
    for term in terms:
        expected = np.array(total)
        for name in term.clique if _counts(term) and len(term.clique) > 1 else ():
            expected = np.multiply.outer(expected, columns[name] / total)
        looks.append((term, term.answer(expected) if expected.ndim else None))
    return leaned(looks)


def leaned(looks: Sequence[tuple[Term, Array | None]]) -> tuple[list[Term], float]:
    """The same around any expected counts; a term without them is believed as a single column is."""
    made, weight, cells = [], 0.0, 0
    for term, expected in looks:
        factor = COLUMN
        if expected is not None and _counts(term):
            factor = strength(term.values, expected, term.variance)
            factor = max(min(factor, MOST * math.sqrt(term.variance)), LEAST)
        made.append(Term(term.clique, term.maps, term.values, term.variance / factor))
        weight, cells = weight + factor * term.values.size, cells + term.values.size
    return made, weight / max(cells, 1)


def _kinds(expected: Array) -> NDArray[np.int64]:
    """The kind of each cell: FOLD of them, on a logarithmic scale from the least expected count to the largest."""
    order = np.log(expected)
    low, high = float(order.min()), float(order.max())
    return np.minimum(((order - low) * (FOLD / max(high - low, 1e-9))).astype(np.int64), FOLD - 1)


def _counts(term: Term) -> bool:
    """Whether the term holds counts, of cells or of bins, rather than centred ones."""
    return term.row_variance == term.variance
