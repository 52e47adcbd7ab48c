"""Keys of GROUP BY: a column, FLOOR(x / w), FLOOR(x / w) * w, or the year of a date."""

from __future__ import annotations

import math
from datetime import datetime
from fractions import Fraction
from typing import Any

from understudy.errors import Refused
from understudy.queries.cells import MAX_QUERY_GROUPS
from understudy.queries.query import GroupKey
from understudy.queries.sql_conditions import (
    column_name,
    find_schema_column,
    number_of,
    refuse_node,
    year_column,
)
from understudy.schema import Lattice, Schema
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import EPOCH_MOMENT, MICROSECOND_SPAN, Date


def read_key(node: Any, alias: str, schema: Schema) -> GroupKey:
    """The key that an expression of GROUP BY means."""
    kind = type(node).__name__
    if kind in ("Paren", "Cast"):
        return read_key(node.this, alias, schema)
    if kind == "Column":
        column = find_schema_column(column_name(node), schema)
        return GroupKey(column, name=alias)
    year = year_column(node)
    if year is not None:
        return _read_years(find_schema_column(column_name(year), schema), alias, schema)
    if kind == "Floor":
        return _read_bins(node, alias, schema, is_multiplied=False)
    if kind == "Mul":
        sides = [node.this, node.expression]
        sides.sort(key=lambda side: type(side).__name__ == "Literal")
        inner, factor = sides
        while type(inner).__name__ in ("Paren", "Cast"):
            inner = inner.this
        key = _read_bins(inner, alias, schema, is_multiplied=True)
        if number_of(factor) == key.edges[1] - key.edges[0]:
            return key
    raise refuse_node(node)


def _read_bins(
    node: Any, alias: str, schema: Schema, *, is_multiplied: bool
) -> GroupKey:
    """FLOOR(x / w): bins of equal width over the whole domain of x."""
    if type(node).__name__ != "Floor" or type(node.this).__name__ != "Div":
        raise refuse_node(node)
    name = find_schema_column(column_name(node.this.this), schema)
    width = number_of(node.this.expression)
    column = schema[name]
    if not isinstance(column, Integer | Real) or width <= 0:
        raise refuse_node(node)
    low, high = _require_bounds(column)
    step = Fraction(column.step)
    first, last = math.floor(low * step / width), math.floor(high * step / width)
    if last - first >= MAX_QUERY_GROUPS:
        raise Refused(
            f"{name}: {last - first + 1:,} groups are too many. Use wider bins. Nothing"
            " was spent"
        )
    edges = tuple(place * width for place in range(first, last + 2))
    labels = tuple(float(edge) for edge in edges[:-1])
    if not is_multiplied:
        labels = tuple(float(place) for place in range(first, last + 1))
    title = alias or f"{name}_bin"
    return GroupKey(name, edges, title, labels, has_missing=True)


def _read_years(name: str, alias: str, schema: Schema) -> GroupKey:
    column = schema[name]
    if not isinstance(column, Date):
        raise Refused(f"{name}: only dates have years here. Nothing was spent")
    low, high = (column.value_at(index) for index in _require_bounds(column))
    years = range(low.year, high.year + 1)
    edges = []
    for year in range(low.year, high.year + 2):
        since = datetime(year, 1, 1) - EPOCH_MOMENT
        edges.append(Fraction(since // MICROSECOND_SPAN))
    title = alias or f"{name}_year"
    return GroupKey(name, tuple(edges), title, tuple(years), has_missing=True)


def _require_bounds(column: Lattice) -> tuple[int, int]:
    if column.low is None or column.high is None:
        raise Refused(
            f"{column.name}: it has no bounds. Add `min` and `max` to the schema."
            " Nothing was spent"
        )
    return column.low, column.high
