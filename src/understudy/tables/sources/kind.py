"""Which kind of table a file is, by its name."""

from __future__ import annotations

from pathlib import Path

from understudy.tables.sources.compressed import ending_of_unpacked
from understudy.tables.sources.excel import EXCEL_ENDINGS
from understudy.tables.sources.foreign import ARROW_ENDINGS, STATISTICS_READERS
from understudy.tables.sources.json_lines import JSON_LINES_ENDINGS

CSV_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".psv", ".zip")
PARQUET_ENDINGS = (".parquet", ".pq")


def table_kind(path: Path) -> str | None:
    """CSV, Parquet, Excel or another kind of file that is read, by the ending of its
    name; None for any other.

    >>> table_kind(Path("people.csv.gz")), table_kind(Path("people.yaml"))
    ('csv', None)
    """
    # By the name and never by the content: rows must not decide how they are read.
    last = ending_of_unpacked(path)
    if last in PARQUET_ENDINGS:
        return "parquet"
    if last in CSV_ENDINGS:
        return "csv"
    if last in JSON_LINES_ENDINGS:
        return "json lines"
    if path.suffix.lower() in EXCEL_ENDINGS:
        return "excel"
    if path.suffix.lower() in (*ARROW_ENDINGS, *STATISTICS_READERS):
        return "foreign"
    return None
