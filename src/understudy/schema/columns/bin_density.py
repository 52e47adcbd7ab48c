"""Spread: where in its bin a released value lies, by a density that is continuous from
bin to bin and needs no data.

Inside a bin the density is a parabola that meets its neighbours at the edges and keeps
the bin's mass: the derivative of a monotone cubic through the cumulative counts
(Fritsch, Carlson, "Monotone piecewise cubic interpolation", 1980). With a mean of 1
over a bin of length 1, and heights a and b at its ends, it is a mixture of the three
Beta laws of the order statistics of three uniform numbers, with weights a/3, (3 − a −
b)/3 and b/3. So a value is one of three uniform numbers: the least, the middle or the
largest. No equation is solved.

Next to a single value that stands out, as 0 does among incomes, the density keeps to
its own side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

MAX_EDGE_TO_MEAN_RATIO = 1.5
"""Largest height at an edge, as a multiple of the mean of either bin; up to this the
three weights are never negative.
"""

SPIKE_TO_NEIGHBOUR_RATIO = 3.0
"""A single value this many times as frequent as the values beside it tells nothing
about them.
"""


@dataclass(frozen=True)
class BinDensity:
    """A density over pieces of a lattice. `group` is the bin that each piece lies in;
    pieces of a bin stand together.

    >>> spread = BinDensity.of(np.array([0, 10, 20]), np.array([3.0, 1.0]))
    >>> np.bincount(spread.draw(np.zeros(1000, np.int64), np.random.default_rng(1)) >= 5).tolist()
    [624, 376]
    """

    edges: NDArray[np.int64]
    masses: NDArray[np.float64]
    first: NDArray[np.int64]
    """Where the pieces of each bin begin; one more entry at the end."""
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
        whole = np.maximum(heights, np.finfo(np.float64).tiny)
        start = np.arange(len(edges), dtype=np.int64) if first is None else first
        flat = heights <= 0
        return cls(
            edges,
            masses,
            start,
            np.where(flat, 1.0, left / whole),
            np.where(flat, 1.0, right / whole),
        )

    def draw(self, bins: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
        """A lattice index in each of these bins."""
        piece = self.first[bins]
        pieces, widths = np.diff(self.first), np.diff(self.edges)
        several = pieces[bins] > 1 if np.any(pieces > 1) else np.zeros(0, np.bool_)
        if several.any():
            before = np.concatenate([[0.0], np.cumsum(self.masses)])
            low, high = (
                before[self.first[bins[several]]],
                before[self.first[bins[several] + 1]],
            )
            at = (
                np.searchsorted(
                    before, low + rng.random(len(low)) * (high - low), side="right"
                )
                - 1
            )
            piece[several] = np.clip(
                at, self.first[bins[several]], self.first[bins[several] + 1] - 1
            )
        index, width = self.edges[piece], widths[piece]
        if np.all(widths > 1):
            return index + self._draw_offsets(piece, width, rng)
        wide = width > 1
        index[wide] += self._draw_offsets(piece[wide], width[wide], rng)
        return index

    def share(self, bin_: int, index: int) -> float:
        """The part of a bin that lies at one lattice index in it: how often `draw`
        gives that one.

        >>> BinDensity.of(np.array([0, 10]), np.array([3.0])).share(0, 4)
        0.1
        """
        return round(self.below(bin_, index + 1) - self.below(bin_, index), 12)

    def below(self, bin_: int, index: int) -> float:
        """The part of a bin that lies before a lattice index, from its first one to the
        first one of the next bin.

        >>> BinDensity.of(np.array([0, 10]), np.array([3.0])).below(0, 4)
        0.4
        """
        low, high = int(self.first[bin_]), int(self.first[bin_ + 1])
        piece = int(
            np.clip(np.searchsorted(self.edges, index, side="right") - 1, low, high - 1)
        )
        masses = (
            self.masses[low:high]
            if self.masses[low:high].sum() > 0
            else np.diff(self.edges)[low:high]
        )
        x = float(
            (index - self.edges[piece]) / (self.edges[piece + 1] - self.edges[piece])
        )
        a, b = float(self.left[piece]), float(self.right[piece])
        inside = (
            a * (1 - (1 - x) ** 3) + (3 - a - b) * (3 * x**2 - 2 * x**3) + b * x**3
        ) / 3
        return round(
            float(
                (masses[: piece - low].sum() + inside * masses[piece - low])
                / masses.sum()
            ),
            12,
        )

    def _draw_offsets(
        self, piece: NDArray[np.int64], width: NDArray[np.int64], rng: Generator
    ) -> NDArray[np.int64]:
        """How far into its piece each value lies."""
        u, v, w = np.ascontiguousarray(rng.random((len(piece), 3)).T)
        pick = rng.random(len(piece)) * 3
        a, b = self.left[piece], self.right[piece]
        less, more = np.minimum(u, v), np.maximum(u, v)
        middle = np.maximum(less, np.minimum(more, w))
        at = np.where(
            pick < a,
            np.minimum(less, w),
            np.where(pick < 3 - b, middle, np.maximum(more, w)),
        )
        return np.asarray(
            np.minimum((at * width).astype(np.int64), width - 1), np.int64
        )


def _edge_heights(
    heights: NDArray[np.float64], widths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The density at the left and the right edge of each piece."""
    count = len(heights)
    if count < 2:
        return heights.copy(), heights.copy()
    low, high = heights[:-1], heights[1:]
    wl, wr = widths[:-1], widths[1:]
    met = np.minimum(
        (low * wr + high * wl) / (wl + wr),
        MAX_EDGE_TO_MEAN_RATIO * np.minimum(low, high),
    )
    left, right = np.concatenate([[0.0], met]), np.concatenate([met, [0.0]])
    # A piece that ends at a border, or beside a single value that stands out, runs on
    # as it leaves its other neighbour.
    apart_right = (wr == 1) & (high > SPIKE_TO_NEIGHBOUR_RATIO * low)
    apart_left = (wl == 1) & (low > SPIKE_TO_NEIGHBOUR_RATIO * high)
    open_left = np.concatenate([[True], apart_left])
    open_right = np.concatenate([apart_right, [True]])
    on_from_right = np.clip(2 * heights - right, 0, MAX_EDGE_TO_MEAN_RATIO * heights)
    on_from_left = np.clip(2 * heights - left, 0, MAX_EDGE_TO_MEAN_RATIO * heights)
    new_left = np.where(open_left, np.where(open_right, heights, on_from_right), left)
    new_right = np.where(open_right, np.where(open_left, heights, on_from_left), right)
    return new_left, new_right
