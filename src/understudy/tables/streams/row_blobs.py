"""Rows as blobs: small Arrow messages, each with its schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from understudy.tables.sources.source import TableSource
from understudy.tables.sql.engine import Engine
from understudy.tables.streams.open_stream import open_stream

JOINED_BYTES = 1 << 24
"""Bytes of batches that are joined before they are looked at: some hundred thousand
rows, small beside a worker's memory.
"""

MAX_BLOB_BYTES = 400_000
"""Bytes of rows in a blob, before they are compressed: large beside its header, and
below half a megabyte, from which on Java's collector gives an object memory of its own.
"""

MIN_READ_ROWS = 1 << 18
"""Rows that small blobs are joined to before they are read."""


def pack_rows(batches: Iterable[Any], schema: Any) -> Iterator[bytes]:
    """Record batches as blobs of one Arrow schema, whatever their columns are called.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [34, 51]})
    >>> [blob] = pack_rows(table.to_batches(), table.schema)
    >>> [read.num_rows for read in read_rows([blob, blob])]
    [4]
    """
    for table in join_batches(batches, schema):
        yield from pack_table(table)


def join_batches(batches: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Record batches as larger tables of one schema."""
    waiting = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= JOINED_BYTES:
            yield _join_waiting(waiting, schema)
            waiting, size = [], 0
    if waiting:
        yield _join_waiting(waiting, schema)


def _join_waiting(waiting: list[Any], schema: Any) -> Any:
    table = import_module("pyarrow").Table.from_batches(waiting)
    if table.schema == schema:
        return table
    return table.rename_columns(schema.names).cast(schema)


def pack_table(table: Any) -> Iterator[bytes]:
    """The rows of a table as blobs."""
    # One chunk: a hundred of a few rows are slow to read.
    plain = table.combine_chunks()
    size = count_blob_rows(plain.nbytes, plain.num_rows)
    for start in range(0, plain.num_rows, size):
        yield _pack_message(plain.slice(start, size))


def count_blob_rows(total_bytes: int, rows: int) -> int:
    """How many of so many rows make a blob.

    >>> count_blob_rows(10 * MAX_BLOB_BYTES, 1000)
    100
    """
    return max(rows * MAX_BLOB_BYTES // max(total_bytes, MAX_BLOB_BYTES), 1)


def _pack_message(table: Any) -> bytes:
    ipc = import_module("pyarrow").ipc
    sink = import_module("pyarrow").BufferOutputStream()
    # A quarter of the bytes, in less time than it takes to copy the others.
    options = ipc.IpcWriteOptions(compression="lz4")
    with ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def read_rows(blobs: Iterable[bytes]) -> Iterator[Any]:
    """The rows of blobs as pyarrow tables, small ones joined."""
    pa = import_module("pyarrow")
    waiting = []
    rows = 0
    for blob in blobs:
        waiting.append(pa.ipc.open_stream(blob).read_all())
        rows += waiting[-1].num_rows
        if rows >= MIN_READ_ROWS:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def pack_schema(schema: Any) -> bytes:
    """A blob without rows."""
    return _pack_message(schema.empty_table())


def open_blobs(blobs: Iterable[bytes], empty: bytes) -> TableSource:
    """The rows of one partition as a table; `empty` is a blob without rows.

    One thread: where partitions lie, every core has one of its own.
    """
    return open_stream(
        lambda: read_rows(blobs),
        import_module("pyarrow").ipc.open_stream(empty).read_all(),
        kind="partition",
        title="partition",
        path=None,
        ledger_path=Path("partition.ledger"),
        release=lambda: None,
        engine=Engine(threads=1),
    )
