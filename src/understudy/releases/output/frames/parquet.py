"""Parquet files by pyarrow, if it is installed: they keep types that DuckDB's own files
do not state, and one chunk is in memory at a time.

Categories, zones and units are no types of Parquet. A file states them beside its
types, as a schema of Arrow's and as pandas' names
(https://arrow.apache.org/docs/python/parquet.html; pandas' own form is in its developer
guide), and pandas, polars and pyarrow restore them from there. Every column of labels
goes in as a dictionary, which is smallest; whether it is read as one depends on the
stated schema.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from understudy.releases.output.frames.cells import ColumnCells
from understudy.releases.output.frames.dtypes import (
    FileColumn,
    file_column_of,
    pandas_dtype_of,
)
from understudy.releases.output.frames.duckdb import (
    DuckdbSession,
    can_hold_cells,
    sql_in_original_type,
)
from understudy.schema import Categorical, Time

POLARS_ENUM_KEY = "_PL_ENUM_VALUES2"
"""Where polars keeps the values of an Enum: for each its length, a semicolon, and the
value.
"""


def has_pyarrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


class ArrowParquetWriter:
    """A Parquet file in the making: add chunks of one table, and leave the context."""

    def __init__(self, path: Path) -> None:
        self._pa: Any = import_module("pyarrow")
        self._parquet: Any = import_module("pyarrow.parquet")
        self._path, self._session = path, DuckdbSession()
        self._writer: Any = None
        self._schema: Any = None
        self._columns: dict[str, FileColumn] = {}
        self._pandas_dtypes: dict[str, str] = {}

    def add_chunk(self, columns: Mapping[str, ColumnCells]) -> None:
        """Write a chunk as one group of rows."""
        chunk = {name: file_column_of(cells) for name, cells in columns.items()}
        table = self._arrow_table(chunk)
        if not self._columns:
            self._columns = {name: _without_cells(one) for name, one in chunk.items()}
        # A later chunk may be the first with a missing cell, which changes the name.
        for name, one in chunk.items():
            if dtype := pandas_dtype_of(one):
                self._pandas_dtypes[name] = dtype
        if self._writer is None:
            self._schema = table.schema
            # The schema is stated at the end, and in other words: dictionaries hold
            # columns of texts too.
            self._writer = self._parquet.ParquetWriter(
                self._path, self._schema, store_schema=False
            )
        if table.schema != self._schema:
            # A file has one type for each column, also if only a later chunk has more
            # digits than the first.
            table = table.cast(self._schema)
        self._writer.write_table(table)

    def _arrow_table(self, chunk: Mapping[str, FileColumn]) -> Any:
        """The cells as pyarrow holds them, labels as dictionaries."""
        plain = {name: one for name, one in chunk.items() if not _is_text(one)}
        arrays = self._plain_arrays(plain) if plain else {}
        for name, one in chunk.items():
            if name not in plain:
                arrays[name] = self._dictionary_array(one)
        return self._pa.table([arrays[name] for name in chunk], names=list(chunk))

    def _plain_arrays(self, columns: Mapping[str, FileColumn]) -> dict[str, Any]:
        """Numbers, dates and times, in one projection of DuckDB."""
        session = self._session
        query = session.select_sql(
            {
                f"c{i}": sql_in_original_type(session, one.cells)
                for i, one in enumerate(columns.values())
            }
        )
        table: Any = session.connection.sql(query).to_arrow_table()
        session.clear_arrays()
        return {
            name: self._cast_to_unit(one, table.column(i))
            for i, (name, one) in enumerate(columns.items())
        }

    def _cast_to_unit(self, one: FileColumn, values: Any) -> Any:
        """Instants in their zone, and times of day, in the unit of the file's column."""
        if one.zone is not None:
            return values.cast(self._pa.timestamp(one.unit or "us", tz=one.zone))
        if isinstance(one.cells.column, Time) and one.unit is not None:
            is_coarse = one.unit in ("s", "ms")
            time_type = self._pa.time32 if is_coarse else self._pa.time64
            return values.cast(time_type(one.unit))
        return values

    def _dictionary_array(self, one: FileColumn) -> Any:
        pa, cells = self._pa, one.cells
        places = pa.array(cells.index, mask=cells.null).cast(pa.int32())
        return pa.DictionaryArray.from_arrays(
            places, pa.array(cells.labels or (), pa.string()), ordered=_is_ordered(one)
        )

    def _file_metadata(self) -> dict[str, str]:
        """What the file says beside its types."""
        fields = [
            self._arrow_field(field, self._columns[field.name])
            for field in self._schema
        ]
        pandas = self._pandas_metadata()
        # pandas' names are stated twice: pyarrow looks for them in its own schema,
        # other readers in the file.
        schema = self._pa.schema(fields, metadata=pandas)
        serialized = base64.b64encode(schema.serialize().to_pybytes()).decode()
        return {**pandas, "ARROW:schema": serialized}

    def _pandas_metadata(self) -> dict[str, str]:
        """The types that only pandas has, in the form that pandas writes."""
        if not self._pandas_dtypes:
            return {}
        columns = [
            {
                "name": name,
                "field_name": name,
                "pandas_type": "object",
                "numpy_type": dtype,
                "metadata": None,
            }
            for name, dtype in self._pandas_dtypes.items()
        ]
        about = {
            "index_columns": [],
            "column_indexes": [],
            "columns": columns,
            "pandas_version": "3.0.0",
        }
        return {"pandas": json.dumps(about)}

    def _arrow_field(self, field: Any, one: FileColumn) -> Any:
        if _is_text(one) and not one.is_category:
            return field.with_type(self._pa.string())
        if one.is_closed_list:
            labels = [label.encode() for label in one.cells.labels or ()]
            listed = b"".join(b"%d;%b" % (len(label), label) for label in labels)
            return field.with_metadata({POLARS_ENUM_KEY: listed})
        return field

    def __enter__(self) -> ArrowParquetWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.close()
        if self._writer is not None:
            # After an error the file is thrown away, so it need not be complete.
            if kind is None:
                self._writer.add_key_value_metadata(self._file_metadata())
            self._writer.close()


def _is_text(one: FileColumn) -> bool:
    """Whether a column goes into a file as labels, rather than as the numbers that its
    labels spell.
    """
    if one.cells.labels is None:
        return False
    return not can_hold_cells(one.cells.column.dtype or "", one.cells)


def _without_cells(one: FileColumn) -> FileColumn:
    """What is the same for all chunks of a column."""
    cells = one.cells
    empty = replace(
        cells, index=cells.index[:0], null=cells.null[:0], spelled=cells.spelled[:0]
    )
    return replace(one, cells=empty)


def _is_ordered(one: FileColumn) -> bool:
    column = one.cells.column
    return one.is_category and isinstance(column, Categorical) and column.ordered
