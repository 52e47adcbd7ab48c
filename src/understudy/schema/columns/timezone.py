"""How far clocks of a time zone are from UTC, for many moments at once.

A zone's rules answer for one moment at a time. Here the moments at which clocks change
are looked for once, week by week and then to the second, and every further moment is
looked up among them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

_EPOCH_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
_WEEK_SECONDS, _SECOND_MICROSECONDS = 604_800, 1_000_000
_MIN_ZONE_SECOND, _MAX_ZONE_SECOND = (
    int((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH_INSTANT).total_seconds())
    for year in (2, 9998)
)
"""Seconds between which Python's calendar can move a moment to any zone."""


def zone_offsets(zone: str, microseconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """For moments in microseconds since 1970, how far the zone's clocks are ahead of
    UTC, in microseconds.

    >>> noon = np.array([(datetime(2024, month, 1, 12, tzinfo=UTC) - _EPOCH_INSTANT) // timedelta(microseconds=1) for month in (1, 7)])
    >>> (zone_offsets("Europe/Zurich", noon) // (3600 * _SECOND_MICROSECONDS)).tolist()
    [1, 2]
    """
    if microseconds.size == 0:
        return np.zeros(0, np.int64)
    seconds = np.clip(
        microseconds // _SECOND_MICROSECONDS, _MIN_ZONE_SECOND, _MAX_ZONE_SECOND
    )
    starts, ahead = _clock_changes(
        zone,
        int(seconds.min()) // _WEEK_SECONDS,
        int(seconds.max()) // _WEEK_SECONDS + 1,
    )
    return (
        _SECOND_MICROSECONDS * ahead[np.searchsorted(starts, seconds, side="right") - 1]
    )


@lru_cache(maxsize=64)
def _clock_changes(
    zone: str, first: int, last: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """From which second on clocks are how many seconds ahead, from one week to another."""
    clocks = ZoneInfo(zone)

    def seconds_ahead(second: int) -> int:
        moved = (
            (
                _EPOCH_INSTANT
                + timedelta(
                    seconds=min(max(second, _MIN_ZONE_SECOND), _MAX_ZONE_SECOND)
                )
            )
            .astimezone(clocks)
            .utcoffset()
        )
        return 0 if moved is None else moved // timedelta(seconds=1)

    starts, found = [first * _WEEK_SECONDS], [seconds_ahead(first * _WEEK_SECONDS)]
    for week in range(first, last):
        end = seconds_ahead((week + 1) * _WEEK_SECONDS)
        if end != found[-1]:
            low, high = week * _WEEK_SECONDS, (week + 1) * _WEEK_SECONDS
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (
                    (low, middle) if seconds_ahead(middle) == end else (middle, high)
                )
            starts.append(high)
            found.append(end)
    return np.array(starts, np.int64), np.array(found, np.int64)
