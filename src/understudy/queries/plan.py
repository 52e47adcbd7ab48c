"""The plan of a query: which statistics it needs of which cells. Made from the schema
alone, before anything is spent; whatever cannot be answered is refused here.

| aggregate | statistics |
|---|---|
| count | n |
| sum | Σx |
| mean | n, Σ(x − m) around the middle m of the bounds, where one row moves it least |
| variance, stddev | n, Σ(x − m), Σ(x − m)² |
| covariance | n, Σ(x − m), Σ(y − k), Σ(x − m)(y − k) of rows that have both |
| correlation | those and both sums of squares |
| share | the rows that meet the condition, and all |

Aggregates of one query share what they have in common.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.queries.cells import QueryCells, make_cells
from understudy.queries.features import (
    FeaturePlan,
    describe_features,
    plan_features,
)
from understudy.queries.query import Aggregate, AggregateKind, Query
from understudy.queries.resolving import (
    list_case_columns,
    list_conditions,
    resolve_query,
)
from understudy.queries.searches import DistinctCount, QuantileSearch
from understudy.queries.statistics import (
    ColumnFactor,
    GroupReach,
    Statistic,
    reach_of_groups,
)
from understudy.schema import (
    BrokenRowPolicy,
    Column,
    Lattice,
    Schema,
    codec_of,
    describe_counted_rows,
    schema_to_dict,
)
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.predicates.ast import Predicate

AnyStatistic = Statistic | QuantileSearch | DistinctCount
"""What can be measured for a query."""


@dataclass(frozen=True, eq=False)
class QueryPlan:
    """A query whose names are resolved, its cells, and the statistics that it needs.

    >>> from understudy.queries import mean
    >>> from understudy.schema import Boolean
    >>> columns = (Integer(name="age", min=0, max=99), Boolean(name="smoker"))
    >>> plan = plan_query(mean("age").by("smoker"), Schema(columns=columns))
    >>> len(plan.statistics), plan.cells.groups
    (2, 3)
    """

    query: Query
    source_schema: Schema
    cells: QueryCells
    where: NDArray[np.bool_]
    """Whether each cell meets the condition of the query."""
    statistics: tuple[AnyStatistic, ...]
    parts: tuple[tuple[int, ...], ...]
    """For each aggregate, the places of its statistics."""
    features: FeaturePlan | None = field(default=None, kw_only=True)
    """Columns per unit that the question is about, instead of the table's."""

    @property
    def condition(self) -> Predicate | None:
        """The condition that all rows of the query meet."""
        condition = self.query.condition
        assert condition is None or isinstance(condition, Predicate)
        return condition

    def selects(self, statistic: AnyStatistic) -> NDArray[np.bool_]:
        """The cells whose rows a statistic counts."""
        return self.where & self.cells.holds_on_cells(statistic.condition)

    def sensitivity(
        self, statistic: AnyStatistic, neighbours: Neighbours
    ) -> Sensitivity:
        """How far one privacy unit moves a statistic."""
        schema = self.source_schema
        if not isinstance(statistic, Statistic):
            groups, max_rows = self.cells.groups, schema.unit.max_rows
            return statistic.sensitivity(groups, neighbours, max_rows)
        return self.reach(statistic).sensitivity(neighbours, schema.unit.max_rows)

    def reach(self, statistic: Statistic) -> GroupReach:
        """What one row can add to each group."""
        schema = self.source_schema
        # A replaced unit may leave no row behind: it has fewer, or one that is dropped.
        has_units = schema.unit.id is not None or self.features is not None
        may_vanish = has_units or schema.broken is BrokenRowPolicy.DROP
        return reach_of_groups(
            statistic, self.cells, self.selects(statistic), may_vanish=may_vanish
        )

    def combine_groups(self, place: int, values: list[int]) -> list[int]:
        """What is measured of a statistic's values of the groups: these themselves."""
        del place
        return values

    @property
    def amount_shares(self) -> tuple[Fraction, ...]:
        """The parts of what the question may cost that are for each statistic."""
        return (Fraction(1, len(self.statistics)),) * len(self.statistics)

    def digest(self, statistic: AnyStatistic) -> str:
        """A name for a statistic of these groups: the same for all questions that need
        it.
        """
        named = self._name_columns(statistic)
        columns = [c for c in self.source_schema.columns if c.name in named]
        # As declared: the bins of the cells depend on what else is asked.
        plain = tuple(replace(c, constant=False, note="") for c in columns)
        facts: dict[str, object] = {
            "columns": schema_to_dict(Schema(columns=plain)),
            "unit": describe_counted_rows(self.source_schema),
            "keys": [
                [key.column, key.edges, key.has_missing] for key in self.query.keys
            ],
            "where": None if self.condition is None else str(self.condition),
            "statistic": statistic.describe(),
        }
        mappings = [key.mapping for key in self.query.keys if key.mapping]
        if mappings:
            facts["mappings"] = mappings
        cases = [[key.cases, key.otherwise] for key in self.query.keys if key.cases]
        if cases:
            facts["cases"] = cases
        if self.features is not None:
            facts["features"] = describe_features(self.features)
        text = json.dumps(facts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def _name_columns(self, statistic: AnyStatistic) -> set[str]:
        """The columns on which a statistic of these groups depends."""
        named = set(statistic.value_columns).union(
            key.column for key in self.query.keys
        )
        if isinstance(statistic, DistinctCount) and not statistic.is_unit:
            named.add(statistic.column)
        for key in self.query.keys:
            named.update(*(list_case_columns(key)))
        for condition in (self.condition, statistic.condition):
            named.update(() if condition is None else condition.columns)
        return named


def plan_query(query: Query, schema: Schema) -> QueryPlan:
    """The plan of a query on tables with this schema; Refused, with the remedy, if
    there is none.
    """
    features = None
    if query.features:
        features = plan_features(query.features, schema)
        schema = features.schema
        query = replace(query, features=features.features)
    resolved = resolve_query(query, schema)
    whole = {
        aggregate.columns[0]
        for aggregate in resolved.aggregates
        if aggregate.kind is AggregateKind.DISTINCT
        and aggregate.columns[0] != schema.unit.id
    }
    cells = make_cells(schema, resolved.keys, list_conditions(resolved), whole)
    statistics: dict[AnyStatistic, int] = {}
    parts = []
    for aggregate in resolved.aggregates:
        needed = list_statistics(aggregate, schema)
        parts.append(tuple(statistics.setdefault(s, len(statistics)) for s in needed))
    where = cells.holds_on_cells(
        resolved.condition if isinstance(resolved.condition, Predicate) else None
    )
    return QueryPlan(
        resolved,
        schema,
        cells,
        where,
        tuple(statistics),
        tuple(parts),
        features=features,
    )


def list_statistics(aggregate: Aggregate, schema: Schema) -> Sequence[AnyStatistic]:
    """The statistics that an aggregate is computed from, in the order that
    estimates.py takes them.
    """
    condition = aggregate.condition
    assert condition is None or isinstance(condition, Predicate)
    columns = aggregate.columns
    match aggregate.kind:
        case AggregateKind.COUNT:
            return [Statistic(columns, (), condition)]
        case AggregateKind.SHARE:
            return [Statistic((), (), condition), Statistic()]
        case AggregateKind.SUM:
            factor = column_factor(schema, columns[0], is_centred=False)
            return [Statistic(columns, (factor,), condition)]
        case AggregateKind.QUANTILE:
            factor = column_factor(schema, columns[0])
            assert aggregate.level is not None
            return [
                QuantileSearch(
                    columns[0], factor.low, factor.high, aggregate.level, condition
                )
            ]
        case AggregateKind.DISTINCT:
            is_unit = columns[0] == schema.unit.id
            most = None if is_unit else _count_values(schema[columns[0]])
            return [DistinctCount(columns[0], is_unit, condition, most)]
    centred = [column_factor(schema, name) for name in columns]
    products = _list_products(aggregate.kind, centred)
    return [Statistic(columns, product, condition) for product in products]


def _list_products(
    kind: AggregateKind, centred: Sequence[ColumnFactor]
) -> list[tuple[ColumnFactor, ...]]:
    """The products whose sums moments are computed from; the first, 1, counts rows."""
    products: list[tuple[ColumnFactor, ...]] = [(), *((factor,) for factor in centred)]
    squares = [(replace(factor, power=2),) for factor in centred]
    match kind:
        case AggregateKind.VARIANCE | AggregateKind.DEVIATION:
            products += squares
        case AggregateKind.COVARIANCE:
            products.append(tuple(centred))
        case AggregateKind.CORRELATION:
            products += [tuple(centred), *squares]
    return products


def _count_values(column: Column) -> int | None:
    """How many values a column can have, by the schema; None if that says nothing."""
    if not column.is_closed:
        return None
    if isinstance(column, Lattice):
        assert column.low is not None
        assert column.high is not None
        return column.high - column.low + 1
    return int(codec_of(column).is_value.sum())


def column_factor(
    schema: Schema, name: str, *, is_centred: bool = True
) -> ColumnFactor:
    """A column of numbers as a factor, around the middle of its bounds or around 0."""
    column = schema[name]
    if not isinstance(column, Integer | Real):
        raise Refused(
            f"{name}: only numbers are added up. Count its values, or ask for a"
            " quantile. Nothing was spent"
        )
    low, high = column.low, column.high
    if low is None or high is None:
        raise Refused(
            f"{name}: one row could move its sum by any amount. Add `min` and `max` to"
            " the schema. Nothing was spent"
        )
    return ColumnFactor(name, low, high, (low + high) // 2 if is_centred else 0)
