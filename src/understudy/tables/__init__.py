"""Where rows are. PRIVATE: only the curator may ask this room anything, but for the
public header of a source.
"""

from understudy.tables.reading.type_votes import (
    EMPTY_CANDIDATE,
    NUMBER_CANDIDATES,
    PLAIN_STEPS,
    STEP_CANDIDATES,
    TEXT_CANDIDATE,
    TYPE_CANDIDATES,
    is_readable_as,
)
from understudy.tables.records import ABSENT_PLACE, Records
from understudy.tables.sources.open_table import open_table
from understudy.tables.sources.source import TableSource
from understudy.tables.table import Table

__all__ = [
    "ABSENT_PLACE",
    "EMPTY_CANDIDATE",
    "NUMBER_CANDIDATES",
    "PLAIN_STEPS",
    "STEP_CANDIDATES",
    "TEXT_CANDIDATE",
    "TYPE_CANDIDATES",
    "Records",
    "Table",
    "TableSource",
    "is_readable_as",
    "open_table",
]
