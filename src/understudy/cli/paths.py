"""Where files go: checked before anything is spent, so that a paid answer always has
somewhere to go.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from understudy.databases.address import DatabaseAddress, refuse_remote
from understudy.errors import Refused, TableError, UnderstudyError

ROW_OUTPUT_SUFFIXES = (".csv", ".parquet")
"""What a file of rows may be called."""

PACKED_SUFFIXES = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""Endings of packed files, whose names end twice: people.csv.gz."""


def check_table_input(path: Path | DatabaseAddress) -> None:
    """The file is there, or the folder or pattern of files that are one table, or the
    file of a database.
    """
    if isinstance(path, DatabaseAddress):
        if path.path is not None:
            check_input(path.path)
        return
    refuse_remote(str(path))
    if not list_inputs(path):
        check_input(path)


def list_inputs(path: Path) -> list[Path]:
    """The files that a folder or pattern means; none where a path is a file's."""
    if path.is_file():
        return []
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.tables.sources.folder import folder_of_tables, list_folder_tables

    return [] if folder_of_tables(path) is None else list_folder_tables(path)


def check_input(path: Path) -> None:
    """The file is there."""
    if not path.exists():
        raise TableError(f"{path}: there is no such file. Nothing was spent.")
    if path.is_dir():
        raise TableError(f"{path}: is a directory, not a file. Nothing was spent.")


def name_output(file: Path | DatabaseAddress, ending: str) -> Path:
    """What is made of a file where no output is named: beside it, by its own name.

    >>> str(name_output(Path("people.csv.gz"), "-synthetic.csv"))
    'people-synthetic.csv'
    """
    if isinstance(file, DatabaseAddress) or list_inputs(file):
        raise click.UsageError("name a file for what is made of this table with -o")
    name = file.stem if file.suffix.lower() in PACKED_SUFFIXES else file.name
    return file.with_name(Path(name).stem + ending)


def check_outputs(
    outputs: Iterable[Path | DatabaseAddress | None],
    *,
    inputs: Iterable[Path | DatabaseAddress | None],
    rows: Path | DatabaseAddress | None = None,
) -> None:
    """Every output can be written, is no input, and is no other output; `rows` must end
    in .csv or .parquet, or be a new table of a database.
    """
    if isinstance(rows, DatabaseAddress):
        _check_database_output(rows)
        outputs = [path for path in outputs if path is not rows]
        rows = None
    if rows is not None and rows.suffix.lower() not in ROW_OUTPUT_SUFFIXES:
        raise Refused(
            f"{rows}: rows are written as {' or '.join(ROW_OUTPUT_SUFFIXES)}. Nothing"
            " was spent."
        )
    # By device and inode: two names may be one file.
    taken = {}
    for source in _keep_paths(inputs):
        # Of a folder or a pattern, the files in it too.
        for file in (source, *list_inputs(source)):
            taken[_identify_file(file)] = file
        if rows is not None:
            _refuse_rows_among(source, rows)
    for path in _keep_paths(outputs):
        if _identify_file(path) in taken:
            raise Refused(
                f"{path}: this file is used for something else here. Name another."
                " Nothing was spent."
            )
        taken[_identify_file(path)] = path
        _refuse_unwritable(path)


def _keep_paths(files: Iterable[Path | DatabaseAddress | None]) -> list[Path]:
    """The files among those that are named; addresses of databases are checked apart."""
    return [file for file in files if isinstance(file, Path)]


def _refuse_unwritable(path: Path) -> None:
    """Refuse a path at which no file can be made or replaced."""
    if path.exists() and not path.is_file():
        raise Refused(f"{path}: is not a file. Nothing was spent.")
    if not path.parent.is_dir():
        raise Refused(
            f"{path}: there is no directory {path.parent}. Make it first. Nothing was"
            " spent."
        )
    # The folder, not the file: a new file replaces the old one whole.
    if not os.access(path.parent, os.W_OK):
        raise Refused(f"{path}: {path.parent} cannot be written to. Nothing was spent.")


def _check_database_output(address: DatabaseAddress) -> None:
    """The database can be reached, and has no such table yet."""
    from understudy.releases.output.database import refuse_existing_table

    reason = ""
    try:
        refuse_existing_table(address)
    except UnderstudyError as error:
        reason = error.cause
    if reason:
        raise Refused(f"{reason}. Nothing was spent.")


def _refuse_rows_among(source: Path, rows: Path) -> None:
    """Refuse synthetic rows in a folder that is read as a table, or under a name that
    its pattern means: the next run would take them for real ones.
    """
    parts = list_inputs(source)
    is_meant = source.is_dir() or rows.match(source.name)
    if parts and is_meant and parts[0].parent.resolve() == rows.parent.resolve():
        raise Refused(
            f"{rows}: lies in the folder that is read as a table. Write it elsewhere."
            " Nothing was spent."
        )


def check_cases(
    rows: Path | DatabaseAddress,
    header: Iterable[str],
    declared: Iterable[str] | None = None,
) -> None:
    """Refuse a Parquet file whose column names differ only in case, before anything is
    spent: its readers take such names for one.

    Only declared names are shown. A header line is not known yet to be one: it may be a
    row of data.
    """
    if isinstance(rows, Path) and rows.suffix.lower() != ".parquet":
        return
    seen: set[str] = set()
    for name in header if declared is None else declared:
        if name.lower() in seen:
            what = "the names of two columns differ"
            if declared is not None:
                what = f'the name of column "{name}" differs from another'
            raise Refused(
                f"{rows}: {what} only in case. Write a .csv file instead. Nothing was"
                " spent."
            )
        seen.add(name.lower())


def _identify_file(path: Path) -> object:
    """One name for a file, however it is called: a link or a hard link is the same
    file.
    """
    try:
        status = path.stat()
    # It does not exist yet: its place stands for it.
    except OSError:
        return str(path.resolve())
    return status.st_dev, status.st_ino
