"""Bins and grain of a column, cut from the noisy counts of a descent. Post-processing:
no row is read and nothing is paid.

Bins are what other columns are counted against, so there are few of them and each holds
about as many rows: a single value with as many rows as a bin should have is a bin of
its own, and what lies between is cut into bins of equal counts. Grain is how the values
spread inside a bin: cells of the descent, joined as long as noise explains the
difference of their densities. So a peak that is too small for a bin of its own still
shows in released values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.curator.discovery.tail_cells import shape_tails
from understudy.curator.discovery.tree_counts import CountTree, TreeLeaves
from understudy.schema import Lattice
from understudy.schema.columns.calendar import snap_to_calendar

WIDE_BIN_PART = 4
"""One bin in this many goes to the widest places, whatever they hold."""

ALIKE_DENSITY_SIGMAS = 1.25
"""Standard deviations by which two neighbouring densities may differ and be taken for
one.
"""

GRAIN_WEIGHTS_PER_ROW = 1_000
"""Weights are whole numbers, and pieces of a tail hold fractions of a row."""

MAX_LEARNED_GRAIN = 1024
"""Most pieces of grain in a column."""


def cut_column(
    column: Lattice,
    tree: CountTree,
    *,
    most: int,
    least: float,
    fences: Sequence[int] = (),
) -> Lattice:
    """The column with at most `most` bins of about `least` rows or more, and grain.

    `fences` are lattice indices at which a bin must begin; there may be more bins than
    `most` for their sake. Bins of dates begin at lines of the calendar where these are
    near.
    """
    smooth, tail_fences = shape_tails(tree, most // WIDE_BIN_PART)
    # Bins beyond where values seem to end are not taken from those that hold them.
    most += len(tail_fences)
    fences = sorted({*fences, *tail_fences})
    end = int(smooth.edges[-1])
    # Smooth counts on the finest cells: bins may begin wherever a cell does.
    finest = smooth.cut_at([*tree.leaves().edges.tolist(), *fences])
    starts = find_bin_starts(finest, most=most, least=least, fences=fences)
    edges = snap_to_calendar(column, (*starts.tolist(), end), keep=fences)
    starts = np.array(edges[:-1], np.int64)
    begins, weights = join_grain(smooth.cut_at(starts.tolist()), starts)
    return replace(
        column,
        bins=(*starts.tolist(), end),
        grain=tuple(zip(begins.tolist(), weights.tolist(), strict=True)),
        learned=(*column.learned, "bins"),
    )


def find_bin_starts(
    leaves: TreeLeaves,
    *,
    most: int,
    least: float,
    fences: Sequence[int] = (),
) -> NDArray[np.int64]:
    """Where each bin begins.

    >>> leaves = TreeLeaves(np.arange(9), np.array([900.0, 1, 2, 1, 2, 40, 40, 30]), np.ones(8))
    >>> find_bin_starts(leaves, most=4, least=4.0).tolist()
    [0, 1, 5]
    """
    counts = np.maximum(leaves.counts, 0.0)
    total = float(counts.sum())
    wide_bins = most // WIDE_BIN_PART
    most = max(1, most - wide_bins)
    # A single value with as many rows as a bin should have is a bin of its own; the
    # other bins share what is left.
    heavy = (leaves.widths == 1) & (counts >= max(total / most, least))
    rest = float(counts[~heavy].sum())
    shared_size = rest / max(1, most - int(heavy.sum()))
    size = max(shared_size, total / (2 * most), least)
    walls = {int(f) for f in fences}
    starts = [int(leaves.edges[0])]
    held = 0.0
    closed = False
    for start, count, alone in zip(
        leaves.edges[:-1].tolist(),
        counts.tolist(),
        heavy.tolist(),
        strict=True,
    ):
        # A bin ends before a cell that would carry it further from its size than it is
        # now.
        full = held > 0 and held + count / 2 >= size
        if start > starts[-1] and (alone or closed or full or start in walls):
            starts.append(start)
            held = 0.0
        held = held + count
        closed = alone
    joined = _join_small_bins(leaves, counts, starts, most, least, walls, heavy)
    return _halve_wide_bins(leaves, counts, joined, len(joined) + wide_bins, least)


def _join_small_bins(
    leaves: TreeLeaves,
    counts: NDArray[np.float64],
    starts: list[int],
    most: int,
    least: float,
    walls: set[int],
    heavy: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Bins with too few rows joined with the smaller neighbour, a single heavy value
    last; then any, as long as there are too many.
    """
    at = np.searchsorted(leaves.edges, starts)
    sizes = np.add.reduceat(counts, at).tolist()
    alone = np.logical_or.reduceat(heavy, at).tolist()
    while len(starts) > 1:
        too_many = len(starts) > most
        inner = [i for i in range(1, len(starts)) if starts[i] not in walls]
        joinable = inner if too_many else _find_small_pairs(inner, sizes, least)
        if not joinable:
            break
        # Bins of one heavy value come last, then the smallest pair.
        ranks = [
            (alone[i - 1] or alone[i], sizes[i - 1] + sizes[i], i) for i in joinable
        ]
        has_heavy, _, i = min(ranks)
        if has_heavy and not too_many:
            break
        sizes[i - 1] += sizes.pop(i)
        alone[i - 1] = alone[i - 1] or alone[i]
        alone.pop(i)
        starts.pop(i)
    return np.array(starts, np.int64)


def _find_small_pairs(places: list[int], sizes: list[float], least: float) -> list[int]:
    """The places before which a bin, or behind which one, has too few rows."""
    return [i for i in places if min(sizes[i - 1], sizes[i]) < least]


def _halve_wide_bins(
    leaves: TreeLeaves,
    counts: NDArray[np.float64],
    starts: NDArray[np.int64],
    most: int,
    least: float,
) -> NDArray[np.int64]:
    """The bins in which values could be furthest from where they were, cut in half as
    long as there are fewer than `most`.

    How far that is in all is a bin's count times its width: mostly this cuts the tails,
    where a bin is as wide as all others together.
    """
    before = np.concatenate([[0.0], np.cumsum(counts)])
    edges = np.append(starts, leaves.edges[-1]).tolist()

    def count_below(at: list[int]) -> NDArray[np.float64]:
        return np.asarray(np.interp(at, leaves.edges, before), np.float64)

    while len(edges) <= most:
        held = np.diff(count_below(edges))
        wide = np.diff(edges)
        far = np.where((held >= least) & (wide > 1), held * wide, 0.0)
        i = int(np.argmax(far))
        if far[i] == 0:
            break
        low, high = edges[i], edges[i + 1]
        # The end of a cell is better than the middle: what is known of the cells stays
        # whole.
        ends = leaves.edges[(leaves.edges > low) & (leaves.edges < high)]
        cuts = np.unique(np.append(ends, (low + high) // 2))
        below = count_below(cuts.tolist()) - count_below([low])
        left = below * (cuts - low) + (held[i] - below) * (high - cuts)
        edges.insert(i + 1, int(cuts[np.argmin(left)]))
    return np.array(edges[:-1], np.int64)


def join_grain(
    leaves: TreeLeaves, starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each piece of grain begins, and its weight: cells of a bin, joined as long
    as noise explains their difference.
    """
    begin = leaves.edges[:-1]
    width = leaves.widths.astype(np.float64)
    counts = leaves.counts.copy()
    variance = leaves.variance.copy()
    wall = np.isin(begin, starts)
    limit = ALIKE_DENSITY_SIGMAS
    while len(begin) > 1:
        z = _density_gaps(counts, variance, width)
        z[wall[1:]] = np.inf
        if len(begin) > MAX_LEARNED_GRAIN and z.min() > limit:
            limit = float(np.min(z[np.isfinite(z)], initial=np.inf)) * 1.25
        # Every pair that is more alike than the pairs beside it is joined at once; ties
        # go to the left.
        before = np.concatenate([[np.inf], z[:-1]])
        behind = np.concatenate([z[1:], [np.inf]])
        join = (z <= limit) & (z < before) & (z <= behind)
        if not join.any():
            break
        at = np.flatnonzero(np.concatenate([[True], ~join]))
        begin = begin[at]
        wall = wall[at]
        width, counts, variance = (
            np.add.reduceat(a, at) for a in (width, counts, variance)
        )
    weights = _shrink_to_even(counts, variance, width, np.flatnonzero(wall))
    return begin, np.rint(GRAIN_WEIGHTS_PER_ROW * weights).astype(np.int64)


def _density_gaps(
    counts: NDArray[np.float64],
    variance: NDArray[np.float64],
    width: NDArray[np.float64],
) -> NDArray[np.float64]:
    """By how many standard deviations the densities of neighbouring cells differ."""
    # Counts times the width of the other cell are equal where densities are.
    gap = np.abs(counts[:-1] * width[1:] - counts[1:] * width[:-1])
    noise = np.sqrt(variance[:-1] * width[1:] ** 2 + variance[1:] * width[:-1] ** 2)
    apart = width[:-1] + width[1:]
    return np.asarray((gap / apart) / np.maximum(noise / apart, 1e-9), np.float64)


def _shrink_to_even(
    counts: NDArray[np.float64],
    variance: NDArray[np.float64],
    width: NDArray[np.float64],
    first: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Counts of the pieces of each bin, as far towards an even spread as their noise
    says (James, Stein, 1961), and not negative.

    What is below zero is taken from the other pieces, by their variance, so that a
    bin's sum stays and an empty end stays empty.
    """
    pieces = np.diff(np.append(first, len(counts)))
    bin_counts = np.repeat(np.add.reduceat(counts, first), pieces)
    bin_widths = np.repeat(np.add.reduceat(width, first), pieces)
    even = np.maximum(bin_counts, 0) * width / bin_widths
    strength = np.add.reduceat((counts - even) ** 2 / variance, first)
    # Positive-part James-Stein: 1 − (degrees of freedom) / χ², not below zero.
    kept = np.maximum(0, 1 - np.maximum(pieces - 1, 0) / np.maximum(strength, 1e-9))
    moved = even + np.repeat(kept, pieces) * (counts - even)
    parts = zip(np.split(moved, first[1:]), np.split(variance, first[1:]), strict=True)
    return np.concatenate([_project_non_negative(part, noise) for part, noise in parts])


def _project_non_negative(
    counts: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The nearest counts that are not negative and have the same sum; all zero where
    that is not positive, but for rounding.

    >>> _project_non_negative(np.array([10.0, -2.0, 1.0]), np.ones(3)).tolist()
    [9.0, 0.0, 0.0]
    >>> _project_non_negative(np.array([0.1, 0.2, -0.3]), np.ones(3)).tolist()
    [0.0, 0.0, 0.0]
    """
    total = float(counts.sum())
    if total <= 1e-9 * float(np.abs(counts).sum()):
        return np.zeros_like(counts)
    # The nearest by variance takes `level` variances from each: find the level at which
    # the pieces that stay above zero keep the sum.
    order = np.argsort(-counts / variance, kind="stable")
    level = (np.cumsum(counts[order]) - total) / np.cumsum(variance[order])
    last = int(np.flatnonzero(counts[order] / variance[order] > level)[-1])
    return np.asarray(np.maximum(counts - level[last] * variance, 0), np.float64)
