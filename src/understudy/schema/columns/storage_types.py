"""Storage types: what a column is stored as in a frame or a Parquet file, where its
owner declares that.

A storage type is never taken from a table by itself. Libraries choose it by the cells:
one empty cell turns whole numbers into floats, one large one turns eight bits into
sixteen. So without a declaration a column comes back in the widest type of its own
kind, and a declared one is listed among what is public.
"""

from __future__ import annotations

import re
from fractions import Fraction

from understudy.schema.columns.base import Column

_SQL_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
_INTEGER_DTYPE_REGEX = re.compile(
    r"(u?)(?:int(8|16|32|64)|(tinyint|smallint|integer|bigint))(?:\[pyarrow\])?",
    re.IGNORECASE,
)
_DECIMAL_DTYPE_REGEX = re.compile(
    r"decimal\d*\((?:precision=)?(\d+), ?(?:scale=)?(\d+)\)", re.IGNORECASE
)


def dtype_range(dtype: str | None) -> tuple[Fraction, Fraction] | None:
    """The smallest and the largest number that a stored type holds; None where it has
    no such ends.

    >>> dtype_range("TINYINT"), dtype_range("UInt16"), dtype_range("DECIMAL(3,1)")
    ((Fraction(-128, 1), Fraction(127, 1)), (Fraction(0, 1), Fraction(65535, 1)), (Fraction(-999, 10), Fraction(999, 10)))
    >>> dtype_range("float64"), dtype_range(None)
    (None, None)
    """
    if dtype is None:
        return None
    if found := _INTEGER_DTYPE_REGEX.fullmatch(dtype):
        bits = int(found[2] or _SQL_INTEGER_BITS[found[3].lower()])
        return (
            (Fraction(0), Fraction(2**bits - 1))
            if found[1]
            else (Fraction(-(2 ** (bits - 1))), Fraction(2 ** (bits - 1) - 1))
        )
    if found := _DECIMAL_DTYPE_REGEX.fullmatch(dtype):
        digits, decimals = int(found[1]), int(found[2])
        most = Fraction(10**digits - 1, 10**decimals)
        return -most, most
    return None


_DTYPE_FAMILY_REGEXES = {
    "whole": re.compile(
        r"u?(int(8|16|32|64|128)|tinyint|smallint|integer|bigint|hugeint)"
    ),
    "float": re.compile(r"float(16|32|64)?|halffloat|double|real"),
    "decimal": re.compile(r"decimal.*"),
    "truth": re.compile(r"bool(ean)?"),
    "labels": re.compile(r"category|categorical.*|enum.*|dictionary<.*"),
    "text": re.compile(r"str|string|large_string|string_view|varchar|string_view"),
    "moment": re.compile(r"date.*|timestamp.*"),
    "clock": re.compile(r"time(32|64)?(\[.*)?|time_ns"),
}
"""Storage types in the words of DuckDB, pandas, polars and pyarrow, in lower case."""

_FAMILIES_BY_COLUMN_TYPE = {
    "integer": {"whole", "labels"},
    "real": {"float", "decimal"},
    "boolean": {"truth"},
    "categorical": {"text", "labels"},
    "date": {"moment"},
    "datetime": {"moment"},
    "time": {"clock"},
}
"""For each type of column, the families of storage types that are its own; any other
was chosen by the cells.
"""

_DEFAULT_DTYPES = frozenset(
    {
        *(
            "int64",
            "bigint",
            "float64",
            "double",
            "bool",
            "str",
            "string",
            "varchar",
            "date",
            "date32[day]",
            "time",
        ),
        *("timestamp", "timestamp with time zone", "timestamp[us]", "datetime64[us]"),
        "datetime(time_unit='us', time_zone=none)",
    }
)
"""What a column comes back in without any declaration."""


def storage_to_declare(column: Column, stated: str | None) -> str | None:
    """The storage type that a draft declares for a column that a table stores so; None
    where it says nothing of its own.

    >>> from understudy.schema.columns.numeric import Integer
    >>> age = Integer(name="age")
    >>> storage_to_declare(age, "UInt8"), storage_to_declare(age, "float64"), storage_to_declare(age, "int64")
    ('UInt8', None, None)
    """
    if stated is None or stated.lower() in _DEFAULT_DTYPES:
        return None
    word = stated.lower().removesuffix("[pyarrow]")
    family = next(
        (
            name
            for name, pattern in _DTYPE_FAMILY_REGEXES.items()
            if pattern.fullmatch(word)
        ),
        None,
    )
    return stated if family in _FAMILIES_BY_COLUMN_TYPE.get(column.type, ()) else None
