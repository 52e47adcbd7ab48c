"""Spark DataFrames as tables: one job brings the rows, as Arrow, to the private relation
that every table is read from.

Nothing of ours runs in a worker, so no noise, no salt and no value of a schema stands in
a plan or in an event log. Spark hands out the result of each task once, whatever failed
before it, so a table whose tasks were retried is the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from understudy.databases.address import DatabaseAddress
from understudy.databases.spark_session import find_spark_session
from understudy.errors import TableError
from understudy.tables.sources.frame import check_names
from understudy.tables.sources.source import TableSource
from understudy.tables.streams.open_stream import open_stream

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
    check_names(list(frame.columns), title)
    readable = _run_job(partial(_select_readable, frame), title)
    empty = _run_job(readable.limit(0).toArrow, title)
    return open_stream(
        partial(_read_rows, readable, title),
        empty,
        kind="spark",
        title=title,
        path=None,
        ledger_path=ledger_path,
        release=lambda: None,
    )


def open_spark_address(address: DatabaseAddress) -> TableSource:
    """Open a table or a path that Spark knows, in the session of this process."""
    session = find_spark_session(address.title, "Nothing was read")
    frame = _run_job(partial(_find_frame, session, address.location), address.title)
    return open_spark_frame(frame, title=address.title, ledger_path=address.ledger_path)


def _find_frame(session: Any, location: str) -> Any:
    if "/" not in location:
        return session.table(location)
    if location.lower().endswith((".csv", ".csv.gz")):
        # Every cell is a text: nothing is inferred from rows.
        return session.read.option("header", True).csv(location)
    return session.read.parquet(location)


def _select_readable(frame: Any) -> Any:
    functions = import_module("pyspark.sql.functions")
    columns = []
    for field in frame.schema.fields:
        quoted = "`" + field.name.replace("`", "``") + "`"
        kind = field.dataType.typeName()
        cell = functions.col(quoted)
        if kind.startswith(TEXT_SPARK_PREFIXES) and kind not in NATIVE_SPARK_TYPES:
            cell = cell.cast("string")
        elif not kind.startswith((*NATIVE_SPARK_TYPES, *NATIVE_SPARK_PREFIXES)):
            cell = functions.lit(None).cast("binary")
        columns.append(cell.alias(field.name))
    return frame.select(*columns)


def _read_rows(readable: Any, title: str) -> Iterator[Any]:
    yield _run_job(readable.toArrow, title)


def _run_job(run: Callable[[], Any], title: str) -> Any:
    """What Spark answers. Its messages hold the tracebacks of workers, which may quote a
    cell, so none is repeated.
    """
    try:
        return run()
    except Exception as error:
        failed = type(error).__name__
    raise TableError(
        f"{title}: the Spark job did not work ({failed}). Spark's own log says why; a"
        " table beyond spark.driver.maxResultSize needs a larger one. Nothing was read"
    )
