"""Which codes of a column occur at all, by noisy counts.

A posterior mean (models/fitting/one_way_prior.py) is never quite zero, and noise is in
every code: a column without a blank would come back with some, and one of ages from 18
to 80 with a few of 3 and of 110. In the middle of a column that is as it should be. At
its ends, and where cells are missing or unlisted, such a value cannot occur, so there it
takes evidence that a code occurs.

Everything here is post-processing of what was released.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

STANDING_CHANCE = 0.01
"""Chance that any of a column's bins seems to hold something where none does."""

ADJACENT_BIN_SIGMAS = 2.5
"""Standard deviations by which a run of bins next to those that stand out must exceed
zero, together, to be taken too.
"""

MIN_NON_VALUE_SIGMAS = 3.5
"""Standard deviations by which the count of missing or unlisted cells must exceed zero to
be believed: one column in 4,000 without a blank gets some. At 2.5 every table of a
hundred columns had one.
"""

FLAG_BINS = 2
"""Bins of a column whose values are two."""

MIN_JOINED_BINS = 8
"""Bins of which pairs are looked at where no single one stands out: halves of a column
say nothing about where it ends.
"""


def count_run_bins(
    counts: NDArray[np.number], enough: float, most: int | None = None
) -> int:
    """How many bins to take from the first on, by the shortest runs that hold enough;
    `enough` is what one bin must hold, and `most` the length of the longest run.

    >>> count_run_bins(np.array([3, 3, 3, 3, 0, 0]), 5.0)
    3
    """
    # The noise of a run's sum grows with the root of its length.
    taken = 0
    while taken < len(counts):
        end = len(counts) if most is None else taken + most
        run = np.cumsum(counts[taken:end])
        needed = enough * np.sqrt(np.arange(1, len(run) + 1))
        holding = np.flatnonzero(run > needed)
        if holding.size == 0:
            break
        taken += int(holding[0]) + 1
    return taken


def find_supported_bins(
    counts: NDArray[np.float64], deviation: float
) -> NDArray[np.bool_]:
    """Which bins of an ordered column lie between those that hold something; all of
    them where none stands out, not even joined with its neighbours. The noise of every
    count has this standard deviation.

    >>> counts = np.array([4.0, -9.0, 3.0, 90.0, -2.0, 80.0, 26.0, 11.0, -8.0])
    >>> find_supported_bins(counts, 10.0).astype(int).tolist()
    [0, 0, 0, 1, 1, 1, 1, 0, 0]
    """
    supported = np.ones(len(counts), np.bool_)
    bar = -float(ndtri(STANDING_CHANCE / max(len(counts), 1))) * deviation
    standing = np.flatnonzero(counts > bar)
    if standing.size == 0 and len(counts) >= MIN_JOINED_BINS:
        pairs = np.add.reduceat(counts, np.arange(0, len(counts), 2))
        wider = find_supported_bins(pairs, np.sqrt(2) * deviation)
        return np.repeat(wider, 2)[: len(counts)]
    if standing.size == 0:
        return supported
    enough = ADJACENT_BIN_SIGMAS * deviation
    first = int(standing[0])
    last = int(standing[-1])
    first -= count_run_bins(counts[:first][::-1], enough)
    last += count_run_bins(counts[last + 1 :], enough)
    supported[:first] = False
    supported[last + 1 :] = False
    return supported


def find_supported_codes(
    counts: NDArray[np.float64], deviation: float, *, bins: int, is_ordered: bool
) -> NDArray[np.bool_]:
    """Which codes of a column occur: its first `bins` codes are its values, the others
    say that a cell is missing or unlisted. Labels that have no order all may, and so do
    the two values of a flag: a rare one is no end of a range.

    >>> find_supported_codes(np.array([90.0, 6.0, 7.0]), 5.0, bins=2, is_ordered=True)
    array([ True,  True, False])
    """
    supported = counts > MIN_NON_VALUE_SIGMAS * deviation
    supported[:bins] = True
    if is_ordered and bins > FLAG_BINS:
        supported[:bins] = find_supported_bins(counts[:bins], deviation)
    return supported if supported.any() else np.ones(len(counts), np.bool_)
