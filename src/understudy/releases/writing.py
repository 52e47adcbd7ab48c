"""Rows to CSV and Parquet files: in chunks, whole or not at all, and safe to open in a spreadsheet.

A spreadsheet runs a cell that begins with = + - @ as a formula (CWE-1236). So in CSV files such texts get a leading apostrophe: headers,
and labels that were learned from the rows. Numbers are left alone, and so are labels the owner declared: those are the owner's words, and a
label that changes on its way out would no longer match the schema. A Parquet file is not run by a spreadsheet and stays as it is.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
from numpy.random import Generator

from understudy.atomic import whole, whole_folder
from understudy.errors import Refused, ReleaseError
from understudy.releases.frames import parquet
from understudy.releases.frames.cells import CHUNK, Batches, Cells, Pins, Spreads, as_text, decode, microseconds
from understudy.releases.frames.duck import Session, as_it_was, decimal, typed
from understudy.releases.frames.words import shape
from understudy.releases.joining import Joined
from understudy.schema import Boolean, Categorical, Column, Datetime, Real, Schema

FORMATS = (".csv", ".parquet")
"""What a file's name may end in."""

_OPENERS = "=+-@\t\r\n\0＝＋－＠"
"""What a spreadsheet takes for the start of a formula; the wide forms count too."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def guarded(text: str) -> str:
    """A text that no spreadsheet runs; numbers are left alone.

    >>> guarded("=1+1"), guarded("-3.5"), guarded("plain")
    ("'=1+1", '-3.5', 'plain')
    """
    return f"'{text}" if text.startswith(tuple(_OPENERS)) and not _NUMBER.fullmatch(text) else text


def labels_as_written(column: Column, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Labels as a CSV file holds them: declared ones as they are, learned ones guarded."""
    if not isinstance(column, Categorical) or "values" not in column.learned:
        return labels
    declared = {*column.missing, *([column.other] if column.other is not None else [])}
    return tuple(label if label in declared else guarded(label) for label in labels)


def write_rows(
    schema: Schema,
    codes: Batches,
    path: str | os.PathLike[str],
    rng: Generator,
    *,
    pins: Pins | None = None,
    spreads: Spreads | None = None,
) -> None:
    """Write rows of codes as a CSV or Parquet file, by what its name ends in; columns in schema order."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise Refused(f"{path}: rows are written as {' or '.join(FORMATS)}. Nothing was written.")
    if suffix == ".parquet" and len({name.lower() for name in schema}) < len(schema):
        raise Refused(
            f"{path}: two columns' names differ only in case. Write a .csv file instead. Nothing was written."
        )
    with whole(path, private=False) as draft:
        try:
            if suffix == ".csv":
                _write_csv(decode(schema, codes, rng, pins, spreads), draft)
            else:
                _write_parquet(decode(schema, codes, rng, pins, spreads), draft)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ReleaseError(f"{path}: could not be written ({reason}). Nothing was written.") from None


def write_parts(
    schema: Schema,
    codes: Batches,
    folder: str | os.PathLike[str],
    rng: Generator,
    *,
    pins: Pins | None = None,
    spreads: Spreads | None = None,
) -> None:
    """Write each batch of rows as a Parquet file of its own, in a folder that appears whole or not at all."""
    if len({name.lower() for name in schema}) < len(schema):
        raise Refused(
            f"{folder}: two columns' names differ only in case. Write a .csv file instead. Nothing was written."
        )
    with whole_folder(folder) as draft:
        try:
            for i, columns in enumerate(decode(schema, codes, rng, pins, spreads)):
                _write_parquet(iter([columns]), draft / f"part-{i:05d}.parquet")
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ReleaseError(f"{folder}: could not be written ({reason}). Nothing was written.") from None


def _write_csv(chunks: Iterator[dict[str, Cells]], draft: Path) -> None:
    part = draft.with_name("part")
    with draft.open("wb") as out, Session() as session:
        for i, columns in enumerate(chunks):
            if i == 0:  # DuckDB would rename columns whose names differ only in case
                header = io.StringIO()
                csv.writer(header).writerow([guarded(name) for name in columns])
                out.write(header.getvalue().removesuffix("\r\n").encode() + b"\n")
            query = session.query({f"c{j}": _spelled(session, cells) for j, cells in enumerate(columns.values())})
            _copy(session, query, part, "FORMAT csv, HEADER false")
            with part.open("rb") as one:
                shutil.copyfileobj(one, out)


def _write_parquet(chunks: Iterator[dict[str, Cells]], draft: Path) -> None:
    if parquet.can_write():
        with parquet.ParquetFile(draft) as file:
            for columns in chunks:
                file.add(columns)
        return
    part = draft.with_name("part")
    with draft.open("wb") as out, Session() as session:
        joined = Joined(out)
        for columns in chunks:
            query = session.query({name: as_it_was(session, shape(cells).cells) for name, cells in columns.items()})
            _copy(session, query, part, f"FORMAT parquet, ROW_GROUP_SIZE {CHUNK}")
            joined.add(part)
        joined.close()


def _copy(session: Session, query: str, path: Path, options: str) -> None:
    place = str(path).replace("'", "''")
    session.run(f"COPY ({query}) TO '{place}' ({options}, USE_TMP_FILE false)")
    session.clear()


def _spelled(session: Session, cells: Cells) -> str:
    """The SQL of a column as a CSV file holds it: booleans and missing cells as they are spelled."""
    column = cells.column
    if isinstance(column, Boolean | Categorical):
        text = as_text(cells)
        return session.label(labels_as_written(column, text.labels or ()), text.positions())
    if _declares_decimals(column):  # 1.50 stays 1.50
        assert isinstance(column, Real)
        exact = replace(column, dtype=f"DECIMAL(38,{column.decimals})")
        cells = replace(cells, column=exact)
    value = typed(session, cells)
    if isinstance(column, Datetime) and column.zone is not None:
        value = _zoned(session, cells, column.zone, value)
    if not cells.spelled.any():
        return value
    spelled = session.array(cells.spelled)
    words = f"list_extract({session.words(column.missing)}, {spelled})"
    return f"CASE WHEN {spelled} > 0 THEN {words} ELSE CAST({value} AS VARCHAR) END"


def _declares_decimals(column: Column) -> bool:
    """Whether a column's decimals are the owner's word; a binary float, or a column whose type was voted, has as many as it needs."""
    if not isinstance(column, Real) or column.decimals is None or "type" in column.learned:
        return False
    return column.dtype is None or decimal(column.dtype) is not None


def _zoned(session: Session, cells: Cells, zone: str, value: str) -> str:
    """An instant as the clock in its zone shows it, with the offset from UTC."""
    clock = f"timezone({session.words((zone,))}[1], {value})"
    offset = f"((epoch_us({clock}) - {session.array(microseconds(cells))}) // 1000000)"
    sign = f"CASE WHEN {offset} < 0 THEN '-' ELSE '+' END"
    local = (
        f"CAST({clock} AS VARCHAR) || printf('%s%02d:%02d', {sign}, abs({offset}) // 3600, abs({offset}) // 60 % 60)"
    )
    # Before standard time offsets had odd seconds, which no file format reads back: those moments are written in UTC.
    return f"CASE WHEN {offset} % 60 = 0 THEN {local} ELSE CAST(timezone('UTC', {value}) AS VARCHAR) || '+00:00' END"
