"""A folder of CSV or Parquet files, or a pattern of file names, as one table.

Which files are read is decided by their names alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.errors import TableError
from understudy.tables.sources.kind import table_kind

PATTERN_CHARACTERS = "*?["
"""Characters of which one makes a name a pattern, where no file has that name."""

FOLDER_KINDS = ("csv", "parquet")
"""Kinds of files of which several are one table."""


def is_pattern(path: Path) -> bool:
    """Whether a name stands for several files."""
    has_wildcard = any(character in path.name for character in PATTERN_CHARACTERS)
    return has_wildcard and not path.exists()


def folder_of_tables(data: Any) -> Path | None:
    """The folder whose files are meant; None where a file or a frame is."""
    if not isinstance(data, str | Path):
        return None
    path = Path(data)
    if path.is_dir():
        return path.absolute()
    return path.parent.absolute() if is_pattern(path) else None


def list_folder_tables(path: Path) -> list[Path]:
    """The files of a folder or pattern that are tables by their names, in order;
    refused where there are none.
    """
    inside = path.iterdir() if path.is_dir() else path.parent.glob(path.name)
    shown = [file for file in inside if not file.name.startswith(".")]
    files = [
        file for file in shown if file.is_file() and table_kind(file) in FOLDER_KINDS
    ]
    if not files:
        raise TableError(
            f"{path}: there is no CSV or Parquet file of that name or in that folder."
            " Nothing was read"
        )
    # A link beside its file would count every row twice, and a person with it.
    identities = {(file.stat().st_dev, file.stat().st_ino) for file in files}
    if len(identities) < len(files):
        raise TableError(
            f"{path}: two names in this folder are one file (a link), whose rows would"
            " count twice. Take one away. Nothing was read"
        )
    return sorted(files)
