"""Private bounds: where a column's values lie, without its smallest or largest value ever being looked up.

Two noisy histograms on public grids. The first counts lattice indices by sign and number of binary digits, which fits every column
there is; the range of bins that stand out of the noise is cut into equal pieces by the second, whose outer bins that stand out become
the bounds. What lies outside is clipped. Rare extremes do not stand out, so they do not show: that is the point.

Why it is private. Each row lies in at most one bin of each histogram, so one unit moves each by at most the sensitivity of a histogram; the
two prices add up. The grids are public, the second being chosen from the first's noisy answer. All 126 (or 64) bins are noised.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.accounting.pricing import price
from understudy.curator.room import Room
from understudy.noise.tails import tails

MAGNITUDES = (*(-(2**k) for k in range(62, -1, -1)), 0, *(2**k for k in range(63)))
"""Edges of the first histogram: zero, and every sign and number of binary digits a lattice index can have."""

PIECES = 64
"""Bins of the second histogram."""

FALSE_ALARM = Fraction(1, 1000)
"""Chance that an empty bin anywhere in a histogram stands out of the noise."""

NOWHERE = (0, 1)
"""The bounds of a column in which nothing stands out."""


def bounds(room: Room, column: str, *, amount: Fraction) -> tuple[int, int]:
    """Lattice indices between which nearly all of a column's values lie."""
    magnitudes = _histogram(room, column, MAGNITUDES, amount / 2)
    coarse = _outer(magnitudes, MAGNITUDES)
    if coarse is None:
        _histogram(room, column, tuple(range(PIECES + 1)), amount / 2)  # the same price whatever the rows say
        return NOWHERE
    low, high = coarse
    width = high - low + 1
    pieces = min(PIECES, width)
    edges = tuple(low + width * i // pieces for i in range(pieces + 1))
    fine = _histogram(room, column, edges, amount / 2)
    return _outer(fine, edges) or coarse


def _histogram(room: Room, column: str, edges: tuple[int, ...], amount: Fraction) -> NDArray[np.bool_]:
    """Which bins stand out of the noise."""
    sensitivity = room.unit_vector()
    scale = room.scale(amount, sensitivity)
    request = {"mechanism": "bounds", "column": column, "law": room.law, "scale": scale, "edges": edges}
    answer = room.till.pay(
        request,
        price(room.law, scale, sensitivity, room.currency),
        lambda: {"counts": room.noisy(room.table.lattice_counts(column, edges), scale)},
    )
    counts: NDArray[np.int64] = answer["counts"].astype(np.int64)
    return counts > standing_out(room.law, scale, cells=len(counts))


def standing_out(law: Law, scale: Fraction, *, cells: int) -> int:
    """The count that noise alone exceeds in none of so many cells, but for a chance of FALSE_ALARM."""
    at, law_tails = 1, tails(law, scale)
    while Fraction(law_tails.tail(at, 64)[1], 1 << 64) > FALSE_ALARM / cells:
        at += max(1, at // 8)
    return at


def _outer(occupied: NDArray[np.bool_], edges: tuple[int, ...]) -> tuple[int, int] | None:
    if not occupied.any():
        return None
    first, last = int(np.argmax(occupied)), len(occupied) - 1 - int(np.argmax(occupied[::-1]))
    return edges[first], edges[last + 1] - 1
