"""Reading: what a cell of a stored type says in a column of a declared type, as SQL.

The rules are those of schema/cell.py. Whatever the stored type, a reading gives either ordered numbers on a grid, or texts to look up, or
nothing at all; no reading raises, whatever the cell holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from understudy.schema.cell import DATE, DIGITS_LIMIT, NUMBER, OFFSET, TIME, parse_number
from understudy.schema.column import EPOCH, MICROSECOND, Date, Datetime, Integer, Lattice, Real, Time
from understudy.tables import sql
from understudy.tables.grid import HUGE, DoubleGrid, Grid, WholeGrid
from understudy.tables.layers import Layers

WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
DOUBLE_TYPES = ("FLOAT", "DOUBLE")
TEXT_TYPES = ("VARCHAR", "ENUM", "JSON")
MOMENT_TYPES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
INSTANT_TYPE = "TIMESTAMP WITH TIME ZONE"
INSTANT_TYPES = (INSTANT_TYPE, "TIMESTAMPTZ_NS")
TIME_TYPES = ("TIME", "TIME_NS")
PLAINER = {"TIME_NS": "TIME", "TIMESTAMPTZ_NS": INSTANT_TYPE}
"""What finer types are called in public: everything beyond the microsecond is cut off anyway."""

FIRST_DAY, LAST_DAY = (date.min - EPOCH).days, (date.max - EPOCH).days
DAY, MINUTE = timedelta(days=1) // MICROSECOND, timedelta(minutes=1) // MICROSECOND
BLANKS = "' ' || chr(9)"
EXTRA_PLACES = 18
"""Decimals kept of a number whose step is no decimal fraction."""


@dataclass(frozen=True)
class Stored:
    """How a source stores a column: the name of its cell in a query, its type, and the zone its instants are shown in."""

    cell: str
    type: str
    zone: str | None = None


@dataclass(frozen=True)
class Numbers:
    """A cell as a number on a grid; NULL where it is no value. `cut` says whether digits of it were cut off, where they can be."""

    value: str
    grid: Grid
    cut: str | None = None


def base_type(declared: str) -> str:
    """A type's name without what could be a value.

    >>> base_type("ENUM('a', 'b')"), base_type("DECIMAL(9,2)"), base_type("INTEGER[]")
    ('ENUM', 'DECIMAL(9,2)', 'LIST')
    """
    if declared.endswith("]"):
        return "LIST"
    return declared if declared.startswith("DECIMAL") else declared.split("(")[0].strip('"')


def numbers(layers: Layers, column: Lattice, stored: Stored) -> Numbers | None:
    """A cell of a number, date, moment or time column; None where the stored type never holds one."""
    if isinstance(column, Integer | Real):
        return _quantity(layers, column, stored)
    if isinstance(column, Date):
        days = _days(layers, stored)
        return None if days is None else Numbers(layers.read(days), WholeGrid(Fraction(1), nearest=False))
    assert isinstance(column, Datetime | Time)
    micros = _moment(layers, column, stored) if isinstance(column, Datetime) else _clock(layers, stored)
    unit = Fraction(1, column.resolution // MICROSECOND)
    return None if micros is None else Numbers(layers.read(micros), WholeGrid(unit, nearest=False))


def texts(layers: Layers, stored: Stored) -> list[str]:
    """The texts a cell may stand for, the likeliest first; none for a type that stands for no text."""
    cell, kind = stored.cell, stored.type
    if kind in TEXT_TYPES:
        return [_text(layers, stored)]
    if kind in WHOLE_TYPES or kind == "UHUGEINT":
        return [f"CAST({cell} AS VARCHAR)"]
    if kind == "BOOLEAN":
        return [f"CASE WHEN {cell} THEN '{yes}' ELSE '{no}' END" for yes, no in (("true", "false"), ("True", "False"))]
    if kind in DOUBLE_TYPES:
        number = f"CAST({cell} AS DOUBLE)"
        shown = f"CAST({number} AS VARCHAR)"
        # 2^63 itself is left out; -0.0 shows its sign only in the longer text.
        short = f"abs({number}) < 9223372036854775808 AND trunc({number}) = {number}"
        return [f"CASE WHEN {short} THEN CAST(CAST({number} AS HUGEINT) AS VARCHAR) ELSE {shown} END", shown]
    if kind.startswith("DECIMAL"):
        shown = layers.read(f"CAST({cell} AS VARCHAR)")
        return [f"CASE WHEN contains({shown}, '.') THEN rtrim(rtrim({shown}, '0'), '.') ELSE {shown} END"]
    if kind == "DATE":
        return [f"CASE WHEN {_in_calendar(cell)} THEN strftime({cell}, '%Y-%m-%d') END"]
    if kind in TIME_TYPES:
        return [_clock_text(layers.read(_clock_of_time(stored)))]
    if kind in MOMENT_TYPES or kind in INSTANT_TYPES:
        return _moment_texts(layers, stored)
    return []


def _text(layers: Layers, stored: Stored) -> str:
    return stored.cell if stored.type == "VARCHAR" else layers.read(f"CAST({stored.cell} AS VARCHAR)")


def _trimmed(layers: Layers, stored: Stored) -> str:
    return layers.read(f"trim({_text(layers, stored)}, {BLANKS})")


# Numbers


def _quantity(layers: Layers, column: Integer | Real, stored: Stored) -> Numbers | None:
    cell, kind, step = stored.cell, stored.type, Fraction(column.step)
    if kind in WHOLE_TYPES:
        return Numbers(cell, WholeGrid(1 / step, nearest=True))
    if kind == "UHUGEINT":
        far = f"CASE WHEN {cell} >= {2**126} THEN {2**126} ELSE TRY_CAST({cell} AS HUGEINT) END"
        return Numbers(layers.read(far), WholeGrid(1 / step, nearest=True))
    if kind in DOUBLE_TYPES:
        number = f"CAST({cell} AS DOUBLE)"
        return Numbers(layers.read(f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"), DoubleGrid(step))
    if kind.startswith("DECIMAL"):
        width, scale = (int(n) for n in re.findall(r"\d+", kind))
        digits = layers.read(_unscaled(cell, width, scale))
        return Numbers(digits, WholeGrid(Fraction(1, 10**scale) / step, nearest=True))
    if kind in TEXT_TYPES:
        return _spelled_quantity(layers, column, stored, step)
    return None


def _unscaled(cell: str, width: int, scale: int) -> str:
    """The digits of a decimal as a whole number."""
    if scale == 0:
        return f"CAST({cell} AS HUGEINT)"
    if width + scale <= 37:
        return f"CAST(CAST({cell} AS DECIMAL(38,{scale})) * CAST({10**scale} AS DECIMAL({scale + 1},0)) AS HUGEINT)"
    return f"TRY_CAST(replace(CAST({cell} AS VARCHAR), '.', '') AS HUGEINT)"


def _places(number: Fraction) -> int:
    """Decimals that hold a number exactly, or as many as are worth keeping."""
    return next((d for d in range(EXTRA_PLACES + 2) if (number * 10**d).denominator == 1), EXTRA_PLACES)


def _spelled_quantity(layers: Layers, column: Integer | Real, stored: Stored, step: Fraction) -> Numbers:
    """A number's text as a whole number of 10^-places, the digits beyond cut off.

    Cutting off is exact: halves go away from zero, and every half lies on this decimal grid.
    """
    spelled = [number for number in map(parse_number, column.missing) if number is not None]
    places = max(_places(step / 2), *(_places(number) for number in spelled), 0)
    text, n = _text(layers, stored), _trimmed(layers, stored)
    # Nearly all numbers are short; how a text can be read is decided once, the long way only where it is needed.
    kind = layers.read(
        f"CASE WHEN regexp_full_match({text}, '[+-]?[0-9]{{1,18}}') THEN 1 "
        f"WHEN {0 < places <= 10} AND regexp_full_match({text}, '[+-]?[0-9]{{1,15}}\\.[0-9]*') THEN 2 "
        f"WHEN length({n}) <= {DIGITS_LIMIT} AND regexp_full_match({n}, {sql.text(NUMBER)}) THEN 3 ELSE 0 END"
    )
    groups = "^([+-]?)([0-9]*)\\.?([0-9]*)([eE]([+-]?[0-9]{1,3}))?$"
    part = layers.read(f"CASE WHEN {kind} = 3 THEN regexp_extract({n}, '{groups}', ['s', 'w', 'f', 'x', 'e']) END")
    digits = layers.read(f"{part}.w || {part}.f")
    point = layers.read(f"CAST(length({part}.w) + {places} + COALESCE(TRY_CAST({part}.e AS INTEGER), 0) AS INTEGER)")
    kept = layers.read(
        f"CASE WHEN {point} > 0 THEN ltrim(left(rpad({digits}, {point}, '0'), {point}), '0') ELSE '' END"
    )
    size = layers.read(
        f"CASE WHEN {kept} = '' THEN 0 WHEN length({kept}) > 38 THEN {HUGE} ELSE TRY_CAST({kept} AS HUGEINT) END"
    )
    short = f"regexp_extract({text}, '^[+-]?[0-9]+\\.[0-9]{{0,{places}}}')"
    decimal = f"TRY_CAST({short} AS DECIMAL(38,{places})) * CAST({10**places} AS DECIMAL({places + 1},0))"
    value = layers.read(
        f"CASE {kind} WHEN 1 THEN TRY_CAST({text} AS HUGEINT) * {10**places} "
        + (f"WHEN 2 THEN TRY_CAST({decimal} AS HUGEINT) " if 0 < places <= 10 else "")
        + f"WHEN 3 THEN CASE WHEN {part}.s = '-' THEN -{size} ELSE {size} END END"
    )
    beyond = f"substr({text}, strpos({text}, '.') + {places + 1})", f"substr({digits}, GREATEST({point}, 0) + 1)"
    rest = f"CASE {kind} WHEN 2 THEN {beyond[0]} WHEN 3 THEN {beyond[1]} END"
    cut = f"COALESCE(regexp_matches({rest}, '[1-9]'), false)" if spelled else None
    return Numbers(value, WholeGrid(Fraction(1, 10**places) / step, nearest=True), cut)


# Days, moments and times of day: days and microseconds since 1970, within the years 1 to 9999


def _in_calendar(cell: str) -> str:
    return f"({cell} - DATE '1970-01-01') BETWEEN {FIRST_DAY} AND {LAST_DAY}"


def _calendar(layers: Layers, micros: str) -> str:
    micros = layers.read(micros)
    return layers.read(f"CASE WHEN {micros} BETWEEN {FIRST_DAY * DAY} AND {(LAST_DAY + 1) * DAY - 1} THEN {micros} END")


def _floor(value: str, by: int) -> str:
    return f"({value} // {by} - CASE WHEN {value} % {by} < 0 THEN 1 ELSE 0 END)"


def _shift(zone: str) -> int | None:
    """Microseconds of a fixed offset such as +01:00, None for a zone with a name."""
    if zone == "UTC":
        return 0
    found = re.fullmatch(r"([+-])(\d{2}):?(\d{2})", zone)
    if found is None:
        return None
    minutes = int(found[2]) * 60 + int(found[3])
    return (-minutes if found[1] == "-" else minutes) * MINUTE


def _micros(layers: Layers, stored: Stored) -> str:
    """Microseconds of a moment or instant of any precision; digits beyond are cut off."""
    if stored.type.endswith("_NS"):
        return _calendar(layers, _floor(layers.read(f"epoch_ns({stored.cell})"), 1000))
    kind = "TIMESTAMP" if stored.type in MOMENT_TYPES else "TIMESTAMPTZ"
    return _calendar(layers, f"epoch_us(CAST({stored.cell} AS {kind}))")


def _wall(layers: Layers, stored: Stored) -> str:
    """Microseconds that clocks show, in the zone in which the source shows its instants."""
    micros = _micros(layers, stored)
    if stored.type in MOMENT_TYPES:
        return micros
    zone = stored.zone or "UTC"
    shift = _shift(zone)
    if shift is not None:
        return _calendar(layers, f"{micros} + {sql.whole(shift)}")
    return _calendar(layers, f"epoch_us(timezone({sql.text(zone)}, make_timestamptz({micros})))")


def _spelled_moment(layers: Layers, stored: Stored) -> tuple[str, str, str]:
    """A moment's text: the microseconds clocks show, its offset in minutes (NULL where that is none), and the offset's text."""
    pattern = f"^({DATE})([T ]({TIME})({OFFSET})?)?$"
    names = "['day', 'tail', 'clock', 'second', 'part', 'offset']"
    group = layers.read(f"regexp_extract({_trimmed(layers, stored)}, {sql.text(pattern)}, {names})")
    clock = f"CASE WHEN {group}.clock = '' THEN '00:00' ELSE {group}.clock END"
    # 24:00 is no time of day, though the database would take it for the next midnight.
    moment = f"CASE WHEN {group}.clock NOT LIKE '24%' THEN epoch_us(TRY_CAST({group}.day || ' ' || {clock} AS TIMESTAMP)) END"
    offset = layers.read(f"{group}.offset")
    hours = layers.read(f"TRY_CAST(substr({offset}, 2, 2) AS INTEGER)")
    minutes = layers.read(f"TRY_CAST('0' || right(substr({offset}, 4), 2) AS INTEGER)")
    signed = f"CASE WHEN {offset} LIKE '-%' THEN -1 ELSE 1 END * ({hours} * 60 + {minutes})"
    known = f"CASE WHEN {hours} <= 23 AND {minutes} <= 59 THEN {signed} END"
    shift = layers.read(f"CASE WHEN {offset} IN ('', 'Z') THEN 0 ELSE {known} END")
    wall = _calendar(layers, moment)
    return layers.read(f"CASE WHEN {shift} IS NOT NULL THEN {wall} END"), shift, offset


def _days(layers: Layers, stored: Stored) -> str | None:
    if stored.type == "DATE":
        return f"CASE WHEN {_in_calendar(stored.cell)} THEN CAST({stored.cell} - DATE '1970-01-01' AS BIGINT) END"
    if stored.type in MOMENT_TYPES or stored.type in INSTANT_TYPES:
        return _floor(_wall(layers, stored), DAY)
    if stored.type in TEXT_TYPES:
        return _floor(_spelled_moment(layers, stored)[0], DAY)
    return None


def _moment(layers: Layers, column: Datetime, stored: Stored) -> str | None:
    zone = column.zone
    if stored.type in INSTANT_TYPES:
        return _wall(layers, stored) if zone is None else _micros(layers, stored)
    if stored.type in TEXT_TYPES:
        wall, shift, offset = _spelled_moment(layers, stored)
        if zone is None:
            return wall
        instant = _calendar(layers, f"{wall} - CAST({shift} AS BIGINT) * {MINUTE}")
        return f"CASE WHEN {offset} <> '' THEN {instant} ELSE {_instant(layers, wall, zone)} END"
    if stored.type == "DATE":
        wall = layers.read(f"({_days(layers, stored)}) * {DAY}")
    elif stored.type in MOMENT_TYPES:
        wall = _wall(layers, stored)
    else:
        return None
    return wall if zone is None else _instant(layers, wall, zone)


def _instant(layers: Layers, wall: str, zone: str) -> str:
    """The instant at which clocks in a zone show this time; of two, the later."""
    return _calendar(layers, f"epoch_us(timezone({sql.text(zone)}, make_timestamp({wall})))")


def _clock_of_time(stored: Stored) -> str:
    micros = f"epoch_ns({stored.cell}) // 1000" if stored.type == "TIME_NS" else f"epoch_us({stored.cell})"
    return f"CASE WHEN {micros} < {DAY} THEN {micros} END"


def _clock(layers: Layers, stored: Stored) -> str | None:
    if stored.type in TIME_TYPES:
        return _clock_of_time(stored)
    if stored.type in MOMENT_TYPES or stored.type in INSTANT_TYPES:
        wall = _wall(layers, stored)
        return f"{wall} - {_floor(wall, DAY)} * {DAY}"
    if stored.type in TEXT_TYPES:
        n = _trimmed(layers, stored)
        micros = layers.read(
            f"CASE WHEN regexp_full_match({n}, {sql.text(TIME)}) THEN epoch_us(TRY_CAST({n} AS TIME)) END"
        )
        wall = _spelled_moment(layers, stored)[0]
        return f"CASE WHEN {micros} < {DAY} THEN {micros} WHEN {micros} IS NULL THEN {wall} - {_floor(wall, DAY)} * {DAY} END"
    return None


def _clock_text(micros: str) -> str:
    moment = f"make_timestamp({micros})"
    return f"CASE WHEN {micros} % 1000000 = 0 THEN strftime({moment}, '%H:%M:%S') ELSE strftime({moment}, '%H:%M:%S.%f') END"


def _moment_texts(layers: Layers, stored: Stored) -> list[str]:
    wall = _wall(layers, stored)
    offset = "''"
    if stored.type in INSTANT_TYPES:
        minutes = layers.read(f"({wall} - {_micros(layers, stored)}) // {MINUTE}")
        offset = f"printf('%s%02d:%02d', CASE WHEN {minutes} < 0 THEN '-' ELSE '+' END, abs({minutes}) // 60, abs({minutes}) % 60)"
    day, clock = f"strftime(make_timestamp({wall}), '%Y-%m-%d')", _clock_text(wall)
    return [f"{day} || '{between}' || {clock} || {offset}" for between in (" ", "T")]
