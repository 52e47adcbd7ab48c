"""pyarrow tables out, in the types that came in."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from importlib import import_module
from typing import Any

from understudy.releases.output.frames import duckdb
from understudy.releases.output.frames.cells import ColumnCells, cells_as_text, zone_of

_ARROW_TEXT_TYPES = ("string", "large_string", "string_view")
_ARROW_INTEGER_TYPES = (
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)
_ARROW_CONSTRUCTORS = {
    **{name: name for name in (*_ARROW_INTEGER_TYPES, *_ARROW_TEXT_TYPES)},
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "bool": "bool_",
    "date32[day]": "date32",
    "date64[ms]": "date64",
}
"""The function of pyarrow that makes a type, by the type's name."""

_ARROW_TIMESTAMP_TYPE = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=(.+))?\]")
_ARROW_TIME_TYPE = re.compile(r"time(32|64)\[(s|ms|us|ns)\]")
_ARROW_DICTIONARY_TYPE = re.compile(
    r"dictionary<values=(\w+), indices=(u?int(?:8|16|32|64)), ordered=[01]>"
)

MAX_TABLEWISE_ROWS = 1 << 17
"""Rows up to which all columns are converted in one query, which is faster."""


def pyarrow_table(columns: MutableMapping[str, ColumnCells]) -> Any:
    """A pyarrow Table; the columns of a long one are taken out of `columns` on the way."""
    pa: Any = import_module("pyarrow")
    names = list(columns)
    return pa.table(list(pyarrow_arrays(columns).values()), names=names)


def pyarrow_arrays(
    columns: MutableMapping[str, ColumnCells], named: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Columns as pyarrow arrays of the named types, else their own, or natural ones if a
    name is unknown or its type cannot hold the cells.

    A long table is converted column by column, and each is taken out of `columns`, so
    that memory never holds two copies of all of it.
    """
    rows = len(next(iter(columns.values()), ()))
    if rows <= MAX_TABLEWISE_ROWS:
        return _convert_together(columns, named or {})
    arrays: dict[str, Any] = {}
    for name in list(columns):
        arrays |= _convert_together({name: columns.pop(name)}, named or {})
    return arrays


def _convert_together(
    columns: Mapping[str, ColumnCells], named: Mapping[str, str]
) -> dict[str, Any]:
    pa: Any = import_module("pyarrow")
    dtypes, converted = {}, {}
    for name, cells in columns.items():
        dtypes[name] = named.get(name, cells.column.dtype or "")
        is_text = dtypes[name] in _ARROW_TEXT_TYPES
        converted[name] = cells_as_text(cells) if is_text else cells
    # Numbered, because DuckDB would rename columns whose names differ only in case.
    numbered = {f"c{i}": cells for i, cells in enumerate(converted.values())}
    natural = duckdb.natural_relation(numbered).to_arrow_table()
    return {
        name: _pyarrow_array(pa, cells, dtypes[name], natural.column(i))
        for i, (name, cells) in enumerate(converted.items())
    }


def _pyarrow_array(pa: Any, cells: ColumnCells, dtype: str, natural: Any) -> Any:
    """The array in the type of that name, or in its natural one."""
    moment = _ARROW_TIMESTAMP_TYPE.fullmatch(dtype)
    if zone := zone_of(cells.column, moment[2] if moment else None):
        natural = natural.cast(pa.timestamp("us", tz=zone))
    try:
        return _cast_exact(pa, cells, dtype, natural)
    except pa.ArrowException:
        return natural


def _cast_exact(pa: Any, cells: ColumnCells, dtype: str, natural: Any) -> Any:
    """The array in the type of that name; as it is if the name is unknown."""
    if dtype in _ARROW_CONSTRUCTORS:
        return natural.cast(_plain_type(pa, dtype))
    if moment := _ARROW_TIMESTAMP_TYPE.fullmatch(dtype):
        zone = zone_of(cells.column, moment[2])
        return natural.cast(pa.timestamp(moment[1], tz=zone))
    if clock := _ARROW_TIME_TYPE.fullmatch(dtype):
        time_type = getattr(pa, f"time{clock[1]}")
        return natural.cast(time_type(clock[2]))
    dictionary = _ARROW_DICTIONARY_TYPE.fullmatch(dtype)
    if dictionary and dictionary[1] in _ARROW_CONSTRUCTORS:
        value_type = _plain_type(pa, dictionary[1])
        index_type = _plain_type(pa, dictionary[2])
        return _dictionary_array(pa, cells_as_text(cells), value_type, index_type)
    return natural


def _plain_type(pa: Any, dtype: str) -> Any:
    return getattr(pa, _ARROW_CONSTRUCTORS[dtype])()


def _dictionary_array(
    pa: Any, cells: ColumnCells, value_type: Any, index_type: Any
) -> Any:
    labels = pa.array(cells.labels or (), pa.string()).cast(value_type)
    places = pa.array(cells.index, mask=cells.null).cast(index_type)
    is_ordered = bool(getattr(cells.column, "ordered", False))
    return pa.DictionaryArray.from_arrays(places, labels, ordered=is_ordered)
