"""Counts one after another from weights on public cells: private multiplicative weights.

Hardt, Rothblum, "A multiplicative weights mechanism for privacy-preserving data
analysis", 2010. Each count is estimated from weights on the joint cells of all questions;
a noisy test says whether that is close (curator/mechanisms/online_counts.py), and only
where it is not, a noisy count is measured, and the weights learn it. Here is what is
public of it: the cells, which of them each count adds up, the weights, the intervals.

The weights start even. They learn a count by one factor inside of its cells and one
outside, so that they add up to it: a step of multiplicative weights of the length that
meets the answer, as in iterative proportional fitting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.errors import Refused
from understudy.queries.cells import KeyValue, QueryCells
from understudy.queries.plan import QueryPlan
from understudy.queries.query import AggregateKind
from understudy.schema import Lattice, Schema, describe_counted_rows
from understudy.text import align_columns

MAX_ONLINE_CELLS = 1 << 16
"""Joint cells of all questions. Every failure goes over all of them several times, and
even weights on more cells than there are rows say little.
"""

MAX_ONLINE_COUNTS = 1 << 11
"""Counts of one list: which cells each adds up fits into 128 MB with the most cells."""

LEARNING_ROUNDS = 10
"""How often the weights go over everything that they have learned, after each failure:
one count pulls the others off.
"""


class CountBasis(StrEnum):
    """Where the answer to a count is from."""

    MEASURED = "measured"
    """The test failed: a noisy count."""
    CHECKED = "checked"
    """The test passed: the estimate."""
    UNCHECKED = "not checked"
    """All failures were used up: the estimate, whatever the rows are."""


@dataclass(frozen=True, eq=False)
class OnlinePlan:
    """A list of counts, and the joint cells that each adds up."""

    schema: Schema
    """The columns of the questions, in the bins of all of them."""
    clique: tuple[str, ...]
    shape: tuple[int, ...]
    selected: NDArray[np.bool_]
    """For each count, whether it adds up each cell."""
    questions: tuple[str, ...]
    keys: tuple[tuple[KeyValue, ...], ...]
    """For each count, the group that it is about."""
    counted: Sequence[object] = ()
    """What else decides which rows are counted."""

    @property
    def counts(self) -> int:
        """How many counts there are."""
        return len(self.selected)

    @property
    def cells(self) -> int:
        """How many joint cells there are."""
        return math.prod(self.shape)


@dataclass
class CellWeights:
    """Estimated rows of every cell, which learn from noisy counts. Nothing in here is
    secret.

    >>> weights = CellWeights(cells=4, total=100)
    >>> first_two = np.array([True, True, False, False])
    >>> weights.estimate(first_two)
    50
    >>> weights.learn(first_two, 80)
    >>> weights.estimate(first_two)
    80
    """

    cells: int
    total: int

    def __post_init__(self) -> None:
        self.total = max(self.total, 1)
        self._rows = np.full(self.cells, self.total / self.cells)
        self._learned: list[tuple[NDArray[np.bool_], int]] = []

    def estimate(self, selected: NDArray[np.bool_]) -> int:
        """The estimated rows of these cells, as a whole number."""
        return round(float(self._rows[selected].sum()))

    def learn(self, selected: NDArray[np.bool_], value: int) -> None:
        """Move towards a noisy count of these cells, and towards all earlier ones."""
        self._learned.append((selected, value))
        for _ in range(LEARNING_ROUNDS):
            for cells, rows in self._learned:
                self._fit(cells, rows)

    def _fit(self, selected: NDArray[np.bool_], value: int) -> None:
        inside = float(self._rows[selected].sum())
        # Half a row is left on either side: no weight becomes 0 for good.
        wanted = min(max(float(value), 0.5), self.total - 0.5)
        outside = self.total - inside
        if inside <= 0 or outside <= 0:
            return
        factor = (self.total - wanted) / outside
        self._rows *= np.where(selected, wanted / inside, factor)
        self._rows *= self.total / self._rows.sum()


@dataclass(frozen=True)
class OnlineCount:
    """A count with an interval that holds the true one 95 times in 100."""

    question: str
    keys: tuple[KeyValue, ...]
    value: int
    low: float
    high: float
    basis: CountBasis


@dataclass(frozen=True, eq=False, repr=False)
class OnlineAnswers:
    """Counts in the order in which they were asked.

    >>> row = OnlineCount("count", (), 512, 482, 542, CountBasis.MEASURED)
    >>> print(OnlineAnswers((row,), failures=5))
    question  group  count  low  high  from
    count              512  482   542  measured
    1 of 5 failures used up, 0 answers not checked
    """

    rows: tuple[OnlineCount, ...]
    failures: int
    """How many tests might fail."""
    cost: Cost | None = None

    def count_basis(self, basis: CountBasis) -> int:
        """How many answers are from there."""
        return sum(row.basis is basis for row in self.rows)

    def to_dict(self) -> dict[str, object]:
        """It for a program."""
        return {
            "counts": [
                {
                    "question": row.question,
                    "keys": list(row.keys),
                    "count": row.value,
                    "low": row.low,
                    "high": row.high,
                    "from": str(row.basis),
                }
                for row in self.rows
            ],
            "failures": self.failures,
        }

    def lines(self) -> list[str]:
        """A line for each count, and one for how many tests failed."""
        cells = [
            [
                row.question,
                ", ".join("missing" if k is None else str(k) for k in row.keys),
                *(f"{x:.0f}" for x in (row.value, row.low, row.high)),
                str(row.basis),
            ]
            for row in self.rows
        ]
        head = ["question", "group", "count", "low", "high", "from"]
        failed = self.count_basis(CountBasis.MEASURED)
        unchecked = self.count_basis(CountBasis.UNCHECKED)
        return [
            *align_columns([head, *cells], right=[2, 3, 4]),
            f"{failed} of {self.failures} failures used up, {unchecked} answers not"
            " checked",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def plan_online(plans: Sequence[QueryPlan], schema: Schema) -> OnlinePlan:
    """The counts of planned questions and their joint cells; Refused, with the remedy,
    if they are no counts or span too many cells. Nothing is spent.
    """
    if not plans:
        raise Refused("Ask at least one question. Nothing was spent")
    for plan in plans:
        _refuse_others(plan)
    counts = sum(len(plan.statistics) * plan.cells.groups for plan in plans)
    if counts > MAX_ONLINE_COUNTS:
        raise Refused(
            f"These questions are {counts:,} counts, more than {MAX_ONLINE_COUNTS:,}."
            " Ask for fewer groups. Nothing was spent"
        )
    joint = _join_cells([plan.cells for plan in plans], schema)
    size = math.prod(joint.sizes)
    selected, questions, keys = [], [], []
    for plan in plans:
        places = _place_cells(plan.cells, joint)
        groups = list(plan.cells.iterate_groups())
        for part in plan.parts:
            holds = plan.selects(plan.statistics[part[0]])
            group_of_cell = np.where(holds, plan.cells.group_of_cell, -1)[places]
            for place, group in enumerate(groups):
                selected.append(group_of_cell == place)
                questions.append(plan.query.text or str(plan.query))
                keys.append(group)
    return OnlinePlan(
        schema=joint.schema,
        clique=joint.clique,
        shape=joint.sizes,
        selected=np.array(selected).reshape(len(selected), size),
        questions=tuple(questions),
        keys=tuple(keys),
        counted=describe_counted_rows(schema),
    )


def _refuse_others(plan: QueryPlan) -> None:
    query = plan.query
    for aggregate in query.aggregates:
        if aggregate.kind is not AggregateKind.COUNT or aggregate.columns:
            raise Refused(
                f"{aggregate.title}: this way answers counts of rows alone. Ask it by"
                " itself, or count rows under a condition. Nothing was spent"
            )
    if plan.features is not None:
        raise Refused(
            "This way counts rows, not units. Ask about columns per unit one by one."
            " Nothing was spent"
        )
    if query.kept or query.order or query.most_rows is not None or query.derived:
        raise Refused(
            "This way answers every count as it is. Leave out HAVING, ORDER BY, LIMIT"
            " and computed columns. Nothing was spent"
        )


def _join_cells(cells: Sequence[QueryCells], schema: Schema) -> QueryCells:
    """The coarsest cells that every cell of some questions is made of."""
    named = {name for each in cells for name in each.clique}
    clique = tuple(name for name in schema if name in named)
    columns = {}
    for name in clique:
        own = [each.schema[name] for each in cells if name in each.clique]
        column = own[0]
        if isinstance(column, Lattice):
            edges = {edge for each in own for edge in _list_edges(each)}
            column = replace(column, bins=tuple(sorted(edges)))
        columns[name] = column
    described = tuple(columns.get(column.name, column) for column in schema.columns)
    joint = QueryCells(
        replace(schema, columns=described, impossible=(), rules=()), clique, ()
    )
    size = math.prod(joint.sizes)
    if size > MAX_ONLINE_CELLS:
        raise Refused(
            f"The questions together span {size:,} combinations of"
            f" {', '.join(clique)}, more than {MAX_ONLINE_CELLS:,}. Ask about fewer"
            " columns, or in fewer bins. Nothing was spent"
        )
    return joint


def _list_edges(column: object) -> tuple[int, ...]:
    assert isinstance(column, Lattice)
    return tuple(column.bins or ())


def _place_cells(own: QueryCells, joint: QueryCells) -> NDArray[np.int64]:
    """The cell of a question that each joint cell lies in."""
    places = np.zeros(joint.sizes, np.int64)
    for name in own.clique:
        shape = [1] * len(joint.sizes)
        shape[joint.clique.index(name)] = -1
        codes = _map_codes(own, joint, name).reshape(shape)
        places = places * own.codecs[name].size + codes
    return places.ravel()


def _map_codes(own: QueryCells, joint: QueryCells, name: str) -> NDArray[np.int64]:
    """The code of a question's column for each code of the joint one."""
    column = own.schema[name]
    if not isinstance(column, Lattice):
        return np.arange(joint.codecs[name].size)
    wide, fine = _list_edges(column), _list_edges(joint.schema[name])
    bins = np.searchsorted(wide, fine[:-1], side="right") - 1
    # What is no value, such as a missing one, has its codes after the bins.
    others = joint.codecs[name].size - len(bins)
    return np.concatenate([bins, len(wide) - 1 + np.arange(others)])
