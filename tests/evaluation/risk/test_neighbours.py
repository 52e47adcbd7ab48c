"""Nearest rows in mixed columns, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kit.people import made, table
from understudy.evaluation.risk import neighbours
from understudy.evaluation.risk.neighbours import NeighbourSpace, is_right_guess


def test_distances_by_hand() -> None:
    rows = table(
        [(40, "F", "low", 500.0, True), (None, "M", "low", 500.0, True)]
    ).records()
    order = np.argsort(rows.absent("age"))
    rows = rows.take(order)
    target = table([(50, "F", "high", 500.0, True)]).records()
    found = NeighbourSpace(rows, ("age", "sex", "school", "income")).distances_to(
        target
    )
    # Age: 10 of 99 years; school differs. Against the second: age missing (1), sex and
    # school differ.
    assert found[0].tolist() == pytest.approx([10 / 99 + 1, 3], abs=1e-6)


def test_the_nearest_are_those_of_the_distances_in_pieces_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, targets = table(made(150, 1)).records(), table(made(40, 2)).records()
    space = NeighbourSpace(rows, ("age", "sex", "income"))
    far = space.distances_to(targets)
    monkeypatch.setattr(neighbours, "MAX_DISTANCES_AT_ONCE", 300)
    near = space.nearest(targets, 3)
    for i in range(40):
        assert sorted(far[i, near[i]]) == pytest.approx(sorted(far[i])[:3])
    assert (space.nearest(targets)[:, 0] == far.argmin(axis=1)).all()


def test_a_guess_of_a_number_is_right_within_a_share() -> None:
    true = table(
        [(40, "F", "low", 100.0, True), (None, "F", "low", 0.0, True)]
    ).records()
    true = true.take(np.argsort(true.absent("age")))
    near = table(
        [(41, "M", "low", 106.0, True), (None, "F", "low", 0.0, True)]
    ).records()
    near = near.take(np.argsort(near.absent("age")))
    assert is_right_guess(near, true, "age").tolist() == [True, True]
    assert is_right_guess(near, true, "income").tolist() == [False, True]
    assert is_right_guess(near, true, "sex").tolist() == [False, True]
