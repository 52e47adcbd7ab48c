"""Private bounds."""

from __future__ import annotations

import numpy as np
import pytest

from curator.rooms import neighbouring, no_noise, room_of
from understudy.accounting.cost import Currency
from understudy.accounting.neighbours import Neighbours
from understudy.curator.bounds import MAGNITUDES, NOWHERE, bounds
from understudy.schema import Integer, Schema

OPEN = Schema(columns=(Integer(name="x"),))


def found(values, **options):
    room = room_of([{"x": v} for v in values], OPEN, **options)
    return bounds(room, "x", amount=room.till.left)


@pytest.mark.parametrize("currency", Currency)
@pytest.mark.parametrize(("low", "high"), [(17, 90), (-1000, -10), (1990, 2024), (0, 0), (-5, 10**12)])
def test_bounds_hold_nearly_all_values_and_little_more(low, high, currency):
    rng = np.random.default_rng(3)
    values = rng.integers(low, high + 1, 5000)
    a, b = found([int(v) for v in values], currency=currency)
    assert np.mean((values >= a) & (values <= b)) > 0.95
    grid = np.array(
        MAGNITUDES
    )  # noise may leave outer pieces standing, but never reach beyond the outermost magnitudes
    assert a >= grid[grid <= low][-1]
    assert b < grid[grid > high][0]


def test_one_extreme_value_does_not_show():
    rng = np.random.default_rng(4)
    values = [int(v) for v in rng.integers(20, 60, 5000)]
    for _ in range(20):
        assert found([*values, 10**15])[1] < 100


@pytest.mark.parametrize("values", [[], [7], [None] * 50])
def test_too_few_values_give_the_stated_default(values):
    assert found(values) == NOWHERE


def test_the_price_does_not_depend_on_the_rows():
    spent = set()
    for values in ([], [5] * 5000, [None] * 10):
        room = room_of([{"x": v} for v in values], OPEN)
        before = room.till.left
        bounds(room, "x", amount=before / 2)
        spent.add((before - room.till.left) / before)
    assert len(spent) == 1


@pytest.mark.parametrize("relation", Neighbours)
def test_a_row_lies_in_at_most_one_bin_of_each_histogram(relation):
    universe = [{"x": v} for v in (None, 0, -1, 1, 2, -(2**61), 2**61)]
    for here, there in neighbouring(universe, 3, relation):
        a, b = (room_of(rows, OPEN, noise=no_noise).table.lattice_counts("x", MAGNITUDES) for rows in (here, there))
        assert np.abs(a - b).sum() <= (1 if relation is Neighbours.ADD_REMOVE else 2)
