"""Which expressions read the columns of a PostgreSQL table.

Booleans, whole numbers, floats and texts come as they are. Everything else comes as the
text that the database prints, as it would in a CSV file, because the driver's own
conversions are not faithful: a date of `infinity` wraps round to 5,877,612 BC, a
`numeric` loses its type, and `money`, `inet`, `bit` and `timetz` have no Arrow type.
Bytes, lists and structures have no text that is released, so their cells stay where
they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from understudy.databases.address import DatabaseAddress
from understudy.tables.sql import quoting
from understudy.tables.streams.open_stream import BatchReader

NATIVE_POSTGRES_TYPES = (
    "bool",
    "int2",
    "int4",
    "int8",
    "float4",
    "float8",
    "text",
    "varchar",
)
READING_TRANSACTION = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
"""A table that changes between two counts would not be one table."""

PLAIN_SPELLING = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "iso_8601",
    "lc_monetary": "C",
    "client_encoding": "UTF8",
}
"""How texts of dates, instants, lengths of time and money are spelled, and their letters
sent: the driver takes what the database sends for UTF-8.
"""

UNKNOWN_ENCODING = "SQL_ASCII"
"""Of a database that does not know what its bytes mean, and sends them as they are; told
to send UTF-8, it would stop at the first that is none.
"""

ARRAY_CATEGORY = "A"
COMPOSITE_KIND = "c"
"""PostgreSQL's letters for lists and structures (pg_type.typcategory, typtype)."""

COLUMN_QUERY = """\
SELECT a.attname, COALESCE(b.typname, t.typname),
       COALESCE(b.typtype, t.typtype)::text, COALESCE(b.typcategory, t.typcategory)::text
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
     LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
WHERE a.attrelid = {relation}::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum"""
"""Names and types of a table's columns; of a domain the type that it restricts."""

PLACE_QUERY = """\
SELECT current_database(), n.nspname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = {relation}::regclass"""
"""The database and the schema that a table is in: an address may leave either to the
server, to a service file or to the user's own search path.
"""


@dataclass(frozen=True)
class PostgresColumn:
    """A column of a table, and the database's own words for its type."""

    name: str
    type: str
    kind: str
    category: str

    @property
    def is_opaque(self) -> bool:
        """Whether its cells have no text that could be released."""
        nested = self.category == ARRAY_CATEGORY or self.kind == COMPOSITE_KIND
        return nested or self.type == "bytea"

    @property
    def expression(self) -> str:
        """Its cell in a query."""
        cell = quoting.quoted_identifier(self.name)
        if self.is_opaque:
            return f"NULL::bytea AS {cell}"
        if self.type in NATIVE_POSTGRES_TYPES:
            return f"{cell}::{self.type} AS {cell}"
        return f"{cell}::text AS {cell}"


def begin_postgres_reading(cursor: Any) -> None:
    """Make the transaction one that reads a single state of the database."""
    cursor.execute(READING_TRANSACTION)
    _change_settings(cursor, _plain_spelling(cursor))


def read_spelled_plainly(cursor: Any, read_batches: BatchReader) -> Iterator[Any]:
    """The same rows by a connection whose owner gets its settings back."""
    plain = _plain_spelling(cursor)
    shown = ", ".join(f"current_setting('{name}')" for name in plain)
    cursor.execute(f"SELECT {shown}")
    before = dict(zip(plain, cursor.fetchone(), strict=True))
    _change_settings(cursor, plain)
    try:
        yield from read_batches()
    finally:
        # After a query that failed, the owner's own rollback undoes them.
        with suppress(Exception):
            _change_settings(cursor, before)


def _plain_spelling(cursor: Any) -> dict[str, str]:
    cursor.execute("SELECT getdatabaseencoding()::text")
    [encoding] = cursor.fetchone()
    plain = dict(PLAIN_SPELLING)
    if encoding == UNKNOWN_ENCODING:
        del plain["client_encoding"]
    return plain


def _change_settings(cursor: Any, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        cursor.execute(f"SET {name} = {quoting.text_literal(value)}")


def locate_postgres_table(cursor: Any, address: DatabaseAddress) -> DatabaseAddress:
    """The address with the table's own database and schema, so that it has one account."""
    relation = quoting.text_literal(
        quoting.name_relation(address.schema, address.table)
    )
    cursor.execute(PLACE_QUERY.format(relation=relation))
    [(database, schema)] = cursor.fetchall()
    return replace(address, database=database, schema=schema)


def query_postgres_columns(cursor: Any, relation: str) -> str:
    """The query that reads every column of a relation, by what the catalogue says."""
    cursor.execute(COLUMN_QUERY.format(relation=quoting.text_literal(relation)))
    columns = [PostgresColumn(*row) for row in cursor.fetchall()]
    select = ", ".join(column.expression for column in columns)
    return f"SELECT {select} FROM {relation}"
