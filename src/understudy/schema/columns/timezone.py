"""Offsets of a time zone from UTC, for many moments at once.

Python's zones answer for one moment at a time. Here the moments at which clocks change
are searched for once, week by week and then to the second, and all moments are looked
up among them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

_EPOCH_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
_WEEK_SECONDS, _SECOND_MICROSECONDS = 604_800, 1_000_000

# Between these years Python's calendar can move a moment to any zone.
_MIN_ZONE_SECOND, _MAX_ZONE_SECOND = (
    int((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH_INSTANT).total_seconds())
    for year in (2, 9998)
)

_SECOND_SPAN = timedelta(seconds=1)


def zone_offsets(zone: str, microseconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """How far the zone's clocks are ahead of UTC, in microseconds, at moments in
    microseconds since 1970.

    >>> noons = [datetime(2024, month, 1, 12, tzinfo=UTC) for month in (1, 7)]
    >>> seconds = np.array([(noon - _EPOCH_INSTANT) // _SECOND_SPAN for noon in noons])
    >>> (zone_offsets("Europe/Zurich", seconds * 1_000_000) / 3.6e9).tolist()
    [1.0, 2.0]
    """
    if microseconds.size == 0:
        return np.zeros(0, np.int64)
    seconds = np.clip(
        microseconds // _SECOND_MICROSECONDS, _MIN_ZONE_SECOND, _MAX_ZONE_SECOND
    )
    first_week = int(seconds.min()) // _WEEK_SECONDS
    last_week = int(seconds.max()) // _WEEK_SECONDS + 1
    starts, ahead = _clock_changes(zone, first_week, last_week)
    period = np.searchsorted(starts, seconds, side="right") - 1
    return _SECOND_MICROSECONDS * ahead[period]


@lru_cache(maxsize=64)
def _clock_changes(
    zone: str, first_week: int, last_week: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The seconds at which clocks change between two weeks, and how many seconds they
    are ahead of UTC from then on.
    """
    clocks = ZoneInfo(zone)
    week_start = first_week * _WEEK_SECONDS
    starts = [week_start]
    offsets = [_seconds_ahead(clocks, week_start)]
    # A change that is undone within the same week is not seen.
    for week in range(first_week, last_week):
        week_end = (week + 1) * _WEEK_SECONDS
        offset = _seconds_ahead(clocks, week_end)
        if offset != offsets[-1]:
            starts.append(_find_change(clocks, week_end - _WEEK_SECONDS, week_end))
            offsets.append(offset)
    return np.array(starts, np.int64), np.array(offsets, np.int64)


def _find_change(clocks: ZoneInfo, low: int, high: int) -> int:
    """The first second of the offset that is in force at `high`, by bisection."""
    offset = _seconds_ahead(clocks, high)
    while high - low > 1:
        middle = (low + high) // 2
        if _seconds_ahead(clocks, middle) == offset:
            high = middle
        else:
            low = middle
    return high


def _seconds_ahead(clocks: ZoneInfo, second: int) -> int:
    inside = min(max(second, _MIN_ZONE_SECOND), _MAX_ZONE_SECOND)
    moment = (_EPOCH_INSTANT + timedelta(seconds=inside)).astimezone(clocks)
    offset = moment.utcoffset()
    return 0 if offset is None else offset // _SECOND_SPAN
