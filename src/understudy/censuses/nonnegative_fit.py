"""Non-negative tables of a parent's children, as near to their estimates as can be.

    minimise  Σ over children of (x − t)ᵀ W (x − t)
    such that x ≥ 0, the children add up to the parent cell by cell, impossible cells
              are 0, and every child has its fixed margin.

W is diagonal in the lattice, so the alternating direction method of multipliers (Boyd
et al. 2011) needs no linear solver: one step is an average or two (W and the margins,
which commute with it), the other a projection onto a simplex for each cell. The result
has exact parent sums. A margin lacks at most `FIT_TOLERANCE` of a person for each of its
cells, or the fit is reported as stopped; controlled rounding makes margins exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.censuses.lattice import AxisSet, Floats, MarginalLattice

FIT_TOLERANCE = 0.05
"""Persons by which the two steps may differ when the fit stops: rounding to whole
persons moves every cell further.
"""

MAX_FIT_STEPS = 150
"""Steps of one fit; half of them are enough for nearly all parents of a census."""

_PROJECTION_HALVINGS = 60
"""Halvings of an interval until doubles tell its ends no more apart."""


@dataclass(frozen=True, eq=False)
class FitProblem:
    """The children of one parent. `margin` is each child's fixed marginal over
    `margin_axes`; `live` marks the cells that may hold persons; `parent` is None for the
    root, which adds up to nothing.
    """

    target: Floats
    margin: Floats
    live: NDArray[np.bool_]
    parent: Floats | None


@dataclass(frozen=True, eq=False)
class FitMetric:
    """The operators of a level's fit, the same for all its parents."""

    lattice: MarginalLattice
    margin_axes: AxisSet
    towards_target: Mapping[AxisSet, float]
    towards_copy: Mapping[AxisSet, float]

    @classmethod
    def of(
        cls,
        lattice: MarginalLattice,
        eigenvalues: Mapping[AxisSet, float],
        margin_axes: AxisSet,
    ) -> FitMetric:
        """The metric with these eigenvalues of W."""
        known = [value for value in eigenvalues.values() if value > 0]
        # The penalty of the method: that of the detail, which has the most cells.
        whole = eigenvalues[lattice.sets[-1]]
        penalty = whole if whole > 0 else min(known, default=1.0)
        target = {s: value / (value + penalty) for s, value in eigenvalues.items()}
        copy = {s: penalty / (value + penalty) for s, value in eigenvalues.items()}
        return cls(
            lattice,
            margin_axes,
            lattice.weigh_averages(target),
            lattice.weigh_averages(copy),
        )

    def fix_margin(self, table: Floats, margin: Floats) -> Floats:
        """The nearest tables with this margin: in W too, which commutes with it."""
        cells = self.lattice.cells / self.lattice.count_cells(self.margin_axes)
        wanted = self.lattice.expand_marginal(self.margin_axes, margin) / cells
        return table + (wanted - self.lattice.average_table(table, self.margin_axes))


def fit_children(problem: FitProblem, metric: FitMetric) -> tuple[Floats, int]:
    """The fitted tables, and how many steps that took; `MAX_FIT_STEPS` if the fit was
    stopped.
    """
    pull = metric.lattice.apply_operator(metric.towards_target, problem.target)
    copy = np.where(problem.live, np.maximum(problem.target, 0.0), 0.0)
    copy = _project_cells(copy, problem)
    dual = np.zeros_like(copy)
    steps = 0
    while steps < MAX_FIT_STEPS:
        steps += 1
        smooth = pull + metric.lattice.apply_operator(metric.towards_copy, copy - dual)
        smooth = metric.fix_margin(smooth, problem.margin)
        before = copy
        copy = _project_cells(smooth + dual, problem)
        gap = smooth - copy
        dual += gap
        # Both residuals: that the copies agree, and that they have stopped moving.
        if max(np.abs(gap).max(), np.abs(copy - before).max()) < FIT_TOLERANCE:
            break
    return copy, steps


def _project_cells(table: Floats, problem: FitProblem) -> Floats:
    """The nearest tables that are non-negative, live and add up to the parent."""
    if problem.parent is None:
        return np.where(problem.live, np.maximum(table, 0.0), 0.0)
    result = np.zeros_like(table)
    cells = problem.live & (problem.parent > 0)
    result[:, cells] = project_simplices(table[:, cells], problem.parent[cells])
    return result


def project_simplices(points: Floats, sums: Floats) -> Floats:
    """Each column of `points` moved to the nearest non-negative one with its sum.

    >>> project_simplices(np.array([[3.0], [-1.0], [2.0]]), np.array([3.0])).ravel().tolist()
    [2.0, 0.0, 1.0]
    """
    falling = -np.sort(-points, axis=0)
    count = np.arange(1, len(points) + 1)[:, None]
    shift = (np.cumsum(falling, axis=0) - sums) / count
    # The shift of the largest number of entries that stay positive under it.
    last = np.count_nonzero(falling > shift, axis=0) - 1
    chosen = np.take_along_axis(shift, np.maximum(last, 0)[None, :], axis=0)
    return np.maximum(points - chosen, 0.0)


def project_between(
    points: Floats, sums: Floats, lower: Floats, upper: Floats, spread: Floats
) -> Floats:
    """Each column of `points` moved to the nearest one between the bounds with its sum;
    entries are moved in proportion to their `spread` (variances). The bounds must admit
    the sum.

    >>> ones = np.ones((2, 1))
    >>> project_between(3 * ones, np.array([4.0]), 0 * ones, np.array([[1.0], [9]]), ones).ravel()
    array([1., 3.])
    """
    top = np.minimum(upper, lower + (sums - lower.sum(axis=0)))
    low = ((points - top) / spread).min(axis=0)
    high = ((points - lower) / spread).max(axis=0)
    for _ in range(_PROJECTION_HALVINGS):
        middle = (low + high) / 2
        moved = np.clip(points - middle * spread, lower, top).sum(axis=0)
        low = np.where(moved > sums, middle, low)
        high = np.where(moved > sums, high, middle)
    projected: Floats = np.clip(points - (low + high) / 2 * spread, lower, top)
    return projected
