"""A tree of noisy counts, and the cells it comes down to. Post-processing: no row is
read and nothing is paid.

Counts of all levels are made to agree by least squares (Hay, Rastogi, Miklau, Suciu,
"Boosting the accuracy of differentially private histograms through consistency", 2010).
`leaves` are the finest cells. `smooth` joins cells again whose counts differ no more
than their noise does, and keeps single cells that stand out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.support import find_supported_bins
from understudy.models.estimates.tail_shape import STANDING_BIN_SIGMAS

UNEVEN_RUN_SIGMAS = 3.0
"""Standard deviations by which the scatter of cells must exceed that of their noise for
them to stay apart.
"""

GROUPED_ROOT_CELLS = 8
"""Cells of the first level that are looked at together."""

PEAK_CELL_SIGMAS = 4.5
"""Standard deviations by which a single cell must exceed an even spread to be a peak."""


@dataclass(frozen=True, eq=False)
class TreeLevel:
    """Cells of one level: where they begin and end, the cell of the level above that
    each is part of, and their noisy counts.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    parent: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeLeaves:
    """Cells that cover a range from end to end, with estimated counts; `variance` is
    that of each estimate.
    """

    edges: NDArray[np.int64]
    counts: NDArray[np.float64]
    variance: NDArray[np.float64]

    @property
    def widths(self) -> NDArray[np.int64]:
        """Values in each cell."""
        return np.diff(self.edges)

    def cut_at(self, fences: Sequence[int]) -> TreeLeaves:
        """The same counts with cells cut at the fences, each part with its share of the
        values.
        """
        inner = [f for f in fences if self.edges[0] < f < self.edges[-1]]
        edges = np.unique(np.concatenate([self.edges, np.array(inner, np.int64)]))
        if len(edges) == len(self.edges):
            return self
        # Nothing is known within a cell, so that it is taken as even.
        cell = np.searchsorted(self.edges, edges[:-1], side="right") - 1
        part = np.diff(edges) / self.widths[cell]
        return TreeLeaves(edges, self.counts[cell] * part, self.variance[cell] * part)


@dataclass(frozen=True)
class _LeafPiece:
    start: int
    end: int
    count: float
    variance: float


@dataclass(frozen=True, eq=False)
class CountTree:
    """Levels from coarse to fine, each count with noise of this variance.

    >>> root = np.zeros(4, np.int64)
    >>> top = TreeLevel(np.array([0, 4]), np.array([4, 8]), root[:2], np.array([100, 3]))
    >>> counts = np.array([0, 102, 2, 0])
    >>> low = TreeLevel(np.arange(4), np.arange(1, 5), root, counts)
    >>> tree = CountTree((top, low), 1.0)
    >>> tree.leaves().edges.tolist(), tree.leaves().counts.round(1).tolist()
    ([0, 1, 2, 3, 4, 8], [-0.8, 101.2, 1.2, -0.8, 3.0])
    """

    levels: tuple[TreeLevel, ...]
    variance: float
    beyond: tuple[int, int] = (0, 0)
    """Noisy counts of what lay below and above the range, where it counts as its ends;
    they are in the counts of the first level too.
    """

    @cached_property
    def _consistent_counts(
        self,
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        """Counts that agree across levels, and their variances on the way up: from the
        bottom, every count is averaged with the sum of its parts; from the top, parts
        are made to add up.
        """
        joined: list[NDArray[np.float64]] = []
        spread: list[NDArray[np.float64]] = []
        for depth in range(len(self.levels) - 1, -1, -1):
            counts = self.levels[depth].counts.astype(np.float64)
            # Every count was measured with the same noise, whatever its level.
            noise = np.full(len(counts), self.variance)
            if joined:
                below = self.levels[depth + 1].parent
                sums = np.bincount(below, joined[0], len(counts))
                errors = np.bincount(below, spread[0], len(counts))
                # Inverse-variance weights; a cell without parts stays as it is.
                weight = np.where(errors > 0, noise / (noise + errors), 0.0)
                counts = counts + weight * (sums - counts)
                noise = noise * (1 - weight)
            joined.insert(0, counts)
            spread.insert(0, noise)
        for depth in range(1, len(self.levels)):
            parent = self.levels[depth].parent
            sums = np.bincount(parent, joined[depth], len(joined[depth - 1]))
            errors = np.bincount(parent, spread[depth], len(joined[depth - 1]))
            # What is missing to the parent's count goes to the parts by their variance.
            gap = (joined[depth - 1] - sums)[parent]
            joined[depth] = joined[depth] + gap * spread[depth] / errors[parent]
        return joined, spread

    def find_support(self) -> tuple[int, int]:
        """The edges between which values lie, as far as the counts show."""
        return self._find_end(forward=True), self._find_end(forward=False)

    def _find_end(self, *, forward: bool) -> int:
        """The edge at which values begin or end: that of the outermost cell that holds
        something, then of the outermost of its parts, level by level.
        """
        noise = sqrt(self.variance)
        parts = range(len(self.levels[0].starts))
        for depth, level in enumerate(self.levels):
            counts = level.counts[parts.start : parts.stop].astype(np.float64)
            # By the counts as measured: consistent ones have unequal and correlated
            # noise.
            held = np.flatnonzero(find_supported_bins(counts, noise))
            outermost = parts[int(held[0 if forward else -1])]
            edges = level.starts if forward else level.ends
            edge = int(edges[outermost])
            parts = self._children[depth].get(outermost, range(0))
            if not parts:
                break
        return edge

    def leaves(self) -> TreeLeaves:
        """The finest cells."""
        return self._cover_range(lambda run: run)

    def smooth(self) -> TreeLeaves:
        """Cells as fine as their noise allows to see."""
        return self._cover_range(self._join_even_cells)

    def join_weak_cells(self) -> TreeLeaves:
        """Cells that exceed their noise, and runs of others, joined."""
        return self._cover_range(_join_weak_cells)

    def _cover_range(
        self, simplify: Callable[[list[_LeafPiece]], list[_LeafPiece]]
    ) -> TreeLeaves:
        pieces: list[_LeafPiece] = []
        roots = len(self.levels[0].starts)
        for first in range(0, roots, GROUPED_ROOT_CELLS):
            pieces += self._gather_pieces(
                0,
                range(first, min(first + GROUPED_ROOT_CELLS, roots)),
                simplify,
            )
        edges = [piece.start for piece in pieces] + [pieces[-1].end]
        return TreeLeaves(
            np.array(edges, np.int64),
            np.array([p.count for p in pieces]),
            np.array([p.variance for p in pieces]),
        )

    def _pieces_of_cell(
        self,
        depth: int,
        i: int,
        simplify: Callable[[list[_LeafPiece]], list[_LeafPiece]],
    ) -> list[_LeafPiece]:
        counts, spread = self._consistent_counts
        parts = self._children[depth].get(i, range(0))
        if not parts:
            level = self.levels[depth]
            return [
                _LeafPiece(
                    int(level.starts[i]),
                    int(level.ends[i]),
                    float(counts[depth][i]),
                    float(spread[depth][i]),
                )
            ]
        return self._gather_pieces(depth + 1, parts, simplify)

    def _gather_pieces(
        self,
        depth: int,
        parts: range,
        simplify: Callable[[list[_LeafPiece]], list[_LeafPiece]],
    ) -> list[_LeafPiece]:
        found: list[_LeafPiece] = []
        run: list[_LeafPiece] = []
        for part in parts:
            below = self._pieces_of_cell(depth, part, simplify)
            if len(below) == 1:
                run += below
            else:
                found += [*self._correlate(depth, parts, simplify(run)), *below]
                run = []
        return found + self._correlate(depth, parts, simplify(run))

    def _correlate(
        self, depth: int, parts: range, pieces: list[_LeafPiece]
    ) -> list[_LeafPiece]:
        """Pieces of one cell with the variance that they have as parts of it: their
        counts add up to the cell's, so all of them together are as certain as it is.
        """
        if depth == 0:
            return pieces
        _, spread = self._consistent_counts
        whole = float(spread[depth - 1][self.levels[depth].parent[parts[0]]])
        parts_variance = float(spread[depth][parts[0] : parts[-1] + 1].sum())
        corrected = []
        for piece in pieces:
            share = min(piece.variance / parts_variance, 1.0)
            # The variance of a part given the whole, and its share of the whole's own.
            variance = piece.variance * (1 - share) + whole * share**2
            corrected.append(replace(piece, variance=variance))
        return corrected

    @cached_property
    def _children(self) -> list[dict[int, range]]:
        """The cells of the next level that each cell was cut into; cells of a level
        stand in order.
        """
        found = []
        for level in self.levels[1:]:
            cells, first = np.unique(level.parent, return_index=True)
            last = np.append(first[1:], len(level.parent))
            parts = zip(cells.tolist(), first.tolist(), last.tolist(), strict=True)
            found.append({cell: range(start, end) for cell, start, end in parts})
        return [*found, {}]

    def _join_even_cells(self, run: list[_LeafPiece]) -> list[_LeafPiece]:
        """Neighbouring cells as they are where they scatter more than noise does, else
        as one, but for single ones that stand out.
        """
        if len(run) < 2:
            return run
        width = np.array([p.end - p.start for p in run], np.float64)
        counts = np.array([p.count for p in run])
        noise = np.array([p.variance for p in run])
        total = float(counts.sum())
        gap = (counts - total * width / width.sum()) / np.sqrt(noise)
        # Of an even run, the squared gaps are χ² with mean `free` and variance 2 `free`.
        free = len(run) - 1
        if float(gap @ gap) - free <= UNEVEN_RUN_SIGMAS * sqrt(2 * free):
            return [_LeafPiece(run[0].start, run[-1].end, total, float(noise.sum()))]
        peaks = gap > PEAK_CELL_SIGMAS
        if not peaks.any():
            return run
        # Without its peaks a run may well be even.
        joined: list[_LeafPiece] = []
        for part in _split_at_peaks(run, peaks):
            joined += part if len(part) == 1 else self._join_even_cells(part)
        return joined


def _join_weak_cells(run: list[_LeafPiece]) -> list[_LeafPiece]:
    """Neighbouring cells that do not exceed their noise, as one."""
    joined: list[_LeafPiece] = []
    is_open = False
    for piece in run:
        is_weak = piece.count <= STANDING_BIN_SIGMAS * sqrt(piece.variance)
        if is_weak and is_open:
            before = joined.pop()
            count = before.count + piece.count
            variance = before.variance + piece.variance
            piece = _LeafPiece(before.start, piece.end, count, variance)
        joined.append(piece)
        is_open = is_weak
    return joined


def _split_at_peaks(
    run: list[_LeafPiece], peaks: NDArray[np.bool_]
) -> list[list[_LeafPiece]]:
    """The run in parts, each peak a part of its own."""
    parts: list[list[_LeafPiece]] = []
    marked = zip(run, peaks.tolist(), strict=True)
    for peak, group in groupby(marked, key=lambda pair: pair[1]):
        pieces = [piece for piece, _ in group]
        if peak:
            parts += [[piece] for piece in pieces]
        else:
            parts.append(pieces)
    return parts
