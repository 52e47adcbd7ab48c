"""How a source stores a column: the types DuckDB knows, and the texts of cells."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.tables.sql.let_columns import QueryLayers

WHOLE_TYPES = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
)
DOUBLE_TYPES = ("FLOAT", "DOUBLE")
TEXT_TYPES = ("VARCHAR", "ENUM", "JSON", "NULL")
"""Types whose cells are texts; a column without a single cell has the type NULL in some
files, and one cell would make it another.
"""

MOMENT_TYPES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
INSTANT_TYPE = "TIMESTAMP WITH TIME ZONE"
INSTANT_TYPES = (INSTANT_TYPE, "TIMESTAMPTZ_NS")
TIME_TYPES = ("TIME", "TIME_NS")
ZONED_TIME_TYPE = "TIME WITH TIME ZONE"
PUBLIC_TYPE_NAMES = {
    "TIME_NS": "TIME",
    ZONED_TIME_TYPE: "TIME",
    "TIMESTAMPTZ_NS": INSTANT_TYPE,
}
"""What finer types are called in public: everything beyond the microsecond, and the
offset of a time of day, is cut off anyway.
"""

BLANKS_SQL = "' ' || chr(9)"


@dataclass(frozen=True)
class StoredColumn:
    """How a source stores a column: the name of its cell in a query, its type, and the
    zone its instants are shown in.

    Texts of a `guarded` one may have the apostrophe of schema/formula.py.
    """

    cell: str
    type: str
    zone: str | None = None
    guarded: bool = False


def base_type(declared: str) -> str:
    """A type's name without what could be a value.

    >>> base_type("ENUM('a', 'b')"), base_type("DECIMAL(9,2)"), base_type("INTEGER[]")
    ('ENUM', 'DECIMAL(9,2)', 'LIST')
    """
    if declared.endswith("]"):
        return "LIST"
    return (
        declared
        if declared.startswith("DECIMAL")
        else declared.split("(")[0].strip('"')
    )


def text_sql(layers: QueryLayers, stored: StoredColumn) -> str:
    """The text of a cell that is stored as text."""
    return (
        stored.cell
        if stored.type == "VARCHAR"
        else layers.read(f"CAST({stored.cell} AS VARCHAR)")
    )


def trimmed_text_sql(layers: QueryLayers, stored: StoredColumn) -> str:
    """The same without blanks around it."""
    return layers.read(f"trim({text_sql(layers, stored)}, {BLANKS_SQL})")
