"""Numbers as a country spells them, where the owner of a CSV file declares it
(schema/columns/number_spelling.py), as SQL.

Each cell is respelled by itself. So no row changes how another is read.
"""

from __future__ import annotations

from understudy.errors import TableError
from understudy.schema.columns.number_spelling import NumberSpelling
from understudy.tables.sql import quoting


def respelled_sql(spelling: NumberSpelling, cell: str) -> str:
    """The text of a cell, respelled where it is a number in this spelling."""
    plain = cell
    for mark in spelling.separators:
        plain = f"replace({plain}, {quoting.text_literal(mark)}, '')"
    if spelling.decimal != ".":
        plain = f"replace({plain}, {quoting.text_literal(spelling.decimal)}, '.')"
    pattern = quoting.text_literal(spelling.pattern)
    return (
        f"CASE WHEN regexp_full_match({cell}, {pattern}) THEN {plain} ELSE {cell} END"
    )


def spelling_of(decimal: str | None, thousands: str | None) -> NumberSpelling | None:
    """The spelling that is declared; None where numbers are spelled as usual."""
    if decimal is None and thousands is None:
        return None
    spelling = NumberSpelling(decimal or ".", thousands or "")
    problem = spelling.find_problem()
    if problem is not None:
        raise TableError(f"{problem}. Nothing was read")
    return spelling
