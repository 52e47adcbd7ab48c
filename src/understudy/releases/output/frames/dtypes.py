"""What pandas, polars, pyarrow and DuckDB call a type, in one language: DuckDB's for
how a column is stored, and what that cannot say.

A release remembers a column's type by the name it had where it came from. A file is no
frame, so there the names of all four are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta

from understudy.releases.output.frames.cells import (
    ONE_MICROSECOND,
    ColumnCells,
    cells_as_text,
    zone_of,
)
from understudy.releases.output.frames.duckdb import can_hold_cells, fits_nanoseconds
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Datetime,
    Integer,
    Real,
    Time,
)

_ARROW_BACKED_DTYPE = re.compile(r"(.+)\[pyarrow\]")
_ANY_INTEGER_DTYPE = re.compile(r"(u?)int(8|16|32|64)", re.IGNORECASE)
_DUCKDB_INTEGERS_BY_BITS = {
    "8": "TINYINT",
    "16": "SMALLINT",
    "32": "INTEGER",
    "64": "BIGINT",
}
_ANY_TEXT_DTYPES = {"str", "string", "String", "large_string", "string_view", "VARCHAR"}
_DUCKDB_FLOATS_BY_DTYPE = {
    "float32": "FLOAT",
    "Float32": "FLOAT",
    "float": "FLOAT",
    "float64": "DOUBLE",
    "Float64": "DOUBLE",
    "double": "DOUBLE",
}
_ANY_DATE_DTYPES = {"Date", "date32[day]", "date64[ms]"}
_ANY_CATEGORY_DTYPE = re.compile(
    r"(category|Categorical|Enum|ENUM|dictionary<values=(large_)?string\b).*"
)
_ANY_DATETIME_DTYPES = (
    re.compile(r"datetime64\[(?P<unit>s|ms|us|ns)(?:, (?P<zone>.+))?\]"),
    re.compile(r"timestamp\[(?P<unit>s|ms|us|ns)(?:, tz=(?P<zone>.+))?\]"),
    re.compile(
        r"Datetime\(time_unit='(?P<unit>ms|us|ns)', time_zone=(?:None|'(?P<zone>.+)')\)"
    ),
    re.compile(r"TIMESTAMP(?:_(?P<unit>S|MS|NS))?(?P<zone>)"),
)
_ANY_TIME_DTYPE = re.compile(r"time(?:32|64)\[(s|ms|us|ns)\]")
_COARSE_TIME_UNITS = {"s": timedelta(seconds=1), "ms": timedelta(milliseconds=1)}
_DUCKDB_TIMESTAMPS_BY_UNIT = {
    "s": "TIMESTAMP_S",
    "ms": "TIMESTAMP_MS",
    "us": "TIMESTAMP",
    "ns": "TIMESTAMP_NS",
}
_ARROW_TEMPORAL_PATTERN = r"date32\[day\]|time(?:32|64)\[\w+\]|timestamp\[[\w, =/+-]+\]"
_PANDAS_EXTENSION_DTYPE = re.compile(
    r"U?Int(8|16|32|64)|Float(32|64)|boolean|string|"
    rf"(u?int(8|16|32|64)|float|double|bool|string|large_string|{_ARROW_TEMPORAL_PATTERN})\[pyarrow\]"
)


_NUMPY_DENSE_DTYPE = re.compile(r"u?int(8|16|32|64)|bool")
"""numpy's types that hold no missing cell."""


@dataclass(frozen=True)
class FileColumn:
    """How a column goes into a file: cells whose type is in DuckDB's words, and what
    those words cannot say.
    """

    cells: ColumnCells
    labelled: bool = False
    """Whether it is a column of categories rather than of texts."""

    listed: bool = False
    """Whether these are all the categories that there can be, as in an Enum of polars.
    """

    unit: str | None = None
    zone: str | None = None
    """The unit of times of day and instants, None where it is the usual one, and the
    zone of instants.
    """

    pandas: str | None = None
    """The name of the type to pandas where only pandas has it."""


def file_column_of(cells: ColumnCells) -> FileColumn:
    """A column by what its type is called, in whichever library's words."""
    # A column that came from a CSV file has no name for its type: whole numbers and
    # truth values are those, with gaps or without.
    usual = {Integer: "int64", Boolean: "bool"}.get(type(cells.column), "")
    dtype = cells.column.dtype or usual
    pandas = (
        dtype
        if _PANDAS_EXTENSION_DTYPE.fullmatch(dtype)
        or _NUMPY_DENSE_DTYPE.fullmatch(dtype)
        else None
    )
    if found := _ARROW_BACKED_DTYPE.fullmatch(dtype):
        dtype = found[1]
    # Categories of pandas may be numbers or dates, which files keep as such.
    if _ANY_CATEGORY_DTYPE.fullmatch(dtype) and (
        cells.labels is not None or dtype != "category"
    ):
        listed = dtype.startswith("Enum") and isinstance(cells.column, Categorical)
        return FileColumn(
            cells_as_text(_with_dtype(cells, "VARCHAR")), labelled=True, listed=listed
        )
    unit, named = _datetime_unit_and_zone(dtype)
    column = cells.column
    if isinstance(column, Time) and dtype not in _ANY_TEXT_DTYPES:
        clock = (
            "ns"
            if dtype == "Time"
            else (found[1] if (found := _ANY_TIME_DTYPE.fullmatch(dtype)) else "us")
        )
        fitting = _fitting_unit(column, clock)
        return FileColumn(
            _with_dtype(cells, ""),
            unit=fitting,
            pandas=pandas if fitting == clock else None,
        )
    if (
        isinstance(column, Datetime)
        and column.zone is not None
        and dtype not in _ANY_TEXT_DTYPES
    ):
        fitting = _fitting_unit(column, unit)
        zone = zone_of(column, named)
        return FileColumn(
            _with_dtype(cells, ""),
            unit=fitting,
            zone=zone,
            pandas=pandas if fitting == unit else None,
        )
    if dtype == "object" and isinstance(
        column, Real
    ):  # of numbers, only decimals are kept as objects
        dtype = "DECIMAL"
    stored = (
        _DUCKDB_TIMESTAMPS_BY_UNIT[_wall_clock_unit(column, unit)]
        if unit
        else _duckdb_type(dtype)
    )
    if stored == "VARCHAR":
        return FileColumn(cells_as_text(_with_dtype(cells, stored)), pandas=pandas)
    # A name that promises too little would stop pandas from reading the file.
    return FileColumn(
        _with_dtype(cells, stored),
        pandas=pandas if can_hold_cells(stored, cells) else None,
    )


def pandas_dtype_of(one: FileColumn) -> str | None:
    """The name of a column's type to pandas, where its cells alone would give it
    another: gaps make numpy's integers floats.
    """
    if (
        one.pandas is None
        or one.pandas[0].isupper()
        or not _NUMPY_DENSE_DTYPE.fullmatch(one.pandas)
    ):
        return one.pandas
    return (
        None
        if one.cells.whole
        else {"bool": "boolean"}.get(
            one.pandas, one.pandas.replace("i", "I").replace("u", "U")
        )
    )


def _with_dtype(cells: ColumnCells, dtype: str) -> ColumnCells:
    return replace(cells, column=replace(cells.column, dtype=dtype or None))


def _duckdb_type(dtype: str) -> str:
    """DuckDB's word for a type; its own words, and those that it has none for, stay.

    >>> _duckdb_type("UInt16"), _duckdb_type("large_string"), _duckdb_type("boolean"), _duckdb_type("DECIMAL(9,2)")
    ('USMALLINT', 'VARCHAR', 'BOOLEAN', 'DECIMAL(9,2)')
    """
    if found := _ANY_INTEGER_DTYPE.fullmatch(dtype):
        return found[1].upper() + _DUCKDB_INTEGERS_BY_BITS[found[2]]
    if dtype in _ANY_TEXT_DTYPES:
        return "VARCHAR"
    if dtype in _ANY_DATE_DTYPES:
        return "DATE"
    return _DUCKDB_FLOATS_BY_DTYPE.get(dtype) or (
        "BOOLEAN" if dtype.lower() in {"bool", "boolean"} else dtype
    )


def _datetime_unit_and_zone(dtype: str) -> tuple[str, str | None]:
    """The unit and the zone that a type of moments names; no unit where it is none."""
    for pattern in _ANY_DATETIME_DTYPES:
        if found := pattern.fullmatch(dtype):
            return (found["unit"] or "us").lower(), found["zone"] or None
    return "", None


def _wall_clock_unit(column: Column, unit: str) -> str:
    return _fitting_unit(column, unit) if isinstance(column, Datetime) else unit


def _fitting_unit(column: Datetime | Time, unit: str) -> str:
    """The unit, or microseconds where that cannot hold every value."""
    if unit == "ns":
        return unit if isinstance(column, Time) or fits_nanoseconds(column) else "us"
    coarse = _COARSE_TIME_UNITS.get(unit, ONE_MICROSECOND)
    return unit if unit and column.resolution % coarse == timedelta(0) else "us"
