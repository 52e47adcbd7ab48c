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
    """The cells in the type they came with, or in their natural type where that cannot
    hold them.
    """
    dtype = cells.column.dtype or ""
    listed = dtype == "Enum" or dtype.startswith(
        "Enum("
    )  # with or without its list: the labels are the schema's
    if listed or dtype in {"String", "Categorical"}:
        cells = cells_as_text(cells)
    plain = _natural_series(pl, cells)
    moment = _POLARS_DATETIME_TYPE.fullmatch(dtype)
    if zone := zone_of(cells.column, moment[2] if moment else None):
        plain = plain.dt.convert_time_zone(zone)
    try:
        if listed:
            return plain.cast(pl.Enum(list(cells.labels or ())))
        if _POLARS_PLAIN_TYPE.fullmatch(dtype):
            return plain.cast(getattr(pl, dtype))
        if moment:
            return plain.cast(pl.Datetime(moment[1], zone))
        if (wanted := decimal_precision_scale(dtype)) and (
            exact := unscaled_integers(cells, wanted[1])
        ) is not None:
            distinct, inverse = np.unique(exact, return_inverse=True)
            numbers = [Decimal(int(i)).scaleb(-wanted[1]) for i in distinct]
            return _gather_entries(
                pl, pl.Series(numbers, dtype=pl.Decimal(*wanted)), inverse, cells
            )
    except pl.exceptions.PolarsError:
        return plain
    return plain


def _natural_series(pl: Any, cells: ColumnCells) -> Any:
    column = cells.column
    if cells.labels is not None:
        return _gather_entries(
            pl, pl.Series(list(cells.labels), dtype=pl.String), cells.index, cells
        )
    match column:
        case Boolean():
            series = pl.Series(cells.index.astype(np.bool_))
        case Integer():
            series = pl.Series(integer_values(cells))
        case Date():
            series = pl.Series(cells.index.astype(np.int32)).cast(pl.Date)
        case Datetime():
            series = pl.Series(microsecond_values(cells)).cast(
                pl.Datetime("us", None if column.zone is None else "UTC")
            )
        case Time():
            series = pl.Series(microsecond_values(cells) * 1000).cast(pl.Time)
        case _:
            series = pl.Series(float_values(cells))
    return series if cells.is_complete else series.set(pl.Series(cells.null), None)


def _gather_entries(pl: Any, table: Any, places: Any, cells: ColumnCells) -> Any:
    """Entries of a table by place, null where the cell is missing."""
    if cells.is_complete:
        return table.gather(places)
    return table.gather(
        pl.Series(np.where(cells.null, 0, places)).set(pl.Series(cells.null), None)
    )
