"""A hierarchy of geographic units: which blocks there are, and in which tract, county
and state each lies. All of it is public.

A unit is known by its labels from the top down, so that two counties of one name in two
states are two units. The units of one level are numbered so that those of one parent
follow each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused, SchemaError
from understudy.schema import Categorical, Schema

UnitPath = tuple[str, ...]
"""The labels of a unit, from the level below the root to its own."""

DEFAULT_ROOT_NAME = "nation"

MAX_RULE_CELLS = 10_000_000
"""Combinations of labels that a rule about places is looked up in: some seconds."""

MAX_LEAF_UNITS = 10_000_000
"""Lowest units of a hierarchy: more than the blocks of the United States."""


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The levels of a geography and its lowest units.

    `columns` name the units of each level below the root, the largest first; `leaves`
    are the paths of all lowest units.

    >>> made = Hierarchy.from_tree(("state", "county"), {"north": ["a", "b"], "south": ["c"]})
    >>> made.levels, made.count_units(2), made.parents(2).tolist()
    (('nation', 'state', 'county'), 3, [0, 0, 1])
    """

    columns: tuple[str, ...]
    leaves: tuple[UnitPath, ...]
    root: str = DEFAULT_ROOT_NAME

    def __post_init__(self) -> None:
        if not self.columns:
            raise SchemaError("census: a hierarchy needs at least one column")
        if len(set(self.levels)) < len(self.levels):
            raise SchemaError("census: two levels of the hierarchy have one name")
        if not self.leaves or len(self.leaves) > MAX_LEAF_UNITS:
            raise SchemaError(
                f"census: a hierarchy has 1 to {MAX_LEAF_UNITS:,} lowest units"
            )
        if any(len(leaf) != len(self.columns) for leaf in self.leaves):
            raise SchemaError(
                f"census: every unit needs {len(self.columns)} labels, one for each of"
                f" {', '.join(self.columns)}"
            )
        if len(set(self.leaves)) < len(self.leaves):
            raise SchemaError("census: a unit is listed twice in the hierarchy")

    @classmethod
    def from_columns(
        cls,
        columns: Sequence[str],
        units: Sequence[Sequence[str]],
        *,
        root: str = DEFAULT_ROOT_NAME,
    ) -> Hierarchy:
        """A hierarchy from a public list of its lowest units, one label a column.

        >>> Hierarchy.from_columns(["state", "county"], [("n", "a"), ("s", "a")]).paths(1)
        (('n',), ('s',))
        """
        leaves = tuple(tuple(str(label) for label in unit) for unit in units)
        return cls(tuple(columns), leaves, root)

    @classmethod
    def from_tree(
        cls, columns: Sequence[str], tree: object, *, root: str = DEFAULT_ROOT_NAME
    ) -> Hierarchy:
        """A hierarchy from nested mappings whose innermost values are lists of labels."""
        return cls(tuple(columns), tuple(_walk_tree(tree, len(columns))), root)

    @classmethod
    def from_schema(
        cls, columns: Sequence[str], schema: Schema, *, root: str = DEFAULT_ROOT_NAME
    ) -> Hierarchy:
        """Every combination of the declared values, where nothing else says which
        units there are.
        """
        values = [_declared_values(schema, name) for name in columns]
        return cls(tuple(columns), tuple(product(*values)), root)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the levels, the root first."""
        return (self.root, *self.columns)

    @cached_property
    def _levels(self) -> tuple[tuple[UnitPath, ...], ...]:
        """The paths of the units of every level, those of one parent together."""
        # A mapping keeps the order in which units are first listed.
        order: dict[UnitPath, int] = {}
        for leaf in self.leaves:
            for depth in range(len(leaf) + 1):
                order.setdefault(leaf[:depth], len(order))
        depths = range(len(self.columns) + 1)
        paths = [[path for path in order if len(path) == depth] for depth in depths]
        keys = {
            path: tuple(order[path[:d]] for d in range(len(path) + 1)) for path in order
        }
        return tuple(tuple(sorted(level, key=keys.__getitem__)) for level in paths)

    def paths(self, level: int) -> tuple[UnitPath, ...]:
        """The units of a level, in order."""
        return self._levels[level]

    def count_units(self, level: int) -> int:
        """How many units a level has."""
        return len(self._levels[level])

    @property
    def unit_count(self) -> int:
        """How many units there are at all levels."""
        return sum(len(level) for level in self._levels)

    @cached_property
    def _parents(self) -> tuple[NDArray[np.int64], ...]:
        found = [np.zeros(1, np.int64)]
        for above, level in zip(self._levels, self._levels[1:], strict=False):
            number = {path: i for i, path in enumerate(above)}
            found.append(np.array([number[path[:-1]] for path in level], np.int64))
        return tuple(found)

    def parents(self, level: int) -> NDArray[np.int64]:
        """The number of each unit's parent in the level above."""
        return self._parents[level]

    def child_starts(self, level: int) -> NDArray[np.int64]:
        """Where the children of each unit begin in the level below, and the end of the
        last.
        """
        return self._child_starts[level]

    @cached_property
    def _child_starts(self) -> tuple[NDArray[np.int64], ...]:
        starts = []
        for level, below in enumerate(self._parents[1:]):
            children = np.bincount(below, minlength=self.count_units(level))
            starts.append(np.concatenate([[0], np.cumsum(children)]))
        return tuple(starts)

    def sum_children(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the units of the level below, added up for each unit of this one."""
        return np.add.reduceat(values, self.child_starts(level)[:-1], axis=0)

    def cut_below(self, top: int, units: slice) -> HierarchyPart:
        """Some neighbouring units of a level, with everything below them."""
        ranges = [units]
        for level in range(top, len(self.columns)):
            starts, above = self.child_starts(level), ranges[-1]
            ranges.append(slice(int(starts[above.start]), int(starts[above.stop])))
        return HierarchyPart(self, top, tuple(ranges))

    @cached_property
    def leaf_order(self) -> dict[UnitPath, int]:
        """The number of each lowest unit."""
        return {path: i for i, path in enumerate(self._levels[-1])}

    def ancestors(self, level: int) -> NDArray[np.int64]:
        """For each lowest unit, the unit of this level that it lies in."""
        unit = np.arange(len(self._levels[-1]))
        for below in range(len(self.columns), level, -1):
            unit = self._parents[below][unit]
        return unit

    def check_columns(self, schema: Schema) -> None:
        """Refuse a hierarchy whose columns or units the schema does not declare."""
        for depth, name in enumerate(self.columns):
            declared = set(_declared_values(schema, name))
            if not {leaf[depth] for leaf in self.leaves} <= declared:
                raise Refused(
                    f'census: the hierarchy names a unit that column "{name}" does not'
                    " declare. Add it to its values. Nothing was spent"
                )
        self._check_rules(schema)

    def _check_rules(self, schema: Schema) -> None:
        """Refuse rules that say something else of one unit than of another, which no fit
        would keep, and units that a rule forbids.
        """
        for rule in schema.forbidden_predicates:
            named = [name for name in self.columns if name in rule.columns]
            if not named:
                continue
            if not rule.columns <= set(named):
                raise Refused(
                    "census: a rule is about places and persons at once"
                    f" ({', '.join(sorted(rule.columns))}), and rules are the same in all"
                    " units here. Declare a bound of these units instead, such as"
                    " `at_most: {north: {nursing: 0}}`. Nothing was spent"
                )
            depths = [self.columns.index(name) for name in named]
            leaves = np.unique(self.code_leaves(schema)[:, depths], axis=0)
            if math.prod(schema.sizes(tuple(named))) > MAX_RULE_CELLS:
                raise Refused(
                    f"census: a rule about {', '.join(named)} has more combinations than"
                    " are looked through. Leave it out: the hierarchy says which units"
                    " there are. Nothing was spent"
                )
            zeros = schema.zeros(tuple(named))
            if zeros is not None and zeros[tuple(leaves.T)].any():
                raise Refused(
                    f"census: a rule about {', '.join(named)} forbids a unit that the"
                    " hierarchy has. Leave out one of them. Nothing was spent"
                )

    def code_leaves(self, schema: Schema) -> NDArray[np.int64]:
        """The codes of every lowest unit in the columns of the hierarchy."""
        codecs = [schema.codecs[name] for name in self.columns]
        places = [
            {label: codec.code(label) for label in _declared_values(schema, name)}
            for name, codec in zip(self.columns, codecs, strict=True)
        ]
        rows = [
            [place[label] for place, label in zip(places, leaf, strict=True)]
            for leaf in self._levels[-1]
        ]
        return np.array(rows, np.int64)


@dataclass(frozen=True, eq=False)
class HierarchyPart:
    """Neighbouring units of one level and everything below them; levels count from
    theirs.
    """

    whole: Hierarchy
    top: int
    ranges: tuple[slice, ...]
    """The units of each level, from `top` down."""

    def sum_children(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the units of the level below, added up for each unit of this one."""
        starts = self.whole.child_starts(self.top + level)[self.ranges[level]]
        return np.add.reduceat(values, starts - self.ranges[level + 1].start, axis=0)

    def parents(self, level: int) -> NDArray[np.int64]:
        """The number of each unit's parent in the level above."""
        parents = self.whole.parents(self.top + level)[self.ranges[level]]
        numbers: NDArray[np.int64] = parents - self.ranges[level - 1].start
        return numbers


def admit_missing_places(schema: Schema, columns: Sequence[str]) -> Schema:
    """The schema with a code for places that are missing or not declared, whatever it
    says of them: such rows would count as the first unit's, in its exact counts too.
    """
    admitted = [
        replace(column, nullable=True) if column.name in columns else column
        for column in schema.columns
    ]
    return replace(schema, columns=tuple(admitted))


def _walk_tree(tree: object, depth: int) -> list[UnitPath]:
    """The paths of a tree of so many levels."""
    if isinstance(tree, Mapping | list) and not tree:
        raise SchemaError(
            "census: a unit of the tree has nothing below it. Name its lowest units, or"
            " leave it out"
        )
    if depth == 1:
        if isinstance(tree, str) or not isinstance(tree, Sequence):
            raise SchemaError("census: the lowest units of a tree are a list of labels")
        return [(str(label),) for label in tree]
    if not isinstance(tree, Mapping):
        raise SchemaError(
            "census: the tree has fewer levels than the hierarchy has columns"
        )
    paths = []
    for label, below in tree.items():
        paths += [(str(label), *path) for path in _walk_tree(below, depth - 1)]
    return paths


def _declared_values(schema: Schema, name: str) -> tuple[str, ...]:
    if name not in schema:
        raise Refused(
            f'census: column "{name}" of the hierarchy is not in the schema. Nothing was'
            " spent"
        )
    column = schema[name]
    if not isinstance(column, Categorical) or not column.values:
        raise Refused(
            f'census: column "{name}" of the hierarchy must be categorical with all its'
            " values declared. Nothing was spent"
        )
    return tuple(str(value) for value in column.values)
