"""Magnitudes cut into pieces: where in a magnitude values end, and whether it holds any.
Post-processing of noisy counts: no row is read and nothing is paid.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.curator.discovery.magnitudes import MAGNITUDE_EDGES

MAX_BOUND_PIECES = 8
"""Pieces into which the second histogram cuts an outermost bin of the first."""

THIN_BIN_PIECES = 2
"""The same for a bin that does not stand out by itself."""

MIN_CONFIRMED_SIGMAS = 1.0
"""Standard deviations by which the second histogram must show a bin that did not stand
out in the first. Without it noise took a bin too many in 4 columns of 100, which made
bounds up to 64 times as wide.
"""

MIN_SHOWN_SIGMAS = 2.0
"""The same for a bin that stood out far from all others: noise shows one in thirty."""

MIN_DENSITY_RATIO = 0.25
"""Density of values, relative to the outermost bin, below which a part of the range is
taken for empty. Half would be as likely to clip as to overshoot where values are spread
evenly; tails are thinner than the bin they are in.
"""

OUTER_PIECE_SIGMAS = 1.5
"""Standard deviations of its count from which an outer piece is kept whatever its
neighbours hold.
"""

KEPT_PIECE_SIGMAS = 3.0
"""Standard deviations of its count from which no piece is dropped, however many that
seem empty lie inside it: all values may lie in the outermost eighth of a magnitude, as
years since 1920 do. One empty piece in 700 is kept by noise.
"""


class BinPieces(NamedTuple):
    """The pieces of an outermost bin, from the outside in: their edges, noisy counts and
    the standard deviation of these.
    """

    edges: tuple[int, ...]
    counts: NDArray[np.int64]
    noise: float


def is_shown(pieces: BinPieces) -> bool:
    """Whether the second histogram shows a bin that lies apart from all values."""
    total = pieces.noise * math.sqrt(len(pieces.counts))
    stands_out = pieces.counts.max() > KEPT_PIECE_SIGMAS * pieces.noise
    return bool(stands_out or pieces.counts.sum() > MIN_SHOWN_SIGMAS * total)


def split_bin(magnitude: int, *, stands_out: bool) -> tuple[int, ...]:
    """Edges that cut a bin of the first histogram into about equal pieces of a value or
    more: few where the bin holds little, since their noise adds up.
    """
    low = MAGNITUDE_EDGES[magnitude]
    width = MAGNITUDE_EDGES[magnitude + 1] - low
    pieces = min(MAX_BOUND_PIECES if stands_out else THIN_BIN_PIECES, width)
    return tuple(low + width * i // pieces for i in range(pieces + 1))


def is_confirmed(pieces: BinPieces) -> bool:
    """Whether a bin holds something by the second histogram."""
    error = pieces.noise * math.sqrt(len(pieces.counts))
    return bool(pieces.counts.sum() > MIN_CONFIRMED_SIGMAS * error)


def count_empty_pieces(pieces: BinPieces) -> int:
    """How many outer pieces of a bin to drop, from the first on: as many as make what is
    dropped most likely empty, and never the last.

    With the noise of all pieces alike, the likeliest number of leading pieces without
    any value, where the others hold `even` each, has the least sum of (count − even/2):
    the least squares of a step. A quarter in the place of the half keeps thin ends.

    >>> counts = np.array([-20, 10, 90, 110])
    >>> count_empty_pieces(BinPieces((0, 2, 4, 6, 8), counts, 20.0))
    2
    >>> count_empty_pieces(BinPieces((8, 6, 4, 2, 0), np.array([90, -20, -9, 3]), 20.0))
    0
    """
    counts = pieces.counts.astype(np.float64)
    # What a row sees: the mean count of a piece, weighted by its rows. In a bin of which
    # values fill a small part it is far above the mean of all pieces.
    squares = max(float((counts**2 - pieces.noise**2).sum()), 0.0)
    even = squares / max(float(counts.sum()), 1.0)
    # What stands out is kept in any case.
    enough = min(MIN_DENSITY_RATIO * even, OUTER_PIECE_SIGMAS * pieces.noise)
    excess = np.concatenate([[0.0], np.cumsum(counts - enough)])
    standing = np.flatnonzero(counts > KEPT_PIECE_SIGMAS * pieces.noise)
    last = int(standing[0]) if standing.size else len(counts) - 1
    return int(np.argmin(excess[: last + 1]))
