"""Columns from the types a Parquet file or a frame states about itself, for a draft
that its owner reads and then declares.

A run does not take them for declarations: libraries choose types by the cells. Type
names are DuckDB's.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from understudy.schema.columns.base import Column
from understudy.schema.columns.discrete import Boolean, Categorical, Text
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import Date, Datetime, Time

DEFAULT_FLOAT_DECIMALS = 6
"""Decimals kept of a floating-point column that does not say how many it has."""

MAX_STATED_DECIMALS = 12

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
    >>> column_of_type("seen", "TIMESTAMP WITH TIME ZONE", dtype="timestamp[ms, tz=Europe/Paris]").resolution
    datetime.timedelta(microseconds=1000)
    """
    upper = type_name.upper()
    decimal = re.fullmatch(r"DECIMAL\(\d+,\s*(\d+)\)", upper)
    if upper == "BOOLEAN":
        return Boolean(name=name, dtype=dtype)
    if upper.endswith("INT") or upper in {"INTEGER", "UINTEGER"}:
        return Integer(name=name, dtype=dtype)
    if decimal:
        return Real(
            name=name,
            dtype=dtype,
            step=Fraction(1, 10 ** min(int(decimal[1]), MAX_STATED_DECIMALS)),
        )
    if upper in {"DOUBLE", "FLOAT", "REAL"}:
        return Real(
            name=name, dtype=dtype, step=Fraction(1, 10**DEFAULT_FLOAT_DECIMALS)
        )
    if upper == "DATE":
        return Date(name=name, dtype=dtype)
    if upper in _TIMESTAMP_RESOLUTIONS:
        zone = "UTC" if upper.endswith("TIME ZONE") else None
        # A name in another library's words may count coarser than DuckDB's, which has
        # one unit for all instants.
        unit = _TIME_UNIT_REGEX.match(dtype or "")
        return Datetime(
            name=name,
            dtype=dtype,
            zone=zone,
            resolution=(
                _TIME_UNIT_SPANS[unit[1]] if unit else _TIMESTAMP_RESOLUTIONS[upper]
            ),
        )
    if upper == "TIME":
        return Time(name=name, dtype=dtype)
    if upper in {"VARCHAR", "NULL"} or upper.startswith("ENUM"):
        return Categorical(name=name, dtype=dtype)
    return Text(
        name=name, dtype=dtype, note=f"{type_name.lower()} columns are not released"
    )
