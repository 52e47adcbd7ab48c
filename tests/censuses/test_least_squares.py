"""The closed form against dense linear algebra, which knows nothing of trees."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.lattice import MarginalLattice, sum_to_marginal
from understudy.censuses.least_squares import (
    LevelAnswer,
    average_precisions,
    estimate_tree,
    estimate_units,
)

SHAPE = (2, 3, 2)
WHOLE = (0, 1, 2)
PLAN = {
    0: [((), 2.0), ((0, 1), 3.0)],
    1: [(WHOLE, 5.0), ((1, 2), 1.5)],
    2: [((), 0.7), (WHOLE, 4.0)],
}
TREE = {"n": ["a", "b", "d"], "s": ["c"], "w": ["x", "y"]}
HIERARCHY = Hierarchy.from_tree(("state", "county"), TREE)
LATTICE = MarginalLattice(SHAPE, [(), (0, 1), (1, 2), WHOLE])
CELLS = 6 * 12


def query_matrix(level, axes):
    """The matrix from all cells of all counties to a query of a level."""
    units = HIERARCHY.count_units(level)
    columns = []
    for cell in range(CELLS):
        leaves = np.zeros(CELLS)
        leaves[cell] = 1
        table = np.zeros((units, *SHAPE))
        np.add.at(table, HIERARCHY.ancestors(level), leaves.reshape(6, *SHAPE))
        columns.append(sum_to_marginal(table, WHOLE, axes).ravel())
    return np.array(columns).T


@pytest.fixture(scope="module")
def dense():
    """Answers, and what dense least squares makes of them."""
    rng = np.random.default_rng(1)
    truth = rng.poisson(5, CELLS)
    answers, rows, values = [], [], []
    for level, queries in PLAN.items():
        for axes, variance in queries:
            matrix = query_matrix(level, axes)
            noisy = matrix @ truth + rng.normal(0, variance**0.5, len(matrix))
            units = HIERARCHY.count_units(level)
            shape = (units, *(SHAPE[axis] for axis in axes))
            answers.append(LevelAnswer(level, axes, noisy.reshape(shape), variance))
            rows.append(matrix / variance**0.5)
            values.append(noisy / variance**0.5)
    design = np.vstack(rows)
    covariance = np.linalg.inv(design.T @ design)
    return answers, covariance @ design.T @ np.concatenate(values), covariance


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("axes", [(), (0,), (2,), (0, 2), (0, 1), WHOLE])
def test_estimates_and_variances_are_those_of_dense_least_squares(dense, level, axes):
    answers, solution, covariance = dense
    estimate = estimate_tree(HIERARCHY, LATTICE, answers)
    matrix = query_matrix(level, axes)
    units = HIERARCHY.count_units(level)
    expected = (matrix @ solution).reshape(units, -1)
    assert np.allclose(
        estimate.estimate_table(level, axes).reshape(units, -1), expected
    )
    variance = np.diag(matrix @ covariance @ matrix.T).reshape(units, -1)
    assert np.allclose(variance, estimate.variances(level, axes)[:, None])


def test_a_unit_alone_knows_less_than_the_tree(dense):
    answers, *_ = dense
    tree = estimate_tree(HIERARCHY, LATTICE, answers)
    alone = estimate_units(HIERARCHY, LATTICE, answers)
    for level in range(3):
        assert (tree.variances(level, ()) < alone.variances(level, ())).all()
    assert average_precisions(alone, 0)[WHOLE] == 0  # its detail was not measured


def test_children_add_up_to_parents(dense):
    estimate = estimate_tree(HIERARCHY, LATTICE, dense[0])
    for level in range(2):
        below = HIERARCHY.sum_children(level, estimate.estimate_table(level + 1, WHOLE))
        assert np.allclose(below, estimate.estimate_table(level, WHOLE))
