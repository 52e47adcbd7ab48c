"""Opening a table by a connection that its owner holds: the connection is used and left
open, and nothing is committed.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from understudy.databases.connection import ask_quietly
from understudy.databases.database_table import DatabaseTable
from understudy.errors import TableError
from understudy.tables.sources.frame import text_of_object
from understudy.tables.sources.source import TableSource
from understudy.tables.sql import quoting
from understudy.tables.streams.database_stream import UNREAD_OUTCOME
from understudy.tables.streams.open_database import close_quietly, read_adbc_header
from understudy.tables.streams.open_stream import BatchReader, open_stream
from understudy.tables.streams.postgres import read_spelled_plainly
from understudy.tables.streams.sqlite import select_sqlite_bytes
from understudy.version import install_command

STRAY_BYTE_REGEX = re.compile("[\udc80-\udcff]")
FETCHED_ROWS = 50_000
"""Rows that are fetched at a time by the DB-API: enough to make the step from Python to
DuckDB small, few enough to need little memory.
"""


def open_connected(given: DatabaseTable) -> TableSource:
    """Open the table that a connection and a name mean."""
    title = given.table if given.schema is None else f"{given.schema}.{given.table}"
    _require_pyarrow(title)
    cursor = ask_quietly(given.connection.cursor, title, UNREAD_OUTCOME)
    try:
        empty, read = ask_quietly(
            partial(_read_header, given, cursor), title, UNREAD_OUTCOME
        )
    except BaseException:
        close_quietly(cursor)
        raise
    return open_stream(
        read,
        empty,
        kind="database",
        title=title,
        path=None,
        ledger_path=Path(f"{quote(title, safe=' ')}.ledger"),
        release=partial(close_quietly, cursor),
    )


def _read_header(given: DatabaseTable, cursor: Any) -> tuple[Any, BatchReader]:
    if hasattr(cursor, "fetch_record_batch"):
        system = _name_system(given.connection)
        empty, read = read_adbc_header(cursor, system, given.schema, given.table)
        if system == "postgresql":
            read = partial(read_spelled_plainly, cursor, read)
        return empty, read
    query = _query_dbapi(given, cursor)
    names = [column[0] for column in cursor.description]
    return _tabulate_texts(names, []), partial(_fetch_texts, cursor, query, names)


def _name_system(connection: Any) -> str:
    vendor = str(connection.adbc_get_info().get("vendor_name", "")).lower()
    return "postgresql" if vendor.startswith("postgres") else vendor


def _query_dbapi(given: DatabaseTable, cursor: Any) -> str:
    """The query of a table's rows; its header is in the cursor."""
    relation = quoting.name_relation(given.schema, given.table)
    query = f"SELECT * FROM {relation}"
    # No LIMIT: not every database has it, and the DB-API says nothing of the rows yet.
    cursor.execute(f"{query} WHERE 1 = 0")
    if isinstance(given.connection, sqlite3.Connection):
        columns = [column[0] for column in cursor.description]
        query = f"SELECT {select_sqlite_bytes(columns)} FROM {relation}"
    return query


def _fetch_texts(cursor: Any, query: str, names: list[str]) -> Iterator[Any]:
    """The result of a query as pyarrow tables of texts."""
    cursor.execute(query)
    while rows := cursor.fetchmany(FETCHED_ROWS):
        yield _tabulate_texts(names, rows)


def _tabulate_texts(names: list[str], rows: Sequence[Sequence[object]]) -> Any:
    import pyarrow as pa

    columns = [
        pa.array([_text_of_cell(row[i]) for row in rows], pa.string())
        for i in range(len(names))
    ]
    return pa.table(columns, names=names)


def _text_of_cell(value: object) -> str | None:
    if isinstance(value, bytes):
        # A question mark for each byte that is no text, as everywhere.
        return STRAY_BYTE_REGEX.sub("?", value.decode(errors="surrogateescape"))
    return text_of_object(value)


def _require_pyarrow(title: str) -> None:
    missing = False
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        missing = True
    if missing:
        raise TableError(
            f"{title}: needs a library that is not here: {install_command('arrow')}."
            f" {UNREAD_OUTCOME}"
        )
