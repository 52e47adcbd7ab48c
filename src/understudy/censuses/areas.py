"""Areas off the hierarchy: school districts, river basins, anything that lowest units add
up to. Their tables are sums of lowest units, with the standard errors of those sums.

Errors of neighbouring units are not independent: what one block has too much its
siblings have too little, because their parent is known better than they are. Going down
the tree (least_squares.py) a child is u + s·(P − Σu), where u are the siblings' upward
estimates, independent of variance v, P is the parent's final estimate, and s = v/Σv. The
first part does not vary with Σu, and P depends on the children through Σu alone. So for
weights w on the children

    Var Σ w·x = Σ w²v − (Σ wv)²/Σv + Var(W·P),   W = Σ wv/Σv,

and W is the weight of the parent in the same sum one level up, to the root.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy.censuses.controlled_rounding import Integers
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.lattice import AxisSet, Floats
from understudy.censuses.least_squares import LeastSquaresTables
from understudy.errors import SchemaError

OUTSIDE_AREA = -1
"""The number of the area of a lowest unit that lies in none."""


@dataclass(frozen=True, eq=False)
class AreaMap:
    """Which area each lowest unit lies in; public, as the hierarchy is."""

    labels: tuple[str, ...]
    area_of_leaf: Integers

    @classmethod
    def of(cls, listed: Mapping[tuple[str, ...], str], hierarchy: Hierarchy) -> AreaMap:
        """The areas of a list of lowest units.

        >>> two = Hierarchy.from_columns(["block"], [("a",), ("b",), ("c",)])
        >>> AreaMap.of({("c",): "river", ("a",): "river"}, two).area_of_leaf.tolist()
        [0, -1, 0]
        """
        unknown = [leaf for leaf in listed if leaf not in hierarchy.leaf_order]
        if unknown:
            raise SchemaError(
                f'census: areas: "{"/".join(unknown[0])}" is no lowest unit of the'
                " hierarchy"
            )
        labels = tuple(dict.fromkeys(listed.values()))
        number = {label: place for place, label in enumerate(labels)}
        area = np.full(len(hierarchy.leaf_order), OUTSIDE_AREA)
        for leaf, label in listed.items():
            area[hierarchy.leaf_order[leaf]] = number[label]
        return cls(labels, area)

    def sum_leaves(self, values: Floats | Integers) -> Floats | Integers:
        """Values of the lowest units, added up for each area."""
        inside = self.area_of_leaf != OUTSIDE_AREA
        result = np.zeros((len(self.labels), *values.shape[1:]), values.dtype)
        np.add.at(result, self.area_of_leaf[inside], values[inside])
        return result


def read_areas(path: Path, name: str, hierarchy: Hierarchy) -> AreaMap:
    """A public CSV file with the hierarchy's columns and one with the area's name; lowest
    units that it leaves out, or leaves blank, lie in no area.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [
                (tuple(row[column] for column in hierarchy.columns), row[name].strip())
                for row in csv.DictReader(file)
            ]
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read ({error.strerror})") from None
    except (KeyError, AttributeError):
        raise SchemaError(
            f"{path}: needs the columns {', '.join([*hierarchy.columns, name])} in every"
            " line"
        ) from None
    listed = dict(lines)
    if len(listed) < len(lines):
        raise SchemaError(
            f"{path}: names a lowest unit twice. It lies in one {name} or in none"
        )
    inside = {leaf: label for leaf, label in listed.items() if label}
    if not inside:
        raise SchemaError(f"{path}: names no area")
    return AreaMap.of(inside, hierarchy)


def find_area_variances(
    hierarchy: Hierarchy, estimate: LeastSquaresTables, areas: AreaMap, query: AxisSet
) -> Floats:
    """The variance of one cell of a query, for every area; infinite where a sum was not
    measured.
    """
    lattice, cells = estimate.lattice, estimate.lattice.count_cells(query)
    result = np.zeros(len(areas.labels))
    for axes in lattice.sets:
        rank = lattice.rank(axes, query)
        if rank:
            upward = [level[axes] for level in estimate.upward_variances]
            weight = lattice.count_cells(axes) * rank / cells**2
            for area in range(len(areas.labels)):
                inside = (areas.area_of_leaf == area).astype(float)
                result[area] += weight * _vary_sum(hierarchy, upward, inside)
    return result


def _vary_sum(hierarchy: Hierarchy, upward: list[Floats], weights: Floats) -> float:
    """The variance of a weighted sum of one component of the lowest units."""
    variance = 0.0
    for level in range(len(upward) - 1, 0, -1):
        v = upward[level]
        total = hierarchy.sum_children(level - 1, v)
        is_known = np.isfinite(total)
        if not is_known.all():
            # Nothing tells unknown siblings apart: their sum alone is known.
            first = weights[hierarchy.child_starts(level - 1)[:-1]]
            if (first[hierarchy.parents(level)] != weights).any():
                return float("inf")
            weights = first
            continue
        mean = hierarchy.sum_children(level - 1, weights * v)
        square = hierarchy.sum_children(level - 1, weights**2 * v)
        variance += float((square - mean**2 / total).sum())
        weights = mean / total
    at_root = float(weights[0]) ** 2
    return variance + (at_root * float(upward[0][0]) if at_root else 0.0)
