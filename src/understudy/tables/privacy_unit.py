"""Units: whoever the guarantee protects has a bounded number of rows.

Each id keeps its `max_rows` rows with the lowest salted hashes; rows without an id are
dropped. Which rows an id keeps depends on that id's own rows and the salt alone, not on
other ids, the order of rows or the number of threads. So adding or removing an id
changes at most `max_rows` rows of what is kept, and no others. Equal rows have equal
hashes, and which of them is kept is all the same. Checked by brute force in
tests/tables/test_privacy_unit.py.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from understudy.schema import Column, Unit
from understudy.tables.reading.encode import is_empty_sql
from understudy.tables.sql import quoting
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.stored import StoredColumn

SALT_BYTES = 16
NESTED_TYPES = ("LIST", "STRUCT", "MAP", "UNION", "VARIANT", "GEOMETRY", "INTERVAL")


def draw_salt() -> str:
    """A fresh secret for one opening of a table, so that which rows are kept cannot be
    known beforehand.
    """
    return os.urandom(SALT_BYTES).hex()


def bound_units(
    engine: Engine,
    relation: str,
    *,
    id: StoredColumn,
    column: Column,
    unit: Unit,
    salt: str,
    cells: Sequence[StoredColumn],
    keep: Sequence[int],
) -> str:
    """A relation with the kept rows and the columns to keep, and each row's id as
    `unit`; its name.
    """
    # One cryptographic hash over the salt and the whole row, each cell with its length
    # so that no two rows are spelled alike.
    spelled = [_spell_cell_sql(cell, salt) for cell in cells]
    row = f"concat({', '.join([quoting.text_literal(salt), *spelled])})"
    named = name_id_sql(id, column)
    kept = ", ".join(f"x{i}" for i in keep)
    hashed = (
        f"SELECT {kept}, {named} AS unit, md5_number({row}) AS draw FROM {relation}"
    )
    ranked = f"row_number() OVER (PARTITION BY unit ORDER BY draw) <= {unit.max_rows}"
    query = (
        f"SELECT * EXCLUDE (draw) FROM ({hashed}) WHERE unit IS NOT NULL QUALIFY"
        f" {ranked}"
    )
    engine.run(
        f"CREATE TEMP TABLE bounded AS {query}",
        doing=f"bounding the rows of each {unit.noun}",
    )
    return "bounded"


def name_id_sql(id: StoredColumn, column: Column) -> str:
    """The text of an id, NULL where it is missing."""
    id_text = f"CAST({id.cell} AS VARCHAR)"
    absent = is_empty_sql(id)
    if column.missing:
        absent += f" OR {id_text} IN ({quoting.text_literals(column.missing)})"
    return f"CASE WHEN {absent} THEN NULL ELSE {id_text} END"


def _spell_cell_sql(stored: StoredColumn, salt: str) -> str:
    """The length and the text of a cell, as parts to join; for what is nested, which
    has no reliable text, a salted fingerprint.
    """
    # What reads alike is spelled alike: an empty text is an empty cell, however a frame
    # keeps it.
    text = f"NULLIF(CAST({stored.cell} AS VARCHAR), '')"
    if stored.type in NESTED_TYPES:
        text = (
            f"CASE WHEN {stored.cell} IS NOT NULL THEN"
            f" CAST(hash({quoting.text_literal(salt)}, {stored.cell}) AS VARCHAR) END"
        )
    return f"COALESCE(strlen({text}), -1), ':', {text}"
