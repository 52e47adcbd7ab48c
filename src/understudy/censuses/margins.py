"""Margins first: whole numbers for the totals, or for the marginals that invariants are
about, of every unit, before any detail is fitted.

Once every unit has a margin that keeps its bounds and adds up to its parent's, the
detail below can always be fitted: inside one cell of the margin the children's tables
are a transportation problem with sums that agree.

Where all bounds of a level and those below are about one marginal, a parent's margin
can be divided among its children if and only if it lies between the sums of their
bounds, which `invariants.bound_levels` has seen to; each parent is then divided alone.
Above the first such level, where families of bounds meet (totals of states and
facilities of blocks), the few large units are one integer program, solved by HiGHS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from understudy.censuses.controlled_rounding import (
    UNBOUNDED_COUNT,
    Integers,
    exchange_rows,
    round_columns,
)
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.invariants import (
    CountBounds,
    LevelBounds,
    find_impossible,
)
from understudy.censuses.lattice import (
    AxisSet,
    Floats,
    MarginalLattice,
    sum_to_marginal,
)
from understudy.censuses.least_squares import LeastSquaresTables
from understudy.censuses.nonnegative_fit import project_between
from understudy.errors import Refused

MAX_PROGRAM_CELLS = 50_000
"""Cells of the margins in one integer program whose families of bounds are nested, so that
its linear relaxation is whole.
"""

MAX_CROSSING_CELLS = 5_000
"""The same where families cross: 3,400 cells take HiGHS 6 to 15 seconds."""

PROGRAM_GAP = 0.01
"""Part of the distance by which margins may miss the nearest ones. HiGHS finds them in
seconds where families cross, and then proves for hours that none are nearer.
"""


@dataclass(frozen=True, eq=False)
class LevelMargin:
    """The margins of a level's units: a marginal over `axes`, in whole persons."""

    axes: AxisSet
    counts: Integers


def count_program_levels(bounds: Sequence[LevelBounds]) -> int:
    """How many levels from the root on have bounds on more than one marginal."""
    return sum(1 for bounds_of in bounds if len(bounds_of) > 1)


def fix_margins(
    hierarchy: Hierarchy,
    estimate: LeastSquaresTables,
    bounds: Sequence[LevelBounds],
    impossible: NDArray[np.bool_],
) -> list[LevelMargin]:
    """The margins of all levels, the root first; `impossible` are structural zeros."""
    mixed = count_program_levels(bounds)
    margins = []
    if mixed:
        margins = _solve_program(hierarchy, estimate, bounds[:mixed], impossible)
    for level in range(mixed, len(hierarchy.levels)):
        axes = next(iter(bounds[level]), ())
        within = bounds[level].get(axes) or _open_bounds(hierarchy, level)
        if level == 0:
            target = np.rint(estimate.estimate_table(0, axes)).astype(np.int64)
            counts = np.clip(target, within.lower, within.upper)
        else:
            above = sum_to_marginal(margins[-1].counts, margins[-1].axes, axes)
            counts = _divide_margins(hierarchy, estimate, level, axes, above, within)
        margins.append(LevelMargin(axes, counts))
    return margins


def check_program(
    hierarchy: Hierarchy,
    lattice: MarginalLattice,
    bounds: Sequence[LevelBounds],
    impossible: NDArray[np.bool_],
) -> None:
    """Refuse bounds on several marginals that no margins keep together, or that are too
    many for the integer program.
    """
    mixed = count_program_levels(bounds)
    if not mixed:
        return
    cells = lattice.count_cells(_union_axes(bounds[:mixed]))
    units = sum(hierarchy.count_units(level) for level in range(mixed))
    most = MAX_CROSSING_CELLS if _has_crossing(bounds[:mixed]) else MAX_PROGRAM_CELLS
    if units * cells > most:
        raise Refused(
            f"census: invariants on different marginals meet in {units * cells:,} cells,"
            f" more than {most:,}. Declare them for one marginal, or for fewer and larger"
            " units. Nothing was spent"
        )
    targets = [
        np.zeros((hierarchy.count_units(level), cells)) for level in range(mixed)
    ]
    closed = find_impossible(impossible, _union_axes(bounds[:mixed]))
    program = _Program(
        hierarchy, lattice, bounds[:mixed], targets, [0.0] * mixed, closed
    )
    if program.solve() is None:
        raise Refused(
            "census: no table keeps all invariants, bounds and structural zeros at once."
            " Nothing was spent"
        )


def _open_bounds(hierarchy: Hierarchy, level: int) -> CountBounds:
    units = hierarchy.count_units(level)
    return CountBounds(np.zeros(units, np.int64), np.full(units, UNBOUNDED_COUNT))


def _has_crossing(bounds: Sequence[LevelBounds]) -> bool:
    """Whether of two families of bounds neither is a marginal of the other."""
    families = {axes for bounds_of in bounds for axes in bounds_of}
    pairs = combinations(sorted(families, key=len), 2)
    return any(not set(small) <= set(large) for small, large in pairs)


def _union_axes(bounds: Sequence[LevelBounds]) -> AxisSet:
    return tuple(sorted({axis for each in bounds for axes in each for axis in axes}))


def _divide_margins(
    hierarchy: Hierarchy,
    estimate: LeastSquaresTables,
    level: int,
    axes: AxisSet,
    above: Integers,
    within: CountBounds,
) -> Integers:
    """The margins of all units of a level, parent by parent."""
    units = hierarchy.count_units(level)
    target = estimate.estimate_table(level, axes).reshape(units, -1)
    totals = estimate.estimate_table(level, ())
    spread = _finite_variances(estimate, level, ())
    cell_spread = _finite_variances(estimate, level, axes)
    lower = within.lower.reshape(units, -1)
    upper = within.upper.reshape(units, -1)
    result = np.zeros(target.shape, np.int64)
    starts = hierarchy.child_starts(level - 1)
    for parent, sums in enumerate(above.reshape(len(starts) - 1, -1)):
        here = slice(starts[parent], starts[parent + 1])
        low, high = lower[here], upper[here]
        divided = _divide(target[here], sums, low, high, cell_spread[here])
        if target.shape[1] > 1:
            # Totals are known better than the sum of a margin's cells.
            rows = _divide(
                totals[here, None],
                sums.sum(keepdims=True),
                low.sum(axis=1, keepdims=True),
                np.minimum(
                    high.astype(float).sum(axis=1, keepdims=True), UNBOUNDED_COUNT
                ).astype(np.int64),
                spread[here],
            )
            fitted = divided.astype(float)
            divided = exchange_rows(divided, fitted, rows[:, 0], lower=low, upper=high)
        result[here] = divided
    return result.reshape(within.lower.shape)


def _divide(
    target: Floats, sums: Integers, lower: Integers, upper: Integers, spread: Floats
) -> Integers:
    """Whole numbers between bounds with these column sums, near the target."""
    weights = np.repeat(spread[:, None], target.shape[1], axis=1)
    fitted = project_between(
        target, sums.astype(float), lower.astype(float), upper.astype(float), weights
    )
    return round_columns(fitted, sums, lower=lower, upper=upper)


def _finite_variances(
    estimate: LeastSquaresTables, level: int, axes: AxisSet
) -> Floats:
    """Variances of a level's units as weights; all alike where nothing is known."""
    variances = estimate.variances(level, axes)
    return np.where(np.isfinite(variances) & (variances > 0), variances, 1.0)


def _solve_program(
    hierarchy: Hierarchy,
    estimate: LeastSquaresTables,
    bounds: Sequence[LevelBounds],
    impossible: NDArray[np.bool_],
) -> list[LevelMargin]:
    """The margins of the upper levels, on which several families of bounds meet."""
    axes = _union_axes(bounds)
    lattice = estimate.lattice
    targets, weights = [], []
    for level in range(len(bounds)):
        units = hierarchy.count_units(level)
        targets.append(estimate.estimate_table(level, axes).reshape(units, -1))
        deviation = np.sqrt(_finite_variances(estimate, level, axes).mean())
        weights.append(1 / float(deviation))
    closed = find_impossible(impossible, axes)
    program = _Program(hierarchy, lattice, bounds, targets, weights, closed)
    solved = program.solve()
    if solved is None:
        # Bounds were tried before anything was spent, so this is the solver's failure.
        raise Refused(
            "census: HiGHS found no margins although there are some. What was measured"
            " is kept in the ledger: resume the run, or leave out an invariant"
        )
    sizes = tuple(lattice.shape[axis] for axis in axes)
    return [LevelMargin(axes, table.reshape(len(table), *sizes)) for table in solved]


class _Program:
    """Whole numbers near targets under sums and bounds: |y − t| is the sum of two
    non-negative parts u and v, with y − u + v = t.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        lattice: MarginalLattice,
        bounds: Sequence[LevelBounds],
        targets: Sequence[Floats],
        weights: Sequence[float],
        closed: NDArray[np.bool_],
    ) -> None:
        self.hierarchy = hierarchy
        self.lattice = lattice
        self.bounds = bounds
        self.targets = targets
        self.weights = weights
        self.closed = closed.reshape(-1)
        self.axes = _union_axes(bounds)
        self.starts = np.concatenate([[0], np.cumsum([t.size for t in targets])])

    def solve(self) -> list[Integers] | None:
        """One table of margins a level; None where there are none."""
        size = int(self.starts[-1])
        weight = np.repeat(self.weights, [t.size for t in self.targets])
        target = np.concatenate([t.ravel() for t in self.targets])
        cell_most = np.where(self.closed, 0.0, np.inf)
        most = np.tile(cell_most, size // len(cell_most))
        identity = sparse.identity(size, format="csr")
        near = sparse.hstack([identity, -identity, identity])
        constraints = [LinearConstraint(near, target, target)]
        promised = self._list_sums()
        for matrix, low, high in promised:
            padding = sparse.csr_array((matrix.shape[0], 2 * size))
            constraints.append(
                LinearConstraint(sparse.hstack([matrix, padding]), low, high)
            )
        solved = milp(
            np.concatenate([np.zeros(size), weight, weight]),
            integrality=np.concatenate([np.ones(size), np.zeros(2 * size)]),
            bounds=Bounds(0, np.concatenate([most, np.full(2 * size, np.inf)])),
            constraints=constraints,
            options={"mip_rel_gap": PROGRAM_GAP},
        )
        if solved.x is None:
            return None
        whole = np.rint(solved.x[:size]).astype(np.int64)
        # HiGHS keeps sums to a tolerance; whole numbers keep them or are no solution.
        for matrix, low, high in promised:
            sums = matrix @ whole
            if (sums < low).any() or (sums > high).any():
                return None
        parts = zip(self.targets, self.starts, self.starts[1:], strict=False)
        return [whole[a:b].reshape(table.shape) for table, a, b in parts]

    def _list_sums(self) -> list[tuple[Any, Floats, Floats]]:
        """Every constraint: children add up to parents, marginals keep their bounds."""
        found = []
        cells = self.targets[0].shape[1]
        for level, bounds_of in enumerate(self.bounds):
            units = self.hierarchy.count_units(level)
            for axes, bounds in bounds_of.items():
                summing = sparse.kron(
                    sparse.identity(units), self._marginal_matrix(axes)
                )
                low = bounds.lower.ravel().astype(float)
                high = np.where(bounds.upper >= UNBOUNDED_COUNT, np.inf, bounds.upper)
                found.append((self._place(summing, level), low, high.ravel()))
            if level:
                parent = self.hierarchy.parents(level)
                above = self.hierarchy.count_units(level - 1)
                member = sparse.csr_array(
                    (np.ones(units), (parent, np.arange(units))), shape=(above, units)
                )
                children = self._place(
                    sparse.kron(member, sparse.identity(cells)), level
                )
                own = self._place(sparse.identity(above * cells), level - 1)
                zero = np.zeros(above * cells)
                found.append((children - own, zero, zero))
        return found

    def _marginal_matrix(self, axes: AxisSet) -> Any:
        """The matrix that sums the margin's cells to a smaller marginal."""
        sizes = [self.lattice.shape[axis] for axis in self.axes]
        places = (
            np.unravel_index(np.arange(int(np.prod(sizes))), sizes) if sizes else ()
        )
        row = np.zeros(self.targets[0].shape[1], np.int64)
        for axis, place in zip(self.axes, places, strict=True):
            if axis in axes:
                row = row * self.lattice.shape[axis] + place
        count = self.lattice.count_cells(axes)
        cell = np.arange(len(row))
        return sparse.csr_array(
            (np.ones(len(row)), (row, cell)), shape=(count, len(row))
        )

    def _place(self, matrix: Any, level: int) -> Any:
        """A matrix about one level's cells, among the cells of all."""
        before: Any = sparse.csr_array((matrix.shape[0], int(self.starts[level])))
        rest = int(self.starts[-1] - self.starts[level + 1])
        after: Any = sparse.csr_array((matrix.shape[0], rest))
        return sparse.csr_array(sparse.hstack([before, matrix, after]))
