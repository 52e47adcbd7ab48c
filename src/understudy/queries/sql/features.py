"""Columns per privacy unit in SQL: a subquery that is grouped by the unit's id.

SELECT AVG(visits) FROM
(SELECT patient, COUNT(*) AS visits, BOOL_OR(ward = 'ICU') AS icu FROM v GROUP BY patient)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from understudy.errors import Refused
from understudy.queries.conditions import join_conditions
from understudy.queries.query import Aggregate, AggregateKind, FeatureKind, UnitFeature
from understudy.queries.sql.conditions import ConditionReader, find_schema_column
from understudy.queries.sql.literals import column_name
from understudy.queries.sql.refusals import refuse_node
from understudy.schema import Schema
from understudy.schema.predicates.ast import Predicate

ReadAggregate = Callable[[Any], Aggregate]
"""Reads an aggregate of the table's own columns."""


def read_unit_columns(
    select: Any, schema: Schema, read_aggregate: ReadAggregate
) -> tuple[UnitFeature, ...]:
    """The columns per unit that a SELECT defines."""
    parts = {part for part, value in select.args.items() if value}
    if not _is_by_unit(select, schema) or parts - {"expressions", "from_", "group"}:
        raise Refused(
            "SQL: a subquery is SELECT id, columns FROM table GROUP BY id, by the id of"
            " the privacy unit; conditions are FILTER (WHERE …). Nothing was spent"
        )
    features = []
    for item in select.expressions:
        is_named = type(item).__name__ == "Alias"
        node = item.this if is_named else item
        # The id itself is only grouped by.
        if type(node).__name__ == "Column":
            continue
        if not is_named:
            raise Refused("SQL: name columns of a subquery (AS). Nothing was spent")
        features.append(
            _read_unit_column(node, str(item.alias), schema, read_aggregate)
        )
    return tuple(features)


def _is_by_unit(select: Any, schema: Schema) -> bool:
    group = select.args.get("group")
    keys = [] if group is None else group.expressions
    if len(keys) != 1 or type(keys[0]).__name__ != "Column":
        return False
    return find_schema_column(column_name(keys[0]), schema) == schema.unit.id


def _read_unit_column(
    node: Any, alias: str, schema: Schema, read_aggregate: ReadAggregate
) -> UnitFeature:
    condition: Predicate | None = None
    if type(node).__name__ == "LogicalOr":
        met = ConditionReader(schema).read(node.this)
        return UnitFeature(alias, FeatureKind.ANY, None, met)
    if type(node).__name__ == "Filter":
        condition = ConditionReader(schema).read(node.expression.this)
        node = node.this
    kind = type(node).__name__
    if kind in ("Min", "Max"):
        column = find_schema_column(column_name(node.this), schema)
        return UnitFeature(alias, FeatureKind(kind.lower()), column, condition)
    found = read_aggregate(node)
    own = found.condition
    assert own is None or isinstance(own, Predicate)
    both = join_conditions(own, condition)
    if found.kind is AggregateKind.COUNT and not found.columns:
        return UnitFeature(alias, FeatureKind.COUNT, None, both)
    if found.kind is not AggregateKind.SUM:
        raise refuse_node(node)
    return UnitFeature(alias, FeatureKind.SUM, found.columns[0], both)
