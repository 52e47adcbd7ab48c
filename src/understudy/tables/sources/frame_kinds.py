"""Which kind of frame an object is: pandas, polars, pyarrow, DuckDB, or anything that
gives an Arrow stream.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import duckdb
import narwhals as nw

from understudy.errors import TableError
from understudy.tables.sources.frame import Frame
from understudy.tables.sources.frame_arrow import frame_of_polars, frame_of_pyarrow
from understudy.tables.sources.frame_duckdb import frame_of_relation
from understudy.tables.sources.frame_pandas import frame_of_pandas


def open_frame(data: Any) -> Frame:
    """What is in a frame, of whichever kind."""
    if isinstance(data, duckdb.DuckDBPyRelation):
        return frame_of_relation(data)
    if nw.dependencies.is_pandas_dataframe(data):
        return frame_of_pandas(data)
    if nw.dependencies.is_polars_dataframe(data):
        return frame_of_polars(data)
    if nw.dependencies.is_pyarrow_table(data):
        return frame_of_pyarrow(data)
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
    return frame_of_pandas(eager)


def _read_stream(data: Any) -> Frame:
    """Anything else that gives an Arrow stream, read once: some give theirs only once,
    and a table is read several times.
    """
    frame = None
    try:
        frame = _load_stream(data)
    except TableError:
        raise
    except Exception:
        frame = None
    if frame is None:
        # Raised here, so that no traceback leads to the library's own message: that may
        # quote a cell.
        raise TableError(
            f"{type(data).__name__}: its Arrow stream cannot be read as a table."
            " Nothing was read"
        )
    return frame


def _load_stream(data: Any) -> Frame:
    if find_spec("pyarrow") is not None:
        return frame_of_pyarrow(import_module("pyarrow").table(data))
    connection = duckdb.connect(":memory:")
    connection.register("streamed", data)
    connection.execute("CREATE TABLE held AS SELECT * FROM streamed")
    return frame_of_relation(connection.table("held"))
