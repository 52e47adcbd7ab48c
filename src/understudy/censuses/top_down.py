"""Top-down: the detail of every unit, parent by parent from the root, in whole persons.

Each parent is one small problem: its children's tables, non-negative, adding up to its
own and with the margins that are fixed already (nonnegative_fit.py), then rounded with
the same sums (controlled_rounding.py). Parents of one level are independent and are
fitted side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.censuses.controlled_rounding import (
    Integers,
    exchange_rows,
    round_columns,
)
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.householders import HouseholderNeeds
from understudy.censuses.lattice import Floats, MarginalLattice, number_parts
from understudy.censuses.least_squares import HierarchyEstimate, average_precisions
from understudy.censuses.margins import LevelMargin
from understudy.censuses.nonnegative_fit import (
    MAX_FIT_STEPS,
    FitMetric,
    FitProblem,
    fit_children,
)


@dataclass(frozen=True, eq=False)
class FittedTables:
    """Whole tables of all units by level, and how the fits went."""

    tables: tuple[Integers, ...]
    fits: int
    stopped_fits: int
    """Fits that were stopped before their tolerance; their sums are exact all the same."""


def fit_tables(
    hierarchy: Hierarchy,
    estimate: HierarchyEstimate,
    margins: Sequence[LevelMargin],
    impossible: NDArray[np.bool_],
    *,
    householders: HouseholderNeeds | None = None,
    workers: int = 1,
    progress: Callable[[float], None] = lambda _: None,
) -> FittedTables:
    """The tables of every unit, from estimates and margins alone; `householders` says
    how many householders each needs.
    """
    lattice = estimate.lattice
    whole = tuple(range(len(lattice.shape)))
    tables: list[Integers] = []
    steps: list[int] = []
    for level, margin in enumerate(margins):
        metric = FitMetric.of(lattice, average_precisions(estimate, level), margin.axes)
        target = estimate.estimate_table(level, whole)
        family = _Family(
            metric, target, margin.counts, ~impossible, level, householders
        )
        if level == 0:
            table, taken = family.fit_root()
            tables.append(table)
            steps.append(taken)
            continue
        starts = hierarchy.child_starts(level - 1)
        found = _fit_parents(family, tables[-1], starts, workers)
        tables.append(np.concatenate([table for table, _ in found]))
        steps += [taken for _, taken in found]
        progress(level / (len(margins) - 1))
    stopped = sum(1 for taken in steps if taken == MAX_FIT_STEPS)
    return FittedTables(tuple(tables), len(steps), stopped)


def _fit_parents(
    family: _Family, above: Integers, starts: Integers, workers: int
) -> list[tuple[Integers, int]]:
    def fit_one(parent: int) -> tuple[Integers, int]:
        here = slice(int(starts[parent]), int(starts[parent + 1]))
        return family.fit_parent(above[parent], here)

    parents = range(len(above))
    if workers == 1:
        return [fit_one(parent) for parent in parents]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(fit_one, parents))


@dataclass(frozen=True, eq=False)
class _Family:
    """The units of one level: their estimates, margins and metric."""

    metric: FitMetric
    target: Floats
    margins: Integers
    possible: NDArray[np.bool_]
    level: int
    householders: HouseholderNeeds | None

    @property
    def lattice(self) -> MarginalLattice:
        return self.metric.lattice

    def fit_root(self) -> tuple[Integers, int]:
        """The root's table, which adds up to nothing but its own margin."""
        margin = self.margins.astype(float)
        problem = FitProblem(self.target, margin, self.possible, None)
        fitted, steps = fit_children(problem, self.metric)
        result = np.zeros(fitted.size, np.int64)
        for cells, sums in self._split_parts(self.possible, self.margins):
            if len(cells):
                column = fitted.reshape(-1)[cells][:, None]
                result[cells] = round_columns(column, sums)[:, 0]
        table = result.reshape(fitted.shape)
        if self.householders is not None:
            table = self.householders.mend_root(table, fitted, self.possible)
        return table, steps

    def fit_parent(self, parent: Integers, here: slice) -> tuple[Integers, int]:
        """The tables of one parent's children."""
        if here.stop - here.start == 1:
            return parent[None], 0
        live = self.possible & (parent > 0)
        margin = self.margins[here]
        problem = FitProblem(
            self.target[here], margin.astype(float), live, parent.astype(float)
        )
        fitted, steps = fit_children(problem, self.metric)
        flat = fitted.reshape(len(fitted), -1)
        result = np.zeros(flat.shape, np.int64)
        sums = parent.reshape(-1)
        for cells, rows in self._split_parts(live, margin):
            if len(cells):
                table = flat[:, cells]
                rounded = round_columns(table, sums[cells])
                result[:, cells] = exchange_rows(rounded, table, rows)
        tables = result.reshape(fitted.shape)
        if self.householders is not None:
            tables = self.householders.exchange_persons(
                tables, fitted, self.level, here
            )
        return tables, steps

    def _split_parts(
        self, live: NDArray[np.bool_], margin: Integers
    ) -> list[tuple[Integers, Integers]]:
        """For each cell of the margin, the live cells of the table inside it, and every
        child's number of persons there.
        """
        part = number_parts(self.lattice.shape, self.metric.margin_axes)
        sums = margin.reshape(len(margin), -1)
        places = np.flatnonzero(live.reshape(-1))
        parts = part[places]
        return [(places[parts == i], sums[:, i]) for i in range(sums.shape[1])]
