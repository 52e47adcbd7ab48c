"""Top-down: the detail of every unit, parent by parent from the root, in whole persons.

Each parent is one small problem: its children's tables, non-negative, adding up to its
own and with the margins that are fixed already (nonnegative_fit.py), then rounded with
the same sums (controlled_rounding.py). Parents of one level are independent: tasks of
some of them are fitted one after the other, or on workers of several kinds (workers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from understudy.censuses.least_squares import LeastSquaresTables, average_precisions
from understudy.censuses.margins import LevelMargin
from understudy.censuses.nonnegative_fit import (
    MAX_FIT_STEPS,
    FitMetric,
    FitProblem,
    fit_children,
    project_simplices,
)
from understudy.censuses.streamed_estimate import MAX_HELD_CELLS

TASK_CELLS = 1 << 19
"""Cells of the children in one task: 4 MiB, a fraction of a second's work."""

FittedFamilies = tuple[Integers, list[int]]
"""The tables of the children of some parents, and the steps of each fit."""


@dataclass(frozen=True, eq=False)
class FittedTables:
    """Whole tables of all units by level, and how the fits went."""

    tables: tuple[Integers, ...]
    fits: int
    stopped_fits: int
    """Fits that were stopped before their tolerance; their sums are exact all the same."""


MapFamilies = Callable[
    [Callable[["FamilyTask"], FittedFamilies], Iterable["FamilyTask"]],
    Iterable[FittedFamilies],
]
"""How the parents of a level are gone through: one by one, or on a cluster. Results come in
the order of the tasks.
"""


def fit_tables(
    hierarchy: Hierarchy,
    estimate: LeastSquaresTables,
    margins: Sequence[LevelMargin],
    impossible: NDArray[np.bool_],
    *,
    householders: HouseholderNeeds | None = None,
    map_families: MapFamilies = map,
    progress: Callable[[float], None] = lambda _: None,
) -> FittedTables:
    """The tables of every unit, from estimates and margins alone; `householders` says
    how many householders each needs.
    """
    tables: list[Integers] = []
    steps: list[int] = []
    hints = _sum_lowest_fits(hierarchy, estimate, margins, ~impossible)
    for level, margin in enumerate(margins):
        metric = FitMetric.of(
            estimate.lattice, average_precisions(estimate, level), margin.axes
        )
        whole = tuple(range(len(estimate.lattice.shape)))
        if level == 0:
            target = estimate.estimate_table(0, whole) + hints[0]
            family = _Family(metric, target, margin.counts, ~impossible, householders)
            table, taken = family.fit_root()
            tables.append(table)
            steps.append(taken)
            continue
        shape = (len(margin.counts), *estimate.lattice.shape)
        fitted = np.empty(shape, _choose_type(margin, estimate.lattice))
        starts = hierarchy.child_starts(level - 1)
        for chunk in estimate.list_chunks(level):
            target = estimate.estimate_table(level, whole, chunk) + hints[level]
            parents = np.searchsorted(starts, [chunk.start, chunk.stop])
            tasks = _list_tasks(
                _Family(metric, target, margin.counts[chunk], ~impossible, None),
                tables[-1][parents[0] : parents[1]],
                starts[parents[0] : parents[1] + 1] - chunk.start,
                _cut_needs(householders, level, chunk),
            )
            at = chunk.start
            for found, taken_here in map_families(fit_families, tasks):
                fitted[at : at + len(found)] = found
                at += len(found)
                steps += taken_here
        tables.append(fitted)
        progress(level / (len(margins) - 1))
    stopped = sum(1 for taken in steps if taken == MAX_FIT_STEPS)
    return FittedTables(tuple(tables), len(steps), stopped)


def _sum_lowest_fits(
    hierarchy: Hierarchy,
    estimate: LeastSquaresTables,
    margins: Sequence[LevelMargin],
    possible: NDArray[np.bool_],
) -> list[Floats | float]:
    """What is added to the detail of each level where no query of any level tells it: that
    of the lowest units, each fitted alone, added up. Least squares spreads such detail
    evenly, and a parent fitted to that lacks persons whom its children are known to have.
    """
    lattice, lowest = estimate.lattice, len(margins) - 1
    whole = lattice.sets[-1]
    is_told = any(
        np.isfinite(estimate.component_variances(level)[whole]).any()
        for level in range(len(margins))
    )
    if is_told or hierarchy.unit_count * lattice.cells > MAX_HELD_CELLS:
        return [0.0] * len(margins)
    margin = margins[lowest]
    metric = FitMetric.of(lattice, average_precisions(estimate, lowest), margin.axes)
    alone = estimate.estimate_table(lowest, whole)
    step = max(TASK_CELLS // lattice.cells, 1)
    for first in range(0, len(alone), step):
        some = slice(first, first + step)
        persons = margin.counts[some].astype(float)
        problem = FitProblem(alone[some], persons, possible, None)
        alone[some], _ = fit_children(problem, metric)
    hints: list[Floats | float] = [0.0]
    for level in range(lowest - 1, -1, -1):
        alone = hierarchy.sum_children(level, alone)
        hints.insert(0, lattice.keep_residual(whole, alone))
    return hints


def _choose_type(
    margin: LevelMargin, lattice: MarginalLattice
) -> type[np.integer[Any]]:
    """The integers of a level's tables: small ones where 64 bits would fill the memory."""
    units = margin.counts.reshape(len(margin.counts), -1)
    if units.shape[0] * lattice.cells <= MAX_HELD_CELLS:
        return np.int64
    largest = units.max(initial=0)
    return np.int16 if largest <= np.iinfo(np.int16).max else np.int32


def _cut_needs(
    householders: HouseholderNeeds | None, level: int, units: slice
) -> HouseholderNeeds | None:
    if householders is None:
        return None
    return replace(householders, needed=(householders.needed[level][units],))


def _list_tasks(
    family: _Family,
    above: Integers,
    starts: Integers,
    householders: HouseholderNeeds | None,
) -> Iterator[FamilyTask]:
    """Neighbouring parents of a chunk, some megabytes together."""
    children = max(TASK_CELLS // family.lattice.cells, 1)
    first = 0
    while first < len(above):
        fits = int(np.searchsorted(starts, starts[first] + children, side="right"))
        last = min(max(fits - 1, first + 1), len(above))
        here = slice(int(starts[first]), int(starts[last]))
        part = replace(
            family,
            target=family.target[here],
            margins=family.margins[here],
            householders=_cut_needs(householders, 0, here),
        )
        yield FamilyTask(
            part, above[first:last], starts[first : last + 1] - starts[first]
        )
        first = last


@dataclass(frozen=True, eq=False)
class FamilyTask:
    """Some parents, their tables and what is known of their children: noisy answers and
    declared facts alone.
    """

    family: _Family
    above: Integers
    starts: Integers


def fit_families(task: FamilyTask) -> FittedFamilies:
    """The children of some parents, one parent after the other."""
    tables, steps = [], []
    for parent, above in enumerate(task.above):
        here = slice(int(task.starts[parent]), int(task.starts[parent + 1]))
        table, taken = task.family.fit_parent(above, here)
        tables.append(table)
        steps.append(taken)
    return np.concatenate(tables), steps


@dataclass(frozen=True, eq=False)
class _Family:
    """The units of one level: their estimates, margins and metric."""

    metric: FitMetric
    target: Floats
    margins: Integers
    possible: NDArray[np.bool_]
    householders: HouseholderNeeds | None
    """Those of these units alone, as if they were a level."""

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
                # A fit that was stopped may lack many persons of its margin.
                column = project_simplices(column, sums.astype(float))
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
            tables = self.householders.exchange_persons(tables, fitted, 0, here)
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
