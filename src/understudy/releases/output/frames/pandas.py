"""pandas frames out, in the types that came in; where one cannot hold missing cells, in
the nearest that can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from understudy.releases.output.frames import arrow
from understudy.releases.output.frames.cells import (
    ColumnCells,
    cells_as_text,
    decimal_at,
    float_values,
    integer_values,
    microsecond_values,
    zone_of,
)
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Integer,
    Lattice,
    Real,
)

_PANDAS_NUMBER_TYPE = re.compile(r"(u?int|float|U?Int|Float)(8|16|32|64)|bool|boolean")
_PANDAS_TEXT_TYPES = {"str", "string", "category"}
_PANDAS_DATETIME_TYPE = re.compile(r"datetime64\[(s|ms|us|ns)(?:, (.+))?\]")
_PANDAS_ARROW_TYPE = re.compile(r"(.+)\[pyarrow\]")


def pandas_frame(columns: Mapping[str, ColumnCells]) -> Any:
    """A pandas DataFrame."""
    pd: Any = import_module("pandas")
    found = {
        name: _PANDAS_ARROW_TYPE.fullmatch(cells.column.dtype or "")
        for name, cells in columns.items()
    }
    named = {
        name: match[1]
        for name, match in found.items()
        if match and find_spec("pyarrow")
    }
    held = (
        arrow.pyarrow_arrays({name: columns[name] for name in named}, named)
        if named
        else {}
    )
    return pd.DataFrame(
        {
            name: (
                _arrow_backed_array(pd, held[name])
                if name in held
                else _pandas_values(pd, cells)
            )
            for name, cells in columns.items()
        }
    )


def _arrow_backed_array(pd: Any, values: Any) -> Any:
    """A pyarrow array as pandas keeps one."""
    chunk = values.combine_chunks() if hasattr(values, "combine_chunks") else values
    return pd.array(chunk, dtype=pd.ArrowDtype(chunk.type))


def _pandas_values(pd: Any, cells: ColumnCells) -> Any:
    dtype = cells.column.dtype or ""
    try:
        exact = _exact_values(pd, cells, dtype)
    except (
        ValueError,
        TypeError,
        OverflowError,
    ):  # a declared domain that the original type cannot hold
        exact = None
    return _natural_values(pd, cells) if exact is None else exact


def _exact_values(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    """Values in the type with that name; None where the name says nothing or cannot
    hold them.
    """
    if (
        dtype == "category" and cells.labels is None
    ):  # categories that are numbers or dates: those that occur, in their order
        return pd.Series(_natural_values(pd, cells)).astype("category")
    if dtype in _PANDAS_TEXT_TYPES:
        return _text_values(pd, cells_as_text(cells), dtype)
    if dtype == "object":
        return pd.Series(_object_values(cells), dtype=object)
    if _PANDAS_NUMBER_TYPE.fullmatch(dtype):
        return _number_values(pd, cells, dtype)
    if found := _PANDAS_DATETIME_TYPE.fullmatch(dtype):
        return _datetime_values(pd, cells, found[2]).as_unit(found[1])
    return None


def _natural_values(pd: Any, cells: ColumnCells) -> Any:
    column = cells.column
    if cells.labels is not None:
        return _text_values(pd, cells, "str")
    if isinstance(column, Boolean):
        return _number_values(pd, cells, "bool")
    if isinstance(column, Integer):
        return _number_values(pd, cells, "int64")
    if isinstance(column, Real):
        return _number_values(pd, cells, "float64")
    return (
        _datetime_values(pd, cells)
        if isinstance(column, Date | Datetime)
        else pd.Series(_object_values(cells), dtype=object)
    )


def _text_values(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    labels = list(cells.labels or ())
    if dtype == "category":
        ordered = isinstance(cells.column, Categorical) and cells.column.ordered
        return pd.Categorical.from_codes(
            cells.positions(), categories=pd.Index(labels, dtype="str"), ordered=ordered
        )
    return pd.array(labels, dtype=dtype).take(cells.positions(), allow_fill=True)


def _number_values(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    """Numbers and booleans, also of labels that are numbers; None where they do not
    fit.
    """
    column = cells.column
    if not isinstance(column, Boolean | Integer | Real | Categorical):
        return None
    null = cells.null
    if dtype.lower().startswith("float"):
        values = (
            _labels_as_numbers(cells, float)
            if cells.labels is not None
            else float_values(cells)
        )
        if dtype.startswith("Float"):
            return pd.array(pd.arrays.FloatingArray(values, null), dtype=dtype)
        return np.where(null, np.nan, values).astype(dtype)
    if dtype.startswith("bool"):
        if not isinstance(column, Boolean):
            return None
        truth = cells.index.astype(np.bool_)
        return (
            truth
            if cells.is_complete and dtype == "bool"
            else pd.array(pd.arrays.BooleanArray(truth, null))
        )
    if isinstance(column, Real):
        return None
    numbers = (
        _labels_as_numbers(cells, int)
        if cells.labels is not None
        else cells.index
        if isinstance(column, Boolean)
        else integer_values(cells)
    )
    info = np.iinfo(dtype.lower())
    kept = numbers[~null]
    if len(kept) and not info.min <= kept.min() <= kept.max() <= info.max:
        return None
    numbers = np.where(null, 0, numbers).astype(info.dtype)
    if cells.is_complete and dtype[0] in "iu":
        return numbers
    return pd.arrays.IntegerArray(numbers, null)


def _labels_as_numbers(cells: ColumnCells, read: type) -> Any:
    """Labels as the numbers they spell; ValueError where one that occurs is no number."""
    used = np.unique(cells.index[~cells.null])
    table = np.zeros(
        len(cells.labels or ()) + 1, np.int64 if read is int else np.float64
    )
    for i in used:
        table[i] = read((cells.labels or ())[i])
    return table[np.where(cells.null, -1, cells.index)]


def _datetime_values(pd: Any, cells: ColumnCells, named: str | None = None) -> Any:
    """Dates and datetimes as pandas keeps them, in microseconds."""
    column = cells.column
    if not isinstance(column, Date | Datetime):
        raise TypeError("not a moment")
    ticks = (
        cells.index * 86_400_000_000
        if isinstance(column, Date)
        else microsecond_values(cells)
    )
    stamps = ticks.astype("datetime64[us]")
    stamps[cells.null] = np.datetime64("NaT")
    index = pd.DatetimeIndex(stamps)
    zone = zone_of(column, named)
    return (
        index.array if zone is None else index.tz_localize("UTC").tz_convert(zone).array
    )


def _object_values(cells: ColumnCells) -> Any:
    """Python objects, None where missing."""
    if cells.labels is not None:
        table = np.array([*cells.labels, None], object)
        return table[cells.positions()]
    column = cells.column
    distinct, inverse = np.unique(cells.index, return_inverse=True)
    table = np.empty(len(distinct) + 1, object)
    for place, i in enumerate(distinct):
        if isinstance(column, Boolean):
            table[place] = bool(i)
        elif isinstance(
            column, Lattice
        ):  # objects in a column of numbers are decimals: floats have a type of their own
            exact = decimal_at(column, int(i))
            table[place] = column.value_at(int(i)) if exact is None else exact
    return table[np.where(cells.null, -1, inverse)]
