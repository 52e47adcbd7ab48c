"""Which expressions read the columns of a PostgreSQL table.

Booleans, whole numbers, floats and texts come as they are. Everything else comes as the
text that the database prints, as it would in a CSV file, because the driver's own
conversions are not faithful: a date of `infinity` wraps round to 5,877,612 BC, a
`numeric` loses its type, and `money`, `inet`, `bit` and `timetz` have no Arrow type.
Bytes, lists and structures have no text that is released, so their cells stay where
they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from understudy.databases.address import DatabaseAddress
from understudy.tables.sql import quoting

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
TRANSACTION_SETTINGS = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    # How texts of dates, instants, lengths of time and floats are spelled.
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'iso_8601'",
    "SET LOCAL lc_monetary = 'C'",
)
"""A table that changes between two counts would not be one table."""

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
    for setting in TRANSACTION_SETTINGS:
        cursor.execute(setting)


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
