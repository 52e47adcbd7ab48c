"""Label groups: coarser marginals of columns with many labels, where the schema says how
labels are grouped (code → chapter, town → region).

A marginal of a thousand codes and another column has too few rows in a cell for its
counts to survive the noise. The same marginal of twenty chapters does not, and if codes
of a chapter are alike it says as much. So a marginal whose columns have levels is two
candidates, fine and coarse: the distance from the model is asked of both, and the one
with the larger gain is measured. The maximum-entropy model spreads the count of a
chapter over its codes in proportion to their frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import AxisMap, Clique, Identity, Partition
from understudy.schema import Categorical, Schema
from understudy.synthesizers.adaptive.constants import (
    MAX_HIERARCHY_GROUPS,
    MAX_UNGROUPED_CODES,
)


def level_of(schema: Schema, name: str) -> Partition | None:
    """The codes of a column by group, with `other` and missing values apart; None if it
    has no levels or few codes.

    >>> halves = {"half": tuple("1" * 9 + "2" * 9)}
    >>> codes = Categorical(name="code", values=tuple("abcdefghijklmnopqr"), levels=halves)
    >>> level_of(Schema(columns=(codes,)), "code").bins
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2)
    """
    column, size = schema[name], schema.codecs[name].size
    if (
        not isinstance(column, Categorical)
        or not column.levels
        or size <= MAX_UNGROUPED_CODES
    ):
        return None
    counted = {level: len(set(groups)) for level, groups in column.levels.items()}
    small = [
        level for level, groups in counted.items() if groups <= MAX_HIERARCHY_GROUPS
    ]
    chosen = (
        max(small, key=counted.__getitem__)
        if small
        else min(counted, key=counted.__getitem__)
    )
    place: dict[str, int] = {}
    bins = [place.setdefault(group, len(place)) for group in column.levels[chosen]]
    # Codes beyond the declared values (`other`, missing) each keep a bin of their own.
    bins += range(len(place), len(place) + size - len(bins))
    return Partition(tuple(bins)) if max(bins) + 1 < size else None


def coarse_maps(
    schema: Schema, cliques: Sequence[Clique]
) -> dict[Clique, tuple[AxisMap, ...]]:
    """The maps of each of these marginals to the label groups of its columns; marginals
    without any are left out.
    """
    levels = {name: level_of(schema, name) for name in schema}
    maps: dict[Clique, tuple[AxisMap, ...]] = {}
    for clique in cliques:
        axes = [levels[name] for name in clique]
        if any(axis is not None for axis in axes):
            sizes = schema.sizes(clique)
            maps[clique] = tuple(
                axis or Identity(size) for axis, size in zip(axes, sizes, strict=True)
            )
    return maps


def mapped_cells(axes: Sequence[AxisMap]) -> int:
    """Cells of a marginal after its maps."""
    return prod(axis.out for axis in axes)


def apply_maps(
    axes: Sequence[AxisMap], table: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A marginal after its maps.

    >>> apply_maps((Partition((0, 0, 1)), Identity(2)), np.ones((3, 2))).tolist()
    [[2.0, 2.0], [1.0, 1.0]]
    """
    for axis, axis_map in enumerate(axes):
        if isinstance(axis_map, Partition):
            fine = np.moveaxis(table, axis, 0)
            grouped = np.zeros((axis_map.out, *fine.shape[1:]))
            np.add.at(grouped, np.array(axis_map.bins), fine)
            table = np.moveaxis(grouped, 0, axis)
    return table


def cliques_better_coarse(
    fine: Mapping[Clique, NDArray[np.float64]],
    coarse: Mapping[Clique, NDArray[np.float64]],
    part: int,
) -> list[Clique]:
    """The marginals that gain more when measured coarsely, at one part of the budget: an
    index into BUDGET_PART_GRID.
    """
    return [
        r for r, curve in coarse.items() if r not in fine or curve[part] > fine[r][part]
    ]
