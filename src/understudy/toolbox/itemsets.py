"""Frequent itemsets: which combinations of items most rows have.

An item is a yes in a column of yes and no, or one label of a column of labels; an itemset
has at most one item of a column. Its support is the number of rows that have all of its
items: a cell of a marginal. Which itemsets there are is public: it follows from the
schema. Half of the budget chooses the most frequent ones, one after another
(curator/mechanisms/select_itemsets.py), half measures their supports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from understudy.accounting.cost import Cost
from understudy.errors import Refused
from understudy.queries.builders import count
from understudy.queries.cells import make_cells
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.plan import QueryPlan
from understudy.queries.query import Aggregate, AggregateKind, Query
from understudy.queries.resolving import resolve_query
from understudy.queries.statistics import Statistic
from understudy.schema import Boolean, Categorical, Schema
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    Literal,
    Operator,
    Predicate,
)
from understudy.text import align_columns

MAX_ITEMSETS = 1 << 18
"""Itemsets that are compared: all their supports are counted."""

MAX_ITEMSET_ITEMS = 5
MAX_CHOSEN_ITEMSETS = 200


@dataclass(frozen=True, order=True)
class Item:
    """A value of a column, and its code."""

    column: str
    code: int
    label: str
    """Empty for the yes of a column of yes and no."""

    def __str__(self) -> str:
        return f"{self.column}={self.label}" if self.label else self.column

    def to_condition(self) -> Predicate:
        """That a row has it."""
        value: str | bool = self.label or True
        return ColumnComparison(ColumnName(self.column), Operator.EQUAL, Literal(value))


Itemset = tuple[Item, ...]


@dataclass(frozen=True, eq=False)
class ItemsetSpace:
    """The itemsets that are compared, by the columns of their items."""

    schema: Schema
    itemsets: tuple[Itemset, ...]

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The marginals whose cells their supports are."""
        return tuple(
            dict.fromkeys(tuple(i.column for i in each) for each in self.itemsets)
        )


@dataclass(frozen=True)
class ItemsetSupport:
    """An itemset with its noisy support, and an interval that holds the true one 95
    times in 100.
    """

    items: tuple[str, ...]
    support: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class FrequentItemsets:
    """Itemsets by their noisy support, the most frequent first.

    >>> print(FrequentItemsets((ItemsetSupport(("bread", "milk"), 512, 482, 542),)))
    itemset      support  low  high
    bread, milk      512  482   542
    """

    rows: tuple[ItemsetSupport, ...]
    cost: Cost | None = None

    def to_dict(self) -> dict[str, object]:
        """It for a program."""
        return {
            "itemsets": [
                {
                    "items": list(row.items),
                    "support": row.support,
                    "low": row.low,
                    "high": row.high,
                }
                for row in self.rows
            ]
        }

    def lines(self) -> list[str]:
        """A line for each itemset."""
        cells = [
            [
                ", ".join(row.items),
                *(f"{x:.0f}" for x in (row.support, row.low, row.high)),
            ]
            for row in self.rows
        ]
        head = ["itemset", "support", "low", "high"]
        return align_columns([head, *cells], right=[1, 2, 3])

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def plan_itemsets(
    columns: Sequence[str],
    schema: Schema,
    *,
    top: int,
    most_items: int,
    least_items: int = 1,
) -> ItemsetSpace:
    """All itemsets of these columns with so many items; Refused, with the remedy, if
    they cannot be compared. Nothing is spent.
    """
    _check_sizes(top, most_items, least_items)
    counted = tuple(
        Aggregate(AggregateKind.COUNT, (name,), name=f"n{i}")
        for i, name in enumerate(columns)
    )
    resolved = resolve_query(Query(counted), schema)
    names = [aggregate.columns[0] for aggregate in resolved.aggregates]
    if len(set(names)) < len(names):
        raise Refused("Each column of items is named once. Nothing was spent")
    items = [item for name in names for item in _list_items(name, schema)]
    sizes = range(least_items, most_items + 1)
    number = sum(math.comb(len(items), size) for size in sizes)
    if number > MAX_ITEMSETS:
        raise Refused(
            f"There are about {number:,} itemsets, more than {MAX_ITEMSETS:,}. Use fewer"
            " columns, or fewer items in a set. Nothing was spent"
        )
    itemsets = [
        chosen
        for size in sizes
        for chosen in combinations(items, size)
        if len({item.column for item in chosen}) == size
    ]
    if len(itemsets) < top:
        raise Refused(
            f"There are {len(itemsets):,} itemsets of these columns, fewer than"
            f" {top:,}. Nothing was spent"
        )
    return ItemsetSpace(schema, tuple(itemsets))


def plan_supports(space: ItemsetSpace, chosen: Sequence[Itemset]) -> QueryPlan:
    """The supports of chosen itemsets, each a count of rows that meet a condition."""
    conditions = [
        reduce(And, [item.to_condition() for item in itemset]) for itemset in chosen
    ]
    cells = make_cells(space.schema, [], conditions)
    return QueryPlan(
        query=count(),
        source_schema=space.schema,
        cells=cells,
        where=np.ones(math.prod(cells.sizes), np.bool_),
        statistics=tuple(Statistic((), (), condition) for condition in conditions),
        parts=((0,),),
    )


def make_itemset_table(
    chosen: Sequence[Itemset],
    measured: Sequence[tuple[list[float], NoiseScale]],
    cost: Cost | None,
) -> FrequentItemsets:
    """The chosen itemsets with what was measured of them."""
    rows = []
    for itemset, (values, noise) in zip(chosen, measured, strict=True):
        width = noise.half_width(ANSWER_DOUBT)
        names = tuple(str(item) for item in itemset)
        low = max(values[0] - width, 0.0)
        rows.append(ItemsetSupport(names, values[0], low, max(values[0] + width, 0.0)))
    rows.sort(key=lambda row: -row.support)
    return FrequentItemsets(tuple(rows), cost)


def _check_sizes(top: int, most_items: int, least_items: int) -> None:
    numbers = (top, most_items, least_items)
    if any(type(number) is not int or number < 1 for number in numbers):
        raise Refused(
            "How many itemsets, and of how many items, are whole numbers from 1 up."
            " Nothing was spent"
        )
    if most_items > MAX_ITEMSET_ITEMS or least_items > most_items:
        raise Refused(
            f"An itemset has at most {MAX_ITEMSET_ITEMS} items, and no fewer than the"
            " least. Nothing was spent"
        )
    if top > MAX_CHOSEN_ITEMSETS:
        raise Refused(
            f"At most {MAX_CHOSEN_ITEMSETS} itemsets are chosen: each is paid for."
            " Nothing was spent"
        )


def _list_items(name: str, schema: Schema) -> list[Item]:
    column = schema[name]
    if isinstance(column, Boolean):
        return [Item(name, 1, "")]
    if isinstance(column, Categorical):
        labels = [*(column.values or ())]
        return [Item(name, code, label) for code, label in enumerate(labels)]
    raise Refused(
        f"{name}: items are labels, or yes and no. Leave the column out. Nothing was"
        " spent"
    )
