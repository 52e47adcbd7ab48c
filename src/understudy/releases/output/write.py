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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
from numpy.random import Generator

from understudy.atomic import write_file_atomically, write_folder_atomically
from understudy.databases.address import DatabaseAddress
from understudy.errors import Refused, ReleaseError
from understudy.releases.output.database import write_database_table
from understudy.releases.output.frames import parquet
from understudy.releases.output.frames.cells import (
    ColumnCells,
    cells_as_text,
    microsecond_values,
)
from understudy.releases.output.frames.decoding import (
    DECODE_CHUNK_ROWS,
    BinDensities,
    CodeBatches,
    PinnedPoints,
    decode_chunks,
)
from understudy.releases.output.frames.dtypes import file_column_of
from understudy.releases.output.frames.duckdb import (
    DuckdbSession,
    decimal_precision_scale,
    sql_in_natural_type,
    sql_in_original_type,
)
from understudy.releases.output.frames.spelled_values import (
    WHOLE_POINT,
    has_fixed_places,
    is_written_specially,
)
from understudy.releases.output.parquet_concat import ParquetConcatenator
from understudy.schema import (
    Categorical,
    Column,
    Datetime,
    Integer,
    Lattice,
    Real,
    Schema,
)
from understudy.schema.formula import guard_formula

WRITTEN_ROW_SUFFIXES = (".csv", ".parquet")
"""What a file's name may end in."""

EXPONENT_FREE_DECIMALS = 4
"""Decimals up to which no number is small enough for DuckDB to write an exponent: it
writes 0.0001, and 1e-05.
"""

TextSpelling = Callable[[str], str]
"""How a text is written."""


def write_rows(
    schema: Schema,
    codes: CodeBatches,
    path: str | os.PathLike[str] | DatabaseAddress,
    rng: Generator,
    *,
    pins: PinnedPoints | None = None,
    densities: BinDensities | None = None,
    guard_formulas: bool = True,
) -> None:
    """Write rows of codes as a CSV or Parquet file, by what its name ends in, or as a
    table of a database; columns in schema order.

    In a CSV file texts that a spreadsheet would run get a leading apostrophe, unless
    `guard_formulas` is False.
    """
    if isinstance(path, DatabaseAddress):
        _refuse_case_twins(schema, str(path))
        chunks = decode_chunks(schema, codes, rng, pins, densities)
        write_database_table(partial(_write_parquet, chunks), path)
        return
    suffix = Path(path).suffix.lower()
    if suffix not in WRITTEN_ROW_SUFFIXES:
        raise Refused(
            f"{path}: rows are written as {' or '.join(WRITTEN_ROW_SUFFIXES)}. Nothing"
            " was written."
        )
    if suffix == ".parquet":
        _refuse_case_twins(schema, path)
    chunks = decode_chunks(schema, codes, rng, pins, densities)
    write_chunks(chunks, path, guard_formulas=guard_formulas)


def write_chunks(
    chunks: Iterator[dict[str, ColumnCells]],
    path: str | os.PathLike[str],
    *,
    guard_formulas: bool = True,
) -> None:
    """Write chunks of cells as a CSV or Parquet file, by what its name ends in."""
    with write_file_atomically(path, private=False) as draft, _report_failure(path):
        if Path(path).suffix.lower() == ".csv":
            _write_csv(chunks, draft, guard_formula if guard_formulas else str)
        else:
            _write_parquet(chunks, draft)


def write_cells(
    columns: dict[str, ColumnCells],
    path: str | os.PathLike[str],
    *,
    private: bool,
    guard_formulas: bool = True,
) -> None:
    """Write cells as a CSV or Parquet file, by what its name ends in."""
    spell = guard_formula if guard_formulas else str
    with write_file_atomically(path, private=private) as draft, _report_failure(path):
        if Path(path).suffix.lower() == ".csv":
            _write_csv(iter([columns]), draft, spell)
        else:
            _write_parquet(iter([columns]), draft)


def write_parts(
    schema: Schema,
    codes: CodeBatches,
    folder: str | os.PathLike[str],
    rng: Generator,
    *,
    pins: PinnedPoints | None = None,
    densities: BinDensities | None = None,
) -> None:
    """Write each batch of rows as a Parquet file of its own, in a folder that appears
    whole or not at all.
    """
    _refuse_case_twins(schema, folder)
    chunks = decode_chunks(schema, codes, rng, pins, densities)
    with write_folder_atomically(folder) as draft, _report_failure(folder):
        for i, columns in enumerate(chunks):
            _write_parquet(iter([columns]), draft / f"part-{i:05d}.parquet")


def _refuse_case_twins(schema: Schema, path: str | os.PathLike[str]) -> None:
    # DuckDB's names of columns ignore case, and so do many readers of Parquet.
    if len({name.lower() for name in schema}) < len(schema):
        raise Refused(
            f"{path}: two columns' names differ only in case. Write a .csv file"
            " instead. Nothing was written."
        )


@contextmanager
def _report_failure(path: str | os.PathLike[str]) -> Iterator[None]:
    """An error of DuckDB as one line of ours."""
    try:
        yield
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise ReleaseError(
            f"{path}: could not be written ({reason}). Nothing was written."
        ) from None


def _write_csv(
    chunks: Iterator[dict[str, ColumnCells]], draft: Path, spell: TextSpelling
) -> None:
    # DuckDB has no way to append to a file, so each chunk is a file that is copied.
    part = draft.with_name("part")
    with draft.open("wb") as out, DuckdbSession() as session:
        for i, columns in enumerate(chunks):
            if i == 0:
                out.write(_csv_header(columns, spell))
            query = session.select_sql(
                {
                    f"c{j}": _csv_sql(session, cells, spell)
                    for j, cells in enumerate(columns.values())
                }
            )
            _copy_query(session, query, part, "FORMAT csv, HEADER false")
            with part.open("rb") as one:
                shutil.copyfileobj(one, out)


def _csv_header(names: Iterable[str], spell: TextSpelling) -> bytes:
    """The header line, written here because DuckDB would rename columns whose names
    differ only in case.
    """
    line = io.StringIO()
    # The usual end of a line makes the writer quote names that hold \r or \n.
    csv.writer(line).writerow([spell(name) for name in names])
    return line.getvalue().removesuffix("\r\n").encode() + b"\n"


def _write_parquet(chunks: Iterator[dict[str, ColumnCells]], draft: Path) -> None:
    if parquet.has_pyarrow():
        with parquet.ArrowParquetWriter(draft) as file:
            for columns in chunks:
                file.add_chunk(columns)
        return
    part = draft.with_name("part")
    with draft.open("wb") as out, DuckdbSession() as session:
        joined = ParquetConcatenator(out)
        for columns in chunks:
            query = session.select_sql(
                {
                    name: sql_in_original_type(session, file_column_of(cells).cells)
                    for name, cells in columns.items()
                }
            )
            options = f"FORMAT parquet, ROW_GROUP_SIZE {DECODE_CHUNK_ROWS}"
            _copy_query(session, query, part, options)
            joined.add_part(part)
        joined.write_footer()


def _copy_query(session: DuckdbSession, query: str, path: Path, options: str) -> None:
    place = str(path).replace("'", "''")
    # The draft is already a temporary file; DuckDB's own would appear beside it.
    session.run_interruptible(
        f"COPY ({query}) TO '{place}' ({options}, USE_TMP_FILE false)"
    )
    session.clear_arrays()


def _csv_sql(session: DuckdbSession, cells: ColumnCells, spell: TextSpelling) -> str:
    """The SQL of a column as a CSV file holds it: booleans and missing cells as they
    are spelled.
    """
    column = cells.column
    if isinstance(column, Categorical) or is_written_specially(column):
        text = cells_as_text(cells)
        labels = tuple(
            _guard_label(column, label, spell) for label in text.labels or ()
        )
        return session.label_sql(labels, text.positions())
    if isinstance(column, Real) and _is_exact_decimal(column):
        # As an exact decimal 1.50 stays 1.50; as a double it would become 1.5.
        exact = replace(column, dtype=f"DECIMAL(38,{column.decimals})")
        cells = replace(cells, column=exact)
    value = _point_whole_sql(column, sql_in_natural_type(session, cells))
    if isinstance(column, Datetime) and column.zone is not None:
        value = _zoned_sql(session, cells, column.zone, value)
    return _spell_missing_sql(session, cells, value, spell)


def _spell_missing_sql(
    session: DuckdbSession, cells: ColumnCells, value: str, spell: TextSpelling
) -> str:
    """A value, or the missing code of cells that have one."""
    if not cells.spelled.any():
        return value
    spelled = session.add_array(cells.spelled)
    missing = session.add_labels(tuple(map(spell, cells.column.missing)))
    words = f"list_extract({missing}, {spelled})"
    return f"CASE WHEN {spelled} > 0 THEN {words} ELSE CAST({value} AS VARCHAR) END"


def _point_whole_sql(column: Column, value: str) -> str:
    """Whole numbers with the point that their column writes behind them, or without."""
    # What a number is stored as says how it is written; a CSV file stores texts.
    if not isinstance(column, Integer | Real) or _is_stored_as_number(column):
        return value
    text = f"CAST({value} AS VARCHAR)"
    if isinstance(column, Integer):
        return f"{text} || '{WHOLE_POINT}'" if column.whole_point else value
    if (
        not _is_exact_decimal(column)
        and (column.decimals or 0) > EXPONENT_FREE_DECIMALS
    ):
        value = text = _positional_sql(column, value)
    if column.whole_point is not False:
        return value
    return f"regexp_replace({text}, '[.]0+$', '')"


def _positional_sql(column: Real, value: str) -> str:
    """A number without an exponent, with the decimals it needs and one at least."""
    exact = f"printf('%.{column.decimals}f', {value})"
    return f"regexp_replace({exact}, '([.][0-9]+?)0+$', '\\1')"


def _is_stored_as_number(column: Integer | Real) -> bool:
    return column.dtype not in (None, "VARCHAR")


def _guard_label(column: Column, label: str, spell: TextSpelling) -> str:
    """A label as a CSV file holds it. Numbers, dates and times are written by us: only
    words that stand for missing ones may be anything.
    """
    is_free_text = not isinstance(column, Lattice) or label in column.missing
    return spell(label) if is_free_text else label


def _is_exact_decimal(column: Real) -> bool:
    """Whether a column's decimals are all written; those of a binary float are not."""
    is_float = column.dtype is not None and not decimal_precision_scale(column.dtype)
    if is_float and column.trailing_zeros is None:
        return False
    return has_fixed_places(column)


def _zoned_sql(
    session: DuckdbSession, cells: ColumnCells, zone: str, value: str
) -> str:
    """An instant as the clock in its zone shows it, with the offset from UTC."""
    clock = f"timezone({session.add_labels((zone,))}[1], {value})"
    offset = f"((epoch_us({clock}) - {session.add_array(microsecond_values(cells))}) // 1000000)"
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
