"""Synthetic rows to a table of a database: a new table that appears whole or not at all.

Rows wait in a private Parquet file until all of them are there; then one transaction
makes the table and fills it. A table that exists is never replaced.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from understudy.databases.address import DatabaseAddress
from understudy.databases.connection import ask_quietly, connect_database
from understudy.databases.spark_session import find_spark_session
from understudy.errors import ReleaseError
from understudy.releases.output.spark import refuse_existing_spark_table
from understudy.scratch import Scratch

UNWRITTEN_OUTCOME = "Nothing was written"
SQLITE_NATIVE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "VARCHAR")


def write_database_table(
    write_parquet: Callable[[Path], None], address: DatabaseAddress
) -> None:
    """Make a table of what `write_parquet` writes to a file."""
    refuse_existing_table(address)
    scratch = Scratch(Path(tempfile.gettempdir()))
    try:
        scratch.make()
        draft = scratch.rows / "rows.parquet"
        write_parquet(draft)
        if address.system == "duckdb":
            _copy_to_duckdb(draft, address)
        else:
            _copy_by_adbc(draft, address)
    finally:
        scratch.remove()


def refuse_existing_table(address: DatabaseAddress) -> None:
    """Refuse a database that cannot be reached, or in which the user may not make this
    table, and a table that is there already.
    """
    if address.system == "spark":
        session = find_spark_session(address.title, UNWRITTEN_OUTCOME)
        refuse_existing_spark_table(session, address)
        return
    if address.path is not None and not address.path.parent.is_dir():
        raise ReleaseError(
            f"{address}: there is no directory {address.path.parent}. Make it first."
            f" {UNWRITTEN_OUTCOME}"
        )
    if address.path is not None and not address.path.exists():
        return
    if _is_there(address):
        raise ReleaseError(
            f"{address}: the table exists already. Name another, or drop it first."
            f" {UNWRITTEN_OUTCOME}"
        )


def _is_there(address: DatabaseAddress) -> bool:
    if address.system == "duckdb":
        with _open_duckdb(address) as connection:
            return bool(
                connection.execute(DUCKDB_NAMES_QUERY, [address.table]).fetchall()
            )
    connection = connect_database(address, outcome=UNWRITTEN_OUTCOME)
    try:
        return ask_quietly(
            partial(_find_table, connection, address), address.title, UNWRITTEN_OUTCOME
        )
    finally:
        connection.close()


def _find_table(connection: Any, address: DatabaseAddress) -> bool:
    with connection.cursor() as cursor:
        if address.system == "sqlite":
            cursor.execute(SQLITE_NAMES_QUERY, [address.table])
        else:
            cursor.execute(POSTGRES_NAMES_QUERY, [address.table, address.schema or ""])
        is_there = bool(cursor.fetchall())
        if address.system == "postgresql" and not is_there:
            # Made and undone: whether the user may, only the database can say.
            names = [name for name in (address.schema, address.table) if name]
            cursor.execute(f"CREATE TABLE {'.'.join(map(_quote_name, names))} ()")
            connection.rollback()
        return is_there


DUCKDB_NAMES_QUERY = (
    "SELECT 1 FROM information_schema.tables WHERE lower(table_name) = lower(?)"
)
SQLITE_NAMES_QUERY = "SELECT 1 FROM sqlite_master WHERE lower(name) = lower(?)"
POSTGRES_NAMES_QUERY = (
    "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE"
    " c.relname = $1::text AND n.nspname = COALESCE(NULLIF($2::text, ''), current_schema())"
)
"""Whether a table of a name is there; systems differ in whether case matters."""


def _open_duckdb(address: DatabaseAddress) -> duckdb.DuckDBPyConnection:
    connection = None
    with suppress(duckdb.Error):
        connection = duckdb.connect(str(address.path))
    if connection is None:
        raise ReleaseError(
            f"{address}: is no DuckDB file, or is open elsewhere. {UNWRITTEN_OUTCOME}"
        )
    return connection


def _copy_to_duckdb(draft: Path, address: DatabaseAddress) -> None:
    name = _quote_name(address.table)
    failed = False
    with _open_duckdb(address) as connection:
        try:
            connection.execute(
                f"CREATE TABLE {name} AS SELECT * FROM read_parquet(?)", [str(draft)]
            )
        except duckdb.Error:
            failed = True
    if failed:
        raise ReleaseError(f"{address}: cannot be written to. {UNWRITTEN_OUTCOME}")


def _copy_by_adbc(draft: Path, address: DatabaseAddress) -> None:
    connection = connect_database(address, writes=True, outcome=UNWRITTEN_OUTCOME)
    try:
        ask_quietly(
            partial(_ingest_rows, connection, draft, address),
            address.title,
            UNWRITTEN_OUTCOME,
        )
    finally:
        # What was not committed is gone with the connection.
        connection.close()


def _ingest_rows(connection: Any, draft: Path, address: DatabaseAddress) -> None:
    with duckdb.connect() as rows, connection.cursor() as cursor:
        relation = _to_known_types(rows.read_parquet(str(draft)), address.system)
        cursor.adbc_ingest(
            address.table,
            relation.to_arrow_reader(),
            mode="create",
            **_schema_of(address),
        )
    connection.commit()


def _schema_of(address: DatabaseAddress) -> dict[str, Any]:
    return {} if address.schema is None else {"db_schema_name": address.schema}


def _to_known_types(
    relation: duckdb.DuckDBPyRelation, system: str
) -> duckdb.DuckDBPyRelation:
    """The rows in types that the driver of a system can write."""
    columns = []
    for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
        cell = _quote_name(name)
        known = _known_type(kind, system)
        columns.append(cell if known == kind else f"CAST({cell} AS {known}) AS {cell}")
    return relation.project(", ".join(columns))


def _known_type(kind: str, system: str) -> str:
    if kind.startswith("U") and kind.endswith("INT"):
        return "BIGINT" if kind != "UBIGINT" else "DECIMAL(38,0)"
    if system == "postgresql" or kind in SQLITE_NATIVE_TYPES:
        return kind
    if kind.startswith(("DECIMAL", "FLOAT")):
        return "DOUBLE"
    # SQLite has no other types: true is 1, and days and moments are texts.
    return "INTEGER" if kind == "BOOLEAN" else "VARCHAR"


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
