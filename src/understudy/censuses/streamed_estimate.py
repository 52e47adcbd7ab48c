"""Least squares for countries whose tables do not fit into memory.

Going up the tree (least_squares.py) a parent needs nothing of its children but their sum,
and going down they need nothing but the parent. So the upper levels are held, as many as
`MAX_HELD_CELLS` admits, and everything below is made again when it is asked for, chunk by
chunk: some neighbouring units of the last held level with all that lies in them. Noisy
answers stay as small integers. Estimates are those of `estimate_tree`, and variances,
which no values are needed for, are held for all units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.lattice import AxisSet, Floats, MarginalLattice
from understudy.censuses.least_squares import (
    Component,
    LeastSquaresTables,
    LevelAnswer,
    combine_answers,
    estimate_tree,
    estimate_units,
    join_components,
    join_variances,
    pass_downwards,
    pass_upwards,
)

MAX_HELD_CELLS = 1 << 25
"""Cells of all units up to which their estimates are held: 256 MiB for each component."""

CHUNK_CELLS = 1 << 22
"""Cells of the lowest units in one chunk: 32 MiB for each component."""

Variances = dict[AxisSet, Floats]


@dataclass(frozen=True, eq=False)
class StreamedEstimate:
    """Estimated tables of every unit. `is_tree` says whether all levels are combined, or
    each unit is estimated from its own answers.
    """

    hierarchy: Hierarchy
    lattice: MarginalLattice
    answers: tuple[LevelAnswer, ...]
    is_tree: bool
    held_level: int
    """The lowest level whose estimates are held."""

    @cached_property
    def upward_variances(self) -> tuple[Variances, ...]:
        """Variances of each unit by level before its parent's knowledge is handed down."""
        return self._variances[0]

    @cached_property
    def _variances(self) -> tuple[tuple[Variances, ...], tuple[Variances, ...]]:
        return vary_tree(self.hierarchy, self.lattice, self.answers, self.is_tree)

    def component_variances(self, level: int) -> Variances:
        """The variances of a level's components, unit by unit."""
        return self._variances[1][level]

    def variances(self, level: int, query: AxisSet) -> Floats:
        """The variance of one cell of a marginal, for every unit of a level."""
        return join_variances(self.lattice, query, self.component_variances(level))

    def list_chunks(self, level: int) -> list[slice]:
        """Units of a level whose tables are made together, siblings in one chunk."""
        if level <= self.held_level:
            return [slice(0, self.hierarchy.count_units(level))]
        below = level - self.held_level
        cut = self.hierarchy.cut_below
        return [cut(self.held_level, each).ranges[below] for each in self._tops]

    def estimate_table(
        self, level: int, query: AxisSet, units: slice | None = None
    ) -> Floats:
        """Estimates of a marginal for all units of a level, or for one of its chunks."""
        if units is None:
            parts = [
                self.estimate_table(level, query, c) for c in self.list_chunks(level)
            ]
            return np.concatenate(parts)
        place = self.list_chunks(level).index(units)
        known = {
            axes: self._estimate_component(axes, level, place)
            for axes in self.lattice.sets
            if self.lattice.rank(axes, query)
        }
        return join_components(self.lattice, query, known, units.stop - units.start)

    def _estimate_component(self, axes: AxisSet, level: int, place: int) -> Floats:
        held = self.held_level
        if level <= held:
            return self._held_components[axes][level].values
        top = self._tops[place]
        part = self.hierarchy.cut_below(held, top)
        own = self._combine_chunk(axes, part.ranges)
        if not self.is_tree:
            return own[level - held].values
        upward = pass_upwards(part, own)
        above = self._held_components[axes][held]
        upward[0] = Component(above.values[top], above.variance[top])
        return pass_downwards(part, upward)[level - held].values

    def _combine_chunk(
        self, axes: AxisSet, ranges: tuple[slice, ...]
    ) -> list[Component]:
        return [
            combine_answers(self.lattice, axes, self.answers, self.held_level + i, each)
            for i, each in enumerate(ranges)
        ]

    @cached_property
    def _tops(self) -> list[slice]:
        """Units of the last held level, as many together as a chunk may have cells."""
        starts = np.arange(self.hierarchy.count_units(self.held_level) + 1)
        for level in range(self.held_level, len(self.hierarchy.columns)):
            starts = self.hierarchy.child_starts(level)[starts]
        leaves = max(CHUNK_CELLS // self.lattice.cells, 1)
        tops, first = [], 0
        while first < len(starts) - 1:
            fits = int(np.searchsorted(starts, starts[first] + leaves, side="right"))
            last = max(fits - 1, first + 1)
            tops.append(slice(first, last))
            first = last
        return tops

    @cached_property
    def _held_components(self) -> dict[AxisSet, list[Component]]:
        """The components of the held levels."""
        return {axes: self._estimate_held(axes) for axes in self.lattice.sets}

    def _estimate_held(self, axes: AxisSet) -> list[Component]:
        units = [
            slice(0, self.hierarchy.count_units(level))
            for level in range(self.held_level + 1)
        ]
        own = [
            combine_answers(self.lattice, axes, self.answers, level, each)
            for level, each in enumerate(units)
        ]
        if not self.is_tree:
            return own
        lowest = [self._pass_chunk_upwards(axes, top) for top in self._tops]
        own[-1] = Component(
            np.concatenate([each.values for each in lowest]),
            np.concatenate([each.variance for each in lowest]),
        )
        return pass_downwards(self.hierarchy, pass_upwards(self.hierarchy, own))

    def _pass_chunk_upwards(self, axes: AxisSet, top: slice) -> Component:
        part = self.hierarchy.cut_below(self.held_level, top)
        return pass_upwards(part, self._combine_chunk(axes, part.ranges))[0]


def vary_tree(
    hierarchy: Hierarchy,
    lattice: MarginalLattice,
    answers: Sequence[LevelAnswer],
    is_tree: bool = True,
) -> tuple[tuple[Variances, ...], tuple[Variances, ...]]:
    """The variances of all components by level, on the way up and at the end, without a
    table.
    """
    levels = range(len(hierarchy.levels))
    upward: tuple[Variances, ...] = tuple({} for _ in levels)
    final: tuple[Variances, ...] = tuple({} for _ in levels)
    for axes in lattice.sets:
        own = [_vary_units(hierarchy, lattice, axes, answers, i) for i in levels]
        up = pass_upwards(hierarchy, own) if is_tree else own
        end = pass_downwards(hierarchy, up) if is_tree else own
        for level in levels:
            upward[level][axes] = up[level].variance
            final[level][axes] = end[level].variance
    return upward, final


def _vary_units(
    hierarchy: Hierarchy,
    lattice: MarginalLattice,
    axes: AxisSet,
    answers: Sequence[LevelAnswer],
    level: int,
) -> Component:
    """A component of a level without its values: one zero for each unit."""
    precision = sum(
        lattice.count_cells(axes) / lattice.count_cells(answer.axes) / answer.variance
        for answer in answers
        if answer.level == level and set(axes) <= set(answer.axes)
    )
    units = hierarchy.count_units(level)
    variance = 1 / precision if precision else np.inf
    return Component(np.zeros(units), np.full(units, variance))


def estimate_answers(
    hierarchy: Hierarchy,
    lattice: MarginalLattice,
    answers: Sequence[LevelAnswer],
    *,
    is_tree: bool = True,
) -> LeastSquaresTables:
    """Least squares of the whole tree, or of each unit alone: held in memory where it
    fits, else streamed.
    """
    if hierarchy.unit_count * lattice.cells <= MAX_HELD_CELLS:
        estimate = estimate_tree if is_tree else estimate_units
        return estimate(hierarchy, lattice, answers)
    held, cells = 0, lattice.cells
    for level in range(1, len(hierarchy.columns)):
        cells += hierarchy.count_units(level) * lattice.cells
        if cells <= MAX_HELD_CELLS:
            held = level
    return StreamedEstimate(hierarchy, lattice, tuple(answers), is_tree, held)
