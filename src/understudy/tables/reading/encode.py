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
    layers: QueryLayers,
    codec: Codec,
    stored: StoredColumn,
    listing: EnumCreator,
) -> str:
    """A cell's code, never NULL, in the smallest type that holds it."""
    if isinstance(codec.bins, LabelLookup):
        code = _label_code_sql(layers, codec, stored, listing)
    else:
        code = _bin_code_sql(layers, codec, stored)
    return (
        f"CAST(CASE WHEN {is_empty_sql(stored)} THEN {codec.default} ELSE {code} END"
        f" AS {DUCKDB_CODE_TYPES[codec.dtype.itemsize]})"
    )


def index_sql(layers: QueryLayers, column: Lattice, stored: StoredColumn) -> str:
    """A cell's lattice index as BIGINT; NULL where it is missing or no value of the
    column's type.
    """
    reading = number_reading(layers, column, stored)
    if reading is None:
        return "CAST(NULL AS BIGINT)"
    absent = [is_empty_sql(stored)]
    if column.missing and stored.type in TEXT_TYPES:
        codes = quoting.text_literals(column.missing)
        absent.append(f"{texts_sql(layers, stored)[0]} IN ({codes})")
    coded = _missing_code_conditions(column, stored, reading)
    absent += [condition for condition, _ in coded]
    present = layers.read(
        f"CASE WHEN {' OR '.join(absent)} THEN NULL ELSE {reading.value} END"
    )
    index = layers.read(reading.grid.index(present))
    if column.outside is not OutOfBoundsPolicy.MISSING:
        return index
    beyond = [
        f"{index} {sign} {quoting.whole_literal(bound)}"
        for bound, sign in ((column.low, "<"), (column.high, ">"))
        if bound is not None
    ]
    if not beyond:
        return index
    return f"CASE WHEN {' OR '.join(beyond)} THEN NULL ELSE {index} END"


def label_sql(layers: QueryLayers, column: Categorical, stored: StoredColumn) -> str:
    """A cell's text as a label; NULL where it is missing."""
    texts = texts_sql(layers, stored)
    if not texts:
        return "CAST(NULL AS VARCHAR)"
    absent = [is_empty_sql(stored)]
    # A missing code 7.0 also means a stored 7, whose text is shorter.
    codes = [*column.missing, *filter(None, map(find_first_spelling, column.missing))]
    if codes:
        absent += [
            f"{text} IN ({quoting.text_literals(codes)})"
            for text in _texts_to_look_up(texts, stored)
        ]
    return f"CASE WHEN {' OR '.join(absent)} THEN NULL ELSE {texts[0]} END"


def _texts_to_look_up(texts: list[str], stored: StoredColumn) -> list[str]:
    """Which of a cell's texts are looked up among labels: the first, however the cell
    is stored, and the text as it is of a guarded one.
    """
    return texts if stored.guarded and stored.type in TEXT_TYPES else texts[:1]


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
    layers: QueryLayers,
    codec: Codec,
    stored: StoredColumn,
    listing: EnumCreator,
) -> str:
    """The code of a text that is a missing code, or else a label, or else an alias of
    one, or else of the unlisted.
    """
    column = codec.column
    texts = _texts_to_look_up(texts_sql(layers, stored), stored)
    if isinstance(column, Boolean):
        return _truth_code_sql(codec, column, [layers.read(text) for text in texts])
    assert isinstance(codec.bins, LabelLookup)
    listed = [*codec.bins.labels]
    if isinstance(column, Categorical) and column.other is not None:
        listed.append(column.other)
    if not listed and not column.missing:
        return str(codec.unlisted_code)
    aliases = codec.aliases
    names = listing([*listed, *column.missing, *aliases])
    # A cast to an enum is a hash lookup: as quick for a thousand labels as for two.
    places = [layers.read(f"enum_code(TRY_CAST({text} AS {names}))") for text in texts]
    # In the list the missing codes follow the labels; among the codes the empty cell
    # stands between. Aliases come last.
    known = len(listed) + len(column.missing)
    whens = _alias_whens(list(aliases.values()), known, places)
    if column.missing:
        shift = int(column.nullable)
        whens += [f"WHEN {p} >= {len(listed)} THEN {p} + {shift}" for p in places]
    first = f"COALESCE({', '.join([*places, str(codec.unlisted_code)])})"
    return f"CASE {' '.join(whens)} ELSE {first} END" if whens else first


def _alias_whens(codes: list[int], known: int, places: list[str]) -> list[str]:
    """Branches for texts that stand in the list behind all that is known: aliases."""
    if not codes:
        return []
    listed = ", ".join(map(str, codes))
    return [
        f"WHEN {p} >= {known} THEN list_extract([{listed}], {p} - {known - 1})"
        for p in places
    ]


def _truth_code_sql(codec: Codec, column: Boolean, texts: list[str]) -> str:
    """The code of a truth value: missing codes are compared as they are spelled, words
    for yes and no in any case.
    """
    sides: tuple[list[str], list[str]] = ([], [])
    for word, side in codec.places.items():
        sides[side].append(word)
    whens = [
        f"WHEN {text} = {quoting.text_literal(spelling)} THEN {codec.missing_code(j)}"
        for text in texts
        for j, spelling in enumerate(column.missing)
    ]
    whens += [
        f"WHEN lower({text}) IN ({quoting.text_literals(words)}) THEN {side}"
        for text in texts
        for side, words in enumerate(sides)
    ]
    whens += [
        f"WHEN {text} = {quoting.text_literal(alias)} THEN {code}"
        for text in texts
        for alias, code in codec.aliases.items()
    ]
    # A CASE needs one branch at least; this one is never taken.
    whens.append("WHEN false THEN 0")
    return f"CASE {' '.join(whens)} ELSE {codec.unlisted_code} END"


def _bin_code_sql(layers: QueryLayers, codec: Codec, stored: StoredColumn) -> str:
    column = codec.column
    assert isinstance(column, Lattice)
    assert not isinstance(codec.bins, LabelLookup)
    edges = codec.bins.edges
    reading = number_reading(layers, column, stored)
    whens = []
    if stored.type in TEXT_TYPES or reading is None:
        whens = _missing_text_whens(layers, codec, stored)
    if reading is None:
        if not whens:
            return str(codec.default)
        return f"CASE {' '.join(whens)} ELSE {codec.default} END"
    value = reading.value
    grid = reading.grid
    whens += [
        f"WHEN {condition} THEN {codec.missing_code(j)}"
        for condition, j in _missing_code_conditions(column, stored, reading)
    ]
    absent = f"{value} IS NULL"
    if isinstance(grid, DoubleGrid):
        absent += f" OR NOT isfinite({value})"
    if column.outside is OutOfBoundsPolicy.MISSING:
        low = grid.least(edges[0])
        end = grid.least(edges[-1])
        absent += f" OR {value} < {low} OR {value} >= {end}"
    return (
        f"CASE {' '.join(whens)} WHEN {absent} THEN {codec.default} ELSE"
        f" {grid.bin_sql(value, edges)} END"
    )


def _missing_text_whens(
    layers: QueryLayers, codec: Codec, stored: StoredColumn
) -> list[str]:
    """Branches for cells that are spelled as a missing code."""
    missing = codec.column.missing
    # Without codes no text is read: reading one adds a layer to the query.
    if not missing:
        return []
    return [
        f"WHEN {text} = {quoting.text_literal(spelling)} THEN {codec.missing_code(j)}"
        for text in texts_sql(layers, stored)
        for j, spelling in enumerate(missing)
    ]


def _missing_code_conditions(
    column: Lattice,
    stored: StoredColumn,
    reading: NumberReading,
) -> Iterator[tuple[str, int]]:
    """For each missing code that is a value of the column's type: when a stored number
    is that value, and its place.
    """
    # Digits that were cut off make a number differ from the code it seems to be.
    exact = "" if reading.cut is None else f" AND NOT {reading.cut}"
    seen = set()
    for j, spelling in enumerate(column.missing):
        if isinstance(reading.grid, DoubleGrid):
            literal, place = _double_code(column, spelling)
        else:
            assert isinstance(reading.grid, WholeGrid)
            literal, place = _whole_code(column, j, stored, reading.grid)
        if literal is not None and place is not None and literal not in seen:
            seen.add(literal)
            yield f"({reading.value} = {literal}{exact})", place


def _double_code(column: Lattice, spelling: str) -> tuple[str | None, int | None]:
    """The double a missing code is stored as, and the place of the code it stands for."""
    number = _double_of_code(spelling, column.parse(spelling))
    if number is None:
        return None, None
    return quoting.double_literal(number), _place_of_double(column, number)


def _whole_code(
    column: Lattice,
    j: int,
    stored: StoredColumn,
    grid: WholeGrid,
) -> tuple[str | None, int | None]:
    """The whole number a missing code is stored as, if it is one on this grid, and the
    place of the code it stands for.
    """
    value = column.parse(column.missing[j])
    if value is None:
        return None, None
    on_grid = column.position_of(value) / grid.unit
    if on_grid.denominator != 1:
        return None, None
    place = j
    if stored.type not in TEXT_TYPES and isinstance(value, Fraction):
        # A stored 7 is the missing code "7" rather than "7.0".
        shortest = str(value)
        if shortest in column.missing:
            place = column.missing.index(shortest)
    return quoting.whole_literal(int(on_grid)), place


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
