"""The interval of an answer: each sum that says something of the rows asked for has its
own, and what they have in common is the answer's.

Told of the question's columns together, and of each of them and every two of them:

  * By least squares: a sum of cells with the exact deviation of that very sum.
  * By a distance that was bought: rows that the release m has wrongly in some cells, or
    wrongly out, are at most half of ‖m − t‖₁ and of what the total is off by, for any
    set of cells.

Rows asked for are among those whose value in one column, or values in two, the question
leaves open: a count of `a and b` is no more than that of `a`. And those that it takes
whatever the others are, are among the rows asked for: a count of `a or b` is no less
than that of `a`. No count is more than the number of rows.

Confidence. Each of these ends may be wrong, so the doubt of 5 in 100 is shared out
among them: all hold together 95 times in 100, and with them what they have in common.
Shares depend on which things were bought and never on what came out. A fifth goes to
the columns by themselves, another to the distance: they are of use where the question
itself was measured badly, and cost little where it was measured well. A twentieth goes
to the number of rows, which is known so well that this is enough. What a share is of is
known beforehand, so a question about one column that was measured has all the rest of
the doubt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting
from understudy.measurements import Clique
from understudy.models.uncertainty.intervals import (
    BOUND_CONFIDENCE,
    deviation_of_sum,
    deviations_at_tail,
    distance_bound,
)

if TYPE_CHECKING:
    from understudy.releases.card.card import Card

Array = NDArray[np.float64]

SIDE_DOUBT_SHARE = 1 / 5
"""The part of the doubt that goes to what is only of use where the question itself was
measured badly.
"""

TOTAL_DOUBT_SHARE = 1 / 20
"""The part of the doubt that goes to the number of rows, beyond which no count is."""

MAX_INTERVAL_PARTS = 40
"""Columns and pairs of one question that are looked at."""


def confidence_interval(
    card: Card, clique: Clique, least: Array, most: Array, *, share: bool
) -> tuple[float, float]:
    """Between which rows the truth lies 95 times in 100, of a question that takes all
    cells in `least` and none but those in `most`.
    """
    doubt = 1 - BOUND_CONFIDENCE
    rest = doubt * (1 - TOTAL_DOUBT_SHARE if clique else 1)
    parts = list(_bounding_parts(clique, least, most))
    tail = (rest - doubt * SIDE_DOUBT_SHARE if parts else rest) / 2
    low, high = (
        _interval_end(card, clique, w, side, tail, share)
        for w, side in ((least, -1), (most, 1))
    )
    told = math.isfinite(high)
    for part, weights, side in parts:
        end = _interval_end(
            card,
            part,
            weights,
            side,
            (doubt * SIDE_DOUBT_SHARE if told else rest) / len(parts),
            share,
        )
        low, high = (low, min(high, end)) if side > 0 else (max(low, end), high)
    return low, (
        min(
            high,
            _interval_end(card, (), np.ones(()), 1, doubt * TOTAL_DOUBT_SHARE, share),
        )
        if clique
        else high
    )


def least_squares_sum(
    card: Card, clique: Clique, weights: Array, *, share: bool
) -> tuple[float, float]:
    """What least squares makes of a sum of cells, in rows, and its deviation: infinite
    where something it needs was not measured.
    """
    found = float((weights * card.pooled.marginal(clique)).sum())
    # Of a share the total's own noise cancels in part: the share p of a table is what
    # its weights less p leave.
    return found, deviation_of_sum(
        card.pooled, clique, weights - found / card.rows if share else weights
    )


def model_sum(card: Card, table: Array, weights: Array, *, share: bool) -> float:
    """What the release's own table makes of a sum of cells, in rows; of a share, out of
    as many rows as errors are shares of.
    """
    found = float((weights * table).sum())
    return found * card.rows / max(float(table.sum()), 1e-9) if share else found


def tail_deviations(card: Card, tail: float) -> float:
    """Deviations that the noise of this release passes on one side no more often than
    this.
    """
    return deviations_at_tail(
        tail, laplace=card.release.guarantee.accounting is Accounting.PURE
    )


def _bounding_parts(
    clique: Clique, least: Array, most: Array
) -> Iterator[tuple[Clique, Array, int]]:
    """Columns and pairs with the cells that all rows asked for are in (1), or that hold
    no other rows (-1).
    """
    for axes in islice(
        chain(combinations(range(len(clique)), 1), combinations(range(len(clique)), 2)),
        MAX_INTERVAL_PARTS,
    ):
        if len(axes) == len(clique):
            return
        part = tuple(clique[i] for i in axes)
        others = tuple(i for i in range(len(clique)) if i not in axes)
        inner, outer = least.min(axis=others), most.max(axis=others)
        if not outer.all():
            yield part, outer, 1
        if inner.any():
            yield part, inner, -1


def _interval_end(
    card: Card, clique: Clique, weights: Array, side: int, tail: float, share: bool
) -> float:
    """What the rows in these cells are not beyond, above (1) or below (-1), but for so
    much doubt; infinite where nothing tells.
    """
    found, spread = least_squares_sum(card, clique, weights, share=share)
    measured, gap = math.isfinite(spread), card.gap(clique)
    ends = [math.inf]
    if measured:
        ends.append(
            side * found
            + tail_deviations(card, tail * (1 if gap is None else 1 - SIDE_DOUBT_SHARE))
            * spread
        )
    if gap is not None:
        each = (
            tail * (SIDE_DOUBT_SHARE if measured else 1) / 2
        )  # one half for the distance, one for the total
        table = card.table(clique)
        off = abs(float(table.sum()) - card.pooled.total) + tail_deviations(
            card, each / 2
        ) * math.sqrt(card.pooled.total_variance)
        reach = (distance_bound(gap, table, confidence=1 - each).rows + off) / 2
        ends.append(side * model_sum(card, table, weights, share=share) + reach)
    return side * min(ends)
