"""Rows exchanged for fresh ones until tables meet their aims."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.sampling.row_exchange import CellIndex, refine_rows

SIZES = {"a": 3, "b": 4, "c": 2}


def drawn(rows, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack(
        [rng.integers(0, size, rows) for size in SIZES.values()], axis=1
    ).astype(np.int32)


def counted(rows, clique):
    cells = CellIndex([clique], SIZES)
    return cells.counts(rows).reshape([SIZES[name] for name in clique])


def test_cells_are_those_of_the_tables():
    rows = drawn(500)
    for clique in (("a",), ("c", "a"), ("a", "b", "c")):
        table = np.zeros([SIZES[name] for name in clique], int)
        np.add.at(table, tuple(rows[:, list(SIZES).index(name)] for name in clique), 1)
        assert np.array_equal(counted(rows, clique), table)


def test_tables_laid_end_to_end_do_not_mix():
    rows, cliques = drawn(300), [("a", "b"), ("c",), ("a", "b", "c")]
    parts = np.split(CellIndex(cliques, SIZES).counts(rows, block=64), [12, 14])
    for clique, part in zip(cliques, parts, strict=True):
        assert np.array_equal(part, counted(rows, clique).ravel())


def test_the_aims_are_met_and_what_was_right_stays_right():
    rows, fresh = drawn(3000, 1), drawn(9000, 2)
    wanted = np.full((3, 4), 250.0) + np.outer([60.0, 0, -60], [1, -1, 1, -1])
    even = np.full((4, 2), 375.0)
    better = refine_rows(
        rows,
        fresh,
        {("a", "b"): wanted, ("b", "c"): even},
        SIZES,
        np.random.default_rng(3),
    )
    assert better.shape == rows.shape
    assert (
        np.abs(counted(better, ("a", "b")) - wanted).sum()
        < 0.1 * np.abs(counted(rows, ("a", "b")) - wanted).sum()
    )
    assert (
        np.abs(counted(better, ("b", "c")) - even).sum()
        <= np.abs(counted(rows, ("b", "c")) - even).sum()
    )


def test_every_row_is_one_that_was_drawn():
    rows, fresh = drawn(1000, 4), drawn(2000, 5)
    fresh[:, 2] = fresh[:, 0] % 2
    rows[:, 2] = rows[:, 0] % 2
    aims = {
        ("a", "c"): np.full((3, 2), 1000 / 6),
        ("a", "b"): np.full((3, 4), 1000 / 12),
    }
    better = refine_rows(rows, fresh, aims, SIZES, np.random.default_rng(6))
    assert np.array_equal(better[:, 2], better[:, 0] % 2)


def test_the_rows_that_came_in_are_left_as_they_were():
    rows = drawn(1000, 7)
    before = rows.copy()
    refine_rows(
        rows,
        drawn(1000, 8),
        {("a",): np.array([900.0, 50, 50])},
        SIZES,
        np.random.default_rng(9),
    )
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("rows", [0, 1, 15])
def test_hardly_any_rows_stay(rows):
    few = drawn(rows)
    aims = {("a", "b"): np.full((3, 4), rows / 12)}
    assert np.array_equal(
        refine_rows(few, drawn(3 * rows, 1), aims, SIZES, np.random.default_rng(0)), few
    )
