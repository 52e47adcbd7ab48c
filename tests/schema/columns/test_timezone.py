"""Clocks of a zone, for many moments at once: the same as the zone's own rules say for
each.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.schema.columns.timezone import zone_offsets

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = [
    "UTC",
    "Europe/Zurich",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
]


def ahead(zone, moment):
    return moment.astimezone(ZoneInfo(zone)).utcoffset() // timedelta(microseconds=1)


@settings(max_examples=60)
@given(
    st.sampled_from(ZONES),
    st.lists(
        st.datetimes(
            datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)
        ),
        min_size=1,
        max_size=20,
    ),
)
def test_they_are_what_the_zone_says(zone, moments):
    counted = np.array(
        [(m - EPOCH) // timedelta(microseconds=1) for m in moments], np.int64
    )
    assert zone_offsets(zone, counted).tolist() == [ahead(zone, m) for m in moments]


@pytest.mark.parametrize("zone", ZONES)
def test_clocks_change_to_the_second(zone):
    """Every minute of a year."""
    minutes = np.arange(0, 366 * 24 * 60, dtype=np.int64) * 60 + int(
        (datetime(2024, 1, 1, tzinfo=UTC) - EPOCH).total_seconds()
    )
    found = zone_offsets(zone, minutes * 1_000_000)
    for i in np.flatnonzero(np.diff(found))[:10]:
        change = EPOCH + timedelta(seconds=int(minutes[i + 1]))
        assert found[i + 1] == ahead(zone, change)
        assert found[i] == ahead(zone, change - timedelta(seconds=1))


def test_no_moment_and_moments_beyond_the_calendar_have_an_answer():
    assert zone_offsets("Europe/Zurich", np.zeros(0, np.int64)).size == 0
    assert zone_offsets("UTC", np.array([-(2**62), 2**62])).tolist() == [0, 0]
