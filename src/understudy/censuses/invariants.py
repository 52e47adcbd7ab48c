"""Invariants: what the owner declares to be exact, or bounded, in some units.

`counts` keeps a marginal exactly as it is in the rows, `zeros` keeps which of its cells
are empty; both are facts about the rows that the guarantee leaves out. `at_least` and
`at_most` are public bounds, which say nothing about the rows: one number, one for each
unit, or one for each unit and value of a column. A public list of facilities is such a
bound: as many persons as facilities at least, nobody where there is none.

Under add/remove no two neighbours have the same total, so with exact counts the
guarantee would be about no pair at all: they need the replace relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.neighbours import Neighbours
from understudy.censuses.controlled_rounding import UNBOUNDED_COUNT, Integers
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.lattice import AxisSet, MarginalLattice
from understudy.censuses.measurement_plan import spell_query
from understudy.errors import Refused
from understudy.measurements import Clique


class InvariantKind(StrEnum):
    """What of a marginal is kept exactly."""

    COUNTS = "counts"
    ZEROS = "zeros"
    NOTHING = "nothing"


CellBounds = Mapping[int, int]
"""Numbers of persons by the code of a column's value."""

UnitBounds = int | Mapping[str, int | CellBounds]
"""One number of persons for all units, or one for each, or one for each of its cells."""


@dataclass(frozen=True)
class Invariant:
    """Something that holds for a marginal in every unit of a level. Bounds by unit are
    under its labels, joined by `/`; a plain number is for all units.

    >>> str(Invariant("state", (), keep=InvariantKind.COUNTS))
    'total by state (counts)'
    """

    level: str
    query: Clique
    keep: InvariantKind = InvariantKind.NOTHING
    at_least: UnitBounds = 0
    at_most: UnitBounds = field(default=UNBOUNDED_COUNT)

    def __str__(self) -> str:
        what = "bounds" if self.keep is InvariantKind.NOTHING else self.keep.value
        return f"{spell_query(self.query, ('',))} by {self.level} ({what})"

    @property
    def reads_rows(self) -> bool:
        """Whether it is a fact about the rows."""
        return self.keep is not InvariantKind.NOTHING


@dataclass(frozen=True, eq=False)
class CountBounds:
    """The least and most persons in each cell of a marginal, for the units of a level."""

    lower: Integers
    upper: Integers

    def intersect(self, other: CountBounds) -> CountBounds:
        """Both bounds at once."""
        return CountBounds(
            np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        )

    @property
    def is_empty(self) -> bool:
        """Whether some cell has no number between its bounds."""
        return bool((self.lower > self.upper).any())


LevelBounds = dict[AxisSet, CountBounds]
"""The bounds of a level, by the marginal that they are about."""


def check_invariants(
    invariants: Sequence[Invariant], hierarchy: Hierarchy, neighbours: Neighbours
) -> None:
    """Refuse invariants that no guarantee could leave room for, or of no level."""
    for each in invariants:
        if each.level not in hierarchy.levels:
            raise Refused(
                f'census: "{each.level}" is no level of the hierarchy. Nothing was spent'
            )
        if each.keep is InvariantKind.COUNTS and neighbours is Neighbours.ADD_REMOVE:
            raise Refused(
                f"census: {each}: no two tables that differ in one added row agree on"
                " exact counts, so nobody would be protected. Use neighbours:"
                " replace. Nothing was spent"
            )


def describe_invariants(invariants: Sequence[Invariant]) -> tuple[str, ...]:
    """The facts about the rows that a guarantee leaves out."""
    return tuple(str(each) for each in invariants if each.reads_rows)


def describe_bounds(invariants: Sequence[Invariant]) -> tuple[str, ...]:
    """The bounds that the owner declares, which are public.

    >>> describe_bounds([Invariant("state", (), at_most=40), Invariant("state", ())])
    ('the bounds of total by state',)
    """
    return tuple(
        f"the bounds of {spell_query(each.query, ('',))} by {each.level}"
        for each in invariants
        if (each.at_least, each.at_most) != (0, UNBOUNDED_COUNT)
    )


def bound_levels(
    invariants: Sequence[Invariant],
    exact: Mapping[int, Integers],
    hierarchy: Hierarchy,
    lattice: MarginalLattice,
    columns: Clique,
    impossible: NDArray[np.bool_],
) -> list[LevelBounds]:
    """The bounds of every level, those from below included; `exact` has the counts of
    invariants that read rows, by their place, and `impossible` the structural zeros.
    """
    levels: list[LevelBounds] = [{} for _ in hierarchy.levels]
    for place, each in enumerate(invariants):
        level = hierarchy.levels.index(each.level)
        axes = tuple(columns.index(name) for name in each.query)
        bounds = _own_bounds(each, exact.get(place), hierarchy, lattice, axes)
        _add_bounds(levels[level], axes, bounds)
    for level in range(len(levels) - 2, -1, -1):
        for axes, bounds in levels[level + 1].items():
            _add_bounds(levels[level], axes, _sum_bounds(hierarchy, level, bounds))
    for bounds_of in levels:
        for axes, bounds in bounds_of.items():
            # Before bounds are compared: a cell that cannot be has nobody in it.
            closed = find_impossible(impossible, axes)
            bounds.upper[:, closed] = 0
    return levels


def refuse_contradictions(levels: Sequence[LevelBounds], hierarchy: Hierarchy) -> None:
    """Refuse bounds that no table keeps, and name the lowest unit without one."""
    for level in range(len(levels) - 1, -1, -1):
        for bounds in levels[level].values():
            if not bounds.is_empty:
                continue
            broken = (bounds.lower > bounds.upper).reshape(len(bounds.lower), -1)
            path = hierarchy.paths(level)[int(broken.any(axis=1).argmax())]
            name = " ".join([hierarchy.levels[level], "/".join(path)]).strip()
            raise Refused(
                f"census: the bounds and invariants of {name} contradict each other,"
                " those of lower levels or the structural zeros. Nothing was spent"
            )


def _own_bounds(
    invariant: Invariant,
    exact: Integers | None,
    hierarchy: Hierarchy,
    lattice: MarginalLattice,
    axes: AxisSet,
) -> CountBounds:
    level = hierarchy.levels.index(invariant.level)
    sizes = tuple(lattice.shape[axis] for axis in axes)
    shape = (hierarchy.count_units(level), *sizes)
    paths = ["/".join(path) for path in hierarchy.paths(level)]
    lower = _spread_bound(invariant.at_least, 0, paths, shape, invariant)
    upper = _spread_bound(invariant.at_most, UNBOUNDED_COUNT, paths, shape, invariant)
    if exact is not None and invariant.keep is InvariantKind.COUNTS:
        lower, upper = np.maximum(lower, exact), np.minimum(upper, exact)
    if exact is not None and invariant.keep is InvariantKind.ZEROS:
        upper = np.where(exact == 0, 0, upper)
    return CountBounds(lower, upper)


def _spread_bound(
    bound: UnitBounds,
    default: int,
    paths: Sequence[str],
    shape: tuple[int, ...],
    invariant: Invariant,
) -> Integers:
    """One bound for every cell of every unit."""
    if isinstance(bound, int):
        return np.full(shape, bound)
    number = {path: place for place, path in enumerate(paths)}
    if len(number) < len(paths):
        raise Refused(
            f"census: {invariant}: labels with a slash make two units of this level one"
            " name, so that a bound cannot tell which is meant. Rename one. Nothing was"
            " spent"
        )
    spread = np.full(shape, default)
    for path, of_unit in bound.items():
        if path not in number:
            raise Refused(
                f'census: {invariant}: "{path}" is no unit of this level. Nothing was'
                " spent"
            )
        if isinstance(of_unit, int):
            spread[number[path]] = of_unit
            continue
        for code, persons in of_unit.items():
            spread[number[path], code] = persons
    return spread


def _sum_bounds(hierarchy: Hierarchy, level: int, below: CountBounds) -> CountBounds:
    """What the bounds of children say about their parents."""
    lower = hierarchy.sum_children(level, below.lower)
    upper = hierarchy.sum_children(
        level, np.minimum(below.upper, UNBOUNDED_COUNT).astype(float)
    )
    return CountBounds(lower, np.minimum(upper, UNBOUNDED_COUNT).astype(np.int64))


def _add_bounds(bounds_of: LevelBounds, axes: AxisSet, bounds: CountBounds) -> None:
    known = bounds_of.get(axes)
    bounds_of[axes] = bounds if known is None else known.intersect(bounds)


def find_impossible(impossible: NDArray[np.bool_], axes: AxisSet) -> NDArray[np.bool_]:
    """The cells of a marginal that hold nothing but structural zeros."""
    gone = tuple(axis for axis in range(impossible.ndim) if axis not in axes)
    return np.asarray(impossible.all(axis=gone)) if gone else impossible
