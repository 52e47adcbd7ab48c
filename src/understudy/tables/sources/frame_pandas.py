"""pandas frames as frames, column by column: how a column is read depends on its dtype
alone, never on its cells.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from understudy.errors import TableError
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

    data = _with_index_columns(data, pd)
    names = check_names(list(data.columns), "the frame")
    columns = {}
    dtypes = {}
    zones = {}
    for position, (short, name) in enumerate(
        zip(short_names(len(names)), names, strict=True)
    ):
        series = data.iloc[:, position].reset_index(drop=True)
        dtypes[name] = dtype_word(str(series.dtype))
        zones[name] = _zone_of_dtype(series.dtype, pd)
        columns[short] = _to_readable(series, pd)
    readable: Any
    if any(_in_arrow(column, pd) for column in columns.values()):
        # One frame is read in one way: a single Arrow column takes the others along.
        pa = import_module("pyarrow")
        arrays = [_as_arrow(column, pd, pa) for column in columns.values()]
        streamed = [to_streamable(array, pa) for array in arrays]
        readable = RepeatableStream(pa.table(streamed, names=list(columns)))
    else:
        readable = pd.DataFrame(columns, index=pd.RangeIndex(len(data)))
    return Frame("pandas", names, dtypes, zones, readable)


def _with_index_columns(data: Any, pd: Any) -> Any:
    """The frame with the levels of its index that have a name as columns; row numbers
    have none.
    """
    labels = list(data.index.names)
    if all(label is None for label in labels):
        if isinstance(data.index, pd.MultiIndex):
            raise TableError(
                "the frame: its index has several levels without names. Name them"
                " (frame.index.names), or drop them: frame.reset_index(drop=True)."
                " Nothing was read"
            )
        return data
    levels = [
        data.index.get_level_values(place).to_frame(index=False, name=label)
        for place, label in enumerate(labels)
        if label is not None
    ]
    rows = data.reset_index(drop=True)
    return pd.concat([*levels, rows], axis=1)


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


def _spans_to_seconds(series: Any, pd: Any) -> Any:
    """Lengths of time in seconds, digits beyond the microsecond cut off."""
    units = UNITS_PER_SECOND[series.dt.unit[0]]
    # A column keeps its own unit where that is coarser than the microsecond.
    ticks = series.array.asi8 // max(units // 10**6, 1)
    seconds = ticks / min(units, 10**6)
    return pd.Series(seconds).where(series.notna().reset_index(drop=True))


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
    if _is_read_as_text(kind, pd):
        return _to_texts(series, pd)
    if kind.kind == "M" and not _in_arrow(series, pd):
        return _clip_moments(series, pd)
    if kind.kind == "m" and not _in_arrow(series, pd):
        return _spans_to_seconds(series, pd)
    return series


def _is_read_as_text(kind: Any, pd: Any) -> bool:
    """Whether DuckDB has no type for a dtype, or would guess one from its cells."""
    opaque = isinstance(kind, pd.PeriodDtype | pd.IntervalDtype) or kind.kind == "c"
    loose = isinstance(kind, pd.StringDtype) and kind.storage == "python"
    return bool(opaque or loose or kind == np.dtype(object))


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
