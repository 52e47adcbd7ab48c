"""Opening a table of a database: its header now, its rows when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import duckdb

from understudy.databases.address import DatabaseAddress
from understudy.databases.connection import ask_quietly, connect_database
from understudy.errors import TableError
from understudy.tables.sources.open_table import open_table
from understudy.tables.sources.source import TableSource
from understudy.tables.sql import quoting
from understudy.tables.streams.database_stream import (
    UNREAD_OUTCOME,
    DuckdbFileStream,
)
from understudy.tables.streams.open_stream import BatchReader, open_stream
from understudy.tables.streams.postgres import (
    begin_postgres_reading,
    locate_postgres_table,
    query_postgres_columns,
)
from understudy.tables.streams.spark import open_spark_address
from understudy.tables.streams.sqlite import fetch_sqlite_batches, read_sqlite_names


def open_database(address: DatabaseAddress) -> TableSource:
    """Open the table of an address."""
    if address.path is not None and not address.path.is_file():
        raise TableError(f"{address.path}: there is no such file. {UNREAD_OUTCOME}")
    if address.system == "duckdb":
        return _open_duckdb_file(address)
    if address.system == "spark":
        return open_spark_address(address)
    connection = connect_database(address)
    cursor = connection.cursor()
    close = partial(close_quietly, cursor, connection)
    try:
        return _open_by_adbc(cursor, address, close)
    # Also at Ctrl-C: an open transaction would make the database keep old rows.
    except BaseException:
        close()
        raise


def _open_by_adbc(
    cursor: Any, address: DatabaseAddress, close: Callable[[], None]
) -> TableSource:
    located, empty, read = ask_quietly(
        partial(_begin_reading, cursor, address), address.title, UNREAD_OUTCOME
    )
    return open_stream(
        read,
        empty,
        kind=address.system,
        title=located.title,
        path=address.path,
        ledger_path=located.ledger_path,
        release=close,
    )


def _begin_reading(
    cursor: Any, address: DatabaseAddress
) -> tuple[DatabaseAddress, Any, BatchReader]:
    """Where the table is, its header and how to read its rows."""
    if address.system == "postgresql":
        begin_postgres_reading(cursor)
        address = locate_postgres_table(cursor, address)
    header = read_adbc_header(cursor, address.system, address.schema, address.table)
    return address, *header


def read_adbc_header(
    cursor: Any, system: str, schema: str | None, table: str
) -> tuple[Any, BatchReader]:
    """A pyarrow table with the columns of a table and none of its rows, and how to read
    the rows.
    """
    relation = quoting.name_relation(schema, table)
    if system == "sqlite":
        # SQLite has types by cell, not by column: every cell is read as text.
        columns = read_sqlite_names(cursor, table)
        if not columns:
            raise TableError(
                f"{table}: the database has no table of that name. {UNREAD_OUTCOME}"
            )
        read = partial(fetch_sqlite_batches, cursor, columns, relation)
        return _empty_texts(columns), read
    query = f"SELECT * FROM {relation}"
    if system == "postgresql":
        query = query_postgres_columns(cursor, relation)
    # No row crosses the connection: the header is all that is public.
    cursor.execute(f"{query} LIMIT 0")
    return cursor.fetch_arrow_table(), partial(_fetch_batches, cursor, query)


def _empty_texts(names: list[str]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array([], pa.string()) for name in names})


def _fetch_batches(cursor: Any, query: str) -> Iterator[Any]:
    """The result of a query as pyarrow tables, as the database gives them."""
    import pyarrow as pa

    cursor.execute(query)
    for batch in cursor.fetch_record_batch():
        yield pa.Table.from_batches([batch])


def close_quietly(*open_things: Any) -> None:
    """Close cursors and connections; one that is broken already needs no more, and what
    was not committed is undone.
    """
    for each in open_things:
        # A driver's message could quote a cell, so none is passed on.
        with suppress(Exception):
            each.close()


def _open_duckdb_file(address: DatabaseAddress) -> TableSource:
    """A table of a DuckDB file. Other processes cannot change the file as long as it is
    open, and ours lets go of it once the rows are read.
    """
    assert address.path is not None
    connection = None
    relation = None
    with suppress(duckdb.Error):
        connection = duckdb.connect(
            str(address.path),
            read_only=True,
            # A view stored in the file could otherwise read other files of this
            # machine.
            config={"enable_external_access": "false", "lock_configuration": "true"},
        )
        relation = connection.table(quoting.quoted_identifier(address.table))
    # One message for all causes: DuckDB's own may show what the file holds.
    if relation is None:
        close_quietly(connection)
        raise TableError(
            f"{address.title}: is no table of a DuckDB file that can be read here, or the"
            f" file is open for writing elsewhere. {UNREAD_OUTCOME}"
        )
    source = open_table(relation)
    return replace(
        source,
        kind="duckdb file",
        title=address.title,
        path=address.path,
        ledger_path=address.ledger_path,
        _view=DuckdbFileStream.RELATION,
        _stream=DuckdbFileStream(source, connection),
    )
