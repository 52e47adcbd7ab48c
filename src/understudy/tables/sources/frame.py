"""Frames: what pandas, polars, pyarrow and DuckDB hold in memory, made readable for a
private connection.

Columns get the names x0, x1, … so that no name of the owner's stands in a query. A
column of arbitrary Python objects declares no type: its cells become texts, by the
rules of schema/columns/cell.py, whatever they happen to be; so a type never depends on
the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import duckdb
import narwhals as nw
import numpy as np

from understudy.errors import TableError
from understudy.schema.columns.cell import (
    UNKNOWN_CELL,
    spellings_of_cell,
    to_plain_cell,
)
from understudy.tables.sql.physical import MAX_MOMENT_SECONDS, UNITS_PER_SECOND
from understudy.tables.sql.stored import base_type

NO_VALUE_TEXT = "\0"
"""The text of an object that is no value of any type. No label can contain it."""


@dataclass(frozen=True)
class Frame:
    """A frame ready to be registered, and what its columns were."""

    kind: str
    names: tuple[str, ...]
    dtypes: dict[str, str]
    zones: dict[str, str | None]
    data: object
    hidden: dict[str, str] = field(default_factory=dict)
    """Types of columns that hold no value and are read as something plainer."""


class RepeatableStream:
    """Anything that can be read as an Arrow stream, again and again, without any Arrow
    library.
    """

    def __init__(self, source: Any) -> None:
        self.source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream over the same rows."""
        return self.source.__arrow_c_stream__()


def open_frame(data: Any) -> Frame:
    """What is in a frame, of whichever kind."""
    if isinstance(data, duckdb.DuckDBPyRelation):
        return _frame_of_relation(data)
    if nw.dependencies.is_pandas_dataframe(data):
        return _frame_of_pandas(data)
    if nw.dependencies.is_polars_dataframe(data):
        return _frame_of_polars(data)
    if nw.dependencies.is_pyarrow_table(data):
        return _frame_of_pyarrow(data)
    if nw.dependencies.is_polars_lazyframe(data):
        raise TableError(
            "a lazy frame holds no rows yet. Collect it first: frame.collect(). Nothing"
            " was read"
        )
    if hasattr(data, "__arrow_c_stream__"):
        return _read_stream(data)
    try:
        eager = nw.from_native(data, eager_only=True).to_pandas()
    except Exception:
        eager = None
    if eager is None:
        kind = type(data).__name__
        raise TableError(
            f"{kind} is no table. Give a path to a CSV or Parquet file, or a pandas,"
            " polars, pyarrow or DuckDB table. Nothing was read"
        )
    return _frame_of_pandas(eager)


def _read_stream(data: Any) -> Frame:
    """Anything else that gives an Arrow stream, read once: some give theirs only once,
    and a table is read several times.
    """
    failed = False
    try:
        if find_spec("pyarrow") is not None:
            return _frame_of_pyarrow(import_module("pyarrow").table(data))
        connection = duckdb.connect(":memory:")
        connection.register("streamed", data)
        connection.execute("CREATE TABLE held AS SELECT * FROM streamed")
        return _frame_of_relation(connection.table("held"))
    except TableError:
        raise
    except Exception:  # its message may quote a cell
        failed = True
    assert failed
    raise TableError(
        f"{type(data).__name__}: its Arrow stream cannot be read as a table. Nothing"
        " was read"
    )


def check_names(names: list[Any], where: str) -> tuple[str, ...]:
    """The names of a header, refused where one is empty or stands twice."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise TableError(
                f"{where}: the name of column {position} is not a text. Rename it."
                " Nothing was read"
            )
        if not name:
            raise TableError(
                f"{where}: column {position} has no name. Name it in the header."
                " Nothing was read"
            )
        if name in seen:
            raise TableError(
                f"{where}: columns {seen[name]} and {position} have one name. Rename"
                " one. Nothing was read"
            )
        seen[name] = position
    if not names:
        raise TableError(f"{where}: has no columns. Nothing was read")
    return tuple(names)


def _short_names(count: int) -> list[str]:
    return [f"x{i}" for i in range(count)]


def _column_zones(native: Any, names: tuple[str, ...]) -> dict[str, str | None]:
    """The zone each column shows its instants in."""
    dtypes = dict(nw.from_native(native).collect_schema())
    return {name: getattr(dtypes[name], "time_zone", None) for name in names}


def _frame_of_relation(data: Any) -> Frame:
    names = check_names(list(data.columns), "the relation")
    kinds = [str(kind) for kind in data.types]
    shown = [_streamable_cell(f"#{i}", kind) for i, kind in enumerate(kinds, start=1)]
    short = data.project(", ".join(f"{cell} AS x{i}" for i, cell in enumerate(shown)))
    hidden = {
        name: base_type(kind)
        for name, kind in zip(names, kinds, strict=True)
        if _holds_variants(kind)
    }
    dtypes = {
        name: str(kind).split("(")[0]
        for name, kind in zip(names, data.types, strict=True)
    }
    return Frame(
        "duckdb", names, dtypes, dict.fromkeys(names), RepeatableStream(short), hidden
    )


def _streamable_cell(cell: str, kind: str) -> str:
    """A cell of a relation, of a type in which DuckDB can stream it whatever it holds."""
    if kind == "UHUGEINT":  # the widest unsigned integers would come out as others
        return (
            f"CAST(CASE WHEN {cell} > {10**37} THEN {10**37} ELSE {cell} END AS"
            " HUGEINT)"
        )
    if (
        kind == "BIGNUM"
    ):  # which one number of 39 digits makes of a column of whole numbers
        return f"CAST({cell} AS VARCHAR)"
    if _holds_variants(
        kind
    ):  # a single time of day with an offset, or one of many other values, would stop the stream
        return (
            f"CASE WHEN {cell} IS NOT NULL THEN encode(COALESCE(TRY_CAST({cell} AS"
            " VARCHAR), '')) END"
        )
    return cell


def _holds_variants(kind: str) -> bool:
    return (
        "VARIANT" in kind and base_type(kind) != "ENUM"
    )  # which lists labels of any kind


def _frame_of_polars(data: Any) -> Frame:
    pl = import_module("polars")

    names = check_names(list(data.columns), "the frame")
    dtypes = {name: _dtype_word(str(kind)) for name, kind in data.schema.items()}
    columns = []
    for short, series in zip(_short_names(len(names)), data.get_columns(), strict=True):
        kind = series.dtype
        if kind == pl.Object:
            column = pl.Series(
                [_text_of_object(value) for value in series.to_list()], dtype=pl.String
            )
        elif kind == pl.Null or str(kind) in ("Int128", "UInt128"):
            column = series.cast(pl.String)
        elif str(kind) == "Float16":
            column = series.cast(pl.Float32)
        else:
            column = series
        columns.append(column.alias(short))
    return Frame(
        "polars",
        names,
        dtypes,
        _column_zones(data, names),
        RepeatableStream(pl.DataFrame(columns)),
    )


def _frame_of_pyarrow(data: Any) -> Frame:
    pa = import_module("pyarrow")

    names = check_names(list(data.column_names), "the table")
    dtypes = {
        name: _dtype_word(str(kind))
        for name, kind in zip(names, data.schema.types, strict=True)
    }
    zones = {
        name: getattr(kind, "tz", None)
        for name, kind in zip(names, data.schema.types, strict=True)
    }
    columns = [_to_streamable(column, pa) for column in data.columns]
    return Frame(
        "pyarrow",
        names,
        dtypes,
        zones,
        RepeatableStream(pa.table(columns, names=_short_names(len(names)))),
    )


def _to_streamable(column: Any, pa: Any) -> Any:
    """An Arrow column of a type that DuckDB can read."""
    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        column = import_module("pyarrow.compute").run_end_decode(column)
        kind = column.type
    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type, pa):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_decimal256(kind):
        return pa.chunked_array(
            [[_spell_decimal(value) for value in column.to_pylist()]], pa.string()
        )
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    return column.cast(pa.float32()) if pa.types.is_float16(kind) else column


def _spell_decimal(value: Decimal | None) -> str | None:
    """A decimal as shorter ones are spelled, without zeros at its end: a single long
    one makes all of its column long.

    >>> _spell_decimal(Decimal("34.00")), _spell_decimal(Decimal("1.50E-9")), _spell_decimal(Decimal("1E+2"))
    ('34', '0.0000000015', '100')
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


def _frame_of_pandas(data: Any) -> Frame:
    pd = import_module("pandas")

    names = check_names(list(data.columns), "the frame")
    columns, dtypes, zones, hidden = {}, {}, {}, {}
    for position, (short, name) in enumerate(
        zip(_short_names(len(names)), names, strict=True)
    ):
        series = data.iloc[:, position].reset_index(drop=True)
        dtypes[name] = _dtype_word(str(series.dtype))
        kind = (
            series.dtype.categories.dtype
            if isinstance(series.dtype, pd.CategoricalDtype)
            else series.dtype
        )
        zone = getattr(kind, "tz", None)
        arrow = getattr(kind, "pyarrow_dtype", None)
        zones[name] = str(zone) if zone is not None else getattr(arrow, "tz", None)
        columns[short] = _to_readable(series, pd)
        if columns[short].dtype.kind == "m" and not _in_arrow(columns[short], pd):
            hidden[name] = "INTERVAL"
            columns[short] = _spans_to_numbers(columns[short], pd)
    if any(_in_arrow(column, pd) for column in columns.values()):
        pa = import_module("pyarrow")
        streamed = [
            _to_streamable(_as_arrow(column, pd, pa), pa) for column in columns.values()
        ]
        return Frame(
            "pandas",
            names,
            dtypes,
            zones,
            RepeatableStream(pa.table(streamed, names=list(columns))),
            hidden,
        )
    frame = pd.DataFrame(columns, index=pd.RangeIndex(len(data)))
    return Frame("pandas", names, dtypes, zones, frame, hidden)


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
    return pa.chunked_array(
        [
            pa.array(
                series,
                from_pandas=True,
                type=pa.string() if series.dtype == object else None,
            )
        ]
    )


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
    kind = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        nullable = {"i": "Int64", "u": "UInt64", "b": "boolean"}
        inner = kind.categories.dtype
        if _in_arrow(kind.categories, pd):
            return pd.Series(
                kind.categories.array.take(series.cat.codes.to_numpy(), allow_fill=True)
            )
        series = series.astype(
            nullable.get(inner.kind, inner if inner.kind in "fM" else object)
        )
        kind = series.dtype
    if isinstance(kind, pd.SparseDtype):
        series = series.sparse.to_dense()
        kind = series.dtype
    opaque = isinstance(kind, pd.PeriodDtype | pd.IntervalDtype) or kind.kind == "c"
    loose = isinstance(kind, pd.StringDtype) and kind.storage == "python"
    if opaque or loose or kind == np.dtype(object):
        if not _is_all_text(series, pd):
            return pd.Series([_text_of_object(value) for value in series], dtype=object)
        texts = series.astype(object).where(series.notna(), None)
        # An empty text is an empty cell on every way through here: else one odd cell,
        # which sends all others the other way, would change which of them are alike.
        texts = texts.where(texts != "", None)
        return texts if all(map(_is_encodable, texts)) else texts.map(_text_of_object)
    return (
        _clip_moments(series, pd)
        if kind.kind == "M" and not _in_arrow(series, pd)
        else series
    )


def _is_all_text(values: Any, pd: Any) -> bool:
    return bool(pd.api.types.infer_dtype(values, skipna=True) in ("string", "empty"))


def _text_of_object(value: object) -> str | None:
    """A Python object as the text a file would hold."""
    cell = to_plain_cell(value)
    if cell is None:
        return None
    texts = () if cell is UNKNOWN_CELL else spellings_of_cell(cell)
    if not texts:
        return NO_VALUE_TEXT
    # Half a character, which Python allows and no file can hold, becomes U+FFFD, as it
    # does in a CSV file.
    return (
        texts[0]
        if _is_encodable(texts[0])
        else texts[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _is_encodable(text: str | None) -> bool:
    """Whether every character of a text can be written to a file."""
    return (
        text is None
        or text.isascii()
        or not any("\ud800" <= c <= "\udfff" for c in text)
    )


def _dtype_word(dtype: str) -> str:
    """A dtype without lists of values in it."""
    return dtype.split("(")[0] if dtype.startswith(("Enum", "Categorical")) else dtype
