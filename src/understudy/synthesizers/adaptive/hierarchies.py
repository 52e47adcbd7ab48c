"""Levels: coarser tables of columns with many labels, where the schema says how labels
are grouped (code → chapter, town → region).

A marginal of a thousand codes and another column has too few rows in a cell for any
noise to leave much of it. The same marginal of twenty chapters does not, and where
codes of a chapter are alike it says as much. So a marginal whose columns have levels is
two prospects, fine and coarse: the distance from the model is asked of both, and it is
measured the way that gains more. The model of maximum entropy spreads what is known of
a chapter over its codes, by how frequent each is.
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
    """The codes of a column by group, with `other` and what is missing apart; None
    where it has no levels or few codes.

    >>> codes = Categorical(name="code", values=tuple("abcdefghijklmnopqr"), levels={"half": tuple("1" * 9 + "2" * 9)})
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
    bins += range(len(place), len(place) + size - len(bins))
    return Partition(tuple(bins)) if max(bins) + 1 < size else None


def coarse_maps(
    schema: Schema, cliques: Sequence[Clique]
) -> dict[Clique, tuple[AxisMap, ...]]:
    """How to look at each of these marginals through the levels of its columns; those
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
    """Cells of a marginal behind its maps."""
    return prod(axis.out for axis in axes)


def apply_maps(
    axes: Sequence[AxisMap], table: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A marginal behind its maps.

    >>> apply_maps((Partition((0, 0, 1)), Identity(2)), np.ones((3, 2))).tolist()
    [[2.0, 2.0], [1.0, 1.0]]
    """
    for axis, map_ in enumerate(axes):
        if isinstance(map_, Partition):
            made = np.zeros((map_.out, *np.moveaxis(table, axis, 0).shape[1:]))
            np.add.at(made, np.array(map_.bins), np.moveaxis(table, axis, 0))
            table = np.moveaxis(made, 0, axis)
    return table


def cliques_better_coarse(
    fine: Mapping[Clique, NDArray[np.float64]],
    coarse: Mapping[Clique, NDArray[np.float64]],
    part: int,
) -> list[Clique]:
    """The marginals that gain more when measured coarsely, by their curves of gains at
    one part of the budget.
    """
    return [
        r for r, curve in coarse.items() if r not in fine or curve[part] > fine[r][part]
    ]
