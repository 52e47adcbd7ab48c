"""polars frames out, in the types that came in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np

from understudy.releases.output.frames.cells import (
    ColumnCells,
    cells_as_text,
    float_values,
    integer_values,
    microsecond_values,
    unscaled_integers,
    zone_of,
)
from understudy.releases.output.frames.duckdb import decimal_precision_scale
from understudy.schema import Boolean, Date, Datetime, Integer, Time

_POLARS_PLAIN_TYPE = re.compile(
    r"U?Int(8|16|32|64|128)|Float(16|32|64)|Boolean|String|Date|Time|Categorical"
)
_POLARS_DATETIME_TYPE = re.compile(
    r"Datetime\(time_unit='(ms|us|ns)', time_zone=(?:None|'(.+)')\)"
)


def polars_frame(columns: Mapping[str, ColumnCells]) -> Any:
    """A polars DataFrame."""
    pl: Any = import_module("polars")
    return pl.DataFrame(
        [_polars_series(pl, cells).alias(name) for name, cells in columns.items()]
    )


def _polars_series(pl: Any, cells: ColumnCells) -> Any:
    """The cells in the type they came with, or in their natural type if that cannot hold
    them.
    """
    dtype = cells.column.dtype or ""
    if _is_enum(dtype) or dtype in {"String", "Categorical"}:
        cells = cells_as_text(cells)
    natural = _natural_series(pl, cells)
    moment = _POLARS_DATETIME_TYPE.fullmatch(dtype)
    if zone := zone_of(cells.column, moment[2] if moment else None):
        natural = natural.dt.convert_time_zone(zone)
    try:
        if moment:
            return natural.cast(pl.Datetime(moment[1], zone))
        return _cast_exact(pl, cells, dtype, natural)
    except pl.exceptions.PolarsError:
        return natural


def _is_enum(dtype: str) -> bool:
    # With or without its list: the labels are the schema's.
    return dtype == "Enum" or dtype.startswith("Enum(")


def _cast_exact(pl: Any, cells: ColumnCells, dtype: str, natural: Any) -> Any:
    """The series in the type of that name; as it is if the name is unknown."""
    if _is_enum(dtype):
        return natural.cast(pl.Enum(list(cells.labels or ())))
    if _POLARS_PLAIN_TYPE.fullmatch(dtype):
        return natural.cast(getattr(pl, dtype))
    decimal = decimal_precision_scale(dtype)
    unscaled = None if decimal is None else unscaled_integers(cells, decimal[1])
    if decimal is None or unscaled is None:
        return natural
    # polars makes decimals of Python objects only, so each distinct value is made once.
    distinct, inverse = np.unique(unscaled, return_inverse=True)
    numbers = [Decimal(int(i)).scaleb(-decimal[1]) for i in distinct]
    table = pl.Series(numbers, dtype=pl.Decimal(*decimal))
    return _gather_entries(pl, table, inverse, cells)


def _natural_series(pl: Any, cells: ColumnCells) -> Any:
    column = cells.column
    if cells.labels is not None:
        labels = pl.Series(list(cells.labels), dtype=pl.String)
        return _gather_entries(pl, labels, cells.index, cells)
    match column:
        case Boolean():
            series = pl.Series(cells.index.astype(np.bool_))
        case Integer():
            series = pl.Series(integer_values(cells))
        case Date():
            series = pl.Series(cells.index.astype(np.int32)).cast(pl.Date)
        case Datetime():
            zone = None if column.zone is None else "UTC"
            series = pl.Series(microsecond_values(cells)).cast(pl.Datetime("us", zone))
        case Time():
            # Times of polars count nanoseconds.
            series = pl.Series(microsecond_values(cells) * 1000).cast(pl.Time)
        case _:
            series = pl.Series(float_values(cells))
    return series if cells.is_complete else series.set(pl.Series(cells.null), None)


def _gather_entries(pl: Any, table: Any, places: Any, cells: ColumnCells) -> Any:
    """Entries of a table by place, null where the cell is missing."""
    if cells.is_complete:
        return table.gather(places)
    # A place beyond the table would be refused even where it is then set to null.
    within = pl.Series(np.where(cells.null, 0, places))
    return table.gather(within.set(pl.Series(cells.null), None))
