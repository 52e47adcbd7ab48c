"""A table of a database that a program is connected to already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DatabaseTable:
    """A table, by an open connection to its database: one of ADBC, or any other that
    follows Python's DB-API, such as `sqlite3`.

    `schema` is the schema of the database that holds the table, where it has several. The
    connection stays open, and is for reading alone.

    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE people (age INTEGER, smoker TEXT)")
    >>> _ = connection.executemany("INSERT INTO people VALUES (?, ?)", [(34, "no")] * 9)
    >>> import understudy as us
    >>> drafted = us.describe(us.DatabaseTable(connection, "people"))
    >>> [column.name for column in drafted.columns]
    ['age', 'smoker']
    """

    connection: Any
    table: str
    schema: str | None = None
