"""How far a heavy tail reaches beyond the values that exceed the noise. Post-processing
of a noisy histogram of magnitudes: no row is read and nothing is paid.

Amounts of money, durations and populations decrease over many magnitudes, and the few
largest values, which no count shows, hold much of the sum. Clipped at the last
magnitude that exceeds the noise, such a column would lose a quarter of its mean. Bounds
too wide cost little, because far bins share what is expected of the tail
(models/estimates/tail_shape.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.tail_shape import UpperTail, fit_upper_tail
from understudy.schema.columns.code_layout import MAX_UNIT_BINS

MIN_DECLINE_OCTAVES = 3
"""Octaves from the largest count to the last that exceeds its noise, for a tail to be
called heavy. Ages, lengths and scores drop within fewer.
"""

MAX_TAIL_BOUND_OCTAVES = 12
"""Octaves that a bound is extended by, at most: beyond a factor of 4,000 bins are few
and a law has nothing to go by.
"""

MAX_CLIPPED_ROWS = 0.5
"""Rows that are expected beyond an extended bound, at most."""


def find_heavy_tail_end(
    edges: NDArray[np.float64],
    counts: NDArray[np.int64],
    variance: float,
    *,
    first: int,
    last: int,
) -> float | None:
    """The edge beyond which the heavy upper tail of a histogram of magnitudes holds no
    row, likely; None if there is no heavy tail. Values lie in the bins from `first` to
    `last`, but for those of the tail.

    >>> edges = np.array([0.0, *2.0 ** np.arange(30)])
    >>> heavy = np.array([0, 0, 0, 30, 90, 400, 900, 700, 500, 350, 200, 120, *[0] * 18])
    >>> find_heavy_tail_end(edges, heavy, 400.0, first=3, last=11)
    16384.0
    >>> ages = np.array([0, 0, 0, 0, 0, 900, 2000, 500, *[0] * 22])
    >>> find_heavy_tail_end(edges, ages, 400.0, first=5, last=7)
    """
    # Bins of noise before the first would seem to hold rows far below it.
    noisy = counts[first : last + 1 + MAX_TAIL_BOUND_OCTAVES].astype(np.float64)
    edges = edges[first : first + len(noisy) + 1]
    tail = fit_upper_tail(edges, noisy, np.full(len(noisy), variance))
    if tail is None or not _is_heavy(edges, noisy, tail):
        return None
    # Of so many bins, one of noise may seem to exceed it: it is no end of a tail.
    if first + tail.first - 1 > last:
        return None
    expected = tail.law.counts(edges[tail.first :])
    beyond = np.cumsum(expected[::-1])[::-1]
    enough = np.append(beyond, 0.0) <= MAX_CLIPPED_ROWS
    return float(edges[tail.first :][np.argmax(enough)])


def _is_heavy(
    edges: NDArray[np.float64], counts: NDArray[np.float64], tail: UpperTail
) -> bool:
    """Whether counts decline over several octaves before the tail begins. A column of
    few values has no tail: each has a code of its own.
    """
    # Many zeros are no peak of a smooth distribution.
    positive = np.where(edges[:-1] >= 1, counts, -np.inf)[: tail.first]
    decline = tail.first - 1 - int(np.argmax(positive))
    is_long = edges[tail.first] >= MAX_UNIT_BINS
    return bool(is_long and decline >= MIN_DECLINE_OCTAVES)
