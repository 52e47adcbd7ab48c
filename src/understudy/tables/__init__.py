"""Where rows are. PRIVATE: only the curator may ask this room anything, but for the public header of a source."""

from understudy.tables.reading.type_votes import CANDIDATES, EMPTY, TEXT, supports
from understudy.tables.records import ABSENT, Records
from understudy.tables.sources.source import Source, open_table
from understudy.tables.table import Table

__all__ = ["ABSENT", "CANDIDATES", "EMPTY", "TEXT", "Records", "Source", "Table", "open_table", "supports"]
