"""Exactly one householder in each household, kept while tables are fitted.

A household of the kind b (a cell of the household's columns) has 1 to m persons, one of
whom is its householder. T persons of kind b in a place therefore need at least ⌈T/m⌉
householders there, and can be divided into households whenever there are that many, and
at most T. The margins over the household's columns are fixed for all places before any
detail (margins.py), so what every place needs is known from the start: the sum over the
lowest places in it of ⌈T/m⌉.

Where siblings have been fitted and rounded and one has too few householders, another has
more than it needs, because the parent has enough for all. The two exchange persons of
the kind b: one householder for one who is not. All sums stay as they are: the parent's
cells, each child's margin, structural zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.censuses.controlled_rounding import Integers
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.lattice import AxisSet, Floats, number_parts


@dataclass(frozen=True, eq=False)
class HouseholderNeeds:
    """How many householders every unit needs of each kind of household; one table a
    level. `marked` are the cells of persons that are householders, `kind` is the number
    of each cell's kind.
    """

    marked: NDArray[np.bool_]
    kind: Integers
    needed: tuple[Integers, ...]

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        margins: Sequence[Integers],
        marked: NDArray[np.bool_],
        axes: AxisSet,
        has_households: NDArray[np.bool_],
        max_persons: int,
    ) -> HouseholderNeeds:
        """What persons' margins over the household's columns ask for."""
        leaves = margins[-1].reshape(len(margins[-1]), -1)
        needs = -(-leaves // max_persons) * has_households.reshape(-1)
        levels = [needs]
        for level in range(len(margins) - 2, -1, -1):
            levels.insert(0, hierarchy.sum_children(level, levels[0]))
        return cls(marked.reshape(-1), number_parts(marked.shape, axes), tuple(levels))

    def mend_root(
        self, table: Integers, fitted: Floats, possible: NDArray[np.bool_]
    ) -> Integers:
        """The root's table with persons made householders until it has enough."""
        mended, wanted = table.reshape(-1).copy(), fitted.reshape(-1)
        for kind, needed in enumerate(self.needed[0][0]):
            inside = self.kind == kind
            heads = np.flatnonzero(inside & self.marked & possible.reshape(-1))
            others = np.flatnonzero(inside & ~self.marked)
            for _ in range(int(needed - mended[heads].sum())):
                gives = _cheapest(mended[others], wanted[others], -1)
                takes = _cheapest(mended[heads], wanted[heads], 1)
                mended[others[gives]] -= 1
                mended[heads[takes]] += 1
        return mended.reshape(table.shape)

    def exchange_persons(
        self, tables: Integers, fitted: Floats, level: int, here: slice
    ) -> Integers:
        """The children of one parent, with persons exchanged between them until each
        has the householders it needs.
        """
        flat = tables.reshape(len(tables), -1)
        needed = self.needed[level][here]
        if not _count_surplus(flat, self.marked, self.kind, needed).min(initial=0) < 0:
            return tables
        moved, wanted = flat.copy(), fitted.reshape(flat.shape)
        for kind in range(needed.shape[1]):
            inside = self.kind == kind
            heads = np.flatnonzero(inside & self.marked)
            others = np.flatnonzero(inside & ~self.marked)
            surplus = moved[:, heads].sum(axis=1) - needed[:, kind]
            while surplus.min() < 0:
                giver, taker = int(surplus.argmax()), int(surplus.argmin())
                _move_person(moved, wanted, heads, giver, taker)
                _move_person(moved, wanted, others, taker, giver)
                surplus[giver] -= 1
                surplus[taker] += 1
        return moved.reshape(tables.shape)


def _count_surplus(
    flat: Integers, marked: NDArray[np.bool_], kind: Integers, needed: Integers
) -> Integers:
    """Householders beyond what is needed, by unit and kind."""
    heads = np.zeros(needed.shape, np.int64)
    np.add.at(heads.T, kind[marked], flat[:, marked].T)
    return heads - needed


def _move_person(
    moved: Integers, wanted: Floats, cells: Integers, giver: int, taker: int
) -> None:
    """Move one person of these cells, where it costs least."""
    given = np.abs(moved[giver, cells] - 1 - wanted[giver, cells]) - np.abs(
        moved[giver, cells] - wanted[giver, cells]
    )
    taken = np.abs(moved[taker, cells] + 1 - wanted[taker, cells]) - np.abs(
        moved[taker, cells] - wanted[taker, cells]
    )
    cost = np.where(moved[giver, cells] > 0, given + taken, np.inf)
    cell = cells[int(cost.argmin())]
    moved[giver, cell] -= 1
    moved[taker, cell] += 1


def _cheapest(counts: Integers, wanted: Floats, step: int) -> int:
    """The cell whose change by `step` keeps the table nearest to what is wanted."""
    cost = np.abs(counts + step - wanted) - np.abs(counts - wanted)
    return int(np.where(counts + step >= 0, cost, np.inf).argmin())
