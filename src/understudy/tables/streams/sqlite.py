"""Which expressions read the columns of an SQLite table.

SQLite stores any value in any column: a text sits in a column of integers, and a driver
that takes the type of a column from its first rows fails at a later one. So each cell
comes as a text by itself, as it would in a CSV file, and no row decides how another is
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from understudy.tables.sql import quoting

MARKER_NAME = "understudy marker"
"""The column that tells the first row of a result from those of the table."""


def read_sqlite_names(cursor: Any, table: str) -> list[str]:
    """The names of a table's columns, as `SELECT *` gives them; none where there is no
    such table.
    """
    # With columns that are computed, which table_info leaves out; 1 marks those that a
    # virtual table hides.
    cursor.execute(
        f"SELECT name FROM pragma_table_xinfo({quoting.text_literal(table)}) WHERE"
        " hidden <> 1"
    )
    return [row[0] for row in cursor.fetchall()]


def fetch_sqlite_batches(
    cursor: Any, names: Sequence[str], relation: str
) -> Iterator[Any]:
    """The rows of a relation as pyarrow tables of texts, by ADBC.

    The driver takes the types of columns from the first rows. So a row of texts comes
    before those of the table, under a marker by which it is dropped.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = ", ".join(["''"] * len(names))
    marker = quoting.quoted_identifier(MARKER_NAME)
    cursor.execute(
        f"SELECT 0 AS {marker}, {texts} UNION ALL"
        f" SELECT 1, {select_sqlite_texts(names)} FROM {relation}"
    )
    for batch in cursor.fetch_record_batch():
        rows = pa.Table.from_batches([batch])
        rows = rows.filter(pc.equal(rows.column(0), 1))
        yield pa.table(rows.columns[1:], names=list(names))


def select_sqlite_texts(names: Iterable[str]) -> str:
    """What a query selects to read these columns as texts."""
    return ", ".join(map(_sqlite_text_sql, names))


def select_sqlite_bytes(names: Iterable[str]) -> str:
    """The same as bytes: Python's own driver stops at bytes that are no text."""
    return ", ".join(f"CAST({_sqlite_text_sql(name)} AS BLOB)" for name in names)


def _sqlite_text_sql(name: str) -> str:
    cell = quoting.quoted_identifier(name)
    text = f"CAST({cell} AS TEXT)"
    # SQLite prints 15 digits of a float, and 17 where those would be another number.
    return (
        f"CASE WHEN typeof({cell}) = 'real' AND CAST({text} AS REAL) <> {cell} THEN"
        f" printf('%!.17g', {cell}) ELSE {text} END"
    )
