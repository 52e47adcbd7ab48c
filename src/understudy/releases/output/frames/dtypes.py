"""The names that pandas, polars, pyarrow and DuckDB have for types, translated into one:
DuckDB's type for storage, and what that type cannot state.

A release remembers a column's type by the name it had in the frame that it came from.
A file belongs to no library, so the names of all four are understood for it.
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
    """How a column goes into a file: cells with a type of DuckDB's, and what that type
    cannot state.
    """

    cells: ColumnCells
    is_category: bool = False
    """Whether it is a column of categories rather than of texts."""

    is_closed_list: bool = False
    """Whether no other categories are possible, as in an Enum of polars."""

    unit: str | None = None
    zone: str | None = None
    """The unit of times of day and instants, None for microseconds, and the zone of
    instants.
    """

    pandas: str | None = None
    """The name of the type in pandas if only pandas has it."""


def file_column_of(cells: ColumnCells) -> FileColumn:
    """A column by the name of its type, in whichever library's words."""
    column = cells.column
    # A column that came from a CSV file has no name for its type: whole numbers and
    # truth values are those, with gaps or without.
    usual = {Integer: "int64", Boolean: "bool"}.get(type(column), "")
    dtype = column.dtype or usual
    pandas = dtype if _is_pandas_dtype(dtype) else None
    if backed := _ARROW_BACKED_DTYPE.fullmatch(dtype):
        dtype = backed[1]
    # Categories of pandas may be numbers or dates, which files keep as such.
    is_plain_category = dtype == "category" and cells.labels is None
    if _ANY_CATEGORY_DTYPE.fullmatch(dtype) and not is_plain_category:
        is_closed = dtype.startswith("Enum") and isinstance(column, Categorical)
        text = cells_as_text(_with_dtype(cells, "VARCHAR"))
        return FileColumn(text, is_category=True, is_closed_list=is_closed)
    if dtype not in _ANY_TEXT_DTYPES:
        if isinstance(column, Time):
            return _time_column(cells, column, dtype, pandas)
        if isinstance(column, Datetime) and column.zone is not None:
            return _instant_column(cells, column, dtype, pandas)
    return _plain_column(cells, dtype, pandas)


def _is_pandas_dtype(dtype: str) -> bool:
    """Whether a file must state this name for pandas, because cells do not show it."""
    patterns = (_PANDAS_EXTENSION_DTYPE, _NUMPY_DENSE_DTYPE)
    return any(pattern.fullmatch(dtype) for pattern in patterns)


def _time_column(
    cells: ColumnCells, column: Time, dtype: str, pandas: str | None
) -> FileColumn:
    """Times of day, in the unit that the type names or, in polars, in nanoseconds."""
    if dtype == "Time":
        unit = "ns"
    else:
        named = _ANY_TIME_DTYPE.fullmatch(dtype)
        unit = named[1] if named else "us"
    fitting = _fitting_unit(column, unit)
    kept = pandas if fitting == unit else None
    return FileColumn(_with_dtype(cells, ""), unit=fitting, pandas=kept)


def _instant_column(
    cells: ColumnCells, column: Datetime, dtype: str, pandas: str | None
) -> FileColumn:
    """Instants, in the unit and the zone that the type names."""
    unit, named_zone = _datetime_unit_and_zone(dtype)
    fitting = _fitting_unit(column, unit)
    return FileColumn(
        _with_dtype(cells, ""),
        unit=fitting,
        zone=zone_of(column, named_zone),
        pandas=pandas if fitting == unit else None,
    )


def _plain_column(cells: ColumnCells, dtype: str, pandas: str | None) -> FileColumn:
    """Everything that DuckDB has a type for."""
    column = cells.column
    if dtype == "object" and isinstance(column, Real):
        dtype = "DECIMAL"  # of numbers, only decimals are kept as objects
    unit, _ = _datetime_unit_and_zone(dtype)
    if unit:
        fitting = _fitting_unit(column, unit) if isinstance(column, Datetime) else unit
        stored = _DUCKDB_TIMESTAMPS_BY_UNIT[fitting]
    else:
        stored = _duckdb_type(dtype)
    if stored == "VARCHAR":
        return FileColumn(cells_as_text(_with_dtype(cells, stored)), pandas=pandas)
    # A name that promises too little would stop pandas from reading the file.
    kept = pandas if can_hold_cells(stored, cells) else None
    return FileColumn(_with_dtype(cells, stored), pandas=kept)


def pandas_dtype_of(one: FileColumn) -> str | None:
    """The name of a column's type in pandas, if its cells alone would give it another:
    gaps turn numpy's integers into floats.
    """
    dtype = one.pandas
    if dtype is None or not _NUMPY_DENSE_DTYPE.fullmatch(dtype):
        return dtype
    if one.cells.is_complete:
        return None
    # The types of pandas that hold gaps: boolean, Int16, UInt8.
    if dtype == "bool":
        return "boolean"
    return dtype.replace("i", "I").replace("u", "U")


def _with_dtype(cells: ColumnCells, dtype: str) -> ColumnCells:
    return replace(cells, column=replace(cells.column, dtype=dtype or None))


def _duckdb_type(dtype: str) -> str:
    """DuckDB's word for a type; its own words, and those that it has none for, stay.

    >>> [_duckdb_type(dtype) for dtype in ("UInt16", "large_string", "boolean", "DECIMAL(9,2)")]
    ['USMALLINT', 'VARCHAR', 'BOOLEAN', 'DECIMAL(9,2)']
    """
    if integer := _ANY_INTEGER_DTYPE.fullmatch(dtype):
        sign, bits = integer[1].upper(), integer[2]
        return sign + _DUCKDB_INTEGERS_BY_BITS[bits]
    if dtype in _ANY_TEXT_DTYPES:
        return "VARCHAR"
    if dtype in _ANY_DATE_DTYPES:
        return "DATE"
    if dtype.lower() in {"bool", "boolean"}:
        return "BOOLEAN"
    return _DUCKDB_FLOATS_BY_DTYPE.get(dtype, dtype)


def _datetime_unit_and_zone(dtype: str) -> tuple[str, str | None]:
    """The unit and the zone that a type of moments names; no unit for other types."""
    for pattern in _ANY_DATETIME_DTYPES:
        if named := pattern.fullmatch(dtype):
            return (named["unit"] or "us").lower(), named["zone"] or None
    return "", None


def _fitting_unit(column: Datetime | Time, unit: str) -> str:
    """The unit, or microseconds if that cannot hold every value."""
    if unit == "ns":
        return unit if isinstance(column, Time) or fits_nanoseconds(column) else "us"
    coarse = _COARSE_TIME_UNITS.get(unit, ONE_MICROSECOND)
    return unit if unit and column.resolution % coarse == timedelta(0) else "us"
