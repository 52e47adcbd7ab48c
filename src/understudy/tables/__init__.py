"""Where rows are. PRIVATE: only the curator may ask this room anything, but for the public header of a source."""

from understudy.tables.ballot import CANDIDATES, EMPTY, TEXT, supports
from understudy.tables.source import Source, open_table
from understudy.tables.table import Table

__all__ = ["CANDIDATES", "EMPTY", "TEXT", "Source", "Table", "open_table", "supports"]
