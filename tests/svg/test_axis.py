"""Ticks are round and lie on their axis."""

from __future__ import annotations

import pytest

from understudy.svg.axis import LogAxis, axis_ticks


def test_ticks_end_within_the_axis() -> None:
    for end in (0.3, 1, 7, 12, 130, 9999):
        marks = axis_ticks(end)
        assert 2 <= len(marks) <= 7
        assert marks[-1] <= end * (1 + 1e-9)


def test_equal_factors_are_equal_lengths() -> None:
    axis = LogAxis(0.01, 10.0, start=5.0, length=300.0)
    assert [axis.at(x) for x in (0.01, 0.1, 1.0, 10.0)] == pytest.approx(
        [5.0, 105.0, 205.0, 305.0]
    )
