"""Columns from the types that a Parquet file or a frame states, for a draft that its
owner reads and then declares.

A run does not take these types for declarations, because libraries choose types by the
cells. Type names are DuckDB's.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from understudy.schema.columns.base import Column
from understudy.schema.columns.discrete import Boolean, Categorical, Text
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import Date, Datetime, Time

# Decimals of a floating-point column, whose type does not state them.
DEFAULT_FLOAT_DECIMALS = 6

# With 12 decimals a lattice of 62 bits reaches 4.6 million; finer steps reach less.
MAX_STATED_DECIMALS = 12

_INTEGER_TYPES = {"INTEGER", "UINTEGER"}
_FLOAT_TYPES = {"DOUBLE", "FLOAT", "REAL"}
_DECIMAL_TYPE_REGEX = re.compile(r"DECIMAL\(\d+,\s*(\d+)\)")

_TIMESTAMP_RESOLUTIONS = {
    "TIMESTAMP": timedelta(microseconds=1),
    "TIMESTAMP_S": timedelta(seconds=1),
    "TIMESTAMP_MS": timedelta(milliseconds=1),
    "TIMESTAMP_NS": timedelta(microseconds=1),
    "TIMESTAMP WITH TIME ZONE": timedelta(microseconds=1),
}

_TIME_UNIT_REGEX = re.compile(
    r"(?:timestamp\[|datetime64\[|Datetime\(time_unit=')(s|ms)\b"
)
_TIME_UNIT_SPANS = {"s": timedelta(seconds=1), "ms": timedelta(milliseconds=1)}


def column_of_type(name: str, type_name: str, *, dtype: str | None = None) -> Column:
    """The column that a stated type describes, its domain left open.

    >>> column_of_type("weight", "DECIMAL(5,1)").step
    Fraction(1, 10)
    >>> column_of_type("smoker", "BOOLEAN").type
    'boolean'
    >>> zoned = "timestamp[ms, tz=Europe/Paris]"
    >>> column_of_type("seen", "TIMESTAMP WITH TIME ZONE", dtype=zoned).resolution
    datetime.timedelta(microseconds=1000)
    """
    upper = type_name.upper()
    if upper.endswith("INT") or upper in _INTEGER_TYPES:
        return Integer(name=name, dtype=dtype)
    step = _stated_step(upper)
    if step is not None:
        return Real(name=name, dtype=dtype, step=step)
    if upper in _TIMESTAMP_RESOLUTIONS:
        zone = "UTC" if upper.endswith("TIME ZONE") else None
        resolution = _stated_resolution(upper, dtype)
        return Datetime(name=name, dtype=dtype, zone=zone, resolution=resolution)
    match upper:
        case "BOOLEAN":
            return Boolean(name=name, dtype=dtype)
        case "DATE":
            return Date(name=name, dtype=dtype)
        case "TIME":
            return Time(name=name, dtype=dtype)
    if upper in {"VARCHAR", "NULL"} or upper.startswith("ENUM"):
        return Categorical(name=name, dtype=dtype)
    note = f"{type_name.lower()} columns are not released"
    return Text(name=name, dtype=dtype, note=note)


def _stated_step(type_name: str) -> Fraction | None:
    """The step of a type of decimals or floats; None for any other type."""
    if type_name in _FLOAT_TYPES:
        return Fraction(1, 10**DEFAULT_FLOAT_DECIMALS)
    decimal = _DECIMAL_TYPE_REGEX.fullmatch(type_name)
    if decimal is None:
        return None
    return Fraction(1, 10 ** min(int(decimal[1]), MAX_STATED_DECIMALS))


def _stated_resolution(type_name: str, dtype: str | None) -> timedelta:
    # Another library's name may state a coarser unit than DuckDB's, which has one unit
    # for all instants.
    unit = _TIME_UNIT_REGEX.match(dtype or "")
    return _TIME_UNIT_SPANS[unit[1]] if unit else _TIMESTAMP_RESOLUTIONS[type_name]
