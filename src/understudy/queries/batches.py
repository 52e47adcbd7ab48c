"""Several questions that count, measured together.

Counts of one table overlap: deciles, totals and groups are sums of the same cells. The
atoms of a batch are the cells that all its questions treat alike, so each count is a sum
of atoms. A row lies in one atom, so all atoms together cost what one count costs, and a
count of k atoms has √k times their noise; asked one by one, each of q counts would get a
q-th part of the budget and √q times the noise. Better still may be other sums of atoms,
from which all counts are recovered (strategies.py). Which is best is public: it depends
on the questions alone.

A sum of k draws of rounded Gaussian noise is normal with σ√k but for rounding errors.
These are bounded by 1/2, symmetric and independent, so their sum exceeds t with
probability at most 2·exp(−2t²/k) (Hoeffding 1963); a tenth of the doubt is for it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.accounting.cost import Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.queries.builders import count
from understudy.queries.cells import QueryCells, make_cells
from understudy.queries.estimates import ANSWER_DOUBT, NumberEstimate
from understudy.queries.plan import AnyStatistic, QueryPlan
from understudy.queries.query import AggregateKind
from understudy.queries.results import AnswerRow, AnswerTable, finish_answer
from understudy.queries.statistics import Statistic
from understudy.queries.strategies import (
    MAX_STRATEGY_ATOMS,
    CountStrategy,
    find_strategy,
)
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.predicates.ast import (
    ColumnComparison,
    ColumnName,
    Literal,
    Operator,
    Predicate,
)

MAX_BATCH_CELLS = 1 << 18
"""Cells that the questions of a batch span together; beyond, they are asked one by one."""

_ROUNDING_DOUBT_SHARE = 0.1


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
class AtomPlan(QueryPlan):
    """The counts of all atoms of a batch, as one statistic."""

    members: tuple[QueryPlan, ...]
    groups_of_atoms: tuple[NDArray[np.int64], ...]
    """For each count of each question, the group of every atom; -1 for none."""

    def digest(self, statistic: AnyStatistic) -> str:
        """By the questions, in their order: atoms are numbered by them."""
        del statistic
        own: list[object] = ["atoms"]
        own.append([[p.digest(s) for s in p.statistics] for p in self.members])
        if self.strategy is not None:
            # Two machines may compute strategies that differ in the last digit.
            own.append(self.strategy.sums.tolist())
        return hashlib.sha256(json.dumps(own).encode()).hexdigest()

    def sensitivity(
        self, statistic: AnyStatistic, neighbours: Neighbours
    ) -> Sensitivity:
        """How far one unit moves what is measured."""
        if self.strategy is None:
            return super().sensitivity(statistic, neighbours)
        max_rows = self.source_schema.unit.max_rows
        return self.strategy.sensitivity(neighbours, max_rows)

    def combine_groups(self, values: list[int]) -> list[int]:
        """What is measured of the counts of atoms."""
        return values if self.strategy is None else self.strategy.measure(values)

    @cached_property
    def strategy(self) -> CountStrategy | None:
        """The sums of atoms that are measured; None for the atoms themselves."""
        is_small = self.cells.groups <= MAX_STRATEGY_ATOMS
        return find_strategy(self.workload) if is_small else None

    @cached_property
    def workload(self) -> NDArray[np.float64]:
        """Which atoms each count is the sum of; counts of no atom are left out."""
        rows = []
        for groups in self.groups_of_atoms:
            for group in np.unique(groups[groups >= 0]):
                rows.append(groups == group)
        return np.array(rows, np.float64).reshape(len(rows), self.cells.groups)

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """The variance of each count, where what is measured has 1."""
        if self.strategy is not None:
            return self.strategy.find_variances(self.workload)
        sizes = np.concatenate([np.bincount(g[g >= 0]) for g in self.groups_of_atoms])
        return sizes[sizes > 0].astype(np.float64)

    @property
    def mean_variance(self) -> float:
        """That of all counts on average, where one count by itself has 1."""
        moved = 1
        if self.strategy is not None:
            moved = int(self.strategy.sensitivity(Neighbours.ADD_REMOVE, 1).l2_squared)
        return float(self.variances.mean()) * moved if self.variances.size else 1.0


def plan_atoms(plans: Sequence[QueryPlan]) -> AtomPlan | None:
    """The atoms of questions that count; None if another aggregate is among them, or
    if they span too many cells together.
    """
    if len(plans) < 2 or not all(_is_counting(plan) for plan in plans):
        return None
    cells = _common_cells(plans)
    if cells is None or math.prod(cells.sizes) > MAX_BATCH_CELLS:
        return None
    columns = [
        np.where(plan.selects(statistic), plan.cells.group_of_cell, -1)[
            _map_cells(cells, plan.cells)
        ]
        for plan in plans
        for statistic in plan.statistics
    ]
    atom_of_cell, firsts = _number_patterns(columns)
    schema = plans[0].source_schema
    return AtomPlan(
        query=count(),
        source_schema=schema,
        cells=AtomCells(cells.schema, cells.clique, (), atom_of_cell, len(firsts)),
        where=np.ones(len(atom_of_cell), np.bool_),
        statistics=(Statistic(),),
        parts=((0,),),
        members=tuple(plans),
        groups_of_atoms=tuple(column[firsts] for column in columns),
    )


def _is_counting(plan: QueryPlan) -> bool:
    if plan.features is not None:
        return False
    kinds = {aggregate.kind for aggregate in plan.query.aggregates}
    # A count of values is about a column that the cells may not show.
    has_columns = any(aggregate.columns for aggregate in plan.query.aggregates)
    return kinds == {AggregateKind.COUNT} and not has_columns


def _common_cells(plans: Sequence[QueryPlan]) -> QueryCells | None:
    """Cells that decide the keys and conditions of all questions."""
    conditions: list[Predicate] = []
    whole = set()
    for plan in plans:
        own = [plan.condition, *(s.condition for s in plan.statistics)]
        conditions += [each for each in own if each is not None]
        for key in plan.query.keys:
            if not key.edges:
                whole.add(key.column)
                continue
            if key.labels:
                return None
            name = ColumnName(key.column)
            conditions += [
                ColumnComparison(name, Operator.AT_LEAST, Literal(edge))
                for edge in key.edges
            ]
    return make_cells(plans[0].source_schema, [], conditions, whole)


def _map_cells(fine: QueryCells, coarse: QueryCells) -> NDArray[np.int64]:
    """The cell of a question that holds each of the common cells."""
    codes = np.unravel_index(np.arange(math.prod(fine.sizes)), fine.sizes or (1,))
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


def atom_half_width(law: Law, scale: Fraction, atoms: float, doubt: float) -> float:
    """How far a sum of so many noisy atoms is from the truth, at most; of a sum with
    weights, by the sum of their squares.

    >>> round(atom_half_width(Law.ROUNDED_GAUSSIAN, Fraction(10), 4, 0.05), 1)
    43.6
    """
    rounding = math.sqrt(atoms * math.log(2 / (_ROUNDING_DOUBT_SHARE * doubt)) / 2)
    rest = (1 - _ROUNDING_DOUBT_SHARE) * doubt
    if law is Law.DISCRETE_GAUSSIAN:
        return math.sqrt(2 * math.log(2 / doubt) * atoms) * float(scale)
    normal = -float(ndtri(rest / 2)) * math.sqrt(atoms) * float(scale)
    return normal + (rounding if scale else 0.0)


def scale_for_atoms(law: Law, half_width: float, atoms: float) -> float:
    """The scale of noise on atoms at which sums of so many are within a half-width."""
    unit = atom_half_width(law, Fraction(1), atoms, ANSWER_DOUBT)
    two = atom_half_width(law, Fraction(2), atoms, ANSWER_DOUBT)
    # It is a line in the scale: an offset for rounding and a slope.
    return max((half_width - (2 * unit - two)) / (two - unit), 0.0)


def answer_members(
    plan: AtomPlan, values: Sequence[float], law: Law, scale: Fraction, *, basis: str
) -> list[AnswerTable]:
    """The answers to all questions of a batch, from the counts of its atoms."""
    atoms = np.array(values, np.float64)
    if plan.strategy is not None:
        atoms = plan.strategy.recovery @ atoms
    answers = []
    groups = iter(plan.groups_of_atoms)
    for member in plan.members:
        columns = []
        for _ in member.statistics:
            sums, variances = _sum_atoms(plan, next(groups), atoms, member.cells.groups)
            columns.append(_bound_counts(sums, variances, law, scale))
        rows = []
        for place, keys in enumerate(member.cells.iterate_groups()):
            numbers = [columns[parts[0]][place] for parts in member.parts]
            rows.append(AnswerRow(keys, tuple(numbers)))
        answers.append(finish_answer(member.query, rows, basis=basis, cost=None))
    return answers


def _sum_atoms(
    plan: AtomPlan,
    group_of_atom: NDArray[np.int64],
    atoms: NDArray[np.float64],
    size: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A count for every group, and its variance where what was measured has 1."""
    inside = group_of_atom >= 0
    chosen = group_of_atom[inside]
    weighed = np.bincount(chosen, weights=atoms[inside], minlength=size)
    sums = weighed.astype(np.float64)
    if plan.strategy is None:
        return sums, np.bincount(chosen, minlength=size).astype(np.float64)
    members = np.equal(np.arange(size)[:, None], group_of_atom).astype(np.float64)
    return sums, plan.strategy.find_variances(members)


def _bound_counts(
    sums: NDArray[np.float64],
    variances: NDArray[np.float64],
    law: Law,
    scale: Fraction,
) -> list[NumberEstimate]:
    """A count for every group, with its interval."""
    found = []
    for value, variance in zip(sums.tolist(), variances.tolist(), strict=True):
        reach = 0.0
        if variance:
            reach = atom_half_width(law, scale, variance, ANSWER_DOUBT)
        low, high = max(value - reach, 0.0), max(value + reach, 0.0)
        found.append(NumberEstimate(min(max(value, low), high), low, high))
    return found
