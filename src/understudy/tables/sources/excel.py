"""Excel files: the only sheet of a workbook, or the one that is named, written down as
a private CSV file that is read as any other.

Each cell becomes a text by itself, so no cell decides how another is read; the first
row holds the names.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterable, Sequence
from datetime import datetime, time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from understudy.errors import TableError
from understudy.tables.sources.compressed import (
    FREE_UNPACKED_BYTES,
    MAX_UNPACK_RATIO,
    UNPACK_STEP_BYTES,
)
from understudy.tables.sources.foreign import load_quietly
from understudy.tables.sources.frame import text_of_object

EXCEL_ENDINGS = (".xlsx", ".xlsm")


def write_sheet(path: Path, copy: Path, name: str | None = None) -> None:
    """Write the sheet of this name, or the only one of a workbook, to a CSV file."""
    load_quietly(partial(_write_sheet, copy, name), path, extra="excel")


def _write_sheet(copy: Path, name: str | None, path: Path) -> None:
    openpyxl = import_module("openpyxl")
    _refuse_workbook_bomb(path)
    # Values as they were last computed, and no formulas.
    workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        sheet = _choose_sheet(workbook.worksheets, name, path)
        # What a file says about its size may be wrong, and cut rows off.
        sheet.reset_dimensions()
        with copy.open("w", encoding="utf-8", newline="") as file:
            _write_rows(sheet.iter_rows(values_only=True), csv.writer(file))
    finally:
        workbook.close()


def _choose_sheet(sheets: Sequence[Any], name: str | None, path: Path) -> Any:
    """The sheet of this name; without one, the only sheet."""
    if name is None and len(sheets) == 1:
        return sheets[0]
    if name is None:
        raise TableError(
            f"{path.name}: has {len(sheets)} sheets. Name the one that is the table:"
            " --sheet NAME. Nothing was read"
        )
    for sheet in sheets:
        if sheet.title == name:
            return sheet
    raise TableError(f"{path.name}: has no sheet of that name. Nothing was read")


def _write_rows(rows: Iterable[Sequence[object]], writer: Any) -> None:
    """The header and every row that is not empty, each as wide as the header."""
    width = 0
    for row in rows:
        cells = [_text_of_cell(value) for value in row[: width or None]]
        if not any(cells):
            continue
        if not width:
            width = max(i for i, cell in enumerate(cells, start=1) if cell)
            cells = cells[:width]
        # A line is a row: one of a single empty cell would be none.
        writer.writerow(cells + [""] * (width - len(cells)))


def _text_of_cell(value: object) -> str:
    """A cell as the text that a CSV file would hold, on one line."""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()  # a workbook has no type for days
    text = text_of_object(value) or ""
    return " ".join(text.splitlines())


def _refuse_workbook_bomb(path: Path) -> None:
    """Refuse a workbook that unpacks to far more than it holds, whatever it states."""
    most = max(FREE_UNPACKED_BYTES, MAX_UNPACK_RATIO * path.stat().st_size)
    size = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                while part := file.read(UNPACK_STEP_BYTES):
                    size += len(part)
                    if size > most:
                        raise TableError(
                            f"{path.name}: unpacks to more than {MAX_UNPACK_RATIO}"
                            " times its size. Save it as CSV if you trust it. Nothing"
                            " was read"
                        )
