"""Expressions: a codec as SQL, from a cell to its code; the same rule as `Codec.code`,
and tested against it.

A cell is read once, as a number on a grid or as the position of its text in a list.
Comparisons with constants make that a code or a lattice index. The constants come from
the codec itself, so that the two cannot drift apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from understudy.schema import (
    Boolean,
    Categorical,
    Codec,
    LabelLookup,
    Lattice,
    OutOfBoundsPolicy,
)
from understudy.schema.columns.cell import find_first_spelling, spellings_of_cell
from understudy.tables.reading.grid import DoubleGrid, WholeGrid
from understudy.tables.reading.parse import NumberReading, number_reading, texts_sql
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import DOUBLE_TYPES, TEXT_TYPES, StoredColumn

MAX_LABEL_CHARS = 1_000
"""Characters of a label that is learned or drafted; longer texts are prose, and go
where unlisted labels go. A release holds labels up to a hundred times as long, but a
few of them among many short ones would fill its file.
"""

EnumCreator = Callable[[Sequence[str]], str]
"""Makes a type out of a list of labels and returns its name."""

DUCKDB_CODE_TYPES = {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER", 8: "UBIGINT"}


def code_sql(
    layers: QueryLayers, codec: Codec, stored: StoredColumn, listing: EnumCreator
) -> str:
    """A cell's code, never NULL, in the smallest type that holds it."""
    found = (
        _label_code_sql(layers, codec, stored, listing)
        if isinstance(codec.bins, LabelLookup)
        else _bin_code_sql(layers, codec, stored)
    )
    return (
        f"CAST(CASE WHEN {is_empty_sql(stored)} THEN {codec.default} ELSE {found} END"
        f" AS {DUCKDB_CODE_TYPES[codec.dtype.itemsize]})"
    )


def index_sql(layers: QueryLayers, column: Lattice, stored: StoredColumn) -> str:
    """A cell's lattice index as BIGINT; NULL where it is missing or no value of the
    column's type.
    """
    found = number_reading(layers, column, stored)
    if found is None:
        return "CAST(NULL AS BIGINT)"
    conditions = [is_empty_sql(stored)]
    if column.missing and stored.type in TEXT_TYPES:
        conditions.append(
            f"{texts_sql(layers, stored)[0]} IN"
            f" ({quoting.text_literals(column.missing)})"
        )
    conditions += [
        condition for condition, _ in _missing_code_conditions(column, stored, found)
    ]
    inside = layers.read(
        f"CASE WHEN {' OR '.join(conditions)} THEN NULL ELSE {found.value} END"
    )
    position = layers.read(found.grid.index(inside))
    if column.outside is OutOfBoundsPolicy.MISSING:
        bounds = [(column.low, "<"), (column.high, ">")]
        beyond = [
            f"{position} {sign} {quoting.whole_literal(bound)}"
            for bound, sign in bounds
            if bound is not None
        ]
        if beyond:
            return f"CASE WHEN {' OR '.join(beyond)} THEN NULL ELSE {position} END"
    return position


def label_sql(layers: QueryLayers, column: Categorical, stored: StoredColumn) -> str:
    """A cell's text as a label; NULL where it is missing."""
    found = texts_sql(layers, stored)
    if not found:
        return "CAST(NULL AS VARCHAR)"
    codes = [*column.missing, *filter(None, map(find_first_spelling, column.missing))]
    missing = [
        f"{text} IN ({quoting.text_literals(codes)})"
        for text in _looked_up(found, stored)
        if codes
    ]
    return (
        f"CASE WHEN {' OR '.join([is_empty_sql(stored), *missing])} THEN NULL ELSE"
        f" {found[0]} END"
    )


def _looked_up(found: list[str], stored: StoredColumn) -> list[str]:
    """Which of a cell's texts are looked up among labels: the first, however the cell
    is stored, and the text as it is of a guarded one.
    """
    return found if stored.guarded and stored.type in TEXT_TYPES else found[:1]


def is_listable_sql(text: str) -> str:
    """Whether a text may be learned as a label: one that a schema can list, and short
    enough. Decided by the cell alone.
    """
    return f"NOT contains({text}, chr(0)) AND length({text}) <= {MAX_LABEL_CHARS}"


def is_empty_sql(stored: StoredColumn) -> str:
    """Whether a cell holds nothing: NULL, the empty text, or NaN."""
    if stored.type in DOUBLE_TYPES:
        return f"{stored.cell} IS NULL OR isnan({stored.cell})"
    if stored.type in TEXT_TYPES:
        return f"{stored.cell} IS NULL OR CAST({stored.cell} AS VARCHAR) = ''"
    return f"{stored.cell} IS NULL"


def _label_code_sql(
    layers: QueryLayers, codec: Codec, stored: StoredColumn, listing: EnumCreator
) -> str:
    """The code of a text that is a missing code, or else a label, or else an alias of
    one, or else of the unlisted.
    """
    column, found = codec.column, _looked_up(texts_sql(layers, stored), stored)
    if isinstance(column, Boolean):
        sides = [
            [word for word, place in codec.places.items() if place == side]
            for side in (0, 1)
        ]

        def place_cases(text: str) -> str:
            return " ".join(
                f"WHEN lower({text}) IN ({quoting.text_literals(side)}) THEN {i}"
                for i, side in enumerate(sides)
            )

        found = [layers.read(text) for text in found]
        spelled = [
            f"WHEN {t} = {quoting.text_literal(m)} THEN {codec.missing_code(j)}"
            for t in found
            for j, m in enumerate(column.missing)
        ]
        other_words = [
            f"WHEN {t} = {quoting.text_literal(m)} THEN {code}"
            for t in found
            for m, code in codec.aliases.items()
        ]
        whens = [
            *spelled,
            *(place_cases(t) for t in found),
            *other_words,
            "WHEN false THEN 0",
        ]
        return f"CASE {' '.join(whens)} ELSE {codec.unlisted_code} END"
    assert isinstance(codec.bins, LabelLookup)
    listed = [*codec.bins.labels]
    if isinstance(column, Categorical) and column.other is not None:
        listed.append(column.other)
    if not listed and not column.missing:
        return str(codec.unlisted_code)
    aliases = codec.aliases
    names = listing([*listed, *column.missing, *aliases])
    places = [layers.read(f"enum_code(TRY_CAST({text} AS {names}))") for text in found]
    # In the list the missing codes follow the labels; among the codes the empty cell
    # stands between. Aliases come last.
    known = len(listed) + len(column.missing)
    others = [
        f"WHEN {p} >= {known} THEN"
        f" list_extract([{', '.join(map(str, aliases.values()))}], {p} - {known - 1})"
        for p in places
        if aliases
    ]
    missing = [
        f"WHEN {p} >= {len(listed)} THEN {p} + {int(column.nullable)}"
        for p in places
        if column.missing
    ]
    first = f"COALESCE({', '.join([*places, str(codec.unlisted_code)])})"
    return (
        f"CASE {' '.join([*others, *missing])} ELSE {first} END"
        if others or missing
        else first
    )


def _bin_code_sql(layers: QueryLayers, codec: Codec, stored: StoredColumn) -> str:
    column = codec.column
    assert isinstance(column, Lattice)
    assert not isinstance(codec.bins, LabelLookup)
    edges = codec.bins.edges
    found = number_reading(layers, column, stored)
    whens = []
    if column.missing and (stored.type in TEXT_TYPES or found is None):
        whens = [
            f"WHEN {text} = {quoting.text_literal(spelling)} THEN {codec.missing_code(j)}"
            for text in texts_sql(layers, stored)
            for j, spelling in enumerate(column.missing)
        ]
    if found is None:
        return (
            f"CASE {' '.join(whens)} ELSE {codec.default} END"
            if whens
            else str(codec.default)
        )
    value = found.value
    whens += [
        f"WHEN {condition} THEN {codec.missing_code(j)}"
        for condition, j in _missing_code_conditions(column, stored, found)
    ]
    none = f"{value} IS NULL"
    if isinstance(found.grid, DoubleGrid):
        none += f" OR NOT isfinite({value})"
    if column.outside is OutOfBoundsPolicy.MISSING:
        none += (
            f" OR {value} < {found.grid.least(edges[0])} OR {value} >="
            f" {found.grid.least(edges[-1])}"
        )
    return (
        f"CASE {' '.join(whens)} WHEN {none} THEN {codec.default} ELSE"
        f" {found.grid.bin_sql(value, edges)} END"
    )


def _missing_code_conditions(
    column: Lattice, stored: StoredColumn, found: NumberReading
) -> Iterator[tuple[str, int]]:
    """For each missing code that is a value of the column's type: when a stored number
    is that value, and its place.
    """
    exact = "" if found.cut is None else f" AND NOT {found.cut}"
    seen = set()
    for j, spelling in enumerate(column.missing):
        value = column.parse(spelling)
        if isinstance(found.grid, DoubleGrid):
            number = _double_of_code(spelling, value)
            place = None if number is None else _place_of_double(column, number)
            literal = None if number is None else quoting.double_literal(number)
        else:
            assert isinstance(found.grid, WholeGrid)
            on_grid = (
                Fraction(1, 2)
                if value is None
                else column.position_of(value) / found.grid.unit
            )
            literal = (
                quoting.whole_literal(int(on_grid))
                if on_grid.denominator == 1
                else None
            )
            place = j
            if (
                stored.type not in TEXT_TYPES
                and isinstance(value, Fraction)
                and str(value) in column.missing
            ):
                place = column.missing.index(
                    str(value)
                )  # a stored 7 is rather "7" than "7.0"
        if literal is not None and place is not None and literal not in seen:
            seen.add(literal)
            yield f"({found.value} = {literal}{exact})", place


def _double_of_code(spelling: str, value: object) -> float | None:
    """The double a missing code is stored as."""
    if spelling in ("inf", "-inf"):
        return float(spelling)
    try:
        return None if value is None else float(value)  # type: ignore[arg-type]
    except OverflowError:
        return None


def _place_of_double(column: Lattice, number: float) -> int | None:
    """The missing code a double is: by its text (-99.9 is stored as the double nearest
    to it), or else by its exact value.
    """
    for text in spellings_of_cell(number):
        if text in column.missing:
            return column.missing.index(text)
    values = [column.parse(spelling) for spelling in column.missing]
    return next(
        (
            j
            for j, v in enumerate(values)
            if v is not None and math.isfinite(number) and v == Fraction(number)
        ),
        None,
    )
