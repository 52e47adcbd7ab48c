"""Values and bounds that the cells of a column have, for an owner who says that they
are public knowledge.

Even then, what few rows hold is hardly known to everybody: a number of a patient, a
sentence, the one largest income. Values of fewer than `rare_below` rows are not
drafted, and bounds are such that as many rows lie at or beyond them. The owner is told
how many values were left out, not which.
"""

from __future__ import annotations

from dataclasses import replace

from understudy.errors import SchemaError
from understudy.schema import Categorical, Column, Lattice, Real, Schema, Time
from understudy.schema.columns.base import check_text
from understudy.schema.columns.codec import codec_of
from understudy.tables.drafting.natural_limits import MAX_FLOOR_SHARE, MAX_SMALL_DOMAIN
from understudy.tables.reading import encode
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.table import Table

MAX_DRAFT_VALUES = 1000
"""No list of values longer than this is drafted."""

OTHER_VALUES_LABEL = "other"
"""Where values go that are not listed."""

DEFAULT_RARE_BELOW = 10
"""Rows that must hold a value for it to be drafted as public: statistical offices
publish no cell of fewer.
"""


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


def with_domain(source: TableSource, column: Column, *, rare_below: int) -> Column:
    """The column with the values and bounds that enough of its cells have, which the
    owner says are public knowledge.
    """
    if isinstance(column, Categorical):
        return _with_labels(source, column, rare_below)
    if not isinstance(column, Lattice) or isinstance(column, Time):
        return column
    whole = find_lattice_range(source, column)
    # One row is enough for a bound: those are the ends.
    bounds = whole
    if whole is not None and rare_below > 1:
        bounds = _common_range(source, column, rare_below)
    if bounds is None or whole is None:
        return replace(column, note=f"fewer than {rare_below} values, left to learn")
    (low, high), note = _prefer_natural_limits(column, bounds, whole, rare_below)
    if isinstance(column, Real):
        return replace(column, min=low * column.step, max=high * column.step, note=note)
    try:
        return replace(
            column,
            min=column.value_at(low),  # type: ignore[call-arg]
            max=column.value_at(high),
            note=note,
        )
    except SchemaError:
        return column


def _prefer_natural_limits(
    column: Lattice,
    common: tuple[int, int],
    whole: tuple[int, int],
    rare_below: int,
) -> tuple[tuple[int, int], str]:
    """The bounds to draft, and what to say of them: natural limits, which the column
    has, where few rows lie beyond the common values or where a domain is small.
    """
    natural = column.low, column.high
    low, high = natural
    is_small = low is not None and high is not None and high - low < MAX_SMALL_DOMAIN
    # An amount that begins far from zero among most rows is bounded by them.
    is_far = high is None and common[0] > MAX_FLOOR_SHARE * common[1]
    chosen = list(common)
    for side in (0, 1):
        limit = natural[side]
        is_trimmed = common[side] != whole[side] and not is_far
        if limit is not None and (is_small or is_trimmed):
            chosen[side] = limit
    if tuple(chosen) == common:
        rare = f"fewer than {rare_below} rows lie beyond a bound: widen it if you can"
        kept = "" if any(limit is not None for limit in natural) else column.note
        return common, rare if common != whole else kept
    return (chosen[0], chosen[1]), column.note


def _common_range(
    source: TableSource, column: Lattice, rare_below: int
) -> tuple[int, int] | None:
    """Bounds at or beyond each of which lie `rare_below` values; None where there are
    fewer values.
    """
    layers = QueryLayers()
    index = encode.index_sql(layers, column, source.stored_column(column.name))
    cells = layers.query(source.relation, [f"{index} AS v"])
    ends = []
    for order in ("ASC", "DESC"):
        rows = source.engine.run(
            f"SELECT v FROM ({cells}) WHERE v IS NOT NULL ORDER BY v {order}"
            f" LIMIT 1 OFFSET {rare_below - 1}",
            doing=f'looking at column "{column.name}"',
        )
        if not rows:
            return None
        ends.append(int(rows[0][0]))
    # Of fewer than twice as many values, the two may have passed each other.
    return min(ends), max(ends)


def find_lattice_range(source: TableSource, column: Lattice) -> tuple[int, int] | None:
    """The smallest and the largest lattice index; None where no cell has a value."""
    layers = QueryLayers()
    index = encode.index_sql(layers, column, source.stored_column(column.name))
    cells = layers.query(source.relation, [f"{index} AS v"])
    ((low, high),) = source.engine.run(
        f"SELECT min(v), max(v) FROM ({cells})",
        doing=f'looking at column "{column.name}"',
    )
    return None if low is None else (int(low), int(high))


def _with_labels(
    source: TableSource, column: Categorical, rare_below: int
) -> Categorical:
    layers = QueryLayers()
    label = encode.label_sql(layers, column, source.stored_column(column.name))
    cells = layers.query(source.relation, [f"{label} AS v"])
    counted = f"SELECT v, count(*) AS n FROM ({cells}) WHERE v IS NOT NULL GROUP BY v"
    doing = f'looking at column "{column.name}"'
    common = source.engine.run(
        # Sorted by value: the order of counts would be a fact about the rows.
        f"SELECT v FROM ({counted}) WHERE n >= {rare_below} ORDER BY v LIMIT"
        f" {MAX_DRAFT_VALUES + 1}",
        doing=doing,
    )
    rare = 0
    if rare_below > 1:
        ((rare,),) = source.engine.run(
            f"SELECT count(*) FROM ({counted}) WHERE n < {rare_below}", doing=doing
        )
    if len(common) > MAX_DRAFT_VALUES:
        return replace(
            column, note=f"more than {MAX_DRAFT_VALUES:,} values, left to learn"
        )
    values = tuple(row[0] for row in common if _is_label(row[0]))
    if not rare:
        return replace(column, values=values)
    left_out = f"{rare:,} values of fewer than {rare_below} rows each"
    if not values:
        return replace(column, note=f"{left_out}: left to learn")
    other = column.other or OTHER_VALUES_LABEL
    while other in values or other in column.missing:
        other += "_"
    note = f"{left_out} are not listed: add those that are public"
    return replace(column, values=values, other=other, note=note)


def _is_label(text: str) -> bool:
    try:
        check_text(text, "a value")
    except SchemaError:
        return False
    return len(text) <= encode.MAX_LABEL_CHARS
