"""Sources: rows of any kind as one relation on a private connection.

A frame, a Parquet file and a CSV file all become a view whose columns are x0, x1, … in
the order of the header. What a source tells about itself is public: its header, and
which columns of a frame or Parquet file hold nothing that has a text. The types they
are stored in decide how a cell is read and reach no release. A CSV file has none; each
of its cells is text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeVar

from understudy.errors import TableError
from understudy.schema.columns.number_spelling import NumberSpelling
from understudy.schema.formula import unguard_formula
from understudy.tables.carriers.carrier import Carrier
from understudy.tables.sources.compressed import refuse_packed_bomb
from understudy.tables.sources.csv import PreparedCsv, prepare_csv
from understudy.tables.sources.csv_copy import MAX_CSV_ROW_BYTES
from understudy.tables.sources.csv_dialect import Dialect
from understudy.tables.sources.header import find_header_oddity
from understudy.tables.sources.parquet import ParquetFiles
from understudy.tables.sql import quoting
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.number_spelling import respelled_sql
from understudy.tables.sql.stored import StoredColumn

T = TypeVar("T")


FROZEN_VIEW = "frozen"
"""The table that `freeze_rows` reads rows into."""


class RowStream(Protocol):
    """Rows that come from elsewhere and are read once, into the source's relation."""

    def load_rows(self) -> None:
        """Read the rows to the end and let go of where they come from."""

    def close(self) -> None:
        """Let go of where they come from, read or not."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TableSource:
    """Rows, opened but not read. Only its header is public.

    `names` is the header; `types` what the file or frame is stored as, None for CSV;
    `kind` what the owner gave (csv, parquet, pandas, polars, pyarrow, duckdb, a database);
    `dtypes` a frame's own names for its types; `index_name` the name given to row numbers that
    have none in the header; `title` a name for the dataset; `path` the first
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
    index_name: str | None = None
    path: Path | None = None
    _stored_types: dict[str, str] = field(default_factory=dict)
    _dialect: Dialect | None = None
    _paths: tuple[Path, ...] = ()
    _parquet: ParquetFiles | None = None
    _stream: RowStream | None = None
    _carrier: Carrier | None = None
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
        if self._stream is not None:
            self._stream.close()
        if self._carrier is not None:
            self._carrier.close()
        self.engine.close()

    @property
    def carrier(self) -> Carrier | None:
        """The partitions in which the rows lie; None where they are read here."""
        return None if self.guarded else self._carrier

    @property
    def numbers(self) -> NumberSpelling | None:
        """How numbers are spelled, where the owner declared that; None elsewhere."""
        return None if self._dialect is None else self._dialect.numbers

    @property
    def points_wholes(self) -> bool:
        """Whether a whole number among decimals has a point, as far as the header line
        says who wrote the file: R, which quotes names, writes 5 where others write 5.0.
        """
        return self._dialect is None or not self._dialect.quoted

    def stored_column(self, name: str) -> StoredColumn:
        """How a column is stored."""
        if name not in self.names:
            raise TableError(f'column "{name}" is not in the table')
        cell = f"x{self.names.index(name)}"
        return StoredColumn(
            cell,
            self._stored_types.get(name, "VARCHAR"),
            self.zones.get(name),
            self.guarded,
        )

    def without_formula_guards(self, known: Iterable[str]) -> TableSource:
        """The same table, read as one that a release may have written: names and texts
        without the apostrophe that keeps spreadsheets from running them, where that
        makes them a name in `known` or a label of a schema. Use it in place of this
        one.
        """
        wanted = set(known) - set(self.names)
        renamed = {}
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
            _stored_types=by_new_name(self._stored_types),
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
        if self._stream is not None:
            self._stream.load_rows()
        return self._view

    @property
    def holds_rows(self) -> bool:
        """Whether its rows lie in a table of its own, which nobody changes."""
        if self._origin is not None:
            return self._origin.holds_rows
        is_read = self._dialect is not None or self._stream is not None
        return is_read or self._view == FROZEN_VIEW

    def freeze_rows(self) -> TableSource:
        """The same table, with its rows as they are now: what happens to the file later
        changes no answer. Use it in place of this one.
        """
        if self.carrier is not None:
            self.carrier.load_rows()
            return self
        relation = self.relation
        # A CSV file or a stream was read into a table of its own just now.
        if self._dialect is not None or self._stream is not None:
            return self
        self.engine.run(
            f"CREATE TEMP TABLE {FROZEN_VIEW} AS SELECT * FROM {relation}",
            doing=f"reading {self.title}",
        )
        return replace(self, _view=FROZEN_VIEW, _parquet=None, _origin=None)

    def check(self, names: Iterable[str]) -> None:
        """Read these columns to the end once, so that a file that cannot be read is
        refused before anything is paid for.
        """
        failed = ""
        wanted = list(names)
        try:
            self._read_to_end(wanted)
        except TableError as error:
            failed = error.cause
        if not failed:
            return
        if self._parquet is not None:
            raise TableError(
                f"{self._parquet.locate_damage(wanted)} ({failed}). Nothing was spent"
            )
        names = [self.title, *(path.name for path in self._paths)]
        named = failed.startswith(tuple(f"{name}:" for name in names))
        where = "" if named else f"{self.title}: "
        raise TableError(f"{where}{failed}. Nothing was spent")

    def _read_to_end(self, names: list[str]) -> None:
        if self.carrier is not None:
            self.carrier.load_rows()
            return
        relation = self.relation
        if self._parquet is not None:
            # Hashes of all cells: every page has to be unpacked for them.
            read = ", ".join(
                f"bit_xor(hash({self.stored_column(name).cell}))" for name in names
            )
            self.engine.run(
                f"SELECT {read} FROM {relation}", doing="reading it to the end"
            )

    def check_header(self) -> None:
        """Refuse a header line that reads like a row: without a schema its cells would
        become public as names. The names are looked at once, however often this is
        asked.
        """
        if self._header_oddity is None or self._dialect is None:
            return
        raise TableError(
            f"{self.title}:{self._dialect.line}: looks like a row and not like names"
            f" ({self._header_oddity}). Add a header line, or declare the names in a"
            " schema if they are names. Nothing was spent"
        )

    @cached_property
    def _header_oddity(self) -> str | None:
        """What speaks against the header line being one; names that the owner declared
        are not doubted.
        """
        if self._dialect is None or not self._dialect.header:
            return None
        return find_header_oddity(self.names)

    def _read_csv(self, how: Dialect) -> None:
        # Before any cell is looked at: a bomb is refused whatever its rows say.
        for path in self._paths:
            refuse_packed_bomb(path)
        try:
            self._read_rows(how, anyway=False)
        except TableError:
            # A row longer than DuckDB takes: a copy has none.
            self._read_rows(how, anyway=True)

    def _read_rows(self, how: Dialect, *, anyway: bool) -> None:
        copies = [
            self.engine.directory / f"copy-{i}.csv" for i in range(len(self._paths))
        ]
        parts = []
        for path, copy in zip(self._paths, copies, strict=True):
            prepare = partial(prepare_csv, path, how, copy, anyway=anyway)
            prepared = read_quietly(prepare, path)
            parts.append(self._read_csv_sql(how, prepared))
        try:
            reading = f"CREATE TEMP TABLE cells AS {' UNION ALL '.join(parts)}"
            self.engine.run(reading, doing=f"reading {self._paths[0].name}")
        finally:
            for copy in copies:
                copy.unlink(missing_ok=True)

    def _read_csv_sql(self, how: Dialect, prepared: PreparedCsv) -> str:
        columns = quoting.struct_literal(
            {f"x{i}": "VARCHAR" for i in range(len(self.names))}
        )
        file = quoting.text_literal(quoting.literal_path(prepared.path))
        cells = "*"
        if how.numbers is not None:
            cells = ", ".join(
                f"{respelled_sql(how.numbers, f'x{i}')} AS x{i}"
                for i in range(len(self.names))
            )
        # Nothing is detected from rows. One reader, because with several a quoted line
        # break would be an error; padding, because a short row is none.
        return (
            f"SELECT {cells} FROM read_csv({file}, columns = {columns}, auto_detect ="
            f" false, delim = {quoting.text_literal(how.delimiter)}, quote = '\"', escape ="
            f" '\"', header = {prepared.header}, nullstr = '', strict_mode = false,"
            " null_padding = true, parallel = false, max_line_size ="
            f" {MAX_CSV_ROW_BYTES}, buffer_size = {4 * MAX_CSV_ROW_BYTES}, compression"
            f" = {quoting.text_literal(prepared.compression)})"
        )


def read_quietly(read: Callable[[], T], path: Path) -> T:
    """Read from a file; an error says what went wrong without quoting the file."""
    failed = ""
    try:
        return read()
    except TableError:
        raise
    except Exception as error:
        failed = type(error).__name__
    raise TableError(f"{path.name}: cannot be read as CSV ({failed}). Nothing was read")
