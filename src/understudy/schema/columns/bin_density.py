"""Density of values inside bins: continuous from bin to bin, computed from the bins'
masses alone.

Inside a bin the density is a parabola that equals its neighbours at the edges and keeps
the bin's mass: the derivative of a monotone cubic through the cumulative counts
(Fritsch, Carlson, "Monotone piecewise cubic interpolation", 1980). With a mean of 1
over a bin of length 1, and heights a and b at its ends, it is a mixture of the three
Beta laws of the order statistics of three uniform numbers, with weights a/3, (3 − a −
b)/3 and b/3. So a value is drawn as the smallest, the middle or the largest of three
uniform numbers. No equation is solved.

Next to a single value that stands out, as 0 does among incomes, the density ignores
that value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

# Largest height at an edge, as a multiple of the mean of either bin. With a, b ≤ 1.5
# the middle weight (3 − a − b)/3 is never negative.
MAX_EDGE_TO_MEAN_RATIO = 1.5

# A single value this many times as frequent as the values beside it is a spike, and
# says nothing about the density beside it.
SPIKE_TO_NEIGHBOUR_RATIO = 3.0

# Shares are rounded to this many decimals, so that parts of a bin add up to a round 1.
_SHARE_DECIMALS = 12


@dataclass(frozen=True)
class BinDensity:
    """A density over pieces of a lattice; a bin is one piece, or several in a row.

    `first` is the first piece of each bin, with one more entry at the end; `left` and
    `right` are the heights at the ends of each piece, as multiples of its mean.

    >>> density = BinDensity.of(np.array([0, 10, 20]), np.array([3.0, 1.0]))
    >>> drawn = density.draw(np.zeros(1000, np.int64), np.random.default_rng(1))
    >>> np.bincount(drawn >= 5).tolist()
    [624, 376]
    """

    edges: NDArray[np.int64]
    masses: NDArray[np.float64]
    first: NDArray[np.int64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        edges: NDArray[np.int64],
        masses: NDArray[np.float64],
        first: NDArray[np.int64] | None = None,
    ) -> BinDensity:
        """The density with these masses on these pieces; each piece is a bin of its own
        unless `first` says otherwise.
        """
        widths = np.diff(edges).astype(np.float64)
        heights = masses / widths
        left, right = _edge_heights(heights, widths)
        if first is None:
            first = np.arange(len(edges), dtype=np.int64)
        # A piece without mass has no shape: it is flat if a value is drawn there.
        empty = heights <= 0
        divisor = np.maximum(heights, np.finfo(np.float64).tiny)
        left = np.where(empty, 1.0, left / divisor)
        right = np.where(empty, 1.0, right / divisor)
        return cls(edges, masses, first, left, right)

    def draw(self, bins: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
        """A lattice index in each of these bins."""
        piece = self._draw_pieces(bins, rng)
        widths = np.diff(self.edges)
        index = self.edges[piece]
        width = widths[piece]
        if np.all(widths > 1):
            return index + self._draw_offsets(piece, width, rng)
        # A piece of one value needs no random numbers.
        wide = width > 1
        index[wide] += self._draw_offsets(piece[wide], width[wide], rng)
        return index

    def _draw_pieces(
        self, bins: NDArray[np.int64], rng: Generator
    ) -> NDArray[np.int64]:
        """A piece of each bin, drawn by mass where the bin has several."""
        piece = self.first[bins]
        pieces_per_bin = np.diff(self.first)
        if not np.any(pieces_per_bin > 1):
            return piece
        several = pieces_per_bin[bins] > 1
        if not several.any():
            return piece
        first = self.first[bins[several]]
        end = self.first[bins[several] + 1]
        cumulative = np.concatenate([[0.0], np.cumsum(self.masses)])
        low = cumulative[first]
        high = cumulative[end]
        mass = low + rng.random(len(low)) * (high - low)
        drawn = np.searchsorted(cumulative, mass, side="right") - 1
        # Rounding may put a mass at the very end into the next bin.
        piece[several] = np.clip(drawn, first, end - 1)
        return piece

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean lattice index of each bin, and the mean of its square.

        >>> means, squares = BinDensity.of(np.array([0, 10]), np.array([3.0])).moments()
        >>> means.tolist(), squares.round(1).tolist()
        ([4.5], [28.6])
        """
        widths = np.diff(self.edges).astype(np.float64)
        # The order statistics of three uniform numbers have means 1/4, 1/2 and 3/4, and
        # mean squares 1/10, 3/10 and 3/5.
        middle = 3 - self.left - self.right
        fraction = (self.left / 4 + middle / 2 + self.right * 3 / 4) / 3
        squared = (self.left / 10 + middle * 3 / 10 + self.right * 3 / 5) / 3
        # A fraction is rounded down to a lattice index, half a step on average.
        start = self.edges[:-1] - 0.5
        means = np.where(widths > 1, start + widths * fraction, self.edges[:-1])
        squares = start**2 + 2 * start * widths * fraction + widths**2 * squared
        squares = np.where(widths > 1, squares, means**2)
        masses = np.maximum(self.masses, np.finfo(np.float64).tiny)
        first = self.first[:-1]
        totals = np.add.reduceat(masses, first)
        return (
            np.add.reduceat(masses * means, first) / totals,
            np.add.reduceat(masses * squares, first) / totals,
        )

    def share(self, bin_: int, index: int) -> float:
        """The part of a bin that lies at one lattice index: how often `draw` gives it.

        >>> BinDensity.of(np.array([0, 10]), np.array([3.0])).share(0, 4)
        0.1
        """
        share = self.below(bin_, index + 1) - self.below(bin_, index)
        return round(share, _SHARE_DECIMALS)

    def below(self, bin_: int, index: int) -> float:
        """The part of a bin that lies before a lattice index, which may be the first of
        the next bin.

        >>> BinDensity.of(np.array([0, 10]), np.array([3.0])).below(0, 4)
        0.4
        """
        first = int(self.first[bin_])
        end = int(self.first[bin_ + 1])
        beside = int(np.searchsorted(self.edges, index, side="right")) - 1
        piece = min(max(beside, first), end - 1)
        masses: NDArray[Any] = self.masses[first:end]
        # A bin without any mass is spread by width.
        if masses.sum() <= 0:
            masses = np.diff(self.edges)[first:end]
        low = self.edges[piece]
        high = self.edges[piece + 1]
        inside = self._piece_share_below(piece, float((index - low) / (high - low)))
        at = piece - first
        below = float((masses[:at].sum() + inside * masses[at]) / masses.sum())
        return round(below, _SHARE_DECIMALS)

    def _piece_share_below(self, piece: int, x: float) -> float:
        """The part of a piece that lies before the fraction x of its length: the
        mixture of the distribution functions of the three order statistics.
        """
        a = float(self.left[piece])
        b = float(self.right[piece])
        smallest = 1 - (1 - x) ** 3
        middle = 3 * x**2 - 2 * x**3
        largest = x**3
        return (a * smallest + (3 - a - b) * middle + b * largest) / 3

    def _draw_offsets(
        self, piece: NDArray[np.int64], width: NDArray[np.int64], rng: Generator
    ) -> NDArray[np.int64]:
        """How far into its piece each value lies."""
        u, v, w = np.ascontiguousarray(rng.random((len(piece), 3)).T)
        pick = rng.random(len(piece)) * 3
        a = self.left[piece]
        b = self.right[piece]
        less = np.minimum(u, v)
        more = np.maximum(u, v)
        smallest = np.minimum(less, w)
        largest = np.maximum(more, w)
        middle = np.maximum(less, np.minimum(more, w))
        not_smallest = np.where(pick < 3 - b, middle, largest)
        fraction = np.where(pick < a, smallest, not_smallest)
        # Rounding may put a fraction just below 1 at the end, which is the next piece.
        offset = np.minimum((fraction * width).astype(np.int64), width - 1)
        return np.asarray(offset, np.int64)


def _edge_heights(
    heights: NDArray[np.float64], widths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The density at the left and the right edge of each piece."""
    count = len(heights)
    if count < 2:
        return heights.copy(), heights.copy()
    low = heights[:-1]
    high = heights[1:]
    left_widths = widths[:-1]
    right_widths = widths[1:]
    # Between two pieces the density is the mean of theirs, nearer to the narrower one.
    mean = (low * right_widths + high * left_widths) / (left_widths + right_widths)
    shared = np.minimum(mean, MAX_EDGE_TO_MEAN_RATIO * np.minimum(low, high))
    left = np.concatenate([[0.0], shared])
    right = np.concatenate([shared, [0.0]])
    spike_right = (right_widths == 1) & (high > SPIKE_TO_NEIGHBOUR_RATIO * low)
    spike_left = (left_widths == 1) & (low > SPIKE_TO_NEIGHBOUR_RATIO * high)
    free_left = np.concatenate([[True], spike_left])
    free_right = np.concatenate([spike_right, [True]])
    # An end at a border, or beside a spike, is free: the density goes on there as it
    # comes from the other end, and is flat if both ends are free.
    limit = MAX_EDGE_TO_MEAN_RATIO * heights
    from_right = np.where(free_right, heights, np.clip(2 * heights - right, 0, limit))
    from_left = np.where(free_left, heights, np.clip(2 * heights - left, 0, limit))
    return np.where(free_left, from_right, left), np.where(free_right, from_left, right)
