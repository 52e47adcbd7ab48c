"""Magnitudes: the bins of the first histogram of learned bounds, and which of them hold
values. Post-processing of noisy counts: no row is read and nothing is paid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.support import count_run_bins

MAGNITUDE_EDGES = (*(-(2**k) for k in range(62, -1, -1)), 0, *(2**k for k in range(63)))
"""Edges of the first histogram: zero, and every sign and number of binary digits a
lattice index can have.
"""

ZERO_BIN = MAGNITUDE_EDGES.index(0)
"""The bin that holds zero alone."""

MAX_RUN_BINS = 6
"""Bins that are judged together. Amounts beside many zeros spread over so many that
none stands out alone; longer runs would let noise reach far beyond all values.
"""

ACROSS_ZERO_RATIO = 1.4
"""Times that bins on the other side of zero must hold as much to be taken: answers from
1 to 6 are never negative, and noise made them so in one of 300 such columns.
"""


def widen_range(
    counts: NDArray[np.int64], first: int, last: int, enough: float
) -> tuple[int, int]:
    """From the outermost bins that stand out, run after run of bins outward as long as
    each holds enough; `enough` is what one bin must hold.

    >>> widen_range(np.array([0, 9, 5, 40, 3, 3, 3, 3, 0]), 3, 3, 5.0)
    (1, 6)
    """
    # Where values stand out on one side of zero alone, the other takes more evidence.
    is_positive = first >= ZERO_BIN < last
    is_negative = first < ZERO_BIN >= last
    to_zero = first - ZERO_BIN if is_positive else None
    below = _count_outer_bins(counts[:first][::-1], to_zero, enough)
    to_zero = ZERO_BIN - last if is_negative else None
    above = _count_outer_bins(counts[last + 1 :], to_zero, enough)
    return first - below, last + above


def _count_outer_bins(
    counts: NDArray[np.int64], to_zero: int | None, enough: float
) -> int:
    """How many bins outward to take; those beyond zero, which is so many bins away,
    only if they hold more than enough.
    """
    if to_zero is None:
        return count_run_bins(counts, enough, MAX_RUN_BINS)
    across = count_run_bins(counts[to_zero:], ACROSS_ZERO_RATIO * enough, MAX_RUN_BINS)
    if across:
        return to_zero + across
    return count_run_bins(counts[:to_zero], enough, MAX_RUN_BINS)
