"""The owner's draft of a schema: types, and what to drop, from a look at the rows.

A draft is made on the private side and costs nothing, because nothing of it leaves by
itself: it becomes public when its owner reads it and uses it. It holds no value and no
bound of the rows unless the owner says that they are public knowledge. A handful of odd
cells does not change it: a type needs 99 of 100 cells. Whether cells may be empty is
left to the owner, who knows it without looking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from typing import TypeVar

from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Datetime,
    Identifier,
    Integer,
    Lattice,
    Real,
    Schema,
    Text,
    Time,
    UndeclaredColumn,
    guess_identifier,
)
from understudy.schema.columns.base import check_text
from understudy.schema.columns.codec import codec_of
from understudy.schema.columns.from_dtype import DEFAULT_FLOAT_DECIMALS, column_of_type
from understudy.schema.columns.storage_types import storage_to_declare
from understudy.schema.columns.temporal import MICROSECOND_SPAN, Date
from understudy.tables.drafting.spelling import describe_spelling
from understudy.tables.reading import encode
from understudy.tables.reading.parse import (
    DOUBLE_TYPES,
    TEXT_TYPES,
    number_reading,
    texts_sql,
)
from understudy.tables.reading.type_votes import (
    EMPTY_CANDIDATE,
    TEXT_CANDIDATE,
    TYPE_CANDIDATES,
    is_readable_as,
    vote_sql,
)
from understudy.tables.sources.source import TableSource
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.table import Table

MAX_DRAFT_ODD_SHARE = Fraction(1, 100)
"""Part of the cells that may be something else."""

MAX_BOOLEAN_ODD_SHARE = Fraction(1, 1000)
"""Counts that are nearly always 0 or 1 are counts."""

MISSING_CODES = (
    "NA",
    "N/A",
    "n/a",
    "na",
    "#N/A",
    "NaN",
    "nan",
    "NULL",
    "null",
    ".",
    "-",
    "--",
    "?",
)
"""Texts that commonly mean missing."""

NUMBER_MISSING_CODES = (
    *MISSING_CODES,
    "N",
    "n",
    "X",
    "x",
    "B",
    "b",
    "U",
    "u",
    "D",
    "S",
    "R",
    "M",
    "*",
    "**",
    "***",
    ":",
    "..",
    "...",
    "s",
    "c",
    "z",
)
"""What statistical offices write in a column of numbers where there is none: not
applicable, suppressed, not in universe.
"""

MIN_MISSING_CODE_SHARE = Fraction(1, 1000)
"""Part of the cells that must hold a text for it to be drafted as a missing code."""

MAX_DRAFT_VALUES = 1000
"""No list of values longer than this is drafted."""

Moment = TypeVar("Moment", Datetime, Time)

BOOLEAN_WORD_PAIRS = (
    ("true", "false"),
    ("yes", "no"),
    ("t", "f"),
    ("y", "n"),
    ("1", "0"),
)


@dataclass(frozen=True)
class _CellSummary:
    """What the cells of a column look like: filled cells that are no missing code, how
    many differ, their length, spaces in them.
    """

    filled: int
    distinct: int
    length: float
    spaced: float
    missing: tuple[str, ...]


def draft_schema(source: TableSource, *, public_domains: bool = False) -> Schema:
    """A schema for the owner to edit; with `public_domains` also the values and bounds
    that the table holds.
    """
    columns = [
        _with_storage_type(_draft_column(source, name), source.dtypes.get(name))
        for name in source.names
    ]
    if public_domains:
        columns = [_with_domain(source, column) for column in columns]
    return Schema(columns=tuple(columns))


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
    for column, counts in zip(
        closed, table.counts([(column.name,) for column in closed]), strict=True
    ):
        empty = codec_of(column).empty
        if empty is not None and counts[empty] == 0:
            schema = schema.with_column(replace(column, nullable=False))
    return schema


def _with_storage_type(column: Column, stated: str | None) -> Column:
    """The column with the storage type that its owner is to declare, where that is none
    that a cell decides.
    """
    return replace(column, dtype=storage_to_declare(column, stated))


def _draft_column(source: TableSource, name: str) -> Column:
    dtype = source.dtypes.get(name)
    if guess_identifier(name):
        return Identifier(name=name, note="its name says so")
    stored = source.stored_column(name)
    if stored.type in TEXT_TYPES:
        return _from_cells(source, name)
    column = column_of_type(name, stored.type, dtype=dtype)
    if isinstance(column, Real) and stored.type in DOUBLE_TYPES:
        return _from_floats(source, column)
    if isinstance(column, Datetime):
        return _with_resolution(source, _in_zone(column, stored.zone))
    if isinstance(column, Time):
        return _with_resolution(source, column)
    if isinstance(column, Integer) and _is_key(
        source, column, _summarise_cells(source, name)
    ):
        return Identifier(name=name, note="nearly every cell is different")
    return column


def _from_floats(source: TableSource, column: Real) -> Column:
    """Floats with the decimals that nearly all of them show; whole numbers turn to
    floats as soon as a frame holds an empty cell.
    """
    elected = _elect_type(_count_ballots(source, column.name))
    if elected in ("boolean", "integer"):
        return Integer(name=column.name)
    decimals = elected.removeprefix("decimal") if elected is not None else ""
    return (
        replace(column, step=Fraction(1, 10 ** int(decimals)))
        if decimals.isdigit()
        else column
    )


def _from_cells(source: TableSource, name: str) -> Column:
    """The type that nearly all cells can be read as."""
    look = _summarise_cells(source, name)
    elected = _elect_type(_count_ballots(source, name))
    if elected == TEXT_CANDIDATE:  # numbers, perhaps, with a letter where there is none
        numeric = _elect_type(_count_ballots(source, name, NUMBER_MISSING_CODES))
        if numeric is not None and (
            numeric in ("integer", "real") or numeric.startswith("decimal")
        ):
            look, elected = (
                _summarise_cells(source, name, NUMBER_MISSING_CODES),
                numeric,
            )
    common = {"name": name}
    coded = {**common, "missing": look.missing}
    match elected:
        case None:
            return UndeclaredColumn(name=name, note="every cell is empty")
        case "boolean":
            return _draft_boolean(source, name, look)
        case "integer":
            number = Integer(**coded)  # type: ignore[arg-type]
            if _is_key(source, number, look):
                return Identifier(name=name, note="nearly every cell is different")
            return number
        case "real":
            return Real(**coded, step=Fraction(1, 10**DEFAULT_FLOAT_DECIMALS))  # type: ignore[arg-type]
        case "date":
            return Date(**coded)  # type: ignore[arg-type]
        case "datetime":
            return _with_resolution(source, Datetime(**coded))  # type: ignore[arg-type]
        case "instant":
            note = "cells say how far they are from UTC"
            return _with_resolution(source, Datetime(**coded, zone="UTC", note=note))  # type: ignore[arg-type]
        case "time":
            return _with_resolution(source, Time(**coded))  # type: ignore[arg-type]
        case "text":
            column = _labels_or_text(common, look)
            return replace(column, note=describe_spelling(source, name) or column.note)
    return Real(**coded, step=Fraction(1, 10 ** int(elected.removeprefix("decimal"))))  # type: ignore[arg-type]


def _count_ballots(
    source: TableSource, name: str, codes: tuple[str, ...] = MISSING_CODES
) -> dict[str, int]:
    layers = QueryLayers()
    voted = layers.query(
        source.relation, [f"{vote_sql(layers, source.stored_column(name), codes)} AS v"]
    )
    rows = source.engine.run(
        f"SELECT v, count(*) FROM ({voted}) GROUP BY v",
        doing=f'looking at column "{name}"',
    )
    return {TYPE_CANDIDATES[int(v)]: int(count) for v, count in rows}


def _elect_type(ballots: dict[str, int]) -> str | None:
    """The most specific candidate that nearly all filled cells support; None where no
    cell is filled.
    """
    filled = {name: count for name, count in ballots.items() if name != EMPTY_CANDIDATE}
    total = sum(filled.values())
    if total == 0:
        return None
    for candidate in TYPE_CANDIDATES:
        if candidate in (EMPTY_CANDIDATE, "truth", "bit"):
            continue  # cells of 0 and 1 are booleans, or numbers with the rest of their column
        against = sum(
            count
            for name, count in filled.items()
            if not is_readable_as(name, candidate)
        )
        if (
            against
            <= (
                MAX_BOOLEAN_ODD_SHARE if candidate == "boolean" else MAX_DRAFT_ODD_SHARE
            )
            * total
        ):
            return candidate
    return TEXT_CANDIDATE


def _summarise_cells(
    source: TableSource, name: str, codes: tuple[str, ...] = MISSING_CODES
) -> _CellSummary:
    layers = QueryLayers()
    stored = source.stored_column(name)
    found = texts_sql(layers, stored)
    text = found[0] if found else "CAST(NULL AS VARCHAR)"
    doing = f'looking at column "{name}"'
    cells = layers.query(
        source.relation,
        [f"CASE WHEN {encode.is_empty_sql(stored)} THEN NULL ELSE {text} END AS t"],
    )
    coded = f"t IN ({quoting.text_literals(codes)})"
    ((every, filled, distinct, length, spaced),) = source.engine.run(
        f"SELECT count(t), count(t) FILTER (NOT {coded}), count(DISTINCT t) FILTER (NOT"
        f" {coded}), avg(length(t)) FILTER (NOT {coded}), avg(CAST(contains(trim(t), '"
        f" ') AS INTEGER)) FILTER (NOT {coded}) FROM ({cells})",
        doing=doing,
    )
    rows = source.engine.run(
        f"SELECT t FROM ({cells}) WHERE {coded} GROUP BY t HAVING count(*) >="
        f" {int(MIN_MISSING_CODE_SHARE * every) + 1}",
        doing=doing,
    )
    here = {row[0] for row in rows}
    return _CellSummary(
        filled,
        distinct,
        length or 0.0,
        spaced or 0.0,
        tuple(code for code in codes if code in here),
    )


def _labels_or_text(common: dict[str, str], look: _CellSummary) -> Column:
    """Labels where values come again; a key where nearly all differ and are short; free
    text where they are long and mostly differ.
    """
    different = look.distinct / look.filled
    wordy = look.spaced > 0.5 and look.length >= 15
    if look.filled >= 20 and different >= 0.9 and not wordy and look.length < 50:
        return Identifier(**common, note="nearly every cell is different")  # type: ignore[arg-type]
    if (
        (wordy and different > 0.5)
        or look.length >= 50
        or (look.distinct > MAX_DRAFT_VALUES and different > 0.5)
    ):
        return Text(**common, note="long or mostly different texts")  # type: ignore[arg-type]
    return Categorical(**common, missing=look.missing)  # type: ignore[arg-type]


def _is_key(source: TableSource, column: Integer, look: _CellSummary) -> bool:
    """Numbers of which nearly none comes twice and that run through, or are long:
    numbers of things, not amounts.
    """
    if look.filled < 100 or look.distinct < Fraction(999, 1000) * look.filled:
        return False
    low, high = _lattice_range(source, column)
    return high - low + 1 <= 2 * look.filled or low >= 10**6


def _draft_boolean(source: TableSource, name: str, look: _CellSummary) -> Boolean:
    """Truth in the words the column uses, the most frequent first, so that a release
    uses them too.
    """
    layers = QueryLayers()
    cells = layers.query(
        source.relation,
        [f"lower(trim({texts_sql(layers, source.stored_column(name))[0]})) AS t"],
    )
    words = quoting.text_literals(word for pair in BOOLEAN_WORD_PAIRS for word in pair)
    rows = source.engine.run(
        f"SELECT t, count(*) FROM ({cells}) WHERE t IN ({words}) GROUP BY t",
        doing=f'looking at column "{name}"',
    )
    counts = {word: int(count) for word, count in rows}
    used = sorted(
        BOOLEAN_WORD_PAIRS, key=lambda pair: -sum(counts.get(word, 0) for word in pair)
    )
    used = [pair for pair in used if any(word in counts for word in pair)]
    if used[0] == BOOLEAN_WORD_PAIRS[0]:
        return Boolean(name=name, missing=look.missing)
    yes, no = (tuple(words) for words in zip(*used, strict=True))
    return Boolean(name=name, missing=look.missing, true=yes, false=no)


def _with_resolution(source: TableSource, column: Moment) -> Moment:
    """The coarsest usual resolution that nearly all moments, or times of day, keep to."""
    fine = replace(column, resolution=MICROSECOND_SPAN)
    layers = QueryLayers()
    found = number_reading(layers, fine, source.stored_column(column.name))
    if found is None:
        return column
    spans = [
        *((timedelta(days=1),) if isinstance(column, Datetime) else ()),
        timedelta(hours=1),
        timedelta(minutes=1),
        timedelta(seconds=1),
        timedelta(milliseconds=1),
    ]
    cells = layers.query(source.relation, [f"{found.value} AS v"])
    kept = ", ".join(
        f"count(*) FILTER (v % {span // MICROSECOND_SPAN} = 0)" for span in spans
    )
    ((filled, *counts),) = source.engine.run(
        f"SELECT count(v), {kept} FROM ({cells})",
        doing=f'looking at column "{column.name}"',
    )
    enough = (
        span
        for span, count in zip(spans, counts, strict=True)
        if filled - count <= MAX_DRAFT_ODD_SHARE * filled
    )
    return replace(column, resolution=next(enough, MICROSECOND_SPAN))


def _in_zone(column: Datetime, zone: str | None) -> Datetime:
    """The column in the zone its source shows it in, where that is one with a name."""
    if column.zone is None or zone is None:
        return column
    try:
        return replace(column, zone=zone)
    except SchemaError:
        return column


def _lattice_range(source: TableSource, column: Lattice) -> tuple[int, int]:
    """The smallest and the largest lattice index; the origin where there is none."""
    layers = QueryLayers()
    index = encode.index_sql(layers, column, source.stored_column(column.name))
    cells = layers.query(source.relation, [f"{index} AS v"])
    ((low, high),) = source.engine.run(
        f"SELECT min(v), max(v) FROM ({cells})",
        doing=f'looking at column "{column.name}"',
    )
    return (0, 0) if low is None else (int(low), int(high))


def _with_domain(source: TableSource, column: Column) -> Column:
    """The column with the values and bounds its cells have, which the owner says are
    public knowledge.
    """
    if isinstance(column, Categorical):
        return _with_values(source, column)
    if not isinstance(column, Lattice) or isinstance(column, Time):
        return column
    low, high = _lattice_range(source, column)
    if isinstance(column, Real):
        return replace(column, min=low * column.step, max=high * column.step)
    try:
        return replace(column, min=column.value_at(low), max=column.value_at(high))  # type: ignore[call-arg]
    except SchemaError:
        return column


def _with_values(source: TableSource, column: Categorical) -> Categorical:
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
