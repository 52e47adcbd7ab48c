"""Dates and times in other tools' patterns (`%d/%m/%Y`), turned into the one form that
schemas and tables read.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from understudy.schema.columns.cell import parse_date, parse_moment, parse_time
from understudy.schema.formats.draft import TrackedSection

_DAY_DIRECTIVES = frozenset("aAwdbBmyYjUWxGuV")
_CLOCK_DIRECTIVES = frozenset("HIpMSfXzZ")
_ISO_PATTERNS = frozenset({
    "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%F", "%T", "%F %T",
})  # fmt: skip
"""Patterns whose texts a table reads as they are."""


def kind_of_pattern(pattern: str) -> str | None:
    """Whether a pattern writes dates, times of day or moments; None where it writes
    none of them.

    >>> kind_of_pattern("%d.%m.%Y"), kind_of_pattern("%H:%M"), kind_of_pattern("%Y-%m-%d %H:%M"), kind_of_pattern("on")
    ('date', 'time', 'datetime', None)
    """
    codes = {pattern[i + 1] for i, c in enumerate(pattern[:-1]) if c == "%"}
    day, clock = (
        bool(codes & (_DAY_DIRECTIVES | {"F", "c", "D"})),
        bool(codes & (_CLOCK_DIRECTIVES | {"T", "c", "R"})),
    )
    return "datetime" if day and clock else "date" if day else "time" if clock else None


def resolution_of_pattern(pattern: str) -> str:
    """The finest step that a pattern writes."""
    return (
        "1us"
        if "%f" in pattern
        else "1min"
        if "%M" in pattern and "%S" not in pattern
        else "1s"
    )


def to_iso_text(text: str, kind: str, pattern: str | None) -> str | None:
    """A date, moment or time in the schema's form; None where the text is none, or not
    written by the pattern.

    >>> to_iso_text("31/12/2024", "date", "%d/%m/%Y"), to_iso_text("2024-02-30", "date", None)
    ('2024-12-31', None)
    """
    readers: dict[str, Any] = {
        "date": parse_date,
        "datetime": parse_moment,
        "time": parse_time,
    }
    if readers[kind](text) is not None:
        return text
    if pattern is None or len(text) > 100 or len(pattern) > 100:
        return None
    try:
        found = datetime.strptime(text, pattern)
    except (ValueError, OverflowError, TypeError):
        return None
    if kind == "date":
        return found.date().isoformat()
    return found.time().isoformat() if kind == "time" else found.isoformat(" ")


def read_bound(
    words: TrackedSection, key: str, kind: str, pattern: str | None
) -> str | None:
    """A bound of a date, moment or time column."""
    text = words.text(key)
    if text is None:
        return None
    found = to_iso_text(text, kind, pattern)
    if found is None:
        raise words.error(key, f"`{key}` is no {kind} that its format writes")
    return found


def warn_of_pattern(words: TrackedSection, pattern: str | None) -> None:
    """Say so where the table's own cells, if they are texts, will not be read by this
    pattern.
    """
    if pattern is not None and pattern not in _ISO_PATTERNS:
        words.note(
            "its texts are written in a pattern of their own, and here only texts such"
            " as 2024-12-31 13:45 are read as dates. Others count as missing, so"
            " rewrite them first, or give a frame or Parquet file with real dates"
        )
