"""Statistics: the integers that are measured for a query, one for each of its groups,
and how far one privacy unit can move them.

A row lies in one cell, the cell in at most one group, and there the row adds the product
of its factors: 1 for a count, x − origin for a sum, (x − origin)² for a sum of squares.
Values are lattice indices clipped to public bounds, so all of this is exact.

Why the sensitivity is right. Let a row in cell c of group g add between lo(c) and hi(c).
Adding or removing it moves one entry by at most A = max |lo|, |hi|. Replacing it moves
one entry by at most hi − lo of that group, or two entries by A each of two groups. A
row that is in no group, or has no value, adds 0, and so does one that is not there. The
norms are convex, so a unit of max_rows rows moves an answer furthest if all its rows do
the same: by max_rows times the norm. Checked against all small tables in
tests/queries/test_statistics.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.queries.cells import QueryCells
from understudy.schema.predicates.ast import Predicate
from understudy.schema.predicates.comparable import exact_integer_dtype

MAX_FACTOR_PRODUCT = 2**86
"""Largest contribution of one row: a sum over 10¹² rows stays within 127 bits."""


@dataclass(frozen=True)
class ColumnFactor:
    """(x − origin)^power of a column's lattice index x, clipped to [low, high]."""

    column: str
    low: int
    high: int
    origin: int = 0
    power: int = 1

    def span(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """The least and the largest value of the factor for indices from first to
        last.
        """
        low = np.clip(first, self.low, self.high).astype(object) - self.origin
        high = np.clip(last, self.low, self.high).astype(object) - self.origin
        if self.power == 1:
            return low, high
        ends = low * low, high * high
        largest = np.maximum(*ends)
        has_zero = (low <= 0) & (high >= 0)
        return np.where(has_zero, 0, np.minimum(*ends)), largest


@dataclass(frozen=True)
class Statistic:
    """The sum, over the rows of each group that meet the condition and have a value in
    all of `value_columns`, of the product of the factors: without factors, their number.
    """

    value_columns: tuple[str, ...] = ()
    factors: tuple[ColumnFactor, ...] = ()
    condition: Predicate | None = None

    def describe(self) -> dict[str, object]:
        """What identifies it, together with its cells."""
        factors = [
            [each.column, each.low, each.high, each.origin, each.power]
            for each in self.factors
        ]
        condition = None if self.condition is None else str(self.condition)
        return {
            "value_columns": self.value_columns,
            "factors": factors,
            "condition": condition,
        }


@dataclass(frozen=True, eq=False)
class GroupReach:
    """What one row can add to each group, and whether some row adds nothing to any."""

    least: NDArray[np.object_]
    most: NDArray[np.object_]
    may_be_absent: bool

    def sensitivity(self, neighbours: Neighbours, max_rows: int) -> Sensitivity:
        """How far one unit of `max_rows` rows moves the statistic.

        >>> one = np.array([1, 1], object)
        >>> reach = GroupReach(one, one, may_be_absent=False)
        >>> [reach.sensitivity(relation, 1).l2_squared for relation in Neighbours]
        [Fraction(1, 1), Fraction(2, 1)]
        """
        largest = [
            max(abs(low), abs(high))
            for low, high in zip(self.least, self.most, strict=True)
        ]
        alone = max(largest, default=0)
        steps = [(alone, alone**2, alone, 1)]
        if neighbours is Neighbours.REPLACE:
            is_absent = self.may_be_absent or max_rows > 1
            steps = self._replacements(largest) + (steps if is_absent else [])
        # Rows of one unit may lie in different groups: L0 grows, the others do not.
        tables = 1 if neighbours is Neighbours.ADD_REMOVE else 2
        cells = min(len(largest), tables * max_rows)
        return Sensitivity(
            l1=Fraction(max_rows * max(step[0] for step in steps)),
            l2_squared=Fraction(max_rows**2 * max(step[1] for step in steps)),
            l0=max(cells, 1),
            linf=Fraction(max_rows * max(step[2] for step in steps)),
        )

    def _replacements(self, largest: list[int]) -> list[tuple[int, int, int, int]]:
        """L1, L2², L∞ and cells of a row that is replaced: inside a group, or from one
        to another.
        """
        inside = max(
            (high - low for low, high in zip(self.least, self.most, strict=True)),
            default=0,
        )
        steps = [(inside, inside**2, inside, 1)]
        if len(largest) > 1:
            second, first = sorted(largest)[-2:]
            steps.append((first + second, first**2 + second**2, first, 2))
        return steps


def reach_of_groups(
    statistic: Statistic,
    cells: QueryCells,
    where: NDArray[np.bool_],
    *,
    may_vanish: bool,
) -> GroupReach:
    """What one row adds to each group, by the cells alone. `may_vanish`: a row may be
    exchanged for none that counts.
    """
    low, high = _cell_spans(statistic, cells)
    group = np.where(where, cells.group_of_cell, -1)
    inside = group >= 0
    least = np.zeros(cells.groups, object)
    most = np.zeros(cells.groups, object)
    seen = np.zeros(cells.groups, np.bool_)
    order = np.flatnonzero(inside)
    order = order[np.argsort(group[order], kind="stable")]
    if order.size:
        numbers, starts = np.unique(group[order], return_index=True)
        least[numbers] = np.minimum.reduceat(low[order], starts)
        most[numbers] = np.maximum.reduceat(high[order], starts)
        seen[numbers] = True
    # A cell that is no number has no place on the lattice and adds nothing: 0 is always
    # possible where a column is added up.
    if statistic.value_columns:
        least = np.minimum(least, 0)
        most = np.maximum(most, 0)
    # A group that no cell is in is not moved by any row.
    least[~seen] = 0
    most[~seen] = 0
    absent = may_vanish or bool((~inside).any()) or bool(statistic.value_columns)
    return GroupReach(least, most, absent)


def _cell_spans(
    statistic: Statistic, cells: QueryCells
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """The least and the largest contribution of a row in each cell."""
    # Never without an axis: numpy makes 64-bit scalars of those, and their products
    # wrap around in silence.
    low: NDArray[np.object_] = np.ones(1, object)
    high: NDArray[np.object_] = np.ones(1, object)
    for factor in statistic.factors:
        ends = _factor_spans(factor, cells)
        corners = [a * b for a in (low, high) for b in ends]
        low = np.minimum.reduce(corners)
        high = np.maximum.reduce(corners)
    magnitude = max(abs(int(low.min())), abs(int(high.max())))
    if magnitude > MAX_FACTOR_PRODUCT:
        raise Refused(
            f"{', '.join(statistic.value_columns)}: the bounds are too wide for the step. Use"
            " a coarser step, or narrower bounds. Nothing was spent"
        )
    dtype = exact_integer_dtype(magnitude)
    shape = cells.sizes or (1,)
    return (
        np.broadcast_to(low.astype(dtype), shape).ravel(),
        np.broadcast_to(high.astype(dtype), shape).ravel(),
    )


def _factor_spans(
    factor: ColumnFactor, cells: QueryCells
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """The ends of a factor, along the axis of its column if that is one of the cells'."""
    if factor.column not in cells.clique:
        return factor.span(np.array([factor.low]), np.array([factor.high]))
    codec = cells.codecs[factor.column]
    low, high = factor.span(codec.first_indices, codec.last_indices)
    low = np.where(codec.is_ranked, low, 0)
    high = np.where(codec.is_ranked, high, 0)
    shape = [1] * len(cells.sizes)
    shape[cells.clique.index(factor.column)] = codec.size
    return low.reshape(shape), high.reshape(shape)
