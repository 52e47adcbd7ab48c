"""Spark DataFrames as tables: rows stay in their partitions (carriers/spark.py), and
questions go to them.

What a carrier does not answer, such as a draft of a schema, brings the rows of the same
partitions, as Arrow, to a private relation of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from understudy.databases.address import (
    DatabaseAddress,
    list_lake_marks,
    name_spark_ledger,
    refuse_as_lake,
)
from understudy.databases.spark_session import find_spark_session
from understudy.tables.carriers.spark import (
    BLOB_COLUMNS,
    SparkCarrier,
    make_blob_batch,
    make_version_check,
    run_renamed,
    run_spark_job,
)
from understudy.tables.sources.frame import check_names
from understudy.tables.sources.source import TableSource
from understudy.tables.streams.open_stream import open_stream
from understudy.tables.streams.row_blobs import (
    join_batches,
    pack_schema,
    pack_table,
    read_rows,
)
from understudy.tables.streams.row_sums import RowSums

NATIVE_SPARK_TYPES = (
    "boolean",
    "byte",
    "short",
    "integer",
    "long",
    "float",
    "double",
    "string",
    "date",
    "timestamp",
    "timestamp_ntz",
)
NATIVE_SPARK_PREFIXES = ("decimal", "char", "varchar")
TEXT_SPARK_PREFIXES = ("interval", "time")
"""Types that come as the text that Spark prints, by how their names begin. All others,
such as lists and structures, are not released, and their cells stay where they are.
"""


def is_spark_frame(data: object) -> bool:
    """Whether an object is a DataFrame of Spark, classic or Connect."""
    module = type(data).__module__
    return module.startswith("pyspark.sql") and hasattr(data, "toArrow")


def open_spark_frame(
    frame: Any,
    *,
    title: str = "table",
    ledger_path: Path = Path("table.ledger"),
) -> TableSource:
    """Open a DataFrame: its header now, its rows when they are asked for."""
    names = check_names(list(frame.columns), title)
    readable = run_spark_job(partial(_select_readable, frame), title)
    empty = run_spark_job(readable.limit(0).toArrow, title).rename_columns(names)
    packed = readable.mapInArrow(_pack_task(empty.schema), BLOB_COLUMNS)
    carrier = SparkCarrier(packed, pack_schema(empty.schema), title)
    return open_stream(
        lambda: read_rows(carrier.fetch_blobs()),
        empty,
        kind="spark",
        title=title,
        path=None,
        ledger_path=ledger_path,
        release=lambda: None,
        carrier=carrier,
    )


def open_spark_address(address: DatabaseAddress) -> TableSource:
    """Open a table or a path that Spark knows, in the session of this process."""
    session = find_spark_session(address.title, "Nothing was read")
    frame = run_spark_job(
        partial(_find_frame, session, address.location), address.title
    )
    catalog = session.catalog
    ledger_path = name_spark_ledger(
        address.location, catalog.currentCatalog(), catalog.currentDatabase()
    )
    return open_spark_frame(frame, title=address.title, ledger_path=ledger_path)


def _find_frame(session: Any, location: str) -> Any:
    if "/" not in location:
        return session.table(location)
    if any(_is_there(session, marks) for marks in list_lake_marks(location)):
        raise refuse_as_lake(location.rstrip("/").rpartition("/")[2])
    if location.lower().endswith((".csv", ".csv.gz")):
        # Every cell is a text: nothing is inferred from rows. A quote is doubled in
        # quotes, and all files have the same header.
        return session.read.options(header=True, escape='"', enforceSchema=False).csv(
            location
        )
    return session.read.parquet(location)


def _is_there(session: Any, pattern: str) -> bool:
    """Whether Spark finds anything under a pattern of paths."""
    # Spark says by an exception that there is nothing; Connect, once it is asked.
    with suppress(Exception):
        # Twice: of a single path that is not there Spark writes a page to its log.
        return bool(session.read.text([pattern, pattern]).columns)
    return False


def _select_readable(frame: Any) -> Any:
    functions = import_module("pyspark.sql.functions")
    columns = []
    # Under short names: Spark reads a dot or a backtick in a name as something else.
    for i, field in enumerate(frame.schema.fields):
        quoted = "`" + field.name.replace("`", "``") + "`"
        kind = field.dataType.typeName()
        cell = functions.col(quoted)
        if kind.startswith(TEXT_SPARK_PREFIXES) and kind not in NATIVE_SPARK_TYPES:
            cell = cell.cast("string")
        elif not kind.startswith((*NATIVE_SPARK_TYPES, *NATIVE_SPARK_PREFIXES)):
            cell = functions.lit(None).cast("binary")
        columns.append(cell.alias(f"x{i}"))
    return frame.select(*columns)


def _pack_task(schema: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    check_version = make_version_check()

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        check_version()
        packed = _pack_summed(batches, schema)
        while (made := run_renamed(lambda: next(packed, None))) is not None:
            blob, row_sum = made
            yield make_blob_batch(0, blob, row_sum)

    return pack


def _pack_summed(batches: Iterable[Any], schema: Any) -> Iterator[tuple[bytes, int]]:
    sums = RowSums()
    for table in join_batches(batches, schema):
        row_sum = sums.sum_rows(table)
        for blob in pack_table(table):
            yield blob, row_sum
            # Of all rows of the table, and they add up: the other blobs have none.
            row_sum = 0
    sums.close()
