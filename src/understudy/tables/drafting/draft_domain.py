"""Values and bounds that the cells of a column have, for an owner who says that they
are public knowledge.
"""

from __future__ import annotations

from dataclasses import replace

from understudy.errors import SchemaError
from understudy.schema import Categorical, Column, Lattice, Real, Schema, Time
from understudy.schema.columns.base import check_text
from understudy.schema.columns.codec import codec_of
from understudy.tables.reading import encode
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.table import Table

MAX_DRAFT_VALUES = 1000
"""No list of values longer than this is drafted."""


def declare_non_nullable(source: TableSource, schema: Schema) -> Schema:
    """The schema with columns that have a value or a missing code in every cell
    declared so: as public as the values in the table.
    """
    closed = [
        column for column in schema.columns if column.is_modelled and column.is_closed
    ]
    table = Table(source, Schema(columns=tuple(closed)))
    if not closed or not table.rows():
        return schema
    one_ways = table.counts([(column.name,) for column in closed])
    for column, counts in zip(closed, one_ways, strict=True):
        empty = codec_of(column).empty
        if empty is not None and counts[empty] == 0:
            schema = schema.with_column(replace(column, nullable=False))
    return schema


def with_domain(source: TableSource, column: Column) -> Column:
    """The column with the values and bounds its cells have, which the owner says are
    public knowledge.
    """
    if isinstance(column, Categorical):
        return _with_labels(source, column)
    if not isinstance(column, Lattice) or isinstance(column, Time):
        return column
    low, high = find_lattice_range(source, column)
    if isinstance(column, Real):
        return replace(column, min=low * column.step, max=high * column.step)
    try:
        return replace(column, min=column.value_at(low), max=column.value_at(high))  # type: ignore[call-arg]
    except SchemaError:
        return column


def find_lattice_range(source: TableSource, column: Lattice) -> tuple[int, int]:
    """The smallest and the largest lattice index; the origin where there is none."""
    layers = QueryLayers()
    index = encode.index_sql(layers, column, source.stored_column(column.name))
    cells = layers.query(source.relation, [f"{index} AS v"])
    ((low, high),) = source.engine.run(
        f"SELECT min(v), max(v) FROM ({cells})",
        doing=f'looking at column "{column.name}"',
    )
    return (0, 0) if low is None else (int(low), int(high))


def _with_labels(source: TableSource, column: Categorical) -> Categorical:
    layers = QueryLayers()
    label = encode.label_sql(layers, column, source.stored_column(column.name))
    cells = layers.query(source.relation, [f"{label} AS v"])
    rows = source.engine.run(
        f"SELECT DISTINCT v FROM ({cells}) WHERE v IS NOT NULL ORDER BY v LIMIT"
        f" {MAX_DRAFT_VALUES + 1}",
        doing=f'looking at column "{column.name}"',
    )
    if len(rows) > MAX_DRAFT_VALUES:
        return replace(
            column, note=f"more than {MAX_DRAFT_VALUES:,} values, left to learn"
        )
    return replace(column, values=tuple(row[0] for row in rows if _is_label(row[0])))


def _is_label(text: str) -> bool:
    try:
        check_text(text, "a value")
    except SchemaError:
        return False
    return len(text) <= encode.MAX_LABEL_CHARS
