"""Parquet files by pyarrow, where it is installed: they keep what DuckDB's own do not
say, and no more than a chunk is held.

Categories, zones and units are no types of Parquet. A file states them beside its
types, as a schema of Arrow's and as pandas' names
(https://arrow.apache.org/docs/python/parquet.html; pandas' own form is in its developer
guide), and pandas, polars and pyarrow restore them from there. Every column of labels
goes in as a dictionary, which costs least; whether it comes out as one is what the
stated schema says.
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
    """Whether pyarrow is there to write with."""
    return find_spec("pyarrow") is not None


class ArrowParquetWriter:
    """A Parquet file in the making: add chunks of one table, and leave it."""

    def __init__(self, path: Path) -> None:
        self._pa: Any = import_module("pyarrow")
        self._parquet: Any = import_module("pyarrow.parquet")
        self._path, self._session = path, DuckdbSession()
        self._writer: Any = None
        self._schema: Any = None
        self._shapes: dict[str, FileColumn] = {}
        self._names: dict[str, str] = {}

    def add(self, columns: Mapping[str, ColumnCells]) -> None:
        """Write a chunk as one group of rows."""
        shapes = {name: file_column_of(cells) for name, cells in columns.items()}
        table = self._table(shapes)
        self._shapes = self._shapes or {
            name: _without_cells(one) for name, one in shapes.items()
        }
        self._names |= {
            name: word for name, one in shapes.items() if (word := pandas_dtype_of(one))
        }
        if self._writer is None:
            self._schema = table.schema
            # Stated at the end and otherwise: dictionaries stand for texts too.
            self._writer = self._parquet.ParquetWriter(
                self._path, self._schema, store_schema=False
            )
        # One type in all of a file, also where a later chunk alone has too many digits
        # for it.
        self._writer.write_table(
            table if table.schema == self._schema else table.cast(self._schema)
        )

    def _table(self, shapes: Mapping[str, FileColumn]) -> Any:
        """The cells as pyarrow holds them, labels as dictionaries."""
        plain = {name: one for name, one in shapes.items() if not _is_text(one)}
        arrays: dict[str, Any] = {}
        if plain:
            session = self._session
            query = session.query(
                {
                    f"c{i}": sql_in_original_type(session, one.cells)
                    for i, one in enumerate(plain.values())
                }
            )
            found: Any = session.connection.sql(query).to_arrow_table()
            session.clear()
            arrays = {
                name: self._timed(one, found.column(i))
                for i, (name, one) in enumerate(plain.items())
            }
        arrays |= {
            name: self._dictionary_array(one)
            for name, one in shapes.items()
            if name not in plain
        }
        return self._pa.table([arrays[name] for name in shapes], names=list(shapes))

    def _timed(self, one: FileColumn, values: Any) -> Any:
        if one.zone is not None:
            return values.cast(self._pa.timestamp(one.unit or "us", tz=one.zone))
        if isinstance(one.cells.column, Time) and one.unit is not None:
            return values.cast(
                (self._pa.time32 if one.unit in ("s", "ms") else self._pa.time64)(
                    one.unit
                )
            )
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
            self._arrow_field(field, self._shapes[field.name]) for field in self._schema
        ]
        columns = [
            {
                "name": name,
                "field_name": name,
                "pandas_type": "object",
                "numpy_type": word,
                "metadata": None,
            }
            for name, word in self._names.items()
        ]
        about = {
            "index_columns": [],
            "column_indexes": [],
            "columns": columns,
            "pandas_version": "3.0.0",
        }
        pandas = {"pandas": json.dumps(about)} if columns else {}
        # pandas' names stand twice: pyarrow looks for them in its own schema, others in
        # the file.
        schema = self._pa.schema(fields, metadata=pandas)
        return {
            **pandas,
            "ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()).decode(),
        }

    def _arrow_field(self, field: Any, one: FileColumn) -> Any:
        if _is_text(one) and not one.labelled:
            return field.with_type(self._pa.string())
        if one.listed:
            words = [label.encode() for label in one.cells.labels or ()]
            return field.with_metadata(
                {
                    POLARS_ENUM_KEY: b"".join(
                        b"%d;%b" % (len(word), word) for word in words
                    )
                }
            )
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
            if kind is None:
                self._writer.add_key_value_metadata(self._file_metadata())
            self._writer.close()


def _is_text(one: FileColumn) -> bool:
    """Whether a column goes into a file as labels, rather than as the numbers that its
    labels spell.
    """
    return one.cells.labels is not None and not can_hold_cells(
        one.cells.column.dtype or "", one.cells
    )


def _without_cells(one: FileColumn) -> FileColumn:
    """What holds for all chunks."""
    none = one.cells.index[:0], one.cells.null[:0], one.cells.spelled[:0]
    return replace(
        one, cells=replace(one.cells, index=none[0], null=none[1], spelled=none[2])
    )


def _is_ordered(one: FileColumn) -> bool:
    return (
        one.labelled
        and isinstance(one.cells.column, Categorical)
        and one.cells.column.ordered
    )
