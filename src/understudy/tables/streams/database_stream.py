"""The rows of a database's table, read once, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from understudy.databases.connection import ask_quietly
from understudy.tables.sources.source import TableSource
from understudy.tables.streams.spool import ArrowSpool

UNREAD_OUTCOME = "Nothing was read"


class DatabaseStream:
    """A query whose result goes to a spool when the rows are first asked for.

    `read_batches` gives the result of a query as pyarrow tables; `release` lets go of
    the connection, if it is ours.
    """

    def __init__(
        self,
        read_batches: Callable[[], Iterator[Any]],
        spool: ArrowSpool,
        *,
        title: str,
        release: Callable[[], None],
    ) -> None:
        self._read_batches = read_batches
        self._spool = spool
        self._title = title
        self._release = release
        self._is_open = True

    def load_rows(self) -> None:
        """Read the rows to the end, once, and let go of the connection."""
        if not self._is_open:
            return
        # A database's message may quote a cell, so it is not passed on.
        ask_quietly(self._copy_rows, self._title, UNREAD_OUTCOME)
        self.close()

    def _copy_rows(self) -> None:
        # What an attempt that failed left behind would be counted twice.
        self._spool.remove_rows()
        for batch in self._read_batches():
            self._spool.append_batch(batch)

    def close(self) -> None:
        """Let go of the connection."""
        if self._is_open:
            self._is_open = False
            self._release()


class DuckdbFileStream:
    """The rows of a DuckDB file, copied when they are first asked for."""

    RELATION = "copied"

    def __init__(self, source: TableSource, connection: Any) -> None:
        self._source = source
        self._connection = connection
        self._is_open = True

    def load_rows(self) -> None:
        """Copy the rows, once, and let go of the file."""
        if not self._is_open:
            return
        # A copy: while the file is open here, no other program could write to it.
        self._source.engine.run(
            f"CREATE TEMP TABLE {self.RELATION} AS SELECT * FROM {self._source.relation}",
            doing="reading rows",
        )
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._is_open = False
        self._connection.close()
