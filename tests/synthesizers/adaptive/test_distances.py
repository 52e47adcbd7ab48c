"""From noisy distances to those that gains are computed from."""

from __future__ import annotations

from fractions import Fraction

import pytest

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import Distance
from understudy.synthesizers.adaptive.distances import (
    are_pairs_hidden,
    distance_signal_share,
    shrink_distances,
)


def looks(values: list[float], deviation: int) -> list[Distance]:
    cost = Cost(Accounting.GDP, Fraction(1))
    return [
        Distance(
            (str(i),), round(v), 1, Law.ROUNDED_GAUSSIAN, Fraction(deviation), cost
        )
        for i, v in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "noise", "clear", "expected"),
    [
        ([0, 0, 0, 0, 600, 600, 0, 0, 600, 0] * 6, 180, 100, True),
        ([0, 0, 0, 0, 600, 600, 0, 0, 600, 0] * 6, 180, 200, False),  # clear enough
        ([0, 0, 0, 0, 600, 600, 0, 0, 600, 0] * 6, 50, 20, False),  # nothing is hidden
        (
            [90, -60, 30, 80, -70, 20, 10, -40],
            70,
            20,
            True,
        ),  # noise alone would look like this: nobody can tell
        ([90, -60, 30, 80, -70, 20, 10, -40], 70, 100, False),  # and nobody needs to
        (
            [300, 500, 400, 400, 600, 200] * 10,
            110,
            50,
            False,
        ),  # they differ little from each other
        ([0, 100, -100] * 20, 180, 100, False),  # no more than noise does
        ([], 1, 1, False),
    ],
)
def test_pairs_get_a_better_look_where_they_differ_and_noise_hides_how(
    values, noise, clear, expected
) -> None:
    found = looks(values, noise)
    assert (
        are_pairs_hidden(found, [max(float(d), 0.0) for d in found], clear) is expected
    )


def test_no_distance_at_all_tells_nothing():
    """All pairs may be too large to be asked about as they are: then there is nothing
    to read, and nothing to follow.
    """
    assert distance_signal_share([]) == 0.0
    assert shrink_distances({}) == {}
