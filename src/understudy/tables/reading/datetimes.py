"""Days, moments and times of day, as SQL: days and microseconds since 1970, within the
years 1 to 9999.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from understudy.schema.columns.cell import (
    CELL_DATE_PATTERN,
    CELL_OFFSET_PATTERN,
    CELL_TIME_PATTERN,
)
from understudy.schema.columns.temporal import EPOCH_DATE, MICROSECOND_SPAN, Datetime
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import (
    INSTANT_TYPES,
    MOMENT_TYPES,
    TEXT_TYPES,
    TIME_TYPES,
    StoredColumn,
    trimmed_text_sql,
)

FIRST_CALENDAR_DAY = (date.min - EPOCH_DATE).days
LAST_CALENDAR_DAY = (date.max - EPOCH_DATE).days
"""Python's calendar, in days since 1970."""

DAY_MICROS = timedelta(days=1) // MICROSECOND_SPAN
MINUTE_MICROS = timedelta(minutes=1) // MICROSECOND_SPAN


def in_calendar_sql(cell: str) -> str:
    """Whether a date lies in the calendar that Python knows."""
    return (
        f"({cell} - DATE '1970-01-01') BETWEEN {FIRST_CALENDAR_DAY} AND"
        f" {LAST_CALENDAR_DAY}"
    )


def _calendar_or_null_sql(layers: QueryLayers, micros: str) -> str:
    # DuckDB's calendar is wider than Python's: a moment outside is no value here.
    micros = layers.read(micros)
    return layers.read(
        f"CASE WHEN {micros} BETWEEN {FIRST_CALENDAR_DAY * DAY_MICROS} AND"
        f" {(LAST_CALENDAR_DAY + 1) * DAY_MICROS - 1} THEN {micros} END"
    )


def _floor_divide_sql(value: str, by: int) -> str:
    # DuckDB's // rounds towards zero; moments before 1970 are negative.
    return f"({value} // {by} - CASE WHEN {value} % {by} < 0 THEN 1 ELSE 0 END)"


def _offset_micros(zone: str) -> int | None:
    """Microseconds of a fixed offset such as +01:00, None for a zone with a name."""
    if zone == "UTC":
        return 0
    found = re.fullmatch(r"([+-])(\d{2}):?(\d{2})", zone)
    if found is None:
        return None
    minutes = int(found[2]) * 60 + int(found[3])
    return (-minutes if found[1] == "-" else minutes) * MINUTE_MICROS


def _epoch_micros_sql(layers: QueryLayers, stored: StoredColumn) -> str:
    """Microseconds of a moment or instant of any precision; digits beyond are cut off."""
    if stored.type.endswith("_NS"):
        return _calendar_or_null_sql(
            layers, _floor_divide_sql(layers.read(f"epoch_ns({stored.cell})"), 1000)
        )
    kind = "TIMESTAMP" if stored.type in MOMENT_TYPES else "TIMESTAMPTZ"
    return _calendar_or_null_sql(layers, f"epoch_us(CAST({stored.cell} AS {kind}))")


def _wall_clock_sql(layers: QueryLayers, stored: StoredColumn) -> str:
    """Microseconds that clocks show, in the zone in which the source shows its
    instants.
    """
    micros = _epoch_micros_sql(layers, stored)
    if stored.type in MOMENT_TYPES:
        return micros
    zone = stored.zone or "UTC"
    shift = _offset_micros(zone)
    # DuckDB knows zones by name only; a fixed offset is added by hand.
    if shift is not None:
        return _calendar_or_null_sql(
            layers, f"{micros} + {quoting.whole_literal(shift)}"
        )
    return _calendar_or_null_sql(
        layers,
        f"epoch_us(timezone({quoting.text_literal(zone)}, make_timestamptz({micros})))",
    )


def _parse_moment_sql(
    layers: QueryLayers, stored: StoredColumn
) -> tuple[str, str, str]:
    """A moment's text: the microseconds clocks show, its offset in minutes (NULL where
    that is none), and the offset's text.
    """
    pattern = (
        f"^({CELL_DATE_PATTERN})([T ]({CELL_TIME_PATTERN})({CELL_OFFSET_PATTERN})?)?$"
    )
    names = "['day', 'tail', 'clock', 'second', 'part', 'offset']"
    group = layers.read(
        f"regexp_extract({trimmed_text_sql(layers, stored)},"
        f" {quoting.text_literal(pattern)}, {names})"
    )
    clock = f"CASE WHEN {group}.clock = '' THEN '00:00' ELSE {group}.clock END"
    # 24:00 is no time of day, though the database would take it for the next midnight.
    moment = (
        f"CASE WHEN {group}.clock NOT LIKE '24%' THEN epoch_us(TRY_CAST({group}.day ||"
        f" ' ' || {clock} AS TIMESTAMP)) END"
    )
    offset = layers.read(f"{group}.offset")
    hours = layers.read(f"TRY_CAST(substr({offset}, 2, 2) AS INTEGER)")
    minutes = layers.read(f"TRY_CAST('0' || right(substr({offset}, 4), 2) AS INTEGER)")
    signed = (
        f"CASE WHEN {offset} LIKE '-%' THEN -1 ELSE 1 END * ({hours} * 60 + {minutes})"
    )
    valid = f"CASE WHEN {hours} <= 23 AND {minutes} <= 59 THEN {signed} END"
    shift = layers.read(f"CASE WHEN {offset} IN ('', 'Z') THEN 0 ELSE {valid} END")
    wall = _calendar_or_null_sql(layers, moment)
    return layers.read(f"CASE WHEN {shift} IS NOT NULL THEN {wall} END"), shift, offset


def days_sql(layers: QueryLayers, stored: StoredColumn) -> str | None:
    """The day of a date or moment; None where the stored type holds neither."""
    if stored.type == "DATE":
        return (
            f"CASE WHEN {in_calendar_sql(stored.cell)} THEN CAST({stored.cell} - DATE"
            " '1970-01-01' AS BIGINT) END"
        )
    if stored.type in MOMENT_TYPES or stored.type in INSTANT_TYPES:
        return _floor_divide_sql(_wall_clock_sql(layers, stored), DAY_MICROS)
    if stored.type in TEXT_TYPES:
        return _floor_divide_sql(_parse_moment_sql(layers, stored)[0], DAY_MICROS)
    return None


def moment_sql(
    layers: QueryLayers,
    column: Datetime,
    stored: StoredColumn,
) -> str | None:
    """The microseconds of a moment of a column, in UTC where it has a zone; None where
    the stored type holds none.
    """
    zone = column.zone
    if stored.type in INSTANT_TYPES:
        # A column without a zone takes what clocks show, where the source shows it.
        if zone is None:
            return _wall_clock_sql(layers, stored)
        return _epoch_micros_sql(layers, stored)
    if stored.type in TEXT_TYPES:
        wall, shift, offset = _parse_moment_sql(layers, stored)
        if zone is None:
            return wall
        instant = _calendar_or_null_sql(
            layers, f"{wall} - CAST({shift} AS BIGINT) * {MINUTE_MICROS}"
        )
        return (
            f"CASE WHEN {offset} <> '' THEN {instant} ELSE"
            f" {_instant_sql(layers, wall, zone)} END"
        )
    if stored.type == "DATE":
        wall = layers.read(f"({days_sql(layers, stored)}) * {DAY_MICROS}")
    elif stored.type in MOMENT_TYPES:
        wall = _wall_clock_sql(layers, stored)
    else:
        return None
    return wall if zone is None else _instant_sql(layers, wall, zone)


def _instant_sql(layers: QueryLayers, wall: str, zone: str) -> str:
    """The instant at which clocks in a zone show this time; of two, the later."""
    return _calendar_or_null_sql(
        layers,
        f"epoch_us(timezone({quoting.text_literal(zone)}, make_timestamp({wall})))",
    )


def stored_clock_sql(stored: StoredColumn) -> str:
    """The microseconds since midnight of a stored time."""
    micros = (
        f"epoch_ns({stored.cell}) // 1000"
        if stored.type == "TIME_NS"
        else f"epoch_us({stored.cell})"
    )
    return f"CASE WHEN {micros} < {DAY_MICROS} THEN {micros} END"


def clock_sql(layers: QueryLayers, stored: StoredColumn) -> str | None:
    """The microseconds since midnight of a time or moment, none of a day; None where
    the stored type holds none of them.
    """
    if stored.type == "DATE":
        return f"CASE WHEN {in_calendar_sql(stored.cell)} THEN CAST(0 AS BIGINT) END"
    if stored.type in TIME_TYPES:
        return stored_clock_sql(stored)
    if stored.type in MOMENT_TYPES or stored.type in INSTANT_TYPES:
        wall = _wall_clock_sql(layers, stored)
        return f"{wall} - {_floor_divide_sql(wall, DAY_MICROS)} * {DAY_MICROS}"
    if stored.type in TEXT_TYPES:
        n = trimmed_text_sql(layers, stored)
        micros = layers.read(
            f"CASE WHEN regexp_full_match({n},"
            f" {quoting.text_literal(CELL_TIME_PATTERN)}) THEN epoch_us(TRY_CAST({n} AS"
            " TIME)) END"
        )
        wall = _parse_moment_sql(layers, stored)[0]
        since_midnight = (
            f"{wall} - {_floor_divide_sql(wall, DAY_MICROS)} * {DAY_MICROS}"
        )
        return (
            f"CASE WHEN {micros} < {DAY_MICROS} THEN {micros} WHEN {micros} IS NULL"
            f" THEN {since_midnight} END"
        )
    return None


def clock_text_sql(micros: str) -> str:
    """A time of day as Python writes it."""
    moment = f"make_timestamp({micros})"
    return (
        f"CASE WHEN {micros} % 1000000 = 0 THEN strftime({moment}, '%H:%M:%S') ELSE"
        f" strftime({moment}, '%H:%M:%S.%f') END"
    )


def moment_texts_sql(layers: QueryLayers, stored: StoredColumn) -> list[str]:
    """A moment as Python writes it, with a space and with a T; a midnight that has no
    offset is first of all a day.
    """
    wall = _wall_clock_sql(layers, stored)
    offset = "''"
    if stored.type in INSTANT_TYPES:
        minutes = layers.read(
            f"({wall} - {_epoch_micros_sql(layers, stored)}) // {MINUTE_MICROS}"
        )
        offset = (
            f"printf('%s%02d:%02d', CASE WHEN {minutes} < 0 THEN '-' ELSE '+' END,"
            f" abs({minutes}) // 60, abs({minutes}) % 60)"
        )
    day = f"strftime(make_timestamp({wall}), '%Y-%m-%d')"
    clock = clock_text_sql(wall)
    long = [f"{day} || '{between}' || {clock} || {offset}" for between in (" ", "T")]
    if stored.type in INSTANT_TYPES:
        return long
    return [f"CASE WHEN {wall} % {DAY_MICROS} = 0 THEN {day} ELSE {long[0]} END", *long]
