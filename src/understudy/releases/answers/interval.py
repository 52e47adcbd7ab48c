"""The interval of an answer: the intersection of the confidence intervals of every sum
of cells that bounds the rows asked for.

Sums are taken over the question's columns together, and over each of them and every two
of them:

  * By least squares: a sum of cells with the exact deviation of that very sum.
  * By a released distance: rows that the release m has wrongly inside a set of cells,
    or wrongly outside, are at most half of ‖m − t‖₁ plus the error of the total, for
    any set of cells.

The rows asked for are among those whose value in one column, or values in two, the
question leaves possible: a count of `a and b` is at most that of `a`. And rows that the
question takes whatever their other values are, are among the rows asked for: a count of
`a or b` is at least that of `a`. No count exceeds the number of rows.

Confidence. Each of these ends may be wrong, so an error probability of 5 % is divided
among them (union bound): all hold together with 95 % confidence, and with them their
intersection. The parts depend on which quantities were measured, never on their values.
A fifth goes to the columns by themselves, another to the distance: they help where the
question itself was measured badly, and cost little where it was measured well. A
twentieth goes to the number of rows, which is known so well that this is enough. Which
parts are needed is known beforehand, so a question about one measured column has all
the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice

import numpy as np

from understudy.measurements import Clique
from understudy.models.uncertainty.intervals import BOUND_CONFIDENCE, distance_bound
from understudy.releases.answers.cell_sums import Array, CellSums

ERROR_PROBABILITY = 1 - BOUND_CONFIDENCE

SIDE_DOUBT_SHARE = 1 / 5
"""Share of the error probability for ends that help only where the question itself was
measured badly.
"""

TOTAL_DOUBT_SHARE = 1 / 20
"""Share of the error probability for the number of rows, which no count exceeds."""

MAX_INTERVAL_PARTS = 40
"""Columns and pairs of one question that are tried as bounds."""

_ABOVE, _BELOW = 1, -1


@dataclass(frozen=True)
class BoundingPart:
    """Cells of a few of a question's columns that hold all rows asked for (a bound from
    above), or no other rows (from below).
    """

    clique: Clique
    weights: Array
    side: int


def confidence_interval(
    sums: CellSums, clique: Clique, least: Array, most: Array
) -> tuple[float, float]:
    """The 95 % interval, in rows, of a question that takes all cells in `least` and
    none but those in `most`.
    """
    if not clique:
        tail = ERROR_PROBABILITY / 2
        return (
            _interval_end(sums, BoundingPart(clique, least, _BELOW), tail),
            _interval_end(sums, BoundingPart(clique, most, _ABOVE), tail),
        )
    rest = ERROR_PROBABILITY * (1 - TOTAL_DOUBT_SHARE)
    side_doubt = ERROR_PROBABILITY * SIDE_DOUBT_SHARE
    parts = list(_bounding_parts(clique, least, most))
    tail = (rest - side_doubt if parts else rest) / 2
    low = _interval_end(sums, BoundingPart(clique, least, _BELOW), tail)
    high = _interval_end(sums, BoundingPart(clique, most, _ABOVE), tail)
    # If nothing bounds the question itself, its parts may use all of the probability.
    part_doubt = side_doubt if math.isfinite(high) else rest
    for part in parts:
        end = _interval_end(sums, part, part_doubt / len(parts))
        if part.side == _ABOVE:
            high = min(high, end)
        else:
            low = max(low, end)
    whole = BoundingPart((), np.ones(()), _ABOVE)
    rows = _interval_end(sums, whole, ERROR_PROBABILITY * TOTAL_DOUBT_SHARE)
    return low, min(high, rows)


def _bounding_parts(
    clique: Clique, least: Array, most: Array
) -> Iterator[BoundingPart]:
    """Single columns, then pairs, that bound a question about more columns."""
    places = range(len(clique))
    subsets = chain(combinations(places, 1), combinations(places, 2))
    for axes in islice(subsets, MAX_INTERVAL_PARTS):
        if len(axes) == len(clique):
            return
        part = tuple(clique[i] for i in axes)
        others = tuple(i for i in places if i not in axes)
        inner, outer = least.min(axis=others), most.max(axis=others)
        # A part that allows everything, or requires nothing, bounds nothing.
        if not outer.all():
            yield BoundingPart(part, outer, _ABOVE)
        if inner.any():
            yield BoundingPart(part, inner, _BELOW)


def _interval_end(sums: CellSums, part: BoundingPart, tail: float) -> float:
    """The number of rows that these cells do not exceed, above or below, except with
    probability `tail`; infinite if nothing was measured of them.
    """
    measured = sums.by_least_squares(part.clique, part.weights)
    distance = sums.evidence.released_distance(part.clique)
    ends = [math.inf]
    if measured.is_measured:
        own_tail = tail if distance is None else tail * (1 - SIDE_DOUBT_SHARE)
        reach = sums.tail_deviations(own_tail) * measured.deviation
        ends.append(part.side * measured.rows + reach)
    if distance is not None:
        own_tail = tail * SIDE_DOUBT_SHARE if measured.is_measured else tail
        table = sums.evidence.marginal(part.clique)
        # One half is for the distance itself, one for the error of the total.
        off_total = _total_error(sums, table, own_tail / 2)
        off_cells = distance_bound(distance, table, confidence=1 - own_tail / 2).rows
        reach = (off_cells + off_total) / 2
        ends.append(part.side * sums.by_model(table, part.weights) + reach)
    return part.side * min(ends)


def _total_error(sums: CellSums, table: Array, tail: float) -> float:
    """How far the total of the release's own table may be from the number of rows."""
    pooled = sums.evidence.least_squares
    noise = sums.tail_deviations(tail / 2) * math.sqrt(pooled.total_variance)
    return abs(float(table.sum()) - pooled.total) + noise
