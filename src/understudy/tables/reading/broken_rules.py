"""Broken rules: which rows of a relation break one, and what becomes of them.

Rows are judged one by one, so a row that is dropped or emptied changes nothing about
any other: whatever moves a table by one row moves what is left of it by at most one
row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from understudy.schema import BrokenRowPolicy, Schema
from understudy.tables.reading.encode import EnumCreator
from understudy.tables.reading.predicate_sql import FALSE_SQL, PredicateCompiler
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn


def query_kept_rows(
    layers: QueryLayers,
    schema: Schema,
    stored: Mapping[str, StoredColumn],
    listing: EnumCreator,
    *,
    width: Sequence[str],
    relation: str,
) -> str:
    """A query for the rows of a relation with broken rows dropped, or emptied in the
    columns that the broken rule compares, as the schema says.

    `width` names the relation's columns, `stored` those that the schema describes.
    """
    compiler = PredicateCompiler(layers, schema, stored, listing)
    flags = [
        (predicate.columns, compiler.condition_sql(predicate))
        for _, predicate in schema.named_breaches
    ]
    if schema.broken is not BrokenRowPolicy.MISSING:
        broken = " OR ".join(flag for _, flag in flags) or FALSE_SQL
        judged = layers.query(relation, [*width, f"({broken}) AS broken"])
        return f"SELECT {', '.join(width)} FROM ({judged}) WHERE NOT broken"
    select = list(width)
    flags_of_cell = {
        column.cell: [flag for columns, flag in flags if name in columns]
        for name, column in stored.items()
    }
    for i, cell in enumerate(width):
        if flags_of_cell.get(cell):
            broken = " OR ".join(flags_of_cell[cell])
            # A rule does not say which of its cells is wrong, so all of them are
            # emptied.
            select[i] = f"CASE WHEN {broken} THEN NULL ELSE {cell} END AS {cell}"
    return layers.query(relation, select)


def query_broken_count(
    layers: QueryLayers,
    schema: Schema,
    stored: Mapping[str, StoredColumn],
    listing: EnumCreator,
    *,
    relation: str,
) -> str:
    """A query for the number of rows that break any rule."""
    compiler = PredicateCompiler(layers, schema, stored, listing)
    flags = [
        compiler.condition_sql(predicate) for _, predicate in schema.named_breaches
    ]
    broken = " OR ".join(flags) or FALSE_SQL
    return layers.query(relation, [f"count(*) FILTER (WHERE {broken})"])
