"""Cells in a declared format, respelled in ISO 8601 as SQL: the twin of
schema/columns/moment_format.py for whole columns.
"""

from __future__ import annotations

from understudy.schema.columns.moment_format import (
    FIRST_YEAR_OF_CENTURY,
    MONTH_NAMES,
    MomentFormat,
)
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import TEXT_TYPES, StoredColumn, trimmed_text_sql


def respell_moments(
    layers: QueryLayers, format: MomentFormat | None, stored: StoredColumn
) -> StoredColumn:
    """A column of texts with its cells in ISO 8601 where they are in this format; any
    other cell, and any other stored type, stays as it is.
    """
    if format is None or stored.type not in TEXT_TYPES:
        return stored
    text = trimmed_text_sql(layers, stored)
    pattern = quoting.text_literal(f"^{format.pattern}$")
    names = ", ".join(quoting.text_literal(name) for name in format.fields)
    found = layers.read(f"regexp_extract({text}, {pattern}, [{names}])")
    fields = {name: f"{found}.{name}" for name in format.fields}
    day = _iso_day_sql(fields) if format.has_day else "''"
    clock = _iso_clock_sql(fields) if format.has_clock else "''"
    between = "'T'" if format.has_day and format.has_clock else "''"
    offset = fields.get("offset", "''")
    iso = f"{day} || {between} || {clock} || {offset}"
    cell = layers.read(
        f"CASE WHEN regexp_matches({text}, {pattern}) THEN {iso} ELSE {text} END"
    )
    return StoredColumn(cell, "VARCHAR", stored.zone)


def _iso_day_sql(fields: dict[str, str]) -> str:
    year = fields.get("year") or _whole_year_sql(fields["short_year"])
    month = fields.get("month") or _month_number_sql(fields["month_name"])
    return f"{year} || '-' || {_two_digits_sql(month)} || '-' || {_two_digits_sql(fields['day'])}"


def _two_digits_sql(number: str) -> str:
    return f"lpad({number}, 2, '0')"


def _whole_year_sql(short: str) -> str:
    century = f"CASE WHEN {short} >= '{FIRST_YEAR_OF_CENTURY}' THEN '19' ELSE '20' END"
    return f"({century} || {short})"


def _month_number_sql(name: str) -> str:
    names = quoting.text_literals(MONTH_NAMES)
    # There is no month 0: such a text is no date.
    place = f"COALESCE(list_position([{names}], lower({name})), 0)"
    return f"CAST({place} AS VARCHAR)"


def _iso_clock_sql(fields: dict[str, str]) -> str:
    if "hour" in fields:
        hour = fields["hour"]
    else:
        hour = _hour_of_half_sql(fields["half_day_hour"], fields["half"])
    clock = f"{_two_digits_sql(hour)} || ':' || {fields['minute']}"
    if "second" in fields:
        clock += f" || ':' || {fields['second']}"
    return clock + (f" || '.' || {fields['part']}" if "part" in fields else "")


def _hour_of_half_sql(hour: str, half: str) -> str:
    number = f"TRY_CAST({hour} AS INTEGER)"
    later = f"CASE WHEN lower({half}) = 'pm' THEN 12 ELSE 0 END"
    # Hour 99 is no time of day.
    whole = (
        f"CASE WHEN {number} BETWEEN 1 AND 12 THEN {number} % 12 + {later} ELSE 99 END"
    )
    return f"CAST({whole} AS VARCHAR)"
