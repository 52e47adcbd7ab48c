"""Several questions measured together: counts, sums, means, shares and spreads.

Such questions overlap: groups, totals and means of one table are sums of the same cells.
The atoms of a batch are the cells that all its questions treat alike, so each count is
a sum of atoms, and so is each sum of a column. A row lies in one atom, so all counts of
atoms together cost what one count costs. Measured are sums of atoms from which all
answers are recovered with the least noise (strategies.py): one family of sums for
counts, and one for each product of columns that is added up.

A sum of x is that of x − m, around the middle m of its bounds, and m times the rows that
have a value, where both are measured anyway: one row moves the first by half as much.

The target of each question are the variances that it would have alone, with an equal
part of the budget. The families' parts minimise the sum of all variances relative to
these targets: C/t is least under a fixed sum of t where t goes with √C. Which
sums are measured, and all of this, is public: it depends on the questions alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.queries.builders import count
from understudy.queries.cells import QueryCells
from understudy.queries.plan import AnyStatistic, QueryPlan
from understudy.queries.statistics import ColumnFactor, Statistic
from understudy.queries.strategies import (
    AtomStrategy,
    find_strategy,
    total_variance,
)
from understudy.schema import Column, Lattice, codec_of
from understudy.schema.columns.code_layout import BinEdges

MAX_BATCH_CELLS = 1 << 18
"""Cells that the questions of a batch span together; beyond, they are asked one by one."""

SHARE_PARTS = 10**6
"""Parts that an amount is divided into: a share is a whole number of them."""

_ROW_COUNT = Statistic()


@dataclass(frozen=True, eq=False)
class AtomCells(QueryCells):
    """Cells whose groups are the atoms of a batch."""

    atom_of_cell: NDArray[np.int64]
    atoms: int

    @property
    def groups(self) -> int:
        return self.atoms

    @cached_property
    def group_of_cell(self) -> NDArray[np.int64]:
        return self.atom_of_cell


@dataclass(frozen=True, eq=False)
class MemberTerm:
    """A statistic of a question, or a part of it: a family of the batch added up over
    the atoms of each group, times a whole number.
    """

    family: Statistic
    factor: int
    group_of_atom: NDArray[np.int64]
    weight: float
    """How much the variance of a group counts."""


@dataclass(frozen=True, eq=False)
class AtomPlan(QueryPlan):
    """What is measured of the atoms of a batch: each statistic is a family of sums."""

    members: tuple[QueryPlan, ...]
    terms: tuple[tuple[tuple[MemberTerm, ...], ...], ...]
    """For each statistic of each question, what it is the sum of."""

    def digest(self, statistic: AnyStatistic) -> str:
        """By the questions, in their order: atoms are numbered by them."""
        assert isinstance(statistic, Statistic)
        own: list[object] = ["atoms", statistic.describe()]
        own.append([[p.digest(s) for s in p.statistics] for p in self.members])
        strategy = self.strategies[self.statistics.index(statistic)]
        if strategy is not None:
            # Two machines may compute strategies that differ in the last digit.
            own.append(strategy.sums.tolist())
        return hashlib.sha256(json.dumps(own).encode()).hexdigest()

    def sensitivity(
        self, statistic: AnyStatistic, neighbours: Neighbours
    ) -> Sensitivity:
        """How far one unit moves what is measured."""
        assert isinstance(statistic, Statistic)
        strategy = self.strategies[self.statistics.index(statistic)]
        if strategy is None:
            return super().sensitivity(statistic, neighbours)
        max_rows = self.source_schema.unit.max_rows
        return strategy.sensitivity(self.reach(statistic), neighbours, max_rows)

    def combine_groups(self, place: int, values: list[int]) -> list[int]:
        """What is measured of a family's values of the atoms."""
        strategy = self.strategies[place]
        return values if strategy is None else strategy.measure(values)

    @cached_property
    def strategies(self) -> tuple[AtomStrategy | None, ...]:
        """For each family, the sums of atoms that are measured; None for the atoms
        themselves.
        """
        return tuple(find_strategy(*self.workload(each)) for each in self.statistics)

    def workload(
        self, family: AnyStatistic
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Which atoms are added up for each group of each question, and how much the
        variance of that counts; groups of no atom are left out.
        """
        rows, weights = [], []
        for term in self._terms_of(family):
            for group in np.unique(term.group_of_atom[term.group_of_atom >= 0]):
                rows.append(term.group_of_atom == group)
                weights.append(term.weight)
        shape = len(rows), self.cells.groups
        return np.array(rows, np.float64).reshape(shape), np.array(weights)

    def _terms_of(self, family: AnyStatistic) -> list[MemberTerm]:
        return [
            term
            for member in self.terms
            for statistic in member
            for term in statistic
            if term.family == family
        ]

    @cached_property
    def price_roots(self) -> tuple[float, ...]:
        """For each family √C, where the variances, in parts of those that questions
        have alone, add up to C/t for an amount t.
        """
        roots = []
        for family, strategy in zip(self.statistics, self.strategies, strict=True):
            assert isinstance(family, Statistic)
            moved = self.reach(family).sensitivity(Neighbours.ADD_REMOVE, 1)
            rows, weights = self.workload(family)
            whole = total_variance(rows, strategy, weights)
            roots.append(math.sqrt(whole * float(moved.l2_squared)))
        return tuple(roots)

    @property
    def amount_shares(self) -> tuple[Fraction, ...]:
        """The parts of the amount that are for each family."""
        whole = sum(self.price_roots)
        return tuple(share_of(root / whole) for root in self.price_roots)


def share_of(part: float) -> Fraction:
    """A part of an amount, rounded down to whole parts.

    >>> share_of(0.25)
    Fraction(1, 4)
    """
    return Fraction(max(math.floor(part * SHARE_PARTS), 1), SHARE_PARTS)


def plan_atoms(plans: Sequence[QueryPlan]) -> AtomPlan | None:
    """The atoms of questions that `is_joinable` allows; None if they span too many cells
    together.
    """
    if sum(len(plan.statistics) for plan in plans) < 2:
        return None
    cells = _common_cells(plans)
    if math.prod(cells.sizes) > MAX_BATCH_CELLS:
        return None
    groups = [
        [_map_groups(cells, plan, statistic) for statistic in plan.statistics]
        for plan in plans
    ]
    atom_of_cell, firsts = _number_patterns([each for own in groups for each in own])
    centred = {
        statistic.value_columns: statistic.factors
        for plan in plans
        for statistic in plan.statistics
        if isinstance(statistic, Statistic)
        and [factor.power for factor in statistic.factors] == [1]
        and statistic.factors[0].origin
    }
    terms = tuple(
        tuple(
            _split_statistic(plan, place, group_of_cell[firsts], centred)
            for place, group_of_cell in enumerate(own)
        )
        for plan, own in zip(plans, groups, strict=True)
    )
    families = dict.fromkeys(
        term.family for member in terms for parts in member for term in parts
    )
    return AtomPlan(
        query=count(),
        source_schema=plans[0].source_schema,
        cells=AtomCells(cells.schema, cells.clique, (), atom_of_cell, len(firsts)),
        where=np.ones(len(atom_of_cell), np.bool_),
        statistics=tuple(families),
        parts=((0,),),
        members=tuple(plans),
        terms=terms,
    )


def is_joinable(plan: QueryPlan) -> bool:
    """Whether all that a question needs are sums over rows, which atoms add up to."""
    if plan.features is not None:
        return False
    return all(
        isinstance(statistic, Statistic)
        # What all neighbours agree on is public, and measured without noise.
        and plan.sensitivity(statistic, Neighbours.ADD_REMOVE).l2_squared > 0
        for statistic in plan.statistics
    )


def _split_statistic(
    plan: QueryPlan,
    place: int,
    group_of_atom: NDArray[np.int64],
    centred: dict[tuple[str, ...], tuple[ColumnFactor, ...]],
) -> tuple[MemberTerm, ...]:
    """What a statistic of a question is the sum of."""
    statistic = plan.statistics[place]
    assert isinstance(statistic, Statistic)
    weight = _weigh_variance(plan, place)
    # Rows without a value are in no group: those that count have one.
    if not statistic.factors:
        return (MemberTerm(_ROW_COUNT, 1, group_of_atom, weight),)
    factors = statistic.factors
    around = centred.get(statistic.value_columns, factors)
    is_plain = [(f.power, f.origin) for f in factors] == [(1, 0)]
    if is_plain and around != factors:
        middle = around[0].origin
        family = Statistic(statistic.value_columns, around)
        return (
            MemberTerm(family, 1, group_of_atom, weight),
            MemberTerm(_ROW_COUNT, middle, group_of_atom, weight * middle**2),
        )
    family = Statistic(statistic.value_columns, factors)
    return (MemberTerm(family, 1, group_of_atom, weight),)


def _weigh_variance(plan: QueryPlan, place: int) -> float:
    """The weight of a statistic's variance in each group. The weights of a question,
    times the variances that its statistics would have alone, add up to 1, in equal parts
    for its aggregates.
    """
    used = sum(1 / len(parts) for parts in plan.parts if place in parts)
    statistic = plan.statistics[place]
    moved = plan.sensitivity(statistic, Neighbours.ADD_REMOVE).l2_squared
    alone = float(moved) / plan.source_schema.unit.max_rows**2 * len(plan.statistics)
    return used / len(plan.parts) / plan.cells.groups / alone


def _common_cells(plans: Sequence[QueryPlan]) -> QueryCells:
    """Cells that decide the keys and conditions of all questions, and which rows have
    the values that are added up.
    """
    schema = plans[0].source_schema
    edges: dict[str, set[int]] = {}
    for plan in plans:
        for name, codec in plan.cells.codecs.items():
            own = codec.bins.edges if isinstance(codec.bins, BinEdges) else ()
            edges.setdefault(name, set()).update(own)
        for statistic in plan.statistics:
            for name in statistic.value_columns:
                if not codec_of(schema[name]).is_value.all():
                    edges.setdefault(name, set()).update(_ends_of(schema[name]))
    clique = tuple(name for name in schema if name in edges)
    columns = tuple(
        replace(column, bins=tuple(sorted(edges[column.name])), grain=())
        if isinstance(column, Lattice) and column.name in edges
        else column
        for column in schema.columns
    )
    narrowed = replace(schema, columns=columns, impossible=(), rules=())
    return QueryCells(narrowed, clique, ())


def _ends_of(column: Column) -> tuple[int, ...]:
    if not isinstance(column, Lattice):
        return ()
    assert column.low is not None
    assert column.high is not None
    return column.low, column.high + 1


def _map_groups(
    cells: QueryCells, plan: QueryPlan, statistic: AnyStatistic
) -> NDArray[np.int64]:
    """The group of each common cell whose rows a statistic of a question is about; -1
    for the others, and where a value that it adds up is missing.
    """
    own = np.where(plan.selects(statistic), plan.cells.group_of_cell, -1)
    codes = np.unravel_index(np.arange(math.prod(cells.sizes)), cells.sizes or (1,))
    found = own[_map_cells(cells, plan.cells, codes)]
    for name in statistic.value_columns:
        if name in cells.clique:
            has_value = cells.codecs[name].is_value[codes[cells.clique.index(name)]]
            found = np.where(has_value, found, -1)
    return found


def _map_cells(
    fine: QueryCells, coarse: QueryCells, codes: Sequence[NDArray[np.intp]]
) -> NDArray[np.int64]:
    """The cell of a question that holds each of the common cells, whose codes these
    are.
    """
    place = np.zeros(math.prod(fine.sizes), np.int64)
    for name in coarse.clique:
        own, other = fine.codecs[name], coarse.codecs[name]
        code = np.asarray(codes[fine.clique.index(name)], np.int64)
        if isinstance(own.bins, BinEdges) and isinstance(other.bins, BinEdges):
            starts = np.searchsorted(other.edges, own.edges[:-1], side="right") - 1
            behind = np.arange(own.size - len(own.bins)) + len(other.bins)
            code = np.concatenate([starts, behind])[code]
        place = place * other.size + code
    return place


def _number_patterns(
    columns: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for each cell, the same for cells that all questions treat alike and -1
    for those that none is about; and the first cell of each number.
    """
    pattern = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        joined = pattern * (int(column.max(initial=0)) + 2) + column + 1
        _, pattern = np.unique(joined, return_inverse=True)
    used = np.zeros(len(pattern), np.bool_)
    for column in columns:
        used |= column >= 0
    _, firsts, numbers = np.unique(
        pattern[used], return_index=True, return_inverse=True
    )
    atom_of_cell = np.full(len(pattern), -1, np.int64)
    atom_of_cell[used] = numbers
    return atom_of_cell, np.flatnonzero(used)[firsts]
