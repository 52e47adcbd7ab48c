"""pandas frames as frames, column by column: how a column is read depends on its dtype
alone, never on its cells.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from understudy.tables.sources.frame import (
    Frame,
    RepeatableStream,
    check_names,
    dtype_word,
    is_encodable,
    short_names,
    text_of_object,
)
from understudy.tables.sources.frame_arrow import to_streamable
from understudy.tables.sql.physical import MAX_MOMENT_SECONDS, UNITS_PER_SECOND

NULLABLE_CATEGORY_DTYPES = {"i": "Int64", "u": "UInt64", "b": "boolean"}
"""Types, by numpy's letters, that hold the categories of a column and missing cells."""


def frame_of_pandas(data: Any) -> Frame:
    """A pandas frame, its columns in types that DuckDB reads."""
    pd = import_module("pandas")

    names = check_names(list(data.columns), "the frame")
    columns = {}
    dtypes = {}
    zones = {}
    hidden = {}
    for position, (short, name) in enumerate(
        zip(short_names(len(names)), names, strict=True)
    ):
        series = data.iloc[:, position].reset_index(drop=True)
        dtypes[name] = dtype_word(str(series.dtype))
        zones[name] = _zone_of_dtype(series.dtype, pd)
        columns[short] = _to_readable(series, pd)
        if columns[short].dtype.kind == "m" and not _in_arrow(columns[short], pd):
            hidden[name] = "INTERVAL"
            columns[short] = _spans_to_numbers(columns[short], pd)
    readable: Any
    if any(_in_arrow(column, pd) for column in columns.values()):
        # One frame is read in one way: a single Arrow column takes the others along.
        pa = import_module("pyarrow")
        arrays = [_as_arrow(column, pd, pa) for column in columns.values()]
        streamed = [to_streamable(array, pa) for array in arrays]
        readable = RepeatableStream(pa.table(streamed, names=list(columns)))
    else:
        readable = pd.DataFrame(columns, index=pd.RangeIndex(len(data)))
    return Frame("pandas", names, dtypes, zones, readable, hidden)


def _zone_of_dtype(dtype: Any, pd: Any) -> str | None:
    """The zone in which a column shows its instants."""
    categorical = isinstance(dtype, pd.CategoricalDtype)
    kind = dtype.categories.dtype if categorical else dtype
    zone = getattr(kind, "tz", None)
    if zone is not None:
        return str(zone)
    return getattr(getattr(kind, "pyarrow_dtype", None), "tz", None)


def _in_arrow(series: Any, pd: Any) -> bool:
    """Whether the cells of a pandas column lie in an Arrow array."""
    kind = series.dtype
    return isinstance(kind, pd.ArrowDtype) or (
        isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow"
    )


def _as_arrow(series: Any, pd: Any, pa: Any) -> Any:
    """A pandas column as an Arrow column, its cells untouched."""
    if _in_arrow(series, pd):
        return pa.chunked_array(series.array.__arrow_array__())
    kind = pa.string() if series.dtype == object else None
    return pa.chunked_array([pa.array(series, from_pandas=True, type=kind)])


def _spans_to_numbers(series: Any, pd: Any) -> Any:
    """Spans of time as the whole numbers they are stored as."""
    return pd.Series(pd.array(series.array.asi8, dtype="Int64")).where(series.notna())


def _clip_moments(series: Any, pd: Any) -> Any:
    """Moments, those beyond the calendar of the database put just beyond that of every
    schema; instants in UTC.
    """
    unit = series.dt.unit
    far = MAX_MOMENT_SECONDS * UNITS_PER_SECOND[unit[0]]
    stamps = series.array.asi8
    if far < 2**63:
        stamps = np.where(series.isna(), stamps, stamps.clip(-far, far))
    plain = pd.Series(stamps.view(f"M8[{unit}]"))
    return plain if series.dt.tz is None else plain.dt.tz_localize("UTC")


def _to_readable(series: Any, pd: Any) -> Any:
    """A pandas column that DuckDB can read, of a type that its dtype alone decides."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        if _in_arrow(series.dtype.categories, pd):
            return _take_categories(series, pd)
        series = series.astype(_dtype_of_categories(series.dtype))
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    kind = series.dtype
    opaque = isinstance(kind, pd.PeriodDtype | pd.IntervalDtype) or kind.kind == "c"
    loose = isinstance(kind, pd.StringDtype) and kind.storage == "python"
    if opaque or loose or kind == np.dtype(object):
        return _to_texts(series, pd)
    if kind.kind == "M" and not _in_arrow(series, pd):
        return _clip_moments(series, pd)
    return series


def _take_categories(series: Any, pd: Any) -> Any:
    codes = series.cat.codes.to_numpy()
    categories = series.dtype.categories.array
    return pd.Series(categories.take(codes, allow_fill=True))


def _dtype_of_categories(dtype: Any) -> Any:
    inner = dtype.categories.dtype
    plain = inner if inner.kind in "fM" else object
    return NULLABLE_CATEGORY_DTYPES.get(inner.kind, plain)


def _to_texts(series: Any, pd: Any) -> Any:
    """A column of Python objects as texts."""
    inferred = pd.api.types.infer_dtype(series, skipna=True)
    if inferred not in ("string", "empty"):
        return pd.Series([text_of_object(value) for value in series], dtype=object)
    texts = series.astype(object).where(series.notna(), None)
    # An empty text is an empty cell on every way through here: else one odd cell, which
    # sends all others the other way, would change which of them are alike.
    texts = texts.where(texts != "", None)
    return texts if all(map(is_encodable, texts)) else texts.map(text_of_object)
