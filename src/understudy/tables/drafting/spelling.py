"""How cells are spelled, where that keeps them from being read as what they are: what a
draft tells its owner.

A table is read by fixed rules, so that no row decides how the others are read. Numbers
with separators, dates in a country's own order and texts in another encoding are then
plain texts. Whoever drafts a schema looks at the rows anyway, and is told.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.tables.reading import encode
from understudy.tables.reading.parse import texts_sql
from understudy.tables.sources.source import TableSource
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers

MIN_ODD_SPELLING_SHARE = Fraction(99, 100)
"""Part of the cells that must look like something else for that to be told."""

MIN_DAMAGED_SHARE = Fraction(1, 1000)
"""Part of the cells that must be damaged for that to be told."""

DRESSED_NUMBER_PATTERN = (
    r"^[-+(]?[$€£¥]? ?(\d{1,3}([,.'’]\d{3})+|\d+)([.,]\d+)? ?[%$€£¥]?\)?$"
)
NUMBER_SIGN_PATTERN = r"[,%$€£¥'’(]"
LOCAL_DATE_PATTERN = (
    r"^(\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})|\d{4}[./]\d{1,2}[./]\d{1,2}"
    r"|[A-Z][a-z]{2,8}[ .-]+\d{1,2}[ .,-]+\d{4}|\d{1,2}[ .-]+[A-Z][a-z]{2,8}[ .,-]+\d{4})"
    r"([ T].*)?$"
)
"""The day first or last, or the month by its name."""
OPEN_QUOTE_PATTERN = r'^"[^"]*$'
SPELLING_NOTES = {
    "number": (
        "cells look like numbers with a comma, a percent or a currency sign; as 1234.5"
        " they would be numbers, and with --decimal or --thousands some are"
    ),
    "date": (
        "cells look like dates in an order that cannot be told; declare it: type: date,"
        " format: '%d/%m/%y'"
    ),
    "encoding": (
        "some cells are no text in this encoding; say which one it is (--encoding"
        " cp1252)"
    ),
    "quote": (
        "some cells begin with a quote that does not end on their line; say --multiline"
        " if cells hold line breaks"
    ),
}


def count_matches_sql(pattern: str) -> str:
    """How many texts match a pattern."""
    return f"count(*) FILTER (regexp_matches(t, {quoting.text_literal(pattern)}))"


def query_texts(source: TableSource, name: str) -> str | None:
    """A query of a column's texts, empty cells as none; None for a type that stands for
    no text.
    """
    layers = QueryLayers()
    stored = source.stored_column(name)
    found = texts_sql(layers, stored)
    if not found:
        return None
    return layers.query(
        source.relation,
        [
            f"CASE WHEN {encode.is_empty_sql(stored)} THEN NULL ELSE trim({found[0]})"
            " END AS t"
        ],
    )


def describe_spelling(source: TableSource, name: str) -> str:
    """What to tell the owner of a column of texts about how its cells are spelled;
    nothing where it is as it should be.
    """
    asked = query_texts(source, name)
    if asked is None:
        return ""
    looks_dressed = f"regexp_matches(t, {quoting.text_literal(DRESSED_NUMBER_PATTERN)})"
    has_sign = f"regexp_matches(t, {quoting.text_literal(NUMBER_SIGN_PATTERN)})"
    dressed = f"count(*) FILTER ({looks_dressed} AND {has_sign})"
    ((filled, numbers, signed, dates, broken, quoted),) = source.engine.run(
        f"SELECT count(t), {count_matches_sql(DRESSED_NUMBER_PATTERN)}, {dressed},"
        f" {count_matches_sql(LOCAL_DATE_PATTERN)}, count(*) FILTER (contains(t,"
        f" chr(65533))), {count_matches_sql(OPEN_QUOTE_PATTERN)} FROM ({asked})",
        doing=f'looking at column "{name}"',
    )
    if numbers >= MIN_ODD_SPELLING_SHARE * filled and 2 * signed >= filled > 0:
        return SPELLING_NOTES["number"]
    if dates >= MIN_ODD_SPELLING_SHARE * filled > 0:
        return SPELLING_NOTES["date"]
    if broken > MIN_DAMAGED_SHARE * filled:
        return SPELLING_NOTES["encoding"]
    return (
        SPELLING_NOTES["quote"]
        if source.kind == "csv" and quoted > MIN_DAMAGED_SHARE * filled
        else ""
    )
