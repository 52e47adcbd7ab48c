"""How many rows may lie beyond learned bounds without having shown, and how far out.
Post-processing of the noisy histograms that found the bounds: no row is read and
nothing is paid.

Clipping moves those rows to the bound, and nothing measured later tells of them: a
column of years beside 96 % zeros looks like one of zeros alone, counted precisely. What
noise could hide is therefore written down with the bounds, for whoever states a mean.
Rows far beyond all others, which no magnitude near the bound would show, are not part of
it, unless zeros were all that stood out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.curator.discovery.magnitudes import MAGNITUDE_EDGES, ZERO_BIN
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX, RowsBeyond

HIDDEN_SIGMAS = 2.0
"""Standard deviations of noise that a count may hide: one in forty hides more."""

UNSEEN_SIGMAS = 4.0
"""Standard deviations that a magnitude beside zeros has to hold for its values to be
known from noise, and that a heavy tail would hold where none is seen.
"""

MAX_HIDDEN_MAGNITUDES = 3
"""Magnitudes next to a bound that may hold what was clipped; one, where values end
inside a magnitude that holds many of them, or sooner than a heavy tail would.
"""

MAX_THIN_RATIO = 0.5
"""Part of the fullest magnitude below which the outermost is taken for a tail, of which
more may follow. Ages, scores and years end with fuller ones.
"""


def find_rows_beyond(
    counts: NDArray[np.int64],
    noise: float,
    magnitudes: tuple[int, int],
    bounds: tuple[int, int],
    reached: tuple[int, int],
) -> RowsBeyond:
    """What bounds may clip, by the counts of the magnitudes that they end in; nothing
    where they follow a heavy tail further than values `reached`.
    """
    low, high = bounds
    others = np.arange(len(counts)) != ZERO_BIN
    inside = counts[magnitudes[0] : magnitudes[1] + 1]
    inside = inside[others[magnitudes[0] : magnitudes[1] + 1]]
    # What does not stand out beside zeros may be noise, or all that lies beyond, clipped
    # to it.
    if inside.max(initial=0) < UNSEEN_SIGMAS * noise:
        return limit_rows_anywhere(float(counts[others].max()), noise)
    beyond = limit_rows_beyond(counts, noise, magnitudes, bounds)
    if low < reached[0]:
        beyond = beyond._replace(rows_below=0, steps_below=0)
    if high > reached[1]:
        beyond = beyond._replace(rows_above=0, steps_above=0)
    return beyond


def limit_rows_beyond(
    counts: NDArray[np.int64],
    noise: float,
    magnitudes: tuple[int, int],
    bounds: tuple[int, int],
) -> RowsBeyond:
    """What may lie beyond both bounds, which end in these magnitudes; `noise` is the
    deviation of the counts of all magnitudes.

    >>> counts = np.zeros(len(MAGNITUDE_EDGES) - 1, np.int64)
    >>> limit_rows_beyond(counts, 10.0, (70, 70), (64, 127))
    RowsBeyond(rows_below=20, steps_below=40, rows_above=35, steps_above=321)
    """
    first, last = magnitudes
    low, high = bounds
    edges = np.array(MAGNITUDE_EDGES, np.float64)
    end = len(counts) - 1
    below = _limit_side(-edges[::-1], counts[::-1], noise, end - first, -low)
    above = _limit_side(edges, counts, noise, last, high)
    return RowsBeyond(*below, *above)


def limit_rows_anywhere(counted: float, noise: float) -> RowsBeyond:
    """What may lie beside zeros, of which nothing else stood out: about as many rows as
    the largest count that did not, however far.
    """
    rows = math.ceil(max(counted, 0) + HIDDEN_SIGMAS * noise)
    return RowsBeyond(rows, MAX_LATTICE_INDEX, rows, MAX_LATTICE_INDEX)


def _share_heavy_tail(inner: float, outer: float, end: float) -> float:
    """Part of the rows of a magnitude that would lie beyond an end within it if they
    were part of a tail as heavy as 1/x², whose mean is not even finite: values that
    stop before that much shows are no such tail.

    >>> round(_share_heavy_tail(4, 8, 5), 3)
    0.6
    """
    # A magnitude below zero leads to zero, where no tail ends.
    if inner <= 0:
        return 0.0
    return max(0.0, (1 / end - 1 / outer) / (1 / inner - 1 / outer))


def _limit_side(
    edges: NDArray[np.float64],
    counts: NDArray[np.int64],
    noise: float,
    last: int,
    high: int,
) -> tuple[int, int]:
    """Rows beyond an upper bound and how far out: those of the run of magnitudes that
    would move the sum most.
    """
    # A bound that follows a tail ends in a later magnitude than its counts.
    last = max(last, int(np.searchsorted(edges, high, side="right")) - 1)
    last = min(last, len(counts) - 1)
    is_inside = high + 1 < edges[last + 1]
    # Zeros are no part of a shape.
    values = np.delete(counts, np.flatnonzero((edges[:-1] <= 0) & (edges[1:] >= 0)))
    is_full = counts[last] >= MAX_THIN_RATIO * values.max()
    share = _share_heavy_tail(edges[last], edges[last + 1], high + 1)
    is_sharp = counts[last] * share >= UNSEEN_SIGMAS * noise
    most = 1 if is_inside and (is_full or is_sharp) else MAX_HIDDEN_MAGNITUDES
    outer = counts[last + 1 : last + 1 + most]
    if not outer.size:
        return 0, 0
    widths = np.arange(1, outer.size + 1)
    rows = np.maximum(np.cumsum(outer), 0) + HIDDEN_SIGMAS * noise * np.sqrt(widths)
    middles = (
        edges[last + 1 : last + 1 + most] + edges[last + 2 : last + 2 + most]
    ) / 2
    steps = np.maximum(np.cumsum(middles[: outer.size]) / widths - high, 0.0)
    chosen = int(np.argmax(rows * steps))
    return math.ceil(rows[chosen]), math.ceil(steps[chosen])
