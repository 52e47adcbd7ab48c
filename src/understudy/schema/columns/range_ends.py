"""Where values end inside the outermost bins that hold rows, by the masses of the bins
alone.

Learned bins are wide where noise hides their parts, and values often end inside one:
years from 2000 on in a bin from 1997 to 2002. Spread over all of it, its rows would come
back as years that cannot occur. The bins before it say how densely values lie: if that
goes on up to the end, declining as it did before, the rows of the last bin are used up
somewhere inside it, and that is where values end. Where they reach further than that, a
tail thins out, and the whole bin is kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MIN_END_SHARE = 1e-3
"""Part of all rows beyond which values are taken to go on, from either side."""

MAX_SHARP_REACH = 0.9
"""Part of the outermost bin that its rows must leave to be cut there: noise alone moves
the end of a column that fills all of it.
"""


class DensityPieces(NamedTuple):
    """Pieces of bins: their edges, masses, and the first piece of each bin with one more
    entry at the end.
    """

    edges: NDArray[np.int64]
    masses: NDArray[np.float64]
    first: NDArray[np.int64]


def sharpen_ends(pieces: DensityPieces) -> DensityPieces:
    """The pieces with the outermost bins that hold rows cut where values likely end, on
    both sides; the rows of a bin lie in what is left of it.

    >>> edges, masses = np.arange(0, 60, 10), np.array([0.0, 40, 100, 100, 100])
    >>> sharp = sharpen_ends(DensityPieces(edges, masses, np.arange(6)))
    >>> sharp.edges.tolist(), sharp.masses.tolist(), sharp.first.tolist()
    ([0, 10, 16, 20, 30, 40, 50], [0.0, 0.0, 40.0, 100.0, 100.0, 100.0], [0, 1, 3, 4, 5, 6])
    """
    return _mirror(_sharpen_upper_end(_mirror(_sharpen_upper_end(pieces))))


def _mirror(pieces: DensityPieces) -> DensityPieces:
    edges, masses, first = pieces
    return DensityPieces(-edges[::-1], masses[::-1], len(masses) - first[::-1])


def _sharpen_upper_end(pieces: DensityPieces) -> DensityPieces:
    edges, masses, first = pieces
    last = _last_held_bin(pieces)
    if last == 0:
        return pieces
    start, stop = int(first[last]), int(first[last + 1])
    inner, end = int(edges[start]), int(edges[stop])
    cut = _find_upper_end(edges[: start + 1], masses[:start], masses[start:stop], end)
    if cut is None or cut - inner > MAX_SHARP_REACH * (end - inner):
        return pieces
    # One piece up to the end and one beyond it, in the place of the bin's own pieces.
    rows = float(masses[start:stop].sum())
    return DensityPieces(
        np.concatenate([edges[: start + 1], [cut], edges[stop:]]),
        np.concatenate([masses[:start], [rows, 0.0], masses[stop:]]),
        np.concatenate([first[: last + 1], first[last + 1 :] + start + 2 - stop]),
    )


def _last_held_bin(pieces: DensityPieces) -> int:
    """The last bin that holds a part of the rows worth speaking of."""
    held = np.add.reduceat(pieces.masses, pieces.first[:-1])
    return int(np.flatnonzero(held >= MIN_END_SHARE * held.sum())[-1])


def _find_upper_end(
    edges: NDArray[np.int64],
    masses: NDArray[np.float64],
    outer: NDArray[np.float64],
    end: int,
) -> int | None:
    """The edge at which the rows of the outermost bin are used up, by the pieces before
    it; None if they reach to its end.
    """
    inner = int(edges[-1])
    # Groups as wide as the bin, of which two lie before it; a lone value is no density.
    width = min(end - inner, (inner - int(edges[0])) // 2)
    if width < 1 or end - inner < 2:
        return None
    below = np.concatenate([[0.0], np.cumsum(masses)])
    at = [inner - 2 * width, inner - width, inner]
    before, beside = np.diff(np.interp(at, edges, below)).tolist()
    reach = reach_of_rows(float(outer.sum()), beside, before)
    return None if reach is None else inner + max(1, math.ceil(reach * width))


def reach_of_rows(outer: float, beside: float, before: float) -> float | None:
    """How far rows reach beyond two equally wide groups, in widths of a group, if they
    lie as densely as these make likely; None if they thin out more slowly.

    >>> reach_of_rows(40, 100, 100), reach_of_rows(32, 40, 90)
    (0.4, None)
    """
    # A density of `beside` in the middle of its group that declines by `decline` a group
    # has beside·t − decline·(t + t²)/2 rows up to the distance t behind the group.
    decline = max(before - beside, 0.0)
    at_edge = beside - decline / 2
    if at_edge <= 0:
        return None
    if decline == 0:
        return outer / beside
    root = at_edge**2 - 2 * decline * outer
    return None if root < 0 else (at_edge - math.sqrt(root)) / decline
