"""Sources: rows of any kind as one relation on a private connection.

A frame, a Parquet file and a CSV file all become a view whose columns are x0, x1, … in
the order of the header. What a source tells about itself is public: its header, and
which columns of a frame or Parquet file hold nothing that has a text. The types they
are stored in decide how a cell is read and reach no release. A CSV file has none; each
of its cells is text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from understudy.errors import TableError
from understudy.schema.formula import unguard_formula
from understudy.tables.sources.compressed import (
    COMPRESSION_OF_ENDING,
    refuse_packed_bomb,
)
from understudy.tables.sources.csv import prepare_csv
from understudy.tables.sources.csv_copy import MAX_CSV_ROW_BYTES
from understudy.tables.sources.csv_dialect import Dialect, detect_dialect
from understudy.tables.sources.frame import RepeatableStream, check_names, open_frame
from understudy.tables.sources.header import find_header_oddity
from understudy.tables.sources.parquet import ParquetFiles, check_magic_bytes
from understudy.tables.sources.parquet_metadata import read_stated_types
from understudy.tables.sql import quoting
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.physical import reading_of_format
from understudy.tables.sql.stored import PUBLIC_TYPE_NAMES, StoredColumn, base_type

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".psv")
PARQUET_ENDINGS = (".parquet", ".pq")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class TableSource:
    """Rows, opened but not read. Only its header is public.

    `names` is the header; `types` what the file or frame is stored as, None for CSV;
    `kind` what the owner gave (csv, parquet, pandas, polars, pyarrow, duckdb); `dtypes`
    a frame's own names for its types; `title` a name for the dataset; `path` the first
    file as it was named, None for a frame; `ledger_path` the account where none is
    named: beside the file itself, also where `path` is a symbolic link.
    """

    names: tuple[str, ...]
    types: dict[str, str] | None
    kind: str
    dtypes: dict[str, str]
    zones: dict[str, str | None]
    title: str
    ledger_path: Path
    engine: Engine
    _view: str
    guarded: bool = False
    path: Path | None = None
    _stored: dict[str, str] = field(default_factory=dict)
    _dialect: Dialect | None = None
    _paths: tuple[Path, ...] = ()
    _parquet: ParquetFiles | None = None
    _origin: TableSource | None = None

    def __enter__(self) -> TableSource:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the rows and of everything written down about them."""
        self.engine.close()

    def stored(self, name: str) -> StoredColumn:
        """How a column is stored."""
        if name not in self.names:
            raise TableError(f'column "{name}" is not in the table')
        cell = f"x{self.names.index(name)}"
        return StoredColumn(
            cell, self._stored.get(name, "VARCHAR"), self.zones.get(name), self.guarded
        )

    def without_formula_guards(self, known: Iterable[str]) -> TableSource:
        """The same table, read as one that a release may have written: names and texts
        without the apostrophe that keeps spreadsheets from running them, where that
        makes them a name in `known` or a label of a schema. Use it in place of this
        one.
        """
        wanted, renamed = set(known) - set(self.names), {}
        for name in self.names:
            plain = unguard_formula(name)
            renamed[name] = plain if plain in wanted else name

        def by_new_name(facts: dict[str, T]) -> dict[str, T]:
            return {renamed[name]: fact for name, fact in facts.items()}

        return replace(
            self,
            names=tuple(renamed.values()),
            types=None if self.types is None else by_new_name(self.types),
            dtypes=by_new_name(self.dtypes),
            zones=by_new_name(self.zones),
            _stored=by_new_name(self._stored),
            guarded=True,
            _origin=self,  # which reads the rows, once for both
        )

    @cached_property
    def relation(self) -> str:
        """The name of the relation that holds the rows. A CSV file is read into it
        once.
        """
        if self._origin is not None:
            return self._origin.relation
        if self._dialect is not None:
            self._read_csv(self._dialect)
        if self._parquet is not None:
            self._parquet.ensure_readable()
        return self._view

    def check(self, names: Iterable[str]) -> None:
        """Read these columns to the end once, so that a file that cannot be read is
        refused before anything is paid for.
        """
        failed, wanted = "", list(names)
        try:
            relation = self.relation
            if self._parquet is not None:
                read = ", ".join(
                    f"bit_xor(hash({self.stored(name).cell}))" for name in wanted
                )
                self.engine.run(
                    f"SELECT {read} FROM {relation}", doing="reading it to the end"
                )
        except TableError as error:
            failed = str(error).removesuffix("Nothing was read").rstrip(". ")
        if not failed:
            return
        if self._parquet is not None:
            raise TableError(
                f"{self._parquet.locate_damage(wanted)} ({failed}). Nothing was spent"
            )
        where = (
            ""
            if failed.startswith(tuple(path.name for path in self._paths))
            else f"{self.title}: "
        )
        raise TableError(f"{where}{failed}. Nothing was spent")

    def check_header(self) -> None:
        """Refuse a header line that reads like a row: without a schema its cells would
        become public as names.
        """
        how = self._dialect
        if (
            how is not None
            and how.header
            and (odd := find_header_oddity(self.names)) is not None
        ):
            raise TableError(
                f"{self.title}:{how.line}: looks like a row and not like names ({odd})."
                " Add a header line, or declare the names in a schema if they are"
                " names. Nothing was spent"
            )

    def _read_csv(self, how: Dialect) -> None:
        for path in self._paths:
            refuse_packed_bomb(path)
        try:
            self._read_rows(how, anyway=False)
        except TableError:
            # A row longer than DuckDB takes: a copy has none.
            self._read_rows(how, anyway=True)

    def _read_rows(self, how: Dialect, *, anyway: bool) -> None:
        columns = quoting.struct_literal(
            {f"x{i}": "VARCHAR" for i in range(len(self.names))}
        )
        copies = [
            self.engine.directory / f"copy-{i}.csv" for i in range(len(self._paths))
        ]
        parts = []
        for path, copy in zip(self._paths, copies, strict=True):
            ready = _read_quietly(
                partial(prepare_csv, path, how, copy, anyway=anyway), path
            )
            # One reader, because with several a quoted line break would be an error;
            # padding, because a short row is none.
            parts.append(
                "SELECT * FROM"
                f" read_csv({quoting.text_literal(quoting.literal_path(ready.path))},"
                f" columns = {columns}, auto_detect = false, delim ="
                f" {quoting.text_literal(how.delimiter)}, quote = '\"', escape = '\"',"
                f" header = {ready.header}, nullstr = '', strict_mode = false,"
                " null_padding = true, parallel = false, max_line_size ="
                f" {MAX_CSV_ROW_BYTES}, buffer_size = {4 * MAX_CSV_ROW_BYTES},"
                f" compression = {quoting.text_literal(ready.compression)})"
            )
        try:
            reading = f"CREATE TEMP TABLE cells AS {' UNION ALL '.join(parts)}"
            self.engine.run(reading, doing=f"reading {self._paths[0].name}")
        finally:
            for copy in copies:
                copy.unlink(missing_ok=True)


def open_table(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool | Sequence[str] = True,
    multiline: bool = False,
) -> TableSource:
    """Open a CSV or Parquet file (or several), a pandas, polars or pyarrow table, or a
    DuckDB relation. Rows are not read yet.

    The other arguments concern CSV: what separates cells (by default what the header
    line suggests), the encoding, the names of the columns where the file has no header
    line, and whether quoted cells may hold line breaks.
    """
    if isinstance(data, str | Path):
        return _open_files([Path(data)], delimiter, encoding, header, multiline)
    if (
        isinstance(data, list | tuple)
        and data
        and all(isinstance(part, str | Path) for part in data)
    ):
        return _open_files(
            [Path(part) for part in data], delimiter, encoding, header, multiline
        )
    found = open_frame(data)
    engine = Engine()
    engine.seal([])
    engine.register("frame", found.data)
    kinds = {
        name: base_type(kind)
        for name, kind in zip(found.names, engine.types("frame").values(), strict=True)
    }
    kinds |= found.hidden
    declared = dict(kinds)
    if isinstance(found.data, RepeatableStream):
        _read_physical(engine, found.data, kinds)
    return TableSource(
        names=found.names,
        types=_public_types(declared),
        kind=found.kind,
        dtypes=found.dtypes,
        zones=found.zones,
        title="table",
        ledger_path=Path("table.ledger"),
        engine=engine,
        _view="cells" if isinstance(found.data, RepeatableStream) else "frame",
        _stored=kinds,
    )


def _read_physical(
    engine: Engine, frame: RepeatableStream, kinds: dict[str, str]
) -> None:
    """Read a frame's cells as they are stored, and note the types that they then have."""
    physical = engine.physical(frame.source)
    engine.register("frame", physical)
    read = []
    for i, (name, format) in enumerate(zip(kinds, physical.formats, strict=True)):
        found = reading_of_format(f"x{i}", format, kinds[name])
        kinds[name] = found.type
        read.append(f"{found.expression} AS x{i}")
    engine.run(
        f"CREATE VIEW cells AS SELECT {', '.join(read)} FROM frame",
        doing="opening the table",
    )


def _open_files(
    paths: list[Path],
    delimiter: str | None,
    encoding: str,
    header: bool | Sequence[str],
    multiline: bool,
) -> TableSource:
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
            "CSV and Parquet files cannot be read as one table. Nothing was read"
        )
    real = paths[0].resolve() if paths[0].is_symlink() else paths[0]
    about: dict[str, Any] = {
        "title": paths[0].name,
        "path": paths[0],
        "dtypes": {},
        "kind": kinds.pop(),
    }
    about["ledger_path"] = real.with_name(real.name + ".ledger")
    if about["kind"] == "parquet":
        return _open_parquet(paths, about)
    hows = [
        _read_quietly(
            partial(
                detect_dialect,
                path,
                delimiter=delimiter,
                encoding=encoding,
                header=header,
                multiline=multiline,
            ),
            path,
        )
        for path in paths
    ]
    names = check_names(
        list(hows[0].names),
        f"{paths[0].name}:{hows[0].line}" if hows[0].header else paths[0].name,
    )
    for path, how in zip(paths, hows, strict=True):
        if replace(how, line=hows[0].line) != hows[0]:
            raise TableError(
                f"{path.name}:{how.line}: its header differs from that of"
                f" {paths[0].name}. Nothing was read"
            )
    engine = Engine()
    engine.seal(paths)
    return TableSource(
        names=names,
        types=None,
        zones={},
        engine=engine,
        _view="cells",
        _dialect=hows[0],
        _paths=tuple(paths),
        **about,
    )


def _open_parquet(paths: list[Path], about: dict[str, Any]) -> TableSource:
    for path in paths:
        check_magic_bytes(path)
    engine = Engine()
    engine.seal(paths)
    files = ParquetFiles(paths, engine)
    kinds = files.types
    names = check_names([column.name for column in files.columns], paths[0].name)
    beside, zones = read_stated_types(paths[0], kinds)
    about["dtypes"] = kinds | beside  # so that a release writes the types it read
    return TableSource(
        names=names,
        types=_public_types(kinds),
        zones=zones,
        engine=engine,
        _view="cells",
        _stored=files.stored,
        _parquet=files,
        **about,
    )


def _public_types(kinds: dict[str, str]) -> dict[str, str]:
    return {name: PUBLIC_TYPE_NAMES.get(kind, kind) for name, kind in kinds.items()}


def table_kind(path: Path) -> str | None:
    """CSV or Parquet, by the ending of a file's name; None for neither.

    >>> table_kind(Path("people.csv.gz")), table_kind(Path("people.yaml"))
    ('csv', None)
    """
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings and endings[-1] in COMPRESSION_OF_ENDING:
        endings.pop()
    last = endings[-1] if endings else ""
    if last in PARQUET_ENDINGS:
        return "parquet"
    if last in CSV_ENDINGS:
        return "csv"
    return None


def _require_table_kind(path: Path) -> str:
    kind = table_kind(path)
    if kind is not None:
        return kind
    raise TableError(
        f"{path.name}: is neither a CSV nor a Parquet file by its name (.csv,"
        " .parquet). Nothing was read"
    )


def _read_quietly(read: Callable[[], T], path: Path) -> T:
    """Read from a file; what goes wrong is told without what the file says."""
    failed = ""
    try:
        return read()
    except TableError:
        raise
    except Exception as error:
        failed = type(error).__name__
    raise TableError(f"{path.name}: cannot be read as CSV ({failed}). Nothing was read")
