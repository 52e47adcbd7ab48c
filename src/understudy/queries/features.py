"""Derived columns, one value for each privacy unit: how many rows it has, whether any
meets a condition, and the sum, least or largest of its numbers.

    us.mean("visits").per_unit(visits="count", ever_icu="any ward = ICU")
    SELECT AVG(visits) FROM (SELECT patient, COUNT(*) AS visits FROM v GROUP BY patient)

A unit has at most `max_rows` rows, so a count, and a sum of bounded numbers, have public
bounds. The table of units has one row for each unit: adding, removing or replacing a
unit adds, removes or replaces one row of it, whatever max_rows is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from understudy.errors import Refused
from understudy.queries.cells import QueryCells, make_cells
from understudy.queries.conditions import check_predicate_columns, read_predicate
from understudy.queries.query import FeatureKind, Query, UnitFeature
from understudy.schema import (
    Boolean,
    Column,
    Schema,
    Unit,
    describe_counted_rows,
    schema_to_dict,
)
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.predicates.ast import Predicate

MAX_FEATURES = 20
"""Derived columns of one query."""

MAX_FEATURE_SUM = 2**62
"""Largest sum of one unit's numbers, in steps of their column: it stays in 64 bits."""

_FEATURE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
"""A name becomes a column of a table, so it is a plain word."""


@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """Derived columns whose names are resolved, the cells that decide their conditions,
    and the schema of the table of units.
    """

    source_schema: Schema
    features: tuple[UnitFeature, ...]
    cells: QueryCells
    schema: Schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of numbers that are added up or compared."""
        names = [each.column for each in self.features if each.column is not None]
        return tuple(dict.fromkeys(names))


def plan_features(features: Sequence[UnitFeature], schema: Schema) -> FeaturePlan:
    """The derived columns on tables with this schema; Refused, with the remedy, if they
    cannot be made.
    """
    if schema.unit.id is None:
        raise Refused(
            "Columns per unit need a privacy unit with an id: declare `unit: {id: …,"
            " max_rows: …}` in the schema. Nothing was spent"
        )
    if len(features) > MAX_FEATURES:
        raise Refused(
            f"A question has at most {MAX_FEATURES} columns per unit. Nothing was spent"
        )
    resolved = tuple(_resolve_feature(each, schema) for each in features)
    names = [each.name for each in resolved]
    if len(set(names)) < len(names):
        raise Refused("Two columns per unit have one name. Nothing was spent")
    conditions = [e.condition for e in resolved if isinstance(e.condition, Predicate)]
    cells = make_cells(schema, [], conditions)
    columns = tuple(_derive_column(each, schema) for each in resolved)
    # A row of the derived table is a unit.
    derived = Schema(columns=columns, unit=Unit())
    return FeaturePlan(schema, resolved, cells, derived)


def _resolve_feature(feature: UnitFeature, schema: Schema) -> UnitFeature:
    if not _FEATURE_NAME.fullmatch(feature.name):
        raise Refused(
            "The name of a column per unit has letters, digits and _ alone. Nothing was"
            " spent"
        )
    condition = feature.condition
    if isinstance(condition, str):
        condition = read_predicate(condition, schema)
    elif condition is not None:
        condition = check_predicate_columns(condition, schema)
    column = feature.column
    if column is not None:
        alike = [n for n in schema.by_name if n.casefold() == column.casefold()]
        if column not in schema.by_name and len(alike) != 1:
            raise Refused(f'column "{column}" is not in the schema. Nothing was spent')
        column = column if column in schema.by_name else alike[0]
    return replace(feature, column=column, condition=condition)


def _derive_column(feature: UnitFeature, schema: Schema) -> Column:
    """The derived column, with bounds that follow from public ones."""
    most_rows = schema.unit.max_rows
    if feature.kind is FeatureKind.COUNT:
        return Integer(name=feature.name, min=0, max=most_rows, nullable=False)
    if feature.kind is FeatureKind.ANY:
        return Boolean(name=feature.name, nullable=False)
    assert feature.column is not None
    column = schema[feature.column]
    if not isinstance(column, Integer | Real) or not column.is_modelled:
        raise Refused(
            f"{feature.column}: only numbers are added up or compared per unit. Ask"
            " whether any row meets a condition. Nothing was spent"
        )
    low, high = column.low, column.high
    if low is None or high is None:
        raise Refused(
            f"{feature.column}: its bounds are not declared. Add `min` and `max` to the"
            " schema. Nothing was spent"
        )
    if feature.kind is FeatureKind.SUM:
        low, high = min(low, low * most_rows), max(high, high * most_rows)
    if max(-low, high) > MAX_FEATURE_SUM:
        raise Refused(
            f"{feature.column}: the bounds are too wide for the step. Use a coarser"
            " step, or narrower bounds. Nothing was spent"
        )
    kind = type(column)
    step = column.step
    return kind(
        name=feature.name,
        min=column.value_at(low),  # type: ignore[arg-type]
        max=column.value_at(high),  # type: ignore[arg-type]
        step=step,  # type: ignore[arg-type]
    )


def describe_features(plan: FeaturePlan) -> dict[str, object]:
    """What identifies derived columns: what they are, and what they are made of."""
    named = set(plan.columns).union(plan.cells.clique)
    columns = [c for c in plan.source_schema.columns if c.name in named]
    plain = tuple(replace(c, constant=False, note="") for c in columns)
    return {
        "of": [feature.describe() for feature in plan.features],
        "columns": schema_to_dict(Schema(columns=plain)),
        "unit": describe_counted_rows(plan.source_schema),
    }


def refuse_features(query: Query) -> None:
    """Refuse a question about units, or about groups of a public map, where a release is
    asked.
    """
    if query.features or any(key.mapping for key in query.keys):
        raise Refused(
            "A release answers questions about rows and its own columns. Ask about others"
            " under a budget (understudy ask)"
        )
