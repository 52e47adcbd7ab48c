"""Physical cells: what a declared type is stored as, and how to read that so that no
cell can break its own type.

A text column of an Arrow table may hold bytes that are no text, a column of moments
numbers beyond every calendar, a column of decimals more digits than it declares. Read
by its declared type, one such cell stops the whole reading, and whether it does would
tell two tables apart. So a column is read as the bytes and integers it is stored as,
and these expressions make the declared type of them: a cell outside its own type
becomes a value of that type that lies outside every domain, never an error and never a
missing cell. The declared type alone decides how a column is read; its cells never do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from understudy.tables.sql.stored import INSTANT_TYPE

UNITS_PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "n": 10**9}
"""Units of moments and times, by Arrow's letters."""

MAX_MOMENT_SECONDS = 10**12
"""Seconds from 1970 beyond which all moments are alike: outside the calendar of every
schema, inside that of the database.
"""

MAX_DATE_DAYS = 10**7
MICROS_PER_DAY = 86_400 * 10**6
BYTES_OF_TEXT_FORMATS = {b"u": b"z", b"U": b"Z", b"vu": b"vz"}
"""Arrow's letters for texts, and for bytes stored alike."""

INTEGERS_OF_TIME_FORMATS = {
    b"tdD": b"i", b"tdm": b"l",
    b"tts": b"i", b"ttm": b"i", b"ttu": b"l", b"ttn": b"l",
    b"tiM": b"i", b"tiD": b"l", b"tin": b"w:16",
}  # fmt: skip
"""Arrow's letters for days, times and intervals, and for what is stored alike."""

DECIMAL_FORMAT_PATTERN = re.compile(rb"d:(\d+),(-?\d+)(?:,(\d+))?")
DECIMAL_DIGITS_BY_BITS = {32: 9, 64: 18, 128: 38}
"""Digits that fit in a number of bits."""


@dataclass(frozen=True)
class CellReading:
    """A cell as an expression, and the type that it has."""

    expression: str
    type: str


def physical_format(format: bytes, *, nested: bool = False) -> bytes:
    """Arrow's letters for what a type is stored as, where a cell could contradict the
    type; else the type's own.

    Decimals inside lists and structures, where nothing is read but whether there is
    something, are bytes.

    >>> [physical_format(format) for format in (b"u", b"tsm:UTC", b"d:5,2", b"g")]
    [b'z', b'l', b'd:38,2,128', b'g']
    """
    if format in BYTES_OF_TEXT_FORMATS:
        return BYTES_OF_TEXT_FORMATS[format]
    if format[:2] in (b"ts", b"tD"):
        return b"l"
    found = DECIMAL_FORMAT_PATTERN.fullmatch(format)
    if found is not None and int(found[3] or 128) in DECIMAL_DIGITS_BY_BITS:
        bits = int(found[3] or 128)
        if nested:
            return b"w:%d" % (bits // 8)
        return b"d:%d,%s,%d" % (DECIMAL_DIGITS_BY_BITS[bits], found[2], bits)
    return INTEGERS_OF_TIME_FORMATS.get(format, format)


def reading_of_format(cell: str, format: bytes, declared: str) -> CellReading:
    """How to read a cell whose column has this Arrow format and is of this type to the
    database.
    """
    if format in BYTES_OF_TEXT_FORMATS:
        return CellReading(decode_text_sql(cell), "VARCHAR")
    if format.startswith(b"ts"):
        return moment_reading(cell, chr(format[2]), zoned=len(format) > 4)
    if format in (b"tdD", b"tdm"):
        in_days = format == b"tdD"
        days = cell if in_days else _floor_divide_sql(cell, MICROS_PER_DAY // 1000)
        return day_reading(days)
    if format.startswith(b"tt"):
        return clock_reading(cell, chr(format[2]))
    found = DECIMAL_FORMAT_PATTERN.fullmatch(format)
    if found is not None and declared.startswith("DECIMAL"):
        return decimal_reading(cell, int(found[1]), int(found[2]))
    return CellReading(cell, declared)


def decode_text_sql(cell: str) -> str:
    """Bytes as a text, with a question mark for each byte that is none."""
    return f"decode({cell}, 'replace')"


def moment_reading(cell: str, unit: str, *, zoned: bool) -> CellReading:
    """A number of units since 1970 as a moment, or as an instant where it is in a zone;
    digits beyond the microsecond are cut off.
    """
    per = UNITS_PER_SECOND[unit]
    far = MAX_MOMENT_SECONDS * per
    # In nanoseconds, 64 bits end long before the calendar does: nothing to clip.
    clipped = _clip_sql(cell, far) if far < 2**63 else cell
    if per <= 10**6:
        micros = f"{clipped} * {10**6 // per}"
    else:
        micros = _floor_divide_sql(clipped, per // 10**6)
    if zoned:
        return CellReading(f"make_timestamptz({micros})", INSTANT_TYPE)
    return CellReading(f"make_timestamp({micros})", "TIMESTAMP")


def native_moment_reading(cell: str, kind: str) -> CellReading:
    """A moment or instant no further away than MAX_MOMENT_SECONDS: what the database
    cannot even write down is beyond that.
    """
    make = "make_timestamp" if kind == "TIMESTAMP" else "make_timestamptz"
    far = MAX_MOMENT_SECONDS * 10**6
    least = f"{make}(-{far})"
    most = f"{make}({far})"
    return CellReading(
        f"CASE WHEN {cell} < {least} THEN {least} WHEN {cell} > {most} THEN {most} ELSE"
        f" {cell} END",
        kind,
    )


def day_reading(cell: str) -> CellReading:
    """A number of days since 1970 as a date."""
    return CellReading(
        f"DATE '1970-01-01' + CAST({_clip_sql(cell, MAX_DATE_DAYS)} AS INTEGER)", "DATE"
    )


def clock_reading(cell: str, unit: str) -> CellReading:
    """A number of units since midnight as a time of day. What is none becomes 24:00,
    which no column takes for a value.
    """
    per = UNITS_PER_SECOND[unit]
    whole = f"CAST({cell} AS BIGINT)"
    limit = 86_400 * per
    within = (
        f"CASE WHEN {whole} < 0 THEN 0 WHEN {whole} >= {limit} THEN 0 ELSE {whole} END"
    )
    if per <= 10**6:
        micros = f"({within}) * {10**6 // per}"
    else:
        micros = f"({within}) // {per // 10**6}"
    shown = f"CAST(make_timestamp({micros}) AS TIME)"
    return CellReading(
        f"CASE WHEN {whole} < 0 OR {whole} >= {limit} THEN TIME '24:00:00' WHEN {cell}"
        f" IS NOT NULL THEN {shown} END",
        "TIME",
    )


def decimal_reading(cell: str, width: int, scale: int) -> CellReading:
    """A decimal with no more digits than it declares: a number too long becomes the
    longest.
    """
    digits = "9" * width
    most = (
        f"CAST('{digits[: width - scale]}.{digits[width - scale :]}' AS"
        f" DECIMAL({width},{scale}))"
    )
    kind = f"DECIMAL({width},{scale})"
    within = (
        f"CASE WHEN {cell} < -{most} THEN -{most} WHEN {cell} > {most} THEN {most} ELSE"
        f" {cell} END"
    )
    return CellReading(f"CAST({within} AS {kind})", kind)


def decimal_bytes_reading(cell: str, width: int, scale: int) -> CellReading:
    """A decimal stored as the bytes of a whole number in two's complement, the highest
    first.
    """
    # By its hexadecimal digits: DuckDB reads no bytes as a number. A negative one is
    # flipped bit by bit to get at its size.
    kind = f"DECIMAL({width},{scale})"
    digits = f"hex({cell})"
    negative = f"left({digits}, 1) >= '8'"
    flipped = f"translate({digits}, '0123456789ABCDEF', 'FEDCBA9876543210')"
    size = f"ltrim(CASE WHEN {negative} THEN {flipped} ELSE {digits} END, '0')"
    beyond, most = (f"CAST({n} AS UHUGEINT)" for n in (10**width, 10**width - 1))
    whole = (
        f"CASE WHEN length({size}) > 32 THEN {beyond} ELSE LEAST(CAST('0x0' || {size}"
        f" AS UHUGEINT), {beyond}) END"
    )
    # A flipped number is one short of the negative's size.
    clipped = f"LEAST({whole} + CAST({negative} AS UHUGEINT), {most})"
    # Zeros in front so that there is a digit before the point; they change no number.
    shown = f"'{'0' * (scale + 1)}' || CAST({clipped} AS VARCHAR)"
    spelled = f"regexp_replace({shown}, '(.{{{scale}}})$', '.\\1')" if scale else shown
    signed = f"CASE WHEN {negative} THEN '-' ELSE '' END || {spelled}"
    return CellReading(
        f"CASE WHEN {cell} IS NOT NULL THEN CAST({signed} AS {kind}) END", kind
    )


def _clip_sql(cell: str, far: int) -> str:
    """A number no further from 0 than `far`, as BIGINT."""
    return (
        f"(CASE WHEN {cell} < -{far} THEN -{far} WHEN {cell} > {far} THEN {far} ELSE"
        f" CAST({cell} AS BIGINT) END)"
    )


def _floor_divide_sql(cell: str, by: int) -> str:
    # DuckDB's // rounds towards zero; moments before 1970 are negative.
    return f"(({cell}) // {by} - CASE WHEN ({cell}) % {by} < 0 THEN 1 ELSE 0 END)"
