"""Controlled rounding: whole persons, with the sums that were promised.

Largest remainders round every column of a table (one cell of all children) to its sum.
Then persons are moved between the children inside a column, the cheapest move first,
until every child has its own sum too. A child with too many persons has one in some
column, and any other child may take it there: so the exchange never gets stuck unless
bounds forbid it, and no integer program is needed. Where the bounds do matter, the sums
of columns are kept and the sums of rows are approximate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.censuses.lattice import Floats

Integers = NDArray[np.int64]

UNBOUNDED_COUNT = 1 << 60
"""Persons above any number there can be: no bound at all."""


def round_columns(
    table: Floats,
    sums: Integers,
    *,
    lower: Integers | None = None,
    upper: Integers | None = None,
) -> Integers:
    """Whole numbers near the table, each column with its sum, within the bounds, which
    must admit the sums.

    >>> round_columns(np.array([[0.4, 2.5], [0.7, 1.5]]), np.array([1, 4])).tolist()
    [[0, 3], [1, 1]]
    """
    low = np.zeros(table.shape, np.int64) if lower is None else lower
    high = np.full(table.shape, UNBOUNDED_COUNT) if upper is None else upper
    rounded = np.clip(np.floor(table + 1e-6).astype(np.int64), low, high)
    missing = sums - rounded.sum(axis=0)
    left = np.inf
    # Sums that the bounds do not admit stay broken, and promises.py refuses them.
    while 0 < np.abs(missing).sum() < left:
        left = np.abs(missing).sum()
        remainder = table - rounded
        up = np.where(rounded < high, remainder, -np.inf)
        rounded += _mark_largest(up, np.maximum(missing, 0))
        down = np.where(rounded > low, -remainder, -np.inf)
        rounded -= _mark_largest(down, np.maximum(-missing, 0))
        missing = sums - rounded.sum(axis=0)
    return rounded


def _mark_largest(scores: Floats, counts: Integers) -> NDArray[np.bool_]:
    """In each column as many of its largest finite scores as its count says."""
    order = np.argsort(-scores, axis=0, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(len(scores))[:, None], axis=0)
    return (place < counts) & np.isfinite(scores)


def exchange_rows(
    rounded: Integers,
    table: Floats,
    sums: Integers,
    *,
    lower: Integers | None = None,
    upper: Integers | None = None,
) -> Integers:
    """The rounded table with persons moved inside columns until every row has its sum,
    as far as the bounds admit it.

    >>> table = np.array([[0.5, 0.6], [0.5, 0.4]])
    >>> exchange_rows(np.array([[1, 1], [0, 0]]), table, np.array([1, 1])).tolist()
    [[0, 1], [1, 0]]
    """
    low = np.zeros(table.shape, np.int64) if lower is None else lower
    high = np.full(table.shape, UNBOUNDED_COUNT) if upper is None else upper
    moved = rounded.copy()
    excess = moved.sum(axis=1) - sums
    while excess.any():
        giver, taker = int(excess.argmax()), int(excess.argmin())
        if excess[giver] <= 0 or excess[taker] >= 0:
            break
        # Moving a person changes |y − x| by these amounts in the two rows.
        given = _move_cost(moved[giver] - table[giver], -1)
        taken = _move_cost(moved[taker] - table[taker], 1)
        allowed = (moved[giver] > low[giver]) & (moved[taker] < high[taker])
        if not allowed.any():
            break
        cost = np.where(allowed, given + taken, np.inf)
        cell = int(cost.argmin())
        moved[giver, cell] -= 1
        moved[taker, cell] += 1
        excess[giver] -= 1
        excess[taker] += 1
    return moved


def _move_cost(error: Floats, step: int) -> Floats:
    return np.abs(error + step) - np.abs(error)
