"""pyarrow tables out, in the types that came in."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from importlib import import_module
from typing import Any

from understudy.releases.output.frames import duckdb
from understudy.releases.output.frames.cells import ColumnCells, cells_as_text, zone_of

_ARROW_CONSTRUCTORS = {
    **{
        f"{sign}int{bits}": f"{sign}int{bits}"
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "bool": "bool_",
    **{name: name for name in ("string", "large_string", "string_view")},
    "date32[day]": "date32",
    "date64[ms]": "date64",
}
_ARROW_TEXT_TYPES = {"string", "large_string", "string_view"}
_ARROW_TIMESTAMP_TYPE = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=(.+))?\]")
_ARROW_TIME_TYPE = re.compile(r"time(32|64)\[(s|ms|us|ns)\]")
_ARROW_DICTIONARY_TYPE = re.compile(
    r"dictionary<values=(\w+), indices=(u?int(?:8|16|32|64)), ordered=[01]>"
)

MAX_TABLEWISE_ROWS = 1 << 17
"""Rows from which on columns are converted one by one."""


def pyarrow_table(columns: MutableMapping[str, ColumnCells]) -> Any:
    """A pyarrow Table; the columns of a long one are taken out of `columns` on the way."""
    pa: Any = import_module("pyarrow")
    names = list(columns)
    return pa.table(list(pyarrow_arrays(columns).values()), names=names)


def pyarrow_arrays(
    columns: MutableMapping[str, ColumnCells], named: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Columns as pyarrow arrays of the named types, else their own, or natural ones
    where a name says nothing or cannot hold the cells.

    A long table goes column by column, and each is taken out of `columns`, so that
    memory never holds two copies of all of it.
    """
    if len(next(iter(columns.values()), ())) <= MAX_TABLEWISE_ROWS:
        return _convert_together(columns, named or {})
    found: dict[str, Any] = {}
    for name in list(columns):
        found |= _convert_together({name: columns.pop(name)}, named or {})
    return found


def _convert_together(
    columns: Mapping[str, ColumnCells], named: Mapping[str, str]
) -> dict[str, Any]:
    pa: Any = import_module("pyarrow")
    dtypes = {
        name: named.get(name, cells.column.dtype or "")
        for name, cells in columns.items()
    }
    cells = {
        name: cells_as_text(one) if dtypes[name] in _ARROW_TEXT_TYPES else one
        for name, one in columns.items()
    }
    plain = duckdb.natural_relation(
        {f"c{i}": one for i, one in enumerate(cells.values())}
    ).to_arrow_table()
    return {
        name: _pyarrow_array(pa, one, dtypes[name], plain.column(i))
        for i, (name, one) in enumerate(cells.items())
    }


def _pyarrow_array(pa: Any, cells: ColumnCells, dtype: str, plain: Any) -> Any:
    moment = _ARROW_TIMESTAMP_TYPE.fullmatch(dtype)
    if zone := zone_of(cells.column, moment[2] if moment else None):
        plain = plain.cast(pa.timestamp("us", tz=zone))
    try:
        return _cast_exact(pa, cells, dtype, plain)
    except pa.ArrowException:
        return plain


def _cast_exact(pa: Any, cells: ColumnCells, dtype: str, plain: Any) -> Any:
    if dtype in _ARROW_CONSTRUCTORS:
        return plain.cast(getattr(pa, _ARROW_CONSTRUCTORS[dtype])())
    if found := _ARROW_TIMESTAMP_TYPE.fullmatch(dtype):
        return plain.cast(pa.timestamp(found[1], tz=zone_of(cells.column, found[2])))
    if found := _ARROW_TIME_TYPE.fullmatch(dtype):
        return plain.cast(getattr(pa, f"time{found[1]}")(found[2]))
    if (found := _ARROW_DICTIONARY_TYPE.fullmatch(dtype)) and found[
        1
    ] in _ARROW_CONSTRUCTORS:
        text = cells_as_text(cells)
        words = pa.array(text.labels or (), pa.string()).cast(
            getattr(pa, _ARROW_CONSTRUCTORS[found[1]])()
        )
        places = pa.array(text.index, mask=text.null).cast(getattr(pa, found[2])())
        ordered = bool(getattr(cells.column, "ordered", False))
        return pa.DictionaryArray.from_arrays(places, words, ordered=ordered)
    return plain
