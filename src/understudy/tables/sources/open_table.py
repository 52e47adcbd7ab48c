"""Opening a table: which kind of file or frame it is, its header, and a private
connection that will read its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from understudy.errors import TableError
from understudy.schema.columns.number_spelling import NumberSpelling
from understudy.tables.sources.compressed import ending_of_unpacked
from understudy.tables.sources.csv_dialect import Dialect, detect_dialect
from understudy.tables.sources.excel import write_sheet
from understudy.tables.sources.folder import folder_of_tables, list_folder_tables
from understudy.tables.sources.foreign import load_foreign
from understudy.tables.sources.frame import RepeatableStream, check_names
from understudy.tables.sources.frame_kinds import open_frame
from understudy.tables.sources.header import name_unnamed_index
from understudy.tables.sources.json_lines import (
    JSON_ENDING,
    conversion_hint,
    undeclared_keys_error,
    write_records,
)
from understudy.tables.sources.kind import table_kind
from understudy.tables.sources.parquet import ParquetFiles, check_magic_bytes
from understudy.tables.sources.parquet_metadata import read_stated_types
from understudy.tables.sources.source import TableSource, read_quietly
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.number_spelling import spelling_of
from understudy.tables.sql.physical import reading_of_format
from understudy.tables.sql.stored import PUBLIC_TYPE_NAMES, base_type


def open_table(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool | Sequence[str] = True,
    multiline: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    sheet: str | None = None,
) -> TableSource:
    """Open a CSV or Parquet file (or several, or a folder of them, or a pattern such as
    `data/*.csv`), an Excel, Arrow, Stata, SPSS or SAS file, a
    pandas, polars or pyarrow table, or a DuckDB relation.

    `sheet` names a sheet of an Excel file that has several. The other arguments concern
    CSV: what separates cells (by default what the header
    line suggests), the encoding, the names of the columns where the file has no header
    line, whether quoted cells may hold line breaks, and how numbers are spelled where
    that is not `1234.5`: the decimal mark and the separator of thousands.
    """
    numbers = spelling_of(decimal, thousands)
    folder = folder_of_tables(data)
    if folder is None:
        paths = _list_paths(data)
    else:
        paths = list_folder_tables(Path(data))
    if paths is None:
        if sheet is not None:
            raise TableError(
                "a frame has no sheets. Leave `sheet` out. Nothing was read"
            )
        return _open_frame(data)
    source = _open_files(
        paths,
        numbers,
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        multiline=multiline,
        sheet=sheet,
    )
    if folder is None:
        return source
    # One account for the folder, whichever of its files a pattern picks.
    return replace(
        source, title=folder.name, path=folder, ledger_path=_ledger_beside(folder)
    )


def _open_files(
    paths: list[Path],
    numbers: NumberSpelling | None,
    *,
    sheet: str | None,
    **declared: Any,
) -> TableSource:
    """Files of one kind as one table; what is declared concerns CSV."""
    kind = _find_common_kind(paths)
    if sheet is not None and kind != "excel":
        raise TableError(
            f"{paths[0].name}: is no Excel file, so it has no sheets. Nothing was read"
        )
    if kind == "parquet":
        return _open_parquet(paths)
    if kind != "csv":
        return _open_single_file(paths, kind, declared["header"], sheet)
    dialects = [
        read_quietly(partial(detect_dialect, path, **declared), path) for path in paths
    ]
    dialects = [replace(dialect, numbers=numbers) for dialect in dialects]
    return _open_csv(paths, dialects)


def _list_paths(data: Any) -> list[Path] | None:
    """The files that are meant; None where it is a frame."""
    if isinstance(data, str | Path):
        return [Path(data)]
    if not isinstance(data, list | tuple) or not data:
        return None
    if all(isinstance(part, str | Path) for part in data):
        return [Path(part) for part in data]
    return None


def _open_single_file(
    paths: list[Path], kind: str, header: bool | Sequence[str], sheet: str | None
) -> TableSource:
    """A file of another program, of which only one is read as a table."""
    path = paths[0]
    if len(paths) > 1:
        raise TableError(
            f"{path.name}: only CSV and Parquet files are read as one table with"
            " others. Nothing was read"
        )
    if kind == "excel":
        return _open_excel(path, sheet)
    if kind == "json lines":
        return _open_json_lines(path, header)
    source = _open_frame(load_foreign(path))
    return replace(source, title=path.name, path=path, ledger_path=_ledger_beside(path))


def _open_excel(path: Path, sheet: str | None) -> TableSource:
    """A sheet of a workbook, by way of a private CSV file."""
    engine = Engine()
    # Inside the engine's own folder, which only this user can read and which is
    # removed.
    copy = engine.directory / "sheet.csv"
    write_sheet(path, copy, sheet)
    dialect = detect_dialect(copy, delimiter=",", encoding="utf-8", header=True)
    source = _open_csv([copy], [dialect], engine=engine, name=path.name)
    return replace(source, kind="excel", path=path, ledger_path=_ledger_beside(path))


def _open_json_lines(path: Path, header: bool | Sequence[str]) -> TableSource:
    """Records whose keys are declared, by way of a private CSV file."""
    if isinstance(header, bool):
        raise undeclared_keys_error(path)
    names = check_names(list(header), path.name)
    engine = Engine()
    copy = engine.directory / "records.csv"
    write_records(path, copy, names)
    dialect = detect_dialect(copy, delimiter=",", encoding="utf-8", header=names)
    source = _open_csv([copy], [dialect], engine=engine, name=path.name)
    return replace(
        source, kind="json lines", path=path, ledger_path=_ledger_beside(path)
    )


def _open_frame(data: Any) -> TableSource:
    frame = open_frame(data)
    engine = Engine()
    # A frame needs no file: none can be read.
    engine.seal([])
    engine.register("frame", frame.data)
    declared = engine.types("frame").values()
    kinds = {
        name: base_type(kind) for name, kind in zip(frame.names, declared, strict=True)
    }
    # Before cells are read as they are stored: what the owner's frame declares.
    kinds |= frame.hidden
    public_types = _public_types(kinds)
    view = "frame"
    if isinstance(frame.data, RepeatableStream):
        kinds = _read_physical(engine, frame.data, kinds)
        view = "cells"
    return TableSource(
        names=frame.names,
        types=public_types,
        kind=frame.kind,
        dtypes=frame.dtypes,
        zones=frame.zones,
        title="table",
        ledger_path=Path("table.ledger"),
        engine=engine,
        _view=view,
        _stored_types=kinds,
    )


def _read_physical(
    engine: Engine,
    frame: RepeatableStream,
    kinds: dict[str, str],
) -> dict[str, str]:
    """Read a frame's cells as they are stored; the types that they then have."""
    physical = engine.physical(frame.source)
    # Under the same name: the view below must find the cells as they are stored.
    engine.register("frame", physical)
    stored = {}
    select = []
    for i, (name, format) in enumerate(zip(kinds, physical.formats, strict=True)):
        reading = reading_of_format(f"x{i}", format, kinds[name])
        stored[name] = reading.type
        select.append(f"{reading.expression} AS x{i}")
    engine.run(
        f"CREATE VIEW cells AS SELECT {', '.join(select)} FROM frame",
        doing="opening the table",
    )
    return stored


def _find_common_kind(paths: list[Path]) -> str:
    """CSV, Parquet or another kind, the same for all files."""
    for path in paths:
        if path.is_dir():
            raise TableError(
                f"{path}: is a directory. Name the files in it. Nothing was read"
            )
        if not path.is_file():
            raise TableError(f"{path}: there is no such file. Nothing was read")
    kinds = {_require_table_kind(path) for path in paths}
    if len(kinds) > 1:
        raise TableError(
            "files of several kinds cannot be read as one table. Nothing was read"
        )
    return kinds.pop()


def _ledger_beside(path: Path) -> Path:
    """The account of a file: beside the file itself, also where the path is a symbolic
    link.
    """
    # Two links to one file must share its account, or its budget could be spent twice.
    real = path.resolve() if path.is_symlink() else path
    return real.with_name(real.name + ".ledger")


def _open_csv(
    paths: list[Path],
    dialects: list[Dialect],
    *,
    engine: Engine | None = None,
    name: str | None = None,
) -> TableSource:
    """CSV files as one table, called `name` where they are copies."""
    path = paths[0]
    dialect = dialects[0]
    title = name or path.name
    where = f"{title}:{dialect.line}" if dialect.header else title
    header = dialect.names
    index_name = None
    if dialect.header:
        header, index_name = name_unnamed_index(header)
    names = check_names(list(header), where)
    for other, its_dialect in zip(paths, dialects, strict=True):
        # Blank lines before a header make no difference.
        # Columns are taken by place: another header would give cells another meaning.
        if replace(its_dialect, line=dialect.line) != dialect:
            raise TableError(
                f"{other.name}:{its_dialect.line}: its header differs from that of"
                f" {path.name}. Nothing was read"
            )
    engine = engine or Engine()
    engine.seal(paths)
    return TableSource(
        names=names,
        types=None,
        kind="csv",
        index_name=index_name,
        dtypes={},
        zones={},
        title=title,
        path=path,
        ledger_path=_ledger_beside(path),
        engine=engine,
        _view="cells",
        _dialect=dialect,
        _paths=tuple(paths),
    )


def _open_parquet(paths: list[Path]) -> TableSource:
    for path in paths:
        check_magic_bytes(path)
    engine = Engine()
    # Sealed before the first query: no SQL can reach a file other than these.
    engine.seal(paths)
    files = ParquetFiles(paths, engine)
    kinds = files.types
    names = check_names([column.name for column in files.columns], paths[0].name)
    beside, zones = read_stated_types(paths[0], kinds)
    return TableSource(
        names=names,
        types=_public_types(kinds),
        kind="parquet",
        dtypes=kinds | beside,  # so that a release writes the types it read
        zones=zones,
        title=paths[0].name,
        path=paths[0],
        ledger_path=_ledger_beside(paths[0]),
        engine=engine,
        _view="cells",
        _stored_types=files.stored_types,
        _parquet=files,
    )


def _public_types(kinds: dict[str, str]) -> dict[str, str]:
    return {name: PUBLIC_TYPE_NAMES.get(kind, kind) for name, kind in kinds.items()}


def _require_table_kind(path: Path) -> str:
    kind = table_kind(path)
    if kind is not None:
        return kind
    if ending_of_unpacked(path) == JSON_ENDING:
        raise TableError(
            f"{path.name}: JSON is read line by line, from files called .jsonl;"
            f" {conversion_hint(path)}. Nothing was read"
        )
    raise TableError(
        f"{path.name}: is neither a CSV nor a Parquet file by its name (.csv,"
        " .parquet), nor any other that is read (.xlsx, .feather, .arrow, .dta, .sav,"
        " .por, .xpt, .sas7bdat, .jsonl). Nothing was read"
    )
