"""Dates and times in other tools' patterns (`%d/%m/%Y`), converted to the ISO form that
schemas and tables read.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.columns.cell import parse_date, parse_moment, parse_time
from understudy.schema.columns.temporal import Date, Datetime, Time
from understudy.schema.formats.draft import TrackedSection

# Directives of strftime; %c stands for a date and a clock.
_DAY_DIRECTIVES = frozenset("aAwdbBmyYjUWxGuVFcD")
_CLOCK_DIRECTIVES = frozenset("HIpMSfXzZTcR")
_ISO_PATTERNS = frozenset({
    "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S.%f", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%F", "%T", "%F %T",
})  # fmt: skip
"""Patterns whose texts a table reads as they are."""

# A longer text or pattern is no date, and strptime would compile it all the same.
_MAX_PATTERN_CHARACTERS = 100


def kind_of_pattern(pattern: str) -> str | None:
    """Whether a pattern writes dates, times of day or moments; None if it writes none
    of them.

    >>> kind_of_pattern("%d.%m.%Y"), kind_of_pattern("%H:%M"), kind_of_pattern("on")
    ('date', 'time', None)
    """
    directives = {pattern[i + 1] for i, c in enumerate(pattern[:-1]) if c == "%"}
    has_day = not directives.isdisjoint(_DAY_DIRECTIVES)
    has_clock = not directives.isdisjoint(_CLOCK_DIRECTIVES)
    if has_day:
        return "datetime" if has_clock else "date"
    return "time" if has_clock else None


def resolution_of_pattern(pattern: str) -> str:
    """The finest step that a pattern writes."""
    if "%f" in pattern:
        return "1us"
    return "1min" if "%M" in pattern and "%S" not in pattern else "1s"


def to_iso_text(text: str, kind: str, pattern: str | None) -> str | None:
    """A date, moment or time in the schema's form; None if the text is none, or not
    written in the pattern.

    >>> to_iso_text("31/12/2024", "date", "%d/%m/%Y"), to_iso_text("2024-02-30", "date", None)
    ('2024-12-31', None)
    """
    readers: dict[str, Any] = {
        "date": parse_date,
        "datetime": parse_moment,
        "time": parse_time,
    }
    # An ISO text is taken as it is, whatever the pattern.
    if readers[kind](text) is not None:
        return text
    if pattern is None or max(len(text), len(pattern)) > _MAX_PATTERN_CHARACTERS:
        return None
    try:
        moment = datetime.strptime(text, pattern)
    except (ValueError, OverflowError, TypeError):
        return None
    if kind == "date":
        return moment.date().isoformat()
    return moment.time().isoformat() if kind == "time" else moment.isoformat(" ")


def read_bound(
    words: TrackedSection, key: str, kind: str, pattern: str | None
) -> str | None:
    """A bound of a date, moment or time column."""
    text = words.text(key)
    if text is None:
        return None
    iso_text = to_iso_text(text, kind, pattern)
    if iso_text is None:
        raise words.error(key, f"`{key}` is no {kind} that its format writes")
    return iso_text


def format_of_pattern(
    words: TrackedSection, kind: str, pattern: str | None
) -> str | None:
    """The pattern as the `format` of a column; None, with a note, if texts in it will
    not be read as dates in the table's cells.
    """
    if pattern is None or pattern in _ISO_PATTERNS:
        return None
    classes: dict[str, Any] = {"date": Date, "datetime": Datetime, "time": Time}
    try:
        classes[kind](name="x", format=pattern)
    except SchemaError:
        words.note(
            "its texts are written in a pattern of their own, and here only texts such"
            " as 2024-12-31 13:45 are read as dates. Others count as missing, so"
            " rewrite them first, or give a frame or Parquet file with real dates"
        )
        return None
    return pattern
