"""Days, moments and times of day, as SQL: days and microseconds since 1970, within the years 1 to 9999."""

from __future__ import annotations

import re
from datetime import date, timedelta

from understudy.schema.columns.cell import DATE, OFFSET, TIME
from understudy.schema.columns.discrete import EPOCH, MICROSECOND, Datetime
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import Layers
from understudy.tables.sql.stored import INSTANT_TYPES, MOMENT_TYPES, TEXT_TYPES, TIME_TYPES, Stored, trimmed

FIRST_DAY, LAST_DAY = (date.min - EPOCH).days, (date.max - EPOCH).days
DAY, MINUTE = timedelta(days=1) // MICROSECOND, timedelta(minutes=1) // MICROSECOND


def in_calendar(cell: str) -> str:
    """Whether a date lies in the calendar that Python knows."""
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
        return _calendar(layers, f"{micros} + {quoting.whole(shift)}")
    return _calendar(layers, f"epoch_us(timezone({quoting.text(zone)}, make_timestamptz({micros})))")


def _spelled_moment(layers: Layers, stored: Stored) -> tuple[str, str, str]:
    """A moment's text: the microseconds clocks show, its offset in minutes (NULL where that is none), and the offset's text."""
    pattern = f"^({DATE})([T ]({TIME})({OFFSET})?)?$"
    names = "['day', 'tail', 'clock', 'second', 'part', 'offset']"
    group = layers.read(f"regexp_extract({trimmed(layers, stored)}, {quoting.text(pattern)}, {names})")
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


def days(layers: Layers, stored: Stored) -> str | None:
    """The day of a date or moment; None where the stored type holds neither."""
    if stored.type == "DATE":
        return f"CASE WHEN {in_calendar(stored.cell)} THEN CAST({stored.cell} - DATE '1970-01-01' AS BIGINT) END"
    if stored.type in MOMENT_TYPES or stored.type in INSTANT_TYPES:
        return _floor(_wall(layers, stored), DAY)
    if stored.type in TEXT_TYPES:
        return _floor(_spelled_moment(layers, stored)[0], DAY)
    return None


def moment(layers: Layers, column: Datetime, stored: Stored) -> str | None:
    """The microseconds of a moment of a column, in UTC where it has a zone; None where the stored type holds none."""
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
        wall = layers.read(f"({days(layers, stored)}) * {DAY}")
    elif stored.type in MOMENT_TYPES:
        wall = _wall(layers, stored)
    else:
        return None
    return wall if zone is None else _instant(layers, wall, zone)


def _instant(layers: Layers, wall: str, zone: str) -> str:
    """The instant at which clocks in a zone show this time; of two, the later."""
    return _calendar(layers, f"epoch_us(timezone({quoting.text(zone)}, make_timestamp({wall})))")


def clock_of_time(stored: Stored) -> str:
    """The microseconds since midnight of a stored time."""
    micros = f"epoch_ns({stored.cell}) // 1000" if stored.type == "TIME_NS" else f"epoch_us({stored.cell})"
    return f"CASE WHEN {micros} < {DAY} THEN {micros} END"


def clock(layers: Layers, stored: Stored) -> str | None:
    """The microseconds since midnight of a time or moment; None where the stored type holds neither."""
    if stored.type in TIME_TYPES:
        return clock_of_time(stored)
    if stored.type in MOMENT_TYPES or stored.type in INSTANT_TYPES:
        wall = _wall(layers, stored)
        return f"{wall} - {_floor(wall, DAY)} * {DAY}"
    if stored.type in TEXT_TYPES:
        n = trimmed(layers, stored)
        micros = layers.read(
            f"CASE WHEN regexp_full_match({n}, {quoting.text(TIME)}) THEN epoch_us(TRY_CAST({n} AS TIME)) END"
        )
        wall = _spelled_moment(layers, stored)[0]
        return f"CASE WHEN {micros} < {DAY} THEN {micros} WHEN {micros} IS NULL THEN {wall} - {_floor(wall, DAY)} * {DAY} END"
    return None


def clock_text(micros: str) -> str:
    """A time of day as Python writes it."""
    moment = f"make_timestamp({micros})"
    return f"CASE WHEN {micros} % 1000000 = 0 THEN strftime({moment}, '%H:%M:%S') ELSE strftime({moment}, '%H:%M:%S.%f') END"


def moment_texts(layers: Layers, stored: Stored) -> list[str]:
    """A moment as Python writes it, with a space and with a T; a midnight that has no offset is first of all a day."""
    wall = _wall(layers, stored)
    offset = "''"
    if stored.type in INSTANT_TYPES:
        minutes = layers.read(f"({wall} - {_micros(layers, stored)}) // {MINUTE}")
        offset = f"printf('%s%02d:%02d', CASE WHEN {minutes} < 0 THEN '-' ELSE '+' END, abs({minutes}) // 60, abs({minutes}) % 60)"
    day, clock = f"strftime(make_timestamp({wall}), '%Y-%m-%d')", clock_text(wall)
    long = [f"{day} || '{between}' || {clock} || {offset}" for between in (" ", "T")]
    if stored.type in INSTANT_TYPES:
        return long
    return [f"CASE WHEN {wall} % {DAY} = 0 THEN {day} ELSE {long[0]} END", *long]
