"""Reading: what a cell of a stored type says in a column of a declared type, as SQL.

The rules are those of schema/columns/cell.py. Whatever the stored type, a reading gives
either ordered numbers on a grid, or texts to look up, or nothing at all; no reading
raises, whatever the cell holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from understudy.schema.columns.cell import (
    CELL_NUMBER_PATTERN,
    MAX_NUMBER_DIGITS,
    parse_number,
)
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.moment_format import moment_format_of
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import MICROSECOND_SPAN, Date, Datetime, Time
from understudy.schema.formula import FORMULA_OPENERS
from understudy.tables.reading.datetimes import (
    clock_sql,
    clock_text_sql,
    days_sql,
    in_calendar_sql,
    moment_sql,
    moment_texts_sql,
    stored_clock_sql,
)
from understudy.tables.reading.grid import (
    OVERLONG_NUMBER,
    DoubleGrid,
    NumberGrid,
    WholeGrid,
)
from understudy.tables.reading.moment_format_sql import respell_moments
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.number_spelling import respelled_sql
from understudy.tables.sql.stored import (
    DOUBLE_TYPES,
    INSTANT_TYPES,
    MOMENT_TYPES,
    TEXT_TYPES,
    TIME_TYPES,
    WHOLE_TYPES,
    StoredColumn,
    text_sql,
    trimmed_text_sql,
)

__all__ = ["DOUBLE_TYPES", "TEXT_TYPES", "NumberReading", "number_reading", "texts_sql"]

GUARDED_TEXT_PATTERN = quoting.text_literal(
    "^'+[" + re.escape(FORMULA_OPENERS.replace("\0", "")) + "]"
)
"""Texts that `guard_formula` may have written; no cell of a file holds a NUL."""

MAX_STEP_PLACES = 18
"""Decimals kept of a number whose step is no decimal fraction."""


@dataclass(frozen=True)
class NumberReading:
    """A cell as a number on a grid; NULL where it is no value. `cut` says whether
    digits of it were cut off, where they can be.
    """

    value: str
    grid: NumberGrid
    cut: str | None = None


def number_reading(
    layers: QueryLayers,
    column: Lattice,
    stored: StoredColumn,
) -> NumberReading | None:
    """A cell of a number, date, moment or time column; None where the stored type never
    holds one.
    """
    if isinstance(column, Integer | Real):
        return _quantity_reading(layers, column, stored)
    assert isinstance(column, Date | Datetime | Time)
    stored = respell_moments(layers, moment_format_of(column.format), stored)
    if isinstance(column, Date):
        value = days_sql(layers, stored)
        unit = Fraction(1)
    else:
        if isinstance(column, Datetime):
            value = moment_sql(layers, column, stored)
        else:
            value = clock_sql(layers, stored)
        unit = Fraction(1, column.resolution // MICROSECOND_SPAN)
    if value is None:
        return None
    # A moment belongs to the lattice point before it, as clocks show it.
    return NumberReading(layers.read(value), WholeGrid(unit, nearest=False))


def texts_sql(layers: QueryLayers, stored: StoredColumn) -> list[str]:
    """The texts a cell may stand for, the likeliest first; none for a type that stands
    for no text.
    """
    cell = stored.cell
    kind = stored.type
    if kind in TEXT_TYPES:
        text = text_sql(layers, stored)
        return [_unguard_sql(text), text] if stored.guarded else [text]
    if kind in WHOLE_TYPES or kind == "UHUGEINT":
        return [f"CAST({cell} AS VARCHAR)"]
    if kind == "BOOLEAN":
        return [
            f"CASE WHEN {cell} THEN '{yes}' ELSE '{no}' END"
            for yes, no in (("true", "false"), ("True", "False"))
        ]
    if kind in DOUBLE_TYPES:
        number = f"CAST({cell} AS DOUBLE)"
        shown = f"CAST({number} AS VARCHAR)"
        # 2^63 itself is left out; -0.0 shows its sign only in the longer text.
        # TRY_CAST, because statistics of a Parquet file leave NaN out, and by them the
        # database may skip the condition.
        short = f"abs({number}) < 9223372036854775808 AND trunc({number}) = {number}"
        return [
            (
                f"CASE WHEN {short} THEN CAST(TRY_CAST({number} AS HUGEINT) AS VARCHAR)"
                f" ELSE {shown} END"
            ),
            shown,
        ]
    if kind.startswith("DECIMAL"):
        shown = layers.read(f"CAST({cell} AS VARCHAR)")
        return [
            f"CASE WHEN contains({shown}, '.') THEN rtrim(rtrim({shown}, '0'), '.')"
            f" ELSE {shown} END"
        ]
    if kind == "DATE":
        return [
            f"CASE WHEN {in_calendar_sql(cell)} THEN strftime({cell}, '%Y-%m-%d') END"
        ]
    if kind in TIME_TYPES:
        return [clock_text_sql(layers.read(stored_clock_sql(stored)))]
    if kind in MOMENT_TYPES or kind in INSTANT_TYPES:
        return moment_texts_sql(layers, stored)
    return []


def _unguard_sql(text: str) -> str:
    """The text that was guarded, as `unguard_formula` tells it; others as they are."""
    return (
        f"CASE WHEN regexp_matches({text}, {GUARDED_TEXT_PATTERN}) THEN substr({text},"
        f" 2) ELSE {text} END"
    )


def _quantity_reading(
    layers: QueryLayers,
    column: Integer | Real,
    stored: StoredColumn,
) -> NumberReading | None:
    cell = stored.cell
    kind = stored.type
    step = Fraction(column.step)
    if kind in WHOLE_TYPES:
        return NumberReading(cell, WholeGrid(1 / step, nearest=True))
    if kind == "UHUGEINT":
        # The grid's arithmetic is signed; beyond 2^126 all numbers are beyond every edge.
        far = (
            f"CASE WHEN {cell} >= {2**126} THEN {2**126} ELSE TRY_CAST({cell} AS"
            " HUGEINT) END"
        )
        return NumberReading(layers.read(far), WholeGrid(1 / step, nearest=True))
    if kind in DOUBLE_TYPES:
        number = f"CAST({cell} AS DOUBLE)"
        return NumberReading(
            layers.read(f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"),
            DoubleGrid(step),
        )
    if kind.startswith("DECIMAL"):
        width, scale = (int(n) for n in re.findall(r"\d+", kind))
        digits = layers.read(_unscale_decimal_sql(cell, width, scale))
        return NumberReading(
            digits, WholeGrid(Fraction(1, 10**scale) / step, nearest=True)
        )
    if kind in TEXT_TYPES:
        stored = _respell_numbers(layers, column, stored)
        return _parse_quantity(layers, column, stored, step)
    return None


def _unscale_decimal_sql(cell: str, width: int, scale: int) -> str:
    """The digits of a decimal as a whole number."""
    if scale == 0:
        return f"CAST({cell} AS HUGEINT)"
    # Multiplied as a decimal where 38 digits hold the product, else by its text.
    if width + scale <= 37:
        return (
            f"CAST(CAST({cell} AS DECIMAL(38,{scale})) * CAST({10**scale} AS"
            f" DECIMAL({scale + 1},0)) AS HUGEINT)"
        )
    return f"TRY_CAST(replace(CAST({cell} AS VARCHAR), '.', '') AS HUGEINT)"


def _respell_numbers(
    layers: QueryLayers, column: Integer | Real, stored: StoredColumn
) -> StoredColumn:
    """The column with its numbers spelled as 1234.5, where it declares other marks."""
    spelling = column.number_spelling
    if spelling.is_plain:
        return stored
    plain = layers.read(respelled_sql(spelling, text_sql(layers, stored)))
    return StoredColumn(plain, "VARCHAR", stored.zone)


def _decimal_places(number: Fraction) -> int:
    """Decimals that hold a number exactly, or as many as are worth keeping."""
    return next(
        (d for d in range(MAX_STEP_PLACES + 2) if (number * 10**d).denominator == 1),
        MAX_STEP_PLACES,
    )


def _parse_long_number(
    layers: QueryLayers, text: str, kind: str, places: int
) -> tuple[str, str]:
    """The long way, for exponents and many digits: the number of 10^-places, and the
    digits that were cut off.
    """
    # Sign, digits before and after the point, and the exponent, which moves the point.
    groups = "^([+-]?)([0-9]*)\\.?([0-9]*)([eE]([+-]?[0-9]{1,3}))?$"
    part = layers.read(
        f"CASE WHEN {kind} = 3 THEN regexp_extract({text}, '{groups}', ['s', 'w', 'f',"
        " 'x', 'e']) END"
    )
    digits = layers.read(f"{part}.w || {part}.f")
    point = layers.read(
        f"CAST(length({part}.w) + {places} + COALESCE(TRY_CAST({part}.e AS INTEGER), 0)"
        " AS INTEGER)"
    )
    kept = layers.read(
        f"CASE WHEN {point} > 0 THEN ltrim(left(rpad({digits}, {point}, '0'), {point}),"
        " '0') ELSE '' END"
    )
    size = layers.read(
        f"CASE WHEN {kept} = '' THEN 0 WHEN length({kept}) > 38 THEN {OVERLONG_NUMBER}"
        f" ELSE TRY_CAST({kept} AS HUGEINT) END"
    )
    value = f"CASE WHEN {part}.s = '-' THEN -{size} ELSE {size} END"
    return value, f"substr({digits}, GREATEST({point}, 0) + 1)"


def _parse_quantity(
    layers: QueryLayers,
    column: Integer | Real,
    stored: StoredColumn,
    step: Fraction,
) -> NumberReading:
    """A number's text as a whole number of 10^-places, the digits beyond cut off.

    Cutting off is exact: halves go away from zero, and every half lies on this decimal
    grid.
    """
    spelled = [
        number for number in map(parse_number, column.missing) if number is not None
    ]
    # Enough decimals for half a step, and for missing codes to be told from values.
    places = max(
        _decimal_places(step / 2),
        *(_decimal_places(number) for number in spelled),
        0,
    )
    text = text_sql(layers, stored)
    trimmed = trimmed_text_sql(layers, stored)
    # Nearly all numbers are short; how a text can be read is decided once, the long way
    # only where it is needed.
    kind = layers.read(
        f"CASE WHEN regexp_full_match({text}, '[+-]?[0-9]{{1,18}}') THEN 1 WHEN"
        f" {0 < places <= 10} AND regexp_full_match({text},"
        f" '[+-]?[0-9]{{1,15}}\\.[0-9]*') THEN 2 WHEN length({trimmed}) <="
        f" {MAX_NUMBER_DIGITS} AND regexp_full_match({trimmed},"
        f" {quoting.text_literal(CELL_NUMBER_PATTERN)}) THEN 3 ELSE 0 END"
    )
    long_value, long_rest = _parse_long_number(layers, trimmed, kind, places)
    short = f"left({text}, strpos({text}, '.') + {places})"
    decimal = (
        f"TRY_CAST({short} AS DECIMAL(38,{places})) * CAST({10**places} AS"
        f" DECIMAL({places + 1},0))"
    )
    value = layers.read(
        f"CASE {kind} WHEN 1 THEN TRY_CAST({text} AS HUGEINT) * {10**places} "
        + (f"WHEN 2 THEN TRY_CAST({decimal} AS HUGEINT) " if 0 < places <= 10 else "")
        + f"WHEN 3 THEN {long_value} END"
    )
    # What was cut off decides only whether a number is a missing code exactly.
    short_rest = f"substr({text}, strpos({text}, '.') + {places + 1})"
    rest = f"CASE {kind} WHEN 2 THEN {short_rest} WHEN 3 THEN {long_rest} END"
    cut = f"COALESCE(regexp_matches({rest}, '[1-9]'), false)" if spelled else None
    return NumberReading(
        value,
        WholeGrid(Fraction(1, 10**places) / step, nearest=True),
        cut,
    )
