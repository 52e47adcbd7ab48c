"""pandas frames out, in the types that came in or, if one cannot hold missing cells, in
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
    float_values,
    integer_values,
    microsecond_values,
    zone_of,
)
from understudy.releases.output.frames.spelled_values import decimal_at
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
_MICROSECONDS_PER_DAY = 86_400_000_000


def pandas_frame(columns: Mapping[str, ColumnCells]) -> Any:
    """A pandas DataFrame."""
    pd: Any = import_module("pandas")
    values = _arrow_backed_values(pd, columns)
    for name, cells in columns.items():
        if name not in values:
            values[name] = _pandas_values(pd, cells)
    return pd.DataFrame({name: values[name] for name in columns})


def _arrow_backed_values(pd: Any, columns: Mapping[str, ColumnCells]) -> dict[str, Any]:
    """The columns whose type pandas keeps in pyarrow arrays, if pyarrow is installed."""
    if not find_spec("pyarrow"):
        return {}
    named = {}
    for name, cells in columns.items():
        if backed := _PANDAS_ARROW_TYPE.fullmatch(cells.column.dtype or ""):
            named[name] = backed[1]
    if not named:
        return {}
    arrays = arrow.pyarrow_arrays({name: columns[name] for name in named}, named)
    return {name: _arrow_backed_array(pd, array) for name, array in arrays.items()}


def _arrow_backed_array(pd: Any, values: Any) -> Any:
    """A pyarrow array as pandas keeps one."""
    chunk = values.combine_chunks() if hasattr(values, "combine_chunks") else values
    return pd.array(chunk, dtype=pd.ArrowDtype(chunk.type))


def _pandas_values(pd: Any, cells: ColumnCells) -> Any:
    dtype = cells.column.dtype or ""
    try:
        exact = _exact_values(pd, cells, dtype)
    except (ValueError, TypeError, OverflowError):
        # A declared domain may have values that the original type cannot hold.
        exact = None
    return _natural_values(pd, cells) if exact is None else exact


def _exact_values(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    """Values in the type with that name; None if the name is unknown or its type cannot
    hold them.
    """
    if dtype == "category" and cells.labels is None:
        # Categories that are numbers or dates: those that occur, in their order.
        return pd.Series(_natural_values(pd, cells)).astype("category")
    if dtype in _PANDAS_TEXT_TYPES:
        return _text_values(pd, cells_as_text(cells), dtype)
    if dtype == "object":
        return pd.Series(_object_values(cells), dtype=object)
    if _PANDAS_NUMBER_TYPE.fullmatch(dtype):
        return _number_values(pd, cells, dtype)
    if moment := _PANDAS_DATETIME_TYPE.fullmatch(dtype):
        return _datetime_values(pd, cells, moment[2]).as_unit(moment[1])
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
    if isinstance(column, Date | Datetime):
        return _datetime_values(pd, cells)
    return pd.Series(_object_values(cells), dtype=object)


def _text_values(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    labels = list(cells.labels or ())
    if dtype == "category":
        ordered = isinstance(cells.column, Categorical) and cells.column.ordered
        return pd.Categorical.from_codes(
            cells.positions(), categories=pd.Index(labels, dtype="str"), ordered=ordered
        )
    return pd.array(labels, dtype=dtype).take(cells.positions(), allow_fill=True)


def _number_values(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    """Numbers and booleans, also of labels that are numbers; None if they do not fit."""
    column = cells.column
    if not isinstance(column, Boolean | Integer | Real | Categorical):
        return None
    if dtype.lower().startswith("float"):
        return _float_array(pd, cells, dtype)
    if dtype.startswith("bool"):
        return _boolean_array(pd, cells, dtype)
    return None if isinstance(column, Real) else _integer_array(pd, cells, dtype)


def _float_array(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    if cells.labels is None:
        values = float_values(cells)
    else:
        values = _labels_as_numbers(cells, float)
    if dtype.startswith("Float"):
        return pd.array(pd.arrays.FloatingArray(values, cells.null), dtype=dtype)
    return np.where(cells.null, np.nan, values).astype(dtype)


def _boolean_array(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    if not isinstance(cells.column, Boolean):
        return None
    truth = cells.index.astype(np.bool_)
    if cells.is_complete and dtype == "bool":
        return truth
    return pd.array(pd.arrays.BooleanArray(truth, cells.null))


def _integer_array(pd: Any, cells: ColumnCells, dtype: str) -> Any:
    """Whole numbers; None if the type is too narrow for one that occurs."""
    if cells.labels is not None:
        numbers = _labels_as_numbers(cells, int)
    elif isinstance(cells.column, Boolean):
        numbers = cells.index
    else:
        numbers = integer_values(cells)
    info = np.iinfo(dtype.lower())
    present = numbers[~cells.null]
    if len(present) and not info.min <= present.min() <= present.max() <= info.max:
        return None
    numbers = np.where(cells.null, 0, numbers).astype(info.dtype)
    is_numpy = dtype[0] in "iu"
    if cells.is_complete and is_numpy:
        return numbers
    return pd.arrays.IntegerArray(numbers, cells.null)


def _labels_as_numbers(cells: ColumnCells, read: type) -> Any:
    """Labels as the numbers they spell; ValueError if one that occurs is no number."""
    labels = cells.labels or ()
    # The last entry, at place -1, is for missing cells.
    table = np.zeros(len(labels) + 1, np.int64 if read is int else np.float64)
    for place in np.unique(cells.index[~cells.null]):
        table[place] = read(labels[place])
    return table[np.where(cells.null, -1, cells.index)]


def _datetime_values(pd: Any, cells: ColumnCells, named: str | None = None) -> Any:
    """Dates and datetimes as pandas keeps them, in microseconds."""
    column = cells.column
    if not isinstance(column, Date | Datetime):
        raise TypeError("not a moment")
    is_date = isinstance(column, Date)
    ticks = (
        cells.index * _MICROSECONDS_PER_DAY if is_date else microsecond_values(cells)
    )
    stamps = ticks.astype("datetime64[us]")
    stamps[cells.null] = np.datetime64("NaT")
    index = pd.DatetimeIndex(stamps)
    zone = zone_of(column, named)
    if zone is not None:
        index = index.tz_localize("UTC").tz_convert(zone)
    return index.array


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
        elif isinstance(column, Lattice):
            # Objects in a column of numbers are decimals: floats have their own type.
            exact = decimal_at(column, int(i))
            table[place] = column.value_at(int(i)) if exact is None else exact
    return table[np.where(cells.null, -1, inverse)]
