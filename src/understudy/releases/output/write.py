"""Rows to CSV and Parquet files: in chunks, whole or not at all, and safe to open in a
spreadsheet.

A spreadsheet runs a cell that begins with = + - @ as a formula (CWE-1236). So in CSV
files every text that begins so gets a leading apostrophe, whatever way it came: names
of columns, labels, missing codes of columns of any type, words for true and false,
learned or declared (schema/formula.py). Numbers, dates and times are written by us and
left alone. Whoever reads the file with a program can have texts as they are
(`guard_formulas=False`). A Parquet file is not run by a spreadsheet and stays as it is.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
from numpy.random import Generator

from understudy.atomic import write_file_atomically, write_folder_atomically
from understudy.errors import Refused, ReleaseError
from understudy.releases.output.frames import parquet
from understudy.releases.output.frames.cells import (
    DECODE_CHUNK_ROWS,
    CodeBatches,
    ColumnCells,
    PinnedPoints,
    Spreads,
    cells_as_text,
    decode_chunks,
    microsecond_values,
)
from understudy.releases.output.frames.dtypes import file_column_of
from understudy.releases.output.frames.duckdb import (
    DuckdbSession,
    decimal_precision_scale,
    sql_in_natural_type,
    sql_in_original_type,
)
from understudy.releases.output.parquet_concat import ParquetConcatenator
from understudy.schema import Boolean, Categorical, Column, Datetime, Real, Schema
from understudy.schema.formula import guard_formula

WRITTEN_ROW_SUFFIXES = (".csv", ".parquet")
"""What a file's name may end in."""

TextSpelling = Callable[[str], str]
"""How a text is written."""


def write_rows(
    schema: Schema,
    codes: CodeBatches,
    path: str | os.PathLike[str],
    rng: Generator,
    *,
    pins: PinnedPoints | None = None,
    spreads: Spreads | None = None,
    guard_formulas: bool = True,
) -> None:
    """Write rows of codes as a CSV or Parquet file, by what its name ends in; columns
    in schema order.

    In a CSV file texts that a spreadsheet would run get a leading apostrophe, unless
    `guard_formulas` is False.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITTEN_ROW_SUFFIXES:
        raise Refused(
            f"{path}: rows are written as {' or '.join(WRITTEN_ROW_SUFFIXES)}. Nothing"
            " was written."
        )
    if suffix == ".parquet" and len({name.lower() for name in schema}) < len(schema):
        raise Refused(
            f"{path}: two columns' names differ only in case. Write a .csv file"
            " instead. Nothing was written."
        )
    with write_file_atomically(path, private=False) as draft:
        try:
            if suffix == ".csv":
                spell = guard_formula if guard_formulas else str
                _write_csv(
                    decode_chunks(schema, codes, rng, pins, spreads), draft, spell
                )
            else:
                _write_parquet(decode_chunks(schema, codes, rng, pins, spreads), draft)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ReleaseError(
                f"{path}: could not be written ({reason}). Nothing was written."
            ) from None


def write_parts(
    schema: Schema,
    codes: CodeBatches,
    folder: str | os.PathLike[str],
    rng: Generator,
    *,
    pins: PinnedPoints | None = None,
    spreads: Spreads | None = None,
) -> None:
    """Write each batch of rows as a Parquet file of its own, in a folder that appears
    whole or not at all.
    """
    if len({name.lower() for name in schema}) < len(schema):
        raise Refused(
            f"{folder}: two columns' names differ only in case. Write a .csv file"
            " instead. Nothing was written."
        )
    with write_folder_atomically(folder) as draft:
        try:
            for i, columns in enumerate(
                decode_chunks(schema, codes, rng, pins, spreads)
            ):
                _write_parquet(iter([columns]), draft / f"part-{i:05d}.parquet")
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ReleaseError(
                f"{folder}: could not be written ({reason}). Nothing was written."
            ) from None


def _write_csv(
    chunks: Iterator[dict[str, ColumnCells]], draft: Path, spell: TextSpelling
) -> None:
    part = draft.with_name("part")
    with draft.open("wb") as out, DuckdbSession() as session:
        for i, columns in enumerate(chunks):
            if i == 0:  # DuckDB would rename columns whose names differ only in case
                header = io.StringIO()
                csv.writer(header).writerow([spell(name) for name in columns])
                out.write(header.getvalue().removesuffix("\r\n").encode() + b"\n")
            query = session.query(
                {
                    f"c{j}": _csv_sql(session, cells, spell)
                    for j, cells in enumerate(columns.values())
                }
            )
            _copy_query(session, query, part, "FORMAT csv, HEADER false")
            with part.open("rb") as one:
                shutil.copyfileobj(one, out)


def _write_parquet(chunks: Iterator[dict[str, ColumnCells]], draft: Path) -> None:
    if parquet.has_pyarrow():
        with parquet.ArrowParquetWriter(draft) as file:
            for columns in chunks:
                file.add(columns)
        return
    part = draft.with_name("part")
    with draft.open("wb") as out, DuckdbSession() as session:
        joined = ParquetConcatenator(out)
        for columns in chunks:
            query = session.query(
                {
                    name: sql_in_original_type(session, file_column_of(cells).cells)
                    for name, cells in columns.items()
                }
            )
            _copy_query(
                session,
                query,
                part,
                f"FORMAT parquet, ROW_GROUP_SIZE {DECODE_CHUNK_ROWS}",
            )
            joined.add(part)
        joined.close()


def _copy_query(session: DuckdbSession, query: str, path: Path, options: str) -> None:
    place = str(path).replace("'", "''")
    session.run(f"COPY ({query}) TO '{place}' ({options}, USE_TMP_FILE false)")
    session.clear()


def _csv_sql(session: DuckdbSession, cells: ColumnCells, spell: TextSpelling) -> str:
    """The SQL of a column as a CSV file holds it: booleans and missing cells as they
    are spelled.
    """
    column = cells.column
    if isinstance(column, Boolean | Categorical):
        text = cells_as_text(cells)
        return session.label(tuple(map(spell, text.labels or ())), text.positions())
    if _declares_decimals(column):  # 1.50 stays 1.50
        assert isinstance(column, Real)
        exact = replace(column, dtype=f"DECIMAL(38,{column.decimals})")
        cells = replace(cells, column=exact)
    value = sql_in_natural_type(session, cells)
    if isinstance(column, Datetime) and column.zone is not None:
        value = _zoned_sql(session, cells, column.zone, value)
    if not cells.spelled.any():
        return value
    spelled = session.array(cells.spelled)
    words = (
        f"list_extract({session.words(tuple(map(spell, column.missing)))}, {spelled})"
    )
    return f"CASE WHEN {spelled} > 0 THEN {words} ELSE CAST({value} AS VARCHAR) END"


def _declares_decimals(column: Column) -> bool:
    """Whether a column's decimals are the owner's word; a binary float, or a column
    whose type was voted, has as many as it needs.
    """
    if (
        not isinstance(column, Real)
        or column.decimals is None
        or "type" in column.learned
    ):
        return False
    return column.dtype is None or decimal_precision_scale(column.dtype) is not None


def _zoned_sql(
    session: DuckdbSession, cells: ColumnCells, zone: str, value: str
) -> str:
    """An instant as the clock in its zone shows it, with the offset from UTC."""
    clock = f"timezone({session.words((zone,))}[1], {value})"
    offset = (
        f"((epoch_us({clock}) - {session.array(microsecond_values(cells))}) // 1000000)"
    )
    sign = f"CASE WHEN {offset} < 0 THEN '-' ELSE '+' END"
    local = (
        f"CAST({clock} AS VARCHAR) || printf('%s%02d:%02d', {sign}, abs({offset}) //"
        f" 3600, abs({offset}) // 60 % 60)"
    )
    # Before standard time offsets had odd seconds, which no file format reads back:
    # those moments are written in UTC.
    return (
        f"CASE WHEN {offset} % 60 = 0 THEN {local} ELSE CAST(timezone('UTC', {value})"
        " AS VARCHAR) || '+00:00' END"
    )
