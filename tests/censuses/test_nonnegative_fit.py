"""Fits against a general solver, which knows nothing of lattices."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from understudy.censuses import nonnegative_fit
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


CENSUS_SHAPE = (3, 2, 6)
CENSUS_LATTICE = MarginalLattice(CENSUS_SHAPE, [(), (0,), (1, 2), (0, 1, 2)])
CENSUS_EIGENVALUES = {(): 36.0, (0,): 12.0, (1,): 4.0, (2,): 4.0, (1, 2): 3.0}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("margin_axes", [(), (0,)])
def test_clarabel_finds_the_same_tables(seed, margin_axes, monkeypatch):
    """A parent of a census: twelve children, a sparse table, structural zeros and exact
    margins. Rounding moves a cell by up to a person, and the fit stops nearer than that;
    told to go on, it comes to the solver's optimum.
    """
    rng = np.random.default_rng(seed)
    live = rng.random(CENSUS_SHAPE) > 0.2
    truth = rng.poisson(rng.gamma(0.3, 4, CENSUS_SHAPE), (12, *CENSUS_SHAPE)) * live
    target = truth + rng.normal(0, 3, truth.shape)
    margin = sum_to_marginal(truth, (0, 1, 2), margin_axes).astype(float)
    problem = FitProblem(target, margin, live, truth.sum(axis=0).astype(float))
    eigenvalues = dict.fromkeys(CENSUS_LATTICE.sets, 1.0) | CENSUS_EIGENVALUES
    metric = FitMetric.of(CENSUS_LATTICE, eigenvalues, margin_axes)
    solved = solve_with_clarabel(problem, eigenvalues, margin_axes)
    fitted, steps = fit_children(problem, metric)
    assert steps < MAX_FIT_STEPS
    check_sums(problem, fitted)
    assert np.abs(fitted - solved).max() < 1
    monkeypatch.setattr(nonnegative_fit, "FIT_TOLERANCE", 1e-6)
    monkeypatch.setattr(nonnegative_fit, "MAX_FIT_STEPS", 5000)
    fitted, _ = fit_children(problem, metric)
    check_sums(problem, fitted)
    found = sum_to_marginal(fitted, (0, 1, 2), margin_axes)
    assert np.allclose(found, margin, atol=1e-3)
    assert np.abs(fitted - solved).max() < 0.02


def check_sums(problem, fitted):
    """What a fit keeps wherever it stops."""
    assert (fitted >= 0).all()
    assert np.allclose(fitted.sum(axis=0), problem.parent)
    assert not fitted[:, ~problem.live].any()


def solve_with_clarabel(problem, eigenvalues, margin_axes):
    """The same problem by an interior-point solver with its default tolerances."""
    children, cells = len(problem.target), problem.live.size
    basis = np.eye(cells).reshape(cells, *problem.live.shape)
    operator = CENSUS_LATTICE.weigh_averages(eigenvalues)
    weights = CENSUS_LATTICE.apply_operator(operator, basis).reshape(cells, cells)
    number = np.arange(cells).reshape(problem.target.shape[1:])
    kept = np.moveaxis(number, margin_axes, range(len(margin_axes)))
    parts = kept.reshape(int(np.prod(problem.margin.shape[1:])), -1)
    summing = np.zeros((len(parts), cells))
    for row, part in zip(summing, parts, strict=True):
        row[part] = 1
    closed = np.flatnonzero(~problem.live)
    equal = sparse.vstack(
        [
            sparse.kron(np.ones((1, children)), sparse.identity(cells)),
            sparse.kron(sparse.identity(children), summing),
            sparse.kron(sparse.identity(children), np.eye(cells)[closed]),
        ]
    )
    sums = [problem.parent.ravel(), problem.margin.ravel()]
    sums.append(np.zeros(children * len(closed)))
    size = children * cells
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.kron(sparse.identity(children), weights)),
        -(problem.target.reshape(children, cells) @ weights).ravel(),
        sparse.csc_matrix(sparse.vstack([equal, -sparse.identity(size)])),
        np.concatenate([*sums, np.zeros(size)]),
        [clarabel.ZeroConeT(equal.shape[0]), clarabel.NonnegativeConeT(size)],
        make_quiet(),
    )
    solution = solver.solve()
    assert solution.status == clarabel.SolverStatus.Solved
    return np.array(solution.x).reshape(problem.target.shape)


def make_quiet():
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    return settings


def test_a_simplex_projection_keeps_its_sum_and_its_order():
    rng = np.random.default_rng(0)
    points, sums = rng.normal(2, 3, (5, 100)), rng.integers(0, 20, 100).astype(float)
    moved = project_simplices(points, sums)
    assert (moved >= 0).all()
    assert np.allclose(moved.sum(axis=0), sums)
    bounds = np.zeros_like(points), np.full_like(points, 1e9)
    again = project_between(points, sums, *bounds, np.ones_like(points))
    assert np.allclose(moved, again, atol=1e-6)
