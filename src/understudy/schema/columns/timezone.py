"""How far clocks of a time zone are from UTC, for many moments at once.

A zone's rules answer for one moment at a time. Here the moments at which clocks change are looked for once, week by week and then to the
second, and every further moment is looked up among them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WEEK, _SECOND = 604_800, 1_000_000
_FIRST, _LAST = (int((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) for year in (2, 9998))
"""Seconds between which Python's calendar can move a moment to any zone."""


def offsets(zone: str, microseconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """For moments in microseconds since 1970, how far the zone's clocks are ahead of UTC, in microseconds.

    >>> noon = np.array([(datetime(2024, month, 1, 12, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) for month in (1, 7)])
    >>> (offsets("Europe/Zurich", noon) // (3600 * _SECOND)).tolist()
    [1, 2]
    """
    if microseconds.size == 0:
        return np.zeros(0, np.int64)
    seconds = np.clip(microseconds // _SECOND, _FIRST, _LAST)
    starts, ahead = _changes(zone, int(seconds.min()) // _WEEK, int(seconds.max()) // _WEEK + 1)
    return _SECOND * ahead[np.searchsorted(starts, seconds, side="right") - 1]


@lru_cache(maxsize=64)
def _changes(zone: str, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """From which second on clocks are how many seconds ahead, from one week to another."""
    clocks = ZoneInfo(zone)

    def ahead(second: int) -> int:
        moved = (_EPOCH + timedelta(seconds=min(max(second, _FIRST), _LAST))).astimezone(clocks).utcoffset()
        return 0 if moved is None else moved // timedelta(seconds=1)

    starts, found = [first * _WEEK], [ahead(first * _WEEK)]
    for week in range(first, last):
        end = ahead((week + 1) * _WEEK)
        if end != found[-1]:
            low, high = week * _WEEK, (week + 1) * _WEEK
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if ahead(middle) == end else (middle, high)
            starts.append(high)
            found.append(end)
    return np.array(starts, np.int64), np.array(found, np.int64)
