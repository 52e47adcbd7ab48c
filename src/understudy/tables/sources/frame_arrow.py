"""Tables of pyarrow and polars as frames: both give Arrow streams."""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module
from typing import Any

import narwhals as nw

from understudy.tables.sources.frame import (
    Frame,
    RepeatableStream,
    check_names,
    dtype_word,
    short_names,
    text_of_object,
)
from understudy.tables.sql.physical import UNITS_PER_SECOND


def frame_of_polars(data: Any) -> Frame:
    """A polars frame, its columns in types that DuckDB reads."""
    pl = import_module("polars")

    names = check_names(list(data.columns), "the frame")
    dtypes = {name: dtype_word(str(kind)) for name, kind in data.schema.items()}
    columns = [
        _to_readable_series(series, pl).alias(short)
        for short, series in zip(
            short_names(len(names)),
            data.get_columns(),
            strict=True,
        )
    ]
    schema = nw.from_native(data).collect_schema()
    zones = {name: getattr(schema[name], "time_zone", None) for name in names}
    stream = RepeatableStream(pl.DataFrame(columns))
    return Frame("polars", names, dtypes, zones, stream)


def _to_readable_series(series: Any, pl: Any) -> Any:
    kind = series.dtype
    if kind == pl.Object:
        texts = [text_of_object(value) for value in series.to_list()]
        return pl.Series(texts, dtype=pl.String)
    if kind == pl.Duration:
        # To the microsecond, the finest step of a moment.
        return series.dt.total_microseconds() / 10**6
    # DuckDB reads no 128-bit integers of Arrow's, and no 16-bit floats.
    if kind == pl.Null or str(kind) in ("Int128", "UInt128"):
        return series.cast(pl.String)
    return series.cast(pl.Float32) if str(kind) == "Float16" else series


def frame_of_pyarrow(data: Any) -> Frame:
    """An Arrow table, its columns in types that DuckDB reads."""
    pa = import_module("pyarrow")

    names = check_names(list(data.column_names), "the table")
    kind_of = dict(zip(names, data.schema.types, strict=True))
    dtypes = {name: dtype_word(str(kind)) for name, kind in kind_of.items()}
    zones = {name: getattr(kind, "tz", None) for name, kind in kind_of.items()}
    columns = [to_streamable(column, pa) for column in data.columns]
    stream = RepeatableStream(pa.table(columns, names=short_names(len(names))))
    return Frame("pyarrow", names, dtypes, zones, stream)


def to_streamable(column: Any, pa: Any) -> Any:
    """An Arrow column of a type that DuckDB can read."""
    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        column = import_module("pyarrow.compute").run_end_decode(column)
        kind = column.type
    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type, pa):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_duration(kind):
        return _spans_to_seconds(column, pa)
    # DuckDB's decimals end at 38 digits.
    if pa.types.is_decimal256(kind):
        texts = [_spell_decimal(value) for value in column.to_pylist()]
        return pa.chunked_array([texts], pa.string())
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    return column.cast(pa.float32()) if pa.types.is_float16(kind) else column


def _spans_to_seconds(column: Any, pa: Any) -> Any:
    """Lengths of time in seconds, digits beyond the microsecond cut off."""
    compute = import_module("pyarrow.compute")
    units = UNITS_PER_SECOND[column.type.unit[0]]
    # A column keeps its own unit where that is coarser than the microsecond.
    ticks = compute.divide(column.cast(pa.int64()), max(units // 10**6, 1))
    seconds = ticks.cast(pa.float64(), safe=False)
    return compute.divide(seconds, float(min(units, 10**6)))


def _spell_decimal(value: Decimal | None) -> str | None:
    """A decimal as shorter ones are spelled, without zeros at its end: a single long
    one makes all of its column long.

    >>> _spell_decimal(Decimal("34.00")), _spell_decimal(Decimal("1.50E-9"))
    ('34', '0.0000000015')
    >>> _spell_decimal(Decimal("1E+2"))
    '100'
    """
    if value is None:
        return None
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _is_text(kind: Any, pa: Any) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
    )
