"""What pandas, polars, pyarrow and DuckDB call a type, in one language: DuckDB's for how a column is stored, and what that cannot say.

A release remembers a column's type by the name it had where it came from. A file is no frame, so there the names of all four are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta

from understudy.releases.output.frames.cells import MICROSECOND, Cells, as_text, zone_of
from understudy.releases.output.frames.duckdb import holds, in_nanoseconds
from understudy.schema import Boolean, Categorical, Column, Datetime, Integer, Real, Time

_ARROW = re.compile(r"(.+)\[pyarrow\]")
_WHOLE = re.compile(r"(u?)int(8|16|32|64)", re.IGNORECASE)
_INTEGERS = {"8": "TINYINT", "16": "SMALLINT", "32": "INTEGER", "64": "BIGINT"}
_TEXTS = {"str", "string", "String", "large_string", "string_view", "VARCHAR"}
_FLOATS = {
    "float32": "FLOAT",
    "Float32": "FLOAT",
    "float": "FLOAT",
    "float64": "DOUBLE",
    "Float64": "DOUBLE",
    "double": "DOUBLE",
}
_DAYS = {"Date", "date32[day]", "date64[ms]"}
_LABELS = re.compile(r"(category|Categorical|Enum|ENUM|dictionary<values=(large_)?string\b).*")
_MOMENTS = (
    re.compile(r"datetime64\[(?P<unit>s|ms|us|ns)(?:, (?P<zone>.+))?\]"),
    re.compile(r"timestamp\[(?P<unit>s|ms|us|ns)(?:, tz=(?P<zone>.+))?\]"),
    re.compile(r"Datetime\(time_unit='(?P<unit>ms|us|ns)', time_zone=(?:None|'(?P<zone>.+)')\)"),
    re.compile(r"TIMESTAMP(?:_(?P<unit>S|MS|NS))?(?P<zone>)"),
)
_CLOCK = re.compile(r"time(?:32|64)\[(s|ms|us|ns)\]")
_UNITS = {"s": timedelta(seconds=1), "ms": timedelta(milliseconds=1)}
_STAMPS = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
_CLOCKS = r"date32\[day\]|time(?:32|64)\[\w+\]|timestamp\[[\w, =/+-]+\]"
_EXTENSION = re.compile(
    r"U?Int(8|16|32|64)|Float(32|64)|boolean|string|"
    rf"(u?int(8|16|32|64)|float|double|bool|string|large_string|{_CLOCKS})\[pyarrow\]"
)


_SOLID = re.compile(r"u?int(8|16|32|64)|bool")
"""numpy's types that hold no missing cell."""


@dataclass(frozen=True)
class Shape:
    """How a column goes into a file: cells whose type is in DuckDB's words, and what those words cannot say."""

    cells: Cells
    labelled: bool = False
    """Whether it is a column of categories rather than of texts."""

    listed: bool = False
    """Whether these are all the categories that there can be, as in an Enum of polars."""

    unit: str | None = None
    zone: str | None = None
    """The unit of times of day and instants, None where it is the usual one, and the zone of instants."""

    pandas: str | None = None
    """The name of the type to pandas where only pandas has it."""


def shape(cells: Cells) -> Shape:
    """A column by what its type is called, in whichever library's words."""
    # A column that came from a CSV file has no name for its type: whole numbers and truth values are those, with gaps or without.
    usual = {Integer: "int64", Boolean: "bool"}.get(type(cells.column), "")
    dtype = cells.column.dtype or usual
    pandas = dtype if _EXTENSION.fullmatch(dtype) or _SOLID.fullmatch(dtype) else None
    if found := _ARROW.fullmatch(dtype):
        dtype = found[1]
    # Categories of pandas may be numbers or dates, which files keep as such.
    if _LABELS.fullmatch(dtype) and (cells.labels is not None or dtype != "category"):
        listed = dtype.startswith("Enum") and isinstance(cells.column, Categorical)
        return Shape(as_text(_called(cells, "VARCHAR")), labelled=True, listed=listed)
    unit, named = _moment(dtype)
    column = cells.column
    if isinstance(column, Time) and dtype not in _TEXTS:
        clock = "ns" if dtype == "Time" else (found[1] if (found := _CLOCK.fullmatch(dtype)) else "us")
        fitting = _fitting(column, clock)
        return Shape(_called(cells, ""), unit=fitting, pandas=pandas if fitting == clock else None)
    if isinstance(column, Datetime) and column.zone is not None and dtype not in _TEXTS:
        fitting = _fitting(column, unit)
        zone = zone_of(column, named)
        return Shape(_called(cells, ""), unit=fitting, zone=zone, pandas=pandas if fitting == unit else None)
    if dtype == "object" and isinstance(column, Real):  # of numbers, only decimals are kept as objects
        dtype = "DECIMAL"
    stored = _STAMPS[_wall(column, unit)] if unit else _stored(dtype)
    if stored == "VARCHAR":
        return Shape(as_text(_called(cells, stored)), pandas=pandas)
    # A name that promises too little would stop pandas from reading the file.
    return Shape(_called(cells, stored), pandas=pandas if holds(stored, cells) else None)


def pandas_word(one: Shape) -> str | None:
    """The name of a column's type to pandas, where its cells alone would give it another: gaps make numpy's integers floats."""
    if one.pandas is None or one.pandas[0].isupper() or not _SOLID.fullmatch(one.pandas):
        return one.pandas
    return (
        None if one.cells.whole else {"bool": "boolean"}.get(one.pandas, one.pandas.replace("i", "I").replace("u", "U"))
    )


def _called(cells: Cells, dtype: str) -> Cells:
    return replace(cells, column=replace(cells.column, dtype=dtype or None))


def _stored(dtype: str) -> str:
    """DuckDB's word for a type; its own words, and those that it has none for, stay.

    >>> _stored("UInt16"), _stored("large_string"), _stored("boolean"), _stored("DECIMAL(9,2)")
    ('USMALLINT', 'VARCHAR', 'BOOLEAN', 'DECIMAL(9,2)')
    """
    if found := _WHOLE.fullmatch(dtype):
        return found[1].upper() + _INTEGERS[found[2]]
    if dtype in _TEXTS:
        return "VARCHAR"
    if dtype in _DAYS:
        return "DATE"
    return _FLOATS.get(dtype) or ("BOOLEAN" if dtype.lower() in {"bool", "boolean"} else dtype)


def _moment(dtype: str) -> tuple[str, str | None]:
    """The unit and the zone that a type of moments names; no unit where it is none."""
    for pattern in _MOMENTS:
        if found := pattern.fullmatch(dtype):
            return (found["unit"] or "us").lower(), found["zone"] or None
    return "", None


def _wall(column: Column, unit: str) -> str:
    return _fitting(column, unit) if isinstance(column, Datetime) else unit


def _fitting(column: Datetime | Time, unit: str) -> str:
    """The unit, or microseconds where that cannot hold every value."""
    if unit == "ns":
        return unit if isinstance(column, Time) or in_nanoseconds(column) else "us"
    coarse = _UNITS.get(unit, MICROSECOND)
    return unit if unit and column.resolution % coarse == timedelta(0) else "us"
