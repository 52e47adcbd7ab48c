"""Fits against a general solver, which knows nothing of lattices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from understudy.censuses.lattice import MarginalLattice, sum_to_marginal
from understudy.censuses.nonnegative_fit import (
    MAX_FIT_STEPS,
    FitMetric,
    FitProblem,
    fit_children,
    project_between,
    project_simplices,
)

SHAPE = (2, 3)
LATTICE = MarginalLattice(SHAPE, [(), (1,), (0, 1)])
EIGENVALUES = {(): 12.0, (1,): 3.0, (0, 1): 1.0}


def weigh(table):
    """(x − t)ᵀ W (x − t) of each child."""
    operator = LATTICE.weigh_averages(EIGENVALUES)
    return (table * LATTICE.apply_operator(operator, table)).sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_is_the_optimum_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    truth = rng.poisson(3, (3, *SHAPE)).astype(float)
    target = truth + rng.normal(0, 3, truth.shape)
    margin = sum_to_marginal(truth, (0, 1), ())
    parent = truth.sum(axis=0)
    problem = FitProblem(target, margin, np.ones(SHAPE, bool), parent)
    fitted, steps = fit_children(problem, FitMetric.of(LATTICE, EIGENVALUES, ()))
    assert steps < MAX_FIT_STEPS
    assert np.allclose(fitted.sum(axis=0), parent)
    solved = solve_generally(target, parent, margin)
    assert np.abs(fitted - solved).max() < 0.2
    assert weigh(fitted - target) < weigh(solved - target) * 1.02 + 0.05


def solve_generally(target, parent, margin):
    """The same problem as non-negative least squares with heavy rows for the sums."""
    roots = {axes: value**0.5 for axes, value in EIGENVALUES.items()}
    basis = np.eye(6).reshape(6, *SHAPE)
    root = LATTICE.apply_operator(LATTICE.weigh_averages(roots), basis).reshape(6, 6)
    heavy = 1e4
    rows = np.vstack(
        [
            np.kron(np.eye(3), root),
            heavy * np.tile(np.eye(6), 3),
            heavy * np.kron(np.eye(3), np.ones(6)),
        ]
    )
    aims = [
        np.kron(np.eye(3), root) @ target.ravel(),
        heavy * parent.ravel(),
        heavy * margin,
    ]
    return nnls(rows, np.concatenate(aims))[0].reshape(target.shape)


def test_a_simplex_projection_keeps_its_sum_and_its_order():
    rng = np.random.default_rng(0)
    points, sums = rng.normal(2, 3, (5, 100)), rng.integers(0, 20, 100).astype(float)
    moved = project_simplices(points, sums)
    assert (moved >= 0).all()
    assert np.allclose(moved.sum(axis=0), sums)
    bounds = np.zeros_like(points), np.full_like(points, 1e9)
    again = project_between(points, sums, *bounds, np.ones_like(points))
    assert np.allclose(moved, again, atol=1e-6)
