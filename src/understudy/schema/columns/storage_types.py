"""Storage types: how a column is stored in a frame or a Parquet file, if its owner
declares it.

A storage type is never taken from a table without a declaration. Libraries choose it by
the cells: one empty cell turns whole numbers into floats, one large number turns eight
bits into sixteen. So by default a column comes back in the widest type of its own kind,
and a declared storage type is listed as public.
"""

from __future__ import annotations

import re
from fractions import Fraction

from understudy.schema.columns.base import Column

_SQL_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
# Names of numpy, pandas and polars (int8, UInt16), of DuckDB (UTINYINT), and of pandas
# on Arrow.
_INTEGER_DTYPE_REGEX = re.compile(
    r"(u?)(?:int(8|16|32|64)|(tinyint|smallint|integer|bigint))(?:\[pyarrow\])?",
    re.IGNORECASE,
)
_DECIMAL_DTYPE_REGEX = re.compile(
    r"decimal\d*\((?:precision=)?(\d+), ?(?:scale=)?(\d+)\)", re.IGNORECASE
)


def dtype_range(dtype: str | None) -> tuple[Fraction, Fraction] | None:
    """The smallest and the largest number that a storage type holds; None if it has no
    such limits.

    >>> [str(end) for end in dtype_range("TINYINT")]
    ['-128', '127']
    >>> [str(end) for end in dtype_range("DECIMAL(3,1)")]
    ['-999/10', '999/10']
    >>> dtype_range("float64"), dtype_range(None)
    (None, None)
    """
    if dtype is None:
        return None
    if match := _INTEGER_DTYPE_REGEX.fullmatch(dtype):
        is_unsigned, own_bits, sql_name = match.groups()
        bits = int(own_bits or _SQL_INTEGER_BITS[sql_name.lower()])
        if is_unsigned:
            return Fraction(0), Fraction(2**bits - 1)
        half = 2 ** (bits - 1)
        return Fraction(-half), Fraction(half - 1)
    if match := _DECIMAL_DTYPE_REGEX.fullmatch(dtype):
        digits = int(match[1])
        decimals = int(match[2])
        largest = Fraction(10**digits - 1, 10**decimals)
        return -largest, largest
    return None


_DTYPE_FAMILY_REGEXES = {
    "whole": re.compile(
        r"u?(int(8|16|32|64|128)|tinyint|smallint|integer|bigint|hugeint)"
    ),
    "float": re.compile(r"float(16|32|64)?|halffloat|double|real"),
    "decimal": re.compile(r"decimal.*"),
    "truth": re.compile(r"bool(ean)?"),
    "labels": re.compile(r"category|categorical.*|enum.*|dictionary<.*"),
    "text": re.compile(r"str|string|large_string|string_view|varchar"),
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
"""For each type of column, the families of storage types that are its own; a library
chose any other by the cells.
"""

_DEFAULT_DTYPES = frozenset({
    "int64", "bigint", "float64", "double", "bool", "str", "string", "varchar", "date",
    "date32[day]", "time", "timestamp", "timestamp with time zone", "timestamp[us]",
    "datetime64[us]", "datetime(time_unit='us', time_zone=none)",
})  # fmt: skip
"""The storage types of columns without any declaration."""


def storage_to_declare(column: Column, stated: str | None) -> str | None:
    """The storage type that a draft declares for a column that a table stores so; None
    if it is the default, or if a library chose it by the cells.

    >>> from understudy.schema.columns.numeric import Integer
    >>> age = Integer(name="age")
    >>> [storage_to_declare(age, dtype) for dtype in ("UInt8", "float64", "int64")]
    ['UInt8', None, None]
    """
    if stated is None or stated.lower() in _DEFAULT_DTYPES:
        return None
    # A float type says that a cell was empty, if the column holds whole numbers.
    own_families = _FAMILIES_BY_COLUMN_TYPE.get(column.type, set())
    return stated if _dtype_family(stated) in own_families else None


def _dtype_family(dtype: str) -> str | None:
    """The first family whose pattern a storage type matches."""
    word = dtype.lower().removesuffix("[pyarrow]")
    for family, pattern in _DTYPE_FAMILY_REGEXES.items():
        if pattern.fullmatch(word):
            return family
    return None
