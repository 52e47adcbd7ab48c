"""Orders, equalities and sums that all rows keep, for their owner to accept as rules.
PRIVATE: exact counts, for the owner's draft alone.

Only columns of one family are compared, and no more pairs than a limit, in one scan. An
order is suggested only where it is no accident: if the two columns had nothing to do
with each other, some row would break it with near certainty. A sum is searched for
among totals first, and then checked in every row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

from understudy.schema import Lattice, Schema
from understudy.schema.columns.lattice import MAX_LATTICE_INDEX
from understudy.schema.predicates.ast import (
    ColumnComparison,
    ColumnName,
    LinearComparison,
    Operator,
)
from understudy.schema.predicates.comparable import family_of_column, scale_step_of
from understudy.schema.predicates.rules import AlwaysRule
from understudy.tables.reading import encode
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers

MAX_COMPARED_COLUMNS = 40
"""Columns of one family that are compared with each other, the first ones: 780 pairs."""

MIN_EXPECTED_BREAKS = 15
"""Rows that would break an order if the columns were independent: then a row that does
is missing by chance with probability e⁻¹⁵, far less than one in a million.
"""

MIN_BREAK_SHARE = 0.05
"""Part of the rows that would break it: an order that few could break says little."""

MAX_SUM_PARTS = 3
"""Parts of a sum that are searched for among all columns; longer sums among columns that
stand side by side.
"""

MAX_SIDE_BY_SIDE = 12
"""Parts of a sum that stand side by side."""

MAX_CHECKED_SUMS = 200
"""Sums of equal totals that are checked in the rows."""

QUANTILE_LEVELS = tuple(level / 20 for level in range(1, 20))


@dataclass(frozen=True)
class ScaledColumn:
    """A column whose values are whole numbers on the scale of its family: their name in
    the query, what they span, their total and their quantiles.
    """

    name: str
    alias: str
    low: int
    high: int
    total: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class PairDifference:
    """Rows with both values, and the least and the largest difference of the first from
    the second.
    """

    both: int
    least: int | None
    largest: int | None


class FamilyRules:
    """The rules between the columns of one family."""

    def __init__(self, source: TableSource, columns: list[Lattice]) -> None:
        self._source = source
        self._columns = columns[:MAX_COMPARED_COLUMNS]
        self._query = self._query_scaled()

    def _query_scaled(self) -> str:
        """The values of all columns as whole numbers on one scale."""
        steps = [scale_step_of(column) for column in self._columns]
        common = math.lcm(*(step.denominator for step in steps))
        layers = QueryLayers()
        values = []
        for place, (column, step) in enumerate(zip(self._columns, steps, strict=True)):
            stored = self._source.stored_column(column.name)
            index = encode.index_sql(layers, column, stored)
            # Differences must fit: a value far out on the common scale is not compared.
            scaled = layers.read(f"CAST({index} AS HUGEINT) * {int(step * common)}")
            fits = f"abs({scaled}) < {MAX_LATTICE_INDEX}"
            value = f"CAST(CASE WHEN {fits} THEN {scaled} END AS BIGINT)"
            values.append(f"{value} AS v{place}")
        return f"({layers.query(self._source.relation, values)})"

    def suggest(self) -> list[AlwaysRule]:
        """Equal columns, orders that follow from no others, and sums of numbers."""
        columns = self._measure_columns()
        pairs = [pair for pair in combinations(columns, 2) if _may_be_tied(*pair)]
        differences = dict(zip(pairs, self._subtract_pairs(pairs), strict=True))
        equal = [pair for pair, count in differences.items() if _is_equal(count)]
        # Of equal columns the first speaks for both.
        copies = {right.name for _, right in equal}
        orders: dict[tuple[str, str], None] = {}
        for pair, count in differences.items():
            if not copies & {column.name for column in pair}:
                orders |= _find_order(pair, count)
        sums = self._find_sums([c for c in columns if c.name not in copies])
        return [
            *(_compare(left.name, Operator.EQUAL, right.name) for left, right in equal),
            *_list_order_rules(set(orders), sums),
            *(_equate_sum(parts, whole) for whole, parts in sums),
        ]

    def _measure_columns(self) -> list[ScaledColumn]:
        """The columns that have at least two different values."""
        levels = ", ".join(str(level) for level in QUANTILE_LEVELS)
        asked = ", ".join(
            f"min(v{i}), max(v{i}), sum(v{i}), quantile_disc(v{i}, [{levels}])"
            for i in range(len(self._columns))
        )
        ((*found,),) = self._run(asked)
        columns = []
        for place, column in enumerate(self._columns):
            low, high, total, quantiles = found[4 * place : 4 * place + 4]
            if low is not None and low < high:
                levels_found = tuple(float(value) for value in quantiles)
                columns.append(
                    ScaledColumn(
                        column.name,
                        f"v{place}",
                        int(low),
                        int(high),
                        int(total),
                        levels_found,
                    )
                )
        return columns

    def _subtract_pairs(
        self, pairs: list[tuple[ScaledColumn, ScaledColumn]]
    ) -> list[PairDifference]:
        if not pairs:
            return []
        # Not counts with a FILTER: their number makes the database slow.
        asked = ", ".join(
            f"count({a.alias} - {b.alias}), min({a.alias} - {b.alias}),"
            f" max({a.alias} - {b.alias})"
            for a, b in pairs
        )
        ((*found,),) = self._run(asked)
        return [
            PairDifference(*found[3 * place : 3 * place + 3])
            for place in range(len(pairs))
        ]

    def _find_sums(
        self, columns: list[ScaledColumn]
    ) -> list[tuple[str, tuple[str, ...]]]:
        """Columns that are the sum of others in every row, each with its parts."""
        if family_of_column(self._columns[0]) != "number":
            return []
        candidates = _sums_by_total(columns)
        if not candidates:
            return []
        asked = ", ".join(
            f"min({_add_sql(parts)} - {whole.alias}), max({_add_sql(parts)} -"
            f" {whole.alias}), count({_add_sql((*parts, whole))})"
            for whole, parts in candidates
        )
        ((*found,),) = self._run(asked)
        sums: dict[str, tuple[str, ...]] = {}
        for place, (whole, parts) in enumerate(candidates):
            least, largest, complete = found[3 * place : 3 * place + 3]
            is_sum = least == largest == 0
            if is_sum and complete >= MIN_EXPECTED_BREAKS:
                sums.setdefault(whole.name, tuple(part.name for part in parts))
        return list(sums.items())

    def _run(self, asked: str) -> list[tuple[Any, ...]]:
        # Else the database would read a cell anew for each of hundreds of counts.
        query = f"WITH scaled AS MATERIALIZED {self._query} SELECT {asked} FROM scaled"
        return self._source.engine.run(query, doing="comparing columns")


def suggest_orders(source: TableSource, schema: Schema) -> list[AlwaysRule]:
    """The equalities, orders and sums that all rows keep, family by family."""
    families: dict[str, list[Lattice]] = {}
    for column in schema.columns:
        family = family_of_column(column)
        if isinstance(column, Lattice) and column.is_modelled and family is not None:
            families.setdefault(family, []).append(column)
    rules = [FamilyRules(source, columns).suggest() for columns in families.values()]
    return list(chain.from_iterable(rules))


def _add_sql(columns: tuple[ScaledColumn, ...]) -> str:
    """The sum of columns; NULL where one of them has no value."""
    # Sums of 64-bit numbers may need more.
    return " + ".join(f"CAST({column.alias} AS HUGEINT)" for column in columns)


def _may_be_tied(one: ScaledColumn, two: ScaledColumn) -> bool:
    """Whether the quantiles of two columns allow one to be at most the other in every
    row: then each quantile is at most the other's, and only such pairs are counted.
    """
    signs = {
        (high > low) - (high < low)
        for low, high in zip(one.quantiles, two.quantiles, strict=True)
    }
    return not {-1, 1} <= signs


def _is_equal(count: PairDifference) -> bool:
    is_same = count.least == count.largest == 0
    return is_same and count.both >= MIN_EXPECTED_BREAKS


def _find_order(
    pair: tuple[ScaledColumn, ScaledColumn], count: PairDifference
) -> dict[tuple[str, str], None]:
    """The order of two columns that all rows keep and independent ones would not."""
    first, second = pair
    if count.least is None or count.largest is None:
        return {}
    for low, high, is_kept in (
        (first, second, count.largest <= 0),
        (second, first, count.least >= 0),
    ):
        share = _share_of_breaks(low, high)
        is_telling = share >= MIN_BREAK_SHARE
        expected_breaks = share * count.both
        if is_kept and is_telling and expected_breaks >= MIN_EXPECTED_BREAKS:
            return {(low.name, high.name): None}
    return {}


def _share_of_breaks(low: ScaledColumn, high: ScaledColumn) -> float:
    """In which part of the rows the lower column would be the larger one if the two were
    independent, by their quantiles.
    """
    breaks = sum(one > two for one in low.quantiles for two in high.quantiles)
    return breaks / (len(low.quantiles) * len(high.quantiles))


def _list_order_rules(
    orders: set[tuple[str, str]], sums: list[tuple[str, tuple[str, ...]]]
) -> list[AlwaysRule]:
    """Rules for the orders that follow neither from two others nor from a sum."""
    # Parts are at most their whole if none is negative: the sum says it already.
    implied = {(part, whole) for whole, parts in sums for part in parts}
    return [
        _compare(low, Operator.AT_MOST, high)
        for low, high in _drop_implied(orders - implied)
    ]


def _drop_implied(orders: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """The orders that do not follow from two others."""
    names = {name for order in orders for name in order}
    return sorted(
        (low, high)
        for low, high in orders
        if not any((low, mid) in orders and (mid, high) in orders for mid in names)
    )


def _sums_by_total(
    columns: list[ScaledColumn],
) -> list[tuple[ScaledColumn, tuple[ScaledColumn, ...]]]:
    """Columns whose total is that of some others together, short sums before long."""
    wholes: dict[int, list[ScaledColumn]] = {}
    for column in columns:
        wholes.setdefault(column.total, []).append(column)
    found = []
    for parts in _possible_parts(columns):
        for whole in wholes.get(sum(part.total for part in parts), ()):
            if whole not in parts:
                found.append((whole, parts))
    return found[:MAX_CHECKED_SUMS]


def _possible_parts(
    columns: list[ScaledColumn],
) -> list[tuple[ScaledColumn, ...]]:
    """Two or three columns, and longer runs of columns side by side."""
    few = [
        parts
        for size in range(2, MAX_SUM_PARTS + 1)
        for parts in combinations(columns, size)
    ]
    runs = [
        tuple(columns[start : start + size])
        for size in range(MAX_SUM_PARTS + 1, MAX_SIDE_BY_SIDE + 1)
        for start in range(len(columns) - size + 1)
    ]
    return few + runs


def _compare(left: str, operator: Operator, right: str) -> AlwaysRule:
    return AlwaysRule(
        predicate=ColumnComparison(ColumnName(left), operator, ColumnName(right))
    )


def _equate_sum(parts: tuple[str, ...], whole: str) -> AlwaysRule:
    terms = [(Fraction(1), ColumnName(part)) for part in parts]
    terms.append((Fraction(-1), ColumnName(whole)))
    return AlwaysRule(
        predicate=LinearComparison(tuple(terms), Operator.EQUAL, Fraction(0))
    )
