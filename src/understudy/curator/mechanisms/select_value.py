"""Private choice of one public candidate by a linear score: the mode of a column, the
group with most of something, the best of a list of options.

The exponential mechanism (McSherry, Talwar 2007), sampled exactly. Every candidate y has
a public integer W[y, cell] for each cell of a clique, and scores the sum of W[y, cell]
over the rows. `base` is a public measure on the candidates, by default 1 for each.

Why it is private. Adding or removing a row moves the score of y by W[y, its cell]: at
most max|W|. Replacing one moves it by the difference of two entries: at most the range
of the row W[y, ·]. A unit of at most k rows moves it k times as far; under replace one
with an id may also be exchanged for one with fewer rows, or none that counts, so the
larger of range and max|W| counts. Where all entries have one sign, adding or removing
rows moves all scores one way, and the factor 2 of the mechanism is not needed. W, base
and the cells are public.

Sensitivity checked by brute force in tests/curator/mechanisms/test_select_value.py.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import choice_epsilon_for, price_choice
from understudy.curator.context import MechanismContext
from understudy.curator.payment import NoisyAnswer, fingerprint_array
from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.noise import exponential_mechanism
from understudy.schema import BrokenRowPolicy, Schema

MAX_SCORE_WEIGHT = 2**20
"""Largest entry of a score: with 2⁴² rows a sum still fits an integer of 64 bits."""


def score_sensitivity(
    weights: NDArray[np.int64],
    neighbours: Neighbours,
    *,
    max_rows: int = 1,
    may_vanish: bool = False,
) -> int:
    """How far one unit can move the score of any candidate. `may_vanish`: a unit may be
    exchanged for one without a row that counts.

    >>> modes = np.eye(3, dtype=np.int64)
    >>> [score_sensitivity(modes, relation) for relation in Neighbours]
    [1, 1]
    """
    # In 64 bits: the difference of two small integers may be none.
    weights = weights.astype(np.int64)
    largest = int(np.abs(weights).max())
    if neighbours is Neighbours.ADD_REMOVE:
        return max_rows * largest
    # A replaced row moves from one cell to another: by at most the range of a score.
    ranges = int((weights.max(axis=1) - weights.min(axis=1)).max())
    is_whole = max_rows == 1 and not may_vanish
    return max_rows * (ranges if is_whole else max(ranges, largest))


def are_scores_monotone(weights: NDArray[np.int64], neighbours: Neighbours) -> bool:
    """Whether a neighbour moves all scores one way.

    >>> are_scores_monotone(np.eye(2, dtype=np.int64), Neighbours.REPLACE)
    False
    """
    # Scores that all move one way do without the mechanism's factor 2.
    one_sign = bool((weights >= 0).all() or (weights <= 0).all())
    return neighbours is Neighbours.ADD_REMOVE and one_sign


def choose_value(
    context: MechanismContext,
    schema: Schema,
    clique: Clique,
    weights: NDArray[np.int64],
    *,
    amount: Fraction,
    base: NDArray[np.int64] | None = None,
) -> int:
    """The index of one candidate, with probability rising in its score."""
    _refuse_bad_scores(schema, clique, weights, base)
    epsilon = choice_epsilon_for(amount, context.accounting)
    # No entry differs: the choice is public, and any sensitivity will do.
    has_ids = schema.unit.id is not None
    moved = score_sensitivity(
        weights,
        context.neighbours,
        max_rows=context.max_rows,
        may_vanish=has_ids or schema.broken is BrokenRowPolicy.DROP,
    )
    sensitivity = max(1, moved)
    request = {
        "mechanism": "choice",
        "score": "linear",
        "epsilon": epsilon,
        "clique": clique,
        "weights": fingerprint_array(weights),
        "base": None if base is None else fingerprint_array(base),
    }

    def compute_scores() -> NDArray[np.int64]:
        (counts,) = context.table.counts([clique])
        return np.asarray(weights @ counts.ravel(), np.int64)

    def draw_choice(scores: NDArray[np.int64]) -> NoisyAnswer:
        index = exponential_mechanism(
            scores,
            epsilon=epsilon,
            sensitivity=Fraction(sensitivity),
            monotone=are_scores_monotone(weights, context.neighbours),
            base=base,
        )
        return {"index": np.array(index)}

    cost = price_choice(epsilon, context.accounting)
    answer = context.payments.pay(request, cost, compute_scores, draw_choice)
    return int(answer["index"])


def _refuse_bad_scores(
    schema: Schema,
    clique: Clique,
    weights: NDArray[np.int64],
    base: NDArray[np.int64] | None,
) -> None:
    """Refuse before anything is paid what the sampler would refuse after."""
    cells = int(np.prod(schema.sizes(clique)))
    if (
        weights.ndim != 2
        or weights.dtype.kind != "i"
        or weights.shape[1] != cells
        or weights.shape[0] == 0
        # Not by their size: that of the least integer of its type is itself.
        or weights.max(initial=0) > MAX_SCORE_WEIGHT
        or weights.min(initial=0) < -MAX_SCORE_WEIGHT
    ):
        raise Refused(
            "A score is one integer of at most 2^20 for each candidate and each cell of"
            f" {', '.join(clique)}. Nothing was spent"
        )
    if base is None:
        return
    fits = base.shape == (weights.shape[0],) and base.dtype.kind == "i"
    if not fits or base.min() < 0 or base.max() == 0:
        raise Refused(
            "A base measure is one non-negative integer for each candidate, and not all"
            " are 0. Nothing was spent"
        )
