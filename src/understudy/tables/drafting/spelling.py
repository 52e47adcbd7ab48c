"""How cells are spelled, where that keeps them from being read as what they are: what a draft tells its owner.

A table is read by fixed rules, so that no row decides how the others are read. Numbers with separators, dates in a country's own order and
texts in another encoding are then plain texts. Whoever drafts a schema looks at the rows anyway, and is told.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.tables.reading import encode
from understudy.tables.reading.parse import texts
from understudy.tables.sources.source import Source
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import Layers

NEARLY = Fraction(99, 100)
"""Part of the cells that must look like something else for that to be told."""

SOME = Fraction(1, 1000)
"""Part of the cells that must be damaged for that to be told."""

DRESSED = r"^[-+(]?[$€£¥]? ?(\d{1,3}([,.'’]\d{3})+|\d+)([.,]\d+)? ?[%$€£¥]?\)?$"
SIGNS = r"[,%$€£¥'’(]"
DATES = r"^\d{1,2}([./-])\d{1,2}[./-](\d{2}|\d{4})( .*)?$"
OPEN = r'^"[^"]*$'
TOLD = {
    "number": "cells look like numbers with a comma, a percent or a currency sign; as 1234.5 they would be numbers",
    "date": "cells look like dates; as 2024-02-29 they would be dates",
    "encoding": "some cells are no text in this encoding; say which one it is (--encoding cp1252)",
    "quote": "some cells begin with a quote that does not end on their line; say --multiline if cells hold line breaks",
}


def part(pattern: str) -> str:
    """How many texts match a pattern."""
    return f"count(*) FILTER (regexp_matches(t, {quoting.text(pattern)}))"


def cells(source: Source, name: str) -> str | None:
    """A query of a column's texts, empty cells as none; None for a type that stands for no text."""
    layers, stored = Layers(), source.stored(name)
    found = texts(layers, stored)
    if not found:
        return None
    return layers.query(source.relation, [f"CASE WHEN {encode.empty(stored)} THEN NULL ELSE trim({found[0]}) END AS t"])


def spelling(source: Source, name: str) -> str:
    """What to tell the owner of a column of texts about how its cells are spelled; nothing where it is as it should be."""
    asked = cells(source, name)
    if asked is None:
        return ""
    dressed = (
        f"count(*) FILTER (regexp_matches(t, {quoting.text(DRESSED)}) AND regexp_matches(t, {quoting.text(SIGNS)}))"
    )
    ((filled, numbers, signed, dates, broken, quoted),) = source.engine.run(
        f"SELECT count(t), {part(DRESSED)}, {dressed}, {part(DATES)}, count(*) FILTER (contains(t, chr(65533))), {part(OPEN)} "
        f"FROM ({asked})",
        doing=f'looking at column "{name}"',
    )
    if numbers >= NEARLY * filled and 2 * signed >= filled > 0:
        return TOLD["number"]
    if dates >= NEARLY * filled > 0:
        return TOLD["date"]
    if broken > SOME * filled:
        return TOLD["encoding"]
    return TOLD["quote"] if source.kind == "csv" and quoted > SOME * filled else ""
