"""The engine: one private DuckDB connection, closed to the outside, whose errors never
quote a cell.

DuckDB's messages may contain values of the rows they are about. So every call goes
through this module, and whatever it raises becomes a one-line TableError that says what
was being done and nothing about the rows.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from understudy.errors import TableError
from understudy.progress_bar import hide_progress_bar
from understudy.scratch import Scratch
from understudy.tables.sql import quoting
from understudy.tables.sql.arrow_c import read_batches
from understudy.tables.sql.arrow_stream import PhysicalStream

DUCKDB_MEMORY_LIMIT = "768MB"
"""What DuckDB may keep in memory. The rest waits in a private directory that only its
owner may read, until the engine is closed.
"""


STREAMS_READ_ONCE = duckdb.__version__.startswith("1.")
"""Whether DuckDB reads a registered stream only once, as it did before version 2."""

SLOW_STEP = "partial_aggregate_pushdown"
"""A step of planning that serves joins, of which there are none here, and takes seconds
over a deep expression, whatever the rows.
"""

LEAKING_STEP = "statistics_propagation"
"""A step of planning that drops conditions which statistics in a Parquet file seem to
decide. They leave NaN out, so by them no cell is NaN; and one more row, which changes
them, would change how all such cells are read.
"""

UNREADABLE_FRAME_MESSAGE = (
    "the frame cannot be read. Convert its columns to plain types. Nothing was read"
)


class Engine:
    """A private connection and its private directory, both removed with this object."""

    def __init__(self, *, threads: int | None = None) -> None:
        # Named, and set to be removed, before it is made: an interrupt in between leaves
        # no directory behind.
        scratch = Scratch(Path(tempfile.gettempdir()))
        self.directory = scratch.rows
        self._close = weakref.finalize(
            self,
            _dispose_engine,
            connections := [],
            scratch,
        )
        scratch.make()
        self._connection = duckdb.connect(
            ":memory:",
            config={
                "threads": str(threads or os.cpu_count() or 1),
                "memory_limit": DUCKDB_MEMORY_LIMIT,
                "temp_directory": str(self.directory / "spill"),
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
                "preserve_insertion_order": "false",
            },
        )
        connections.append(self._connection)
        self._types = 0
        self._streams: dict[str, object] = {}
        hide_progress_bar(self._connection)
        # No Python variable is a table here, and no sample of a pandas column of objects
        # decides the type of all its cells.
        for setting in (
            "TimeZone = 'UTC'",
            "python_enable_replacements = false",
            "pandas_analyze_sample = 0",
            f"disabled_optimizers = '{LEAKING_STEP}'",
        ):
            self.run(f"SET {setting}", doing="opening the table")
        # A version of DuckDB without the slow step refuses its name, and needs none.
        with suppress(TableError):
            self.run(
                f"SET disabled_optimizers = '{LEAKING_STEP},{SLOW_STEP}'",
                doing="opening the table",
            )

    def close(self) -> None:
        """Close the connection and remove the private directory."""
        self._close()

    def seal(self, paths: Sequence[Path]) -> None:
        """From now on, no file but these can be read, and no setting changed."""
        # Paths are compared as they are spelled in a query, patterns escaped or not.
        spellings = [str(path.resolve()) for path in paths]
        spellings += [quoting.literal_path(path) for path in paths]
        directory = quoting.text_literal(str(self.directory))
        # In this order: once access is off and settings are locked, no query can undo it.
        for setting in (
            f"allowed_paths = [{quoting.text_literals(spellings)}]",
            f"allowed_directories = [{directory}]",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            self.run(f"SET {setting}", doing="opening the table")

    def register(self, name: str, data: object) -> None:
        """Make a frame, or anything with an Arrow stream, readable under a name."""
        # Errors are raised outside the handler, here and below: a chained exception
        # would carry the library's message, which may quote a cell.
        failed = False
        try:
            self._connection.register(name, data)
        except Exception:
            failed = True
        if hasattr(data, "__arrow_c_stream__") and STREAMS_READ_ONCE:
            self._streams[name] = data
        if failed:
            raise TableError(UNREADABLE_FRAME_MESSAGE)

    @staticmethod
    def physical(source: object) -> PhysicalStream:
        """A frame as a stream of cells as they are stored."""
        stream = None
        try:
            stream = PhysicalStream(source)
        except Exception:
            stream = None
        if stream is None:
            raise TableError(UNREADABLE_FRAME_MESSAGE)
        return stream

    def run(self, query: str, *, doing: str) -> list[tuple[Any, ...]]:
        """Run a statement and fetch what it returns."""
        failed = ""
        try:
            return self._rewind_streams().execute(query).fetchall()
        except Exception as error:
            failed = _error_kind(error)
        raise TableError(f"{doing} did not work ({failed})")

    def arrays(self, query: str, *, doing: str) -> list[NDArray[Any]]:
        """Run a query and fetch its columns, which hold no NULL, as arrays."""
        failed = ""
        try:
            fetched = self._rewind_streams().execute(query).fetchnumpy()
            return [np.asarray(column) for column in fetched.values()]
        except Exception as error:
            failed = _error_kind(error)
        raise TableError(f"{doing} did not work ({failed})")

    def stream(
        self, query: str, *, doing: str
    ) -> Iterator[list[NDArray[np.unsignedinteger]]]:
        """Run a query over unsigned columns without NULL and hand out its rows in
        batches.
        """
        failed = ""
        try:
            yield from read_batches(
                self._rewind_streams().sql(query).__arrow_c_stream__()
            )
        except Exception as error:
            failed = _error_kind(error)
        if failed:
            raise TableError(f"{doing} did not work ({failed})")

    def _rewind_streams(self) -> duckdb.DuckDBPyConnection:
        """The connection, with every stream at its beginning."""
        for name, data in self._streams.items():
            self._connection.register(name, data)
        return self._connection

    def types(self, relation: str) -> dict[str, str]:
        """Names and types of a relation's columns."""
        return {
            row[0]: row[1]
            for row in self.run(
                f"DESCRIBE SELECT * FROM {relation}", doing="reading the types"
            )
        }

    def create_enum(self, labels: Sequence[str]) -> str:
        """The name of a type whose values are these labels, in this order."""
        self._types += 1
        name = f"labels_{self._types}"
        self.run(
            f"CREATE TYPE {name} AS ENUM ({quoting.text_literals(labels)})",
            doing="reading the labels",
        )
        return name


def _dispose_engine(
    connections: list[duckdb.DuckDBPyConnection], scratch: Scratch
) -> None:
    for connection in connections:
        connection.close()
    scratch.remove()


def _error_kind(error: BaseException) -> str:
    """The kind of an error. Never its message: that may quote a row."""
    if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
        return "out of memory or disk space"
    return type(error).__name__
