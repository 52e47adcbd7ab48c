"""Generalised least squares for a whole hierarchy, exactly and in closed form.

Every level is measured by marginals of independent noise. On each component of the
lattice (lattice.py) a measured marginal is the true component plus noise of one known
variance, so the whole problem falls apart into one tree of scalars for each component:
upwards, each unit's own answers are combined with the sum of its children; downwards,
what the parent knows better is handed to the children in proportion to their variances
(Hay et al. 2010 for one variance; here each unit has its own). The result is linear and
unbiased, and no linear unbiased estimate of any table has a smaller variance.

Variances are those of the estimates themselves. An answer without noise has the
variance `EXACT_ANSWER_VARIANCE`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.censuses.hierarchy import Hierarchy, HierarchyPart
from understudy.censuses.lattice import (
    AxisSet,
    Floats,
    MarginalLattice,
    sum_to_marginal,
)

EXACT_ANSWER_VARIANCE = 1e-10
"""Persons² of an invariant's answer: below all noise, above what doubles round away."""


@dataclass(frozen=True, eq=False)
class LevelAnswer:
    """Noisy marginals of all units of one level, and the variance of their noise."""

    level: int
    axes: AxisSet
    values: NDArray[Any]
    variance: float


@dataclass(frozen=True, eq=False)
class Component:
    """One component of the tables of a level: marginal over its axes, unit by unit, and
    the variance of each unit; infinite where nothing was measured.
    """

    values: Floats
    variance: Floats


LevelComponents = dict[AxisSet, Component]


@dataclass(frozen=True, eq=False)
class HierarchyEstimate:
    """Estimated tables of every unit, component by component."""

    lattice: MarginalLattice
    levels: tuple[LevelComponents, ...]
    upward_variances: tuple[Mapping[AxisSet, Floats], ...] = ()
    """Variances of each unit by level before its parent's knowledge is handed down: those
    of the units of one level are independent.
    """

    def estimate_table(
        self, level: int, query: AxisSet, units: slice | None = None
    ) -> Floats:
        """Estimates of a marginal for all units of a level, or for some."""
        some = slice(None) if units is None else units
        parts = {
            axes: part.values[some]
            for axes, part in self.levels[level].items()
            if self.lattice.rank(axes, query)
        }
        count = len(next(iter(self.levels[level].values())).variance[some])
        return join_components(self.lattice, query, parts, count)

    def variances(self, level: int, query: AxisSet) -> Floats:
        """The variance of one cell of a marginal, for every unit of a level."""
        return join_variances(self.lattice, query, self.component_variances(level))

    def component_variances(self, level: int) -> dict[AxisSet, Floats]:
        """The variances of a level's components, unit by unit."""
        return {axes: part.variance for axes, part in self.levels[level].items()}

    def list_chunks(self, level: int) -> list[slice]:
        """Units of a level whose tables are asked for together: here all."""
        return [slice(0, len(next(iter(self.levels[level].values())).variance))]


class LeastSquaresTables(Protocol):
    """Estimated tables of every unit, held in memory or made when they are asked for."""

    @property
    def lattice(self) -> MarginalLattice:
        """The marginals that are estimated, ordered by what each contains."""

    @property
    def upward_variances(self) -> tuple[Mapping[AxisSet, Floats], ...]:
        """Variances of each unit by level before its parent's knowledge is handed down."""

    def estimate_table(
        self, level: int, query: AxisSet, units: slice | None = None
    ) -> Floats:
        """Estimates of a marginal for all units of a level, or for one of its chunks."""

    def variances(self, level: int, query: AxisSet) -> Floats:
        """The variance of one cell of a marginal, for every unit of a level."""

    def component_variances(self, level: int) -> dict[AxisSet, Floats]:
        """The variances of a level's components, unit by unit."""

    def list_chunks(self, level: int) -> list[slice]:
        """Units of a level whose tables are asked for together, siblings in one chunk."""


def join_components(
    lattice: MarginalLattice,
    query: AxisSet,
    parts: Mapping[AxisSet, Floats],
    units: int,
) -> Floats:
    """A marginal from the components that tell something of it."""
    result = np.zeros((units, *(lattice.shape[axis] for axis in query)))
    for axes, values in parts.items():
        met = tuple(axis for axis in axes if axis in query)
        summed = sum_to_marginal(values, axes, met)
        kept = [lattice.shape[i] if i in met else 1 for i in query]
        # A sum over fewer columns is spread evenly over the cells that share it.
        spread = lattice.count_cells(query) / lattice.count_cells(met)
        result += summed.reshape(units, *kept) / spread
    return result


def join_variances(
    lattice: MarginalLattice, query: AxisSet, variances: Mapping[AxisSet, Floats]
) -> Floats:
    """The variance of one cell of a marginal from those of the components."""
    cells = lattice.count_cells(query)
    result = np.zeros(len(next(iter(variances.values()))))
    for axes, variance in variances.items():
        rank = lattice.rank(axes, query)
        if rank:
            result += variance * (lattice.count_cells(axes) * rank / cells**2)
    return result


def estimate_tree(
    hierarchy: Hierarchy, lattice: MarginalLattice, answers: Sequence[LevelAnswer]
) -> HierarchyEstimate:
    """The least-squares estimate of all tables from all answers."""
    own = estimate_units(hierarchy, lattice, answers)
    levels: list[LevelComponents] = [{} for _ in own.levels]
    variances: list[dict[AxisSet, Floats]] = [{} for _ in own.levels]
    for axes in lattice.sets:
        parts = [components[axes] for components in own.levels]
        upward = pass_upwards(hierarchy, parts)
        for level, part in enumerate(pass_downwards(hierarchy, upward)):
            levels[level][axes] = part
            variances[level][axes] = upward[level].variance
    return HierarchyEstimate(lattice, tuple(levels), tuple(variances))


def estimate_units(
    hierarchy: Hierarchy, lattice: MarginalLattice, answers: Sequence[LevelAnswer]
) -> HierarchyEstimate:
    """The least-squares estimate of every unit from its own answers alone."""
    levels = []
    for level in range(len(hierarchy.levels)):
        units = slice(0, hierarchy.count_units(level))
        levels.append(
            {
                axes: combine_answers(lattice, axes, answers, level, units)
                for axes in lattice.sets
            }
        )
    return HierarchyEstimate(lattice, tuple(levels))


def combine_answers(
    lattice: MarginalLattice,
    axes: AxisSet,
    answers: Sequence[LevelAnswer],
    level: int,
    units: slice,
) -> Component:
    """One component of some units of a level from the answers that know it."""
    size, count = lattice.count_cells(axes), units.stop - units.start
    shape = [lattice.shape[axis] for axis in axes]
    weighted, precision = np.zeros((count, *shape)), 0.0
    for answer in answers:
        if answer.level == level and set(axes) <= set(answer.axes):
            # A cell of the marginal adds up this many noisy cells.
            summed_cells = lattice.count_cells(answer.axes) / size
            weight = 1 / (answer.variance * summed_cells)
            summed = sum_to_marginal(answer.values[units], answer.axes, axes)
            weighted += weight * summed
            precision += weight
    if not precision:
        return Component(weighted, np.full(count, np.inf))
    residual = lattice.keep_residual(axes, weighted / precision)
    return Component(residual, np.full(count, 1 / precision))


def pass_upwards(
    hierarchy: Hierarchy | HierarchyPart, parts: Sequence[Component]
) -> list[Component]:
    """Each unit's answers combined with the sum of its children, lowest level first."""
    combined = [parts[-1]]
    for level in range(len(parts) - 2, -1, -1):
        below, here = combined[0], parts[level]
        total = hierarchy.sum_children(level, below.values)
        total_variance = hierarchy.sum_children(level, below.variance)
        precision = 1 / here.variance + 1 / total_variance
        known = precision > 0
        safe = np.where(known, precision, 1.0)
        weight = _on_axis(1 / here.variance / safe, here.values)
        weight_below = _on_axis(1 / total_variance / safe, here.values)
        values = weight * here.values + weight_below * total
        combined.insert(0, Component(values, np.where(known, 1 / safe, np.inf)))
    return combined


def pass_downwards(
    hierarchy: Hierarchy | HierarchyPart, parts: Sequence[Component]
) -> list[Component]:
    """What each parent knows handed to its children, root first."""
    final = [parts[0]]
    for level in range(1, len(parts)):
        above, here = final[-1], parts[level]
        parent = hierarchy.parents(level)
        total = hierarchy.sum_children(level - 1, here.values)
        spread = hierarchy.sum_children(level - 1, here.variance)[parent]
        children = np.bincount(parent)[parent]
        # Units of one level are measured alike: all children are unknown, or none.
        is_known = np.isfinite(spread)
        own = np.where(is_known, here.variance, 0.0)
        share = np.where(is_known, own / np.where(is_known, spread, 1.0), 1 / children)
        handed = above.values - total
        values = here.values + _on_axis(share, here.values) * handed[parent]
        of_parent = above.variance[parent]
        known = own * (1 - share) + share**2 * np.where(is_known, of_parent, 0.0)
        variance = np.where(is_known, known, np.where(children == 1, of_parent, np.inf))
        final.append(Component(values, variance))
    return final


def _on_axis(weights: Floats, table: Floats) -> Floats:
    """One weight for each unit, ready to multiply its table."""
    return weights.reshape(-1, *[1] * (table.ndim - 1))


def average_precisions(
    estimate: LeastSquaresTables, level: int
) -> Mapping[AxisSet, float]:
    """The eigenvalues of a level's information matrix, with the mean variance of its
    units; 0 where nothing was measured.
    """
    eigenvalues = {}
    for axes, variances in estimate.component_variances(level).items():
        mean = float(variances.mean())
        spread = estimate.lattice.cells / estimate.lattice.count_cells(axes)
        eigenvalues[axes] = 0.0 if np.isinf(mean) else spread / mean
    return eigenvalues
