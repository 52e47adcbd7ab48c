"""Rounding against the transport program that HiGHS solves to the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from understudy.censuses.controlled_rounding import exchange_rows, round_columns


def best_distance(table, rows, columns):
    """The least Σ|y − x| over y = ⌊x⌋ or ⌊x⌋ + 1 with these sums: a transport program,
    so that its linear relaxation is whole already.
    """
    n, k = table.shape
    sums = sparse.vstack(
        [
            sparse.kron(sparse.identity(n), np.ones((1, k))),
            sparse.kron(np.ones((1, n)), sparse.identity(k)),
        ]
    )
    floor = np.floor(table)
    part = table - floor
    missing = np.concatenate([rows - floor.sum(axis=1), columns - floor.sum(axis=0)])
    cost = (1 - 2 * part).ravel()
    solved = linprog(cost, A_eq=sums, b_eq=missing, bounds=(0, 1))
    assert solved.success
    return solved.fun + part.sum()


@pytest.mark.parametrize("seed", range(6))
def test_exchanges_are_near_the_optimum(seed):
    rng = np.random.default_rng(seed)
    truth = rng.poisson(2.0, (8, 30)) + 1
    noise = rng.uniform(-0.5, 0.5, truth.shape)
    # Noise whose rows and columns add up to nothing: the sums stay whole.
    noise -= noise.mean(axis=0) + noise.mean(axis=1, keepdims=True) - noise.mean()
    table = truth + noise
    rows, columns = truth.sum(axis=1), truth.sum(axis=0)
    rounded = exchange_rows(round_columns(table, columns), table, rows)
    assert (rounded >= 0).all()
    assert (rounded.sum(axis=0) == columns).all()
    assert (rounded.sum(axis=1) == rows).all()
    best = best_distance(table, rows, columns)
    assert np.abs(rounded - table).sum() <= best * 1.05 + 0.5


def test_bounds_are_kept_and_sums_of_rows_give_way():
    table = np.array([[5.0, 5.0], [0.0, 0.0]])
    upper = np.array([[9, 9], [1, 0]])
    rounded = round_columns(table, np.array([6, 5]), upper=upper)
    assert rounded.tolist() == [[6, 5], [0, 0]]
    moved = exchange_rows(rounded, table, np.array([5, 6]), upper=upper)
    assert moved.tolist() == [[5, 5], [1, 0]]


def test_what_is_far_off_still_gets_its_sums():
    rounded = round_columns(np.array([[100.0], [3.0]]), np.array([4]))
    assert rounded.sum() == 4
    assert (rounded >= 0).all()


def test_sums_that_bounds_do_not_admit_come_to_an_end():
    """A wrong answer of a solver above made this wait for ever."""
    most = np.ones((2, 1), np.int64)
    rounded = round_columns(np.full((2, 1), 0.5), np.array([5]), upper=most)
    assert rounded.ravel().tolist() == [1, 1]
