"""The far tails of a descent's cells. Post-processing: no row is read and nothing is
paid.

Where no tail reaches out, a column ends about where the outermost cells lie that hold
something: fences there and beyond keep its bins from reaching far beyond.
The cells of a descent are equally wide: the few that hold values are too wide to show
how a tail decreases, and the many beyond are noise, which together seem to hold many
rows. If a smooth law fits both (models/estimates/tail_shape.py), they are cut where the
distance from a low quantile doubles, and share their counts by that law.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.curator.discovery.tree_counts import CountTree, TreeLeaves
from understudy.models.estimates.tail_shape import (
    STANDING_BIN_SIGMAS,
    TAIL_MISFIT_SHARE,
    UpperTail,
    fit_upper_tail,
)

MAX_TAIL_OCTAVES = 64
"""Times that a distance can double: lattice indices have 63 bits."""

FENCE_OCTAVES = 2
"""Bins of a tail reach four times as far as they begin, whatever they seem to hold: the
noise of a descent may hide hundreds of rows.
"""

END_FENCE_PARTS = 4
"""The first bin beyond the end of a column has this part of its width."""

MAX_END_FENCES = 8
"""Fences beyond the end of a column: the last is thirty times its width away."""

MIN_CELL_VARIANCE = 1e-12
"""Smallest variance of a cell's estimated count: weights divide by it."""


class ShapedCells(NamedTuple):
    """Cells, and where bins must begin because a tail does, or reaches far."""

    leaves: TreeLeaves
    fences: tuple[int, ...] = ()


def shape_tails(tree: CountTree, most_fences: int) -> ShapedCells:
    """The smooth cells of a tree, with both tails as a law has them where one fits, and
    at most so many fences in each.

    >>> from understudy.curator.discovery.tree_counts import TreeLevel
    >>> counts = np.array([900, 500, 200, 80, *[5, -30] * 20])
    >>> cells = np.arange(44)
    >>> level = TreeLevel(cells, cells + 1, 0 * cells, counts)
    >>> leaves, fences = shape_tails(CountTree((level,), 100.0), 4)
    >>> leaves.edges.tolist(), fences
    ([0, 1, 2, 3, 4, 8, 16, 32, 44], (4, 16))
    """
    cells = tree.join_weak_cells()
    low, high = tree.find_support()
    upper = _shape_upper_tail(tree.smooth(), cells, most_fences, (low, high))
    lower = _shape_upper_tail(
        _mirror_cells(upper.leaves), _mirror_cells(cells), most_fences, (-high, -low)
    )
    # The lower tail is the upper one of the mirrored column.
    mirrored = tuple(-fence for fence in reversed(lower.fences))
    return ShapedCells(_mirror_cells(lower.leaves), (*mirrored, *upper.fences))


def _shape_upper_tail(
    smooth: TreeLeaves, cells: TreeLeaves, most_fences: int, support: tuple[int, int]
) -> ShapedCells:
    tail = fit_upper_tail(cells.edges.astype(np.float64), cells.counts, cells.variance)
    if tail is None:
        fences = _end_fences(support, int(smooth.edges[-1]))
        return ShapedCells(_join_beyond(smooth, fences), fences)
    leaves = _spread_by_law(smooth, cells, tail)
    beyond = leaves.edges[leaves.edges >= cells.edges[tail.first]]
    fences = beyond[:-1:FENCE_OCTAVES][:most_fences]
    return ShapedCells(leaves, tuple(fences.tolist()))


def _end_fences(support: tuple[int, int], last: int) -> tuple[int, ...]:
    """Where values seem to end, and beyond it at distances that double: what a descent
    does not show may lie there, and must not be spread over all of it.

    >>> _end_fences((20, 60), 121)
    (60, 70, 90)
    """
    low, end = support
    unit = max((end - low) // END_FENCE_PARTS, 1)
    places = [end + unit * (2**k - 1) for k in range(MAX_END_FENCES)]
    return tuple(place for place in places if place < last)


def _join_beyond(leaves: TreeLeaves, fences: tuple[int, ...]) -> TreeLeaves:
    """The cells, with those beyond the first fence joined from fence to fence: each of
    many empty cells seems to hold its noise, all of them together seem to hold little.

    >>> leaves = TreeLeaves(np.arange(6), np.array([90.0, 9, -9, 6, -6]), np.ones(5))
    >>> _join_beyond(leaves, (1, 3)).counts.tolist()
    [90.0, 0.0, 0.0]
    """
    if not fences:
        return leaves
    cut = leaves.cut_at(fences)
    begin = cut.edges[:-1]
    at = np.flatnonzero((begin <= fences[0]) | np.isin(begin, fences))
    counts, variance = (
        np.add.reduceat(values, at) for values in (cut.counts, cut.variance)
    )
    return TreeLeaves(np.append(begin[at], cut.edges[-1]), counts, variance)


def _spread_by_law(
    smooth: TreeLeaves, cells: TreeLeaves, tail: UpperTail
) -> TreeLeaves:
    """The smooth cells, and from the first wide one on pieces that double distances."""
    first = _first_wide_cell(cells, tail)
    standing = cells.edges[first : tail.first + 1]
    pieces = _double_distances(tail.law.origin, standing, int(cells.edges[-1]))
    counts = tail.law.counts(pieces.astype(np.float64))
    # Cells that exceed their noise keep their count: the law only spreads it.
    cell = np.searchsorted(standing, pieces[:-1], side="right") - 1
    inside = cell < len(standing) - 1
    law_sums = np.bincount(cell[inside], counts[inside], len(standing) - 1)
    own = slice(first, tail.first)
    noise = STANDING_BIN_SIGMAS * np.sqrt(cells.variance[own])
    factors = np.where(cells.counts[own] > noise, cells.counts[own] / law_sums, 1.0)
    counts[inside] *= factors[cell[inside]]
    # The law is wrong by a share of its counts, however little noise there is.
    variance = (TAIL_MISFIT_SHARE * counts) ** 2 + MIN_CELL_VARIANCE
    body = smooth.cut_at([int(pieces[0])])
    kept_cells = int(np.searchsorted(body.edges, pieces[0]))
    return TreeLeaves(
        np.concatenate([body.edges[:kept_cells], pieces]),
        np.concatenate([body.counts[:kept_cells], counts]),
        np.concatenate([body.variance[:kept_cells], variance]),
    )


def _first_wide_cell(cells: TreeLeaves, tail: UpperTail) -> int:
    """The first cell from the law's start on that reaches twice as far as it begins, or
    the tail's own first.
    """
    distances = cells.edges - tail.law.origin
    for cell in range(tail.anchor, tail.first):
        if distances[cell + 1] > 2 * distances[cell]:
            return cell
    return tail.first


def _double_distances(
    origin: float, edges: NDArray[np.int64], end: int
) -> NDArray[np.int64]:
    """These edges, and those beyond the first whose distances from the origin double,
    up to the end.
    """
    octaves = 2.0 ** np.arange(1, MAX_TAIL_OCTAVES)
    doubled = np.rint(origin + (edges[0] - origin) * octaves)
    inner = doubled[doubled < end].astype(np.int64)
    return np.unique(np.concatenate([edges, inner, [end]]))


def _mirror_cells(leaves: TreeLeaves) -> TreeLeaves:
    return TreeLeaves(-leaves.edges[::-1], leaves.counts[::-1], leaves.variance[::-1])
