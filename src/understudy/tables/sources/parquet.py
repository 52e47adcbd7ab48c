"""Parquet files, read so that no cell can break the reading of the others.

The types a file declares are public and decide how its columns are read. Most types
cannot be contradicted by a cell, or the database has a gentle way to read them: bytes
that are no text become question marks, integers too wide are cut. The rest are called
fragile here: moments in milliseconds, times of day, JSON, geometries, and decimals of
any length. Whether the database can read the fragile columns is tried out first, on a
connection of its own. Where it cannot, and always where there are times of day in UTC,
which it bends until they fit, they are read from a private copy whose footer says how
they are stored and no more (tables/sources/parquet_footer.py). Either way the same
values come out of cells that keep to their type, and those that do not become values
outside every domain; so which of the two ways was taken says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import TableError
from understudy.tables.sources import parquet_footer
from understudy.tables.sources.compressed import FREE_UNPACKED_BYTES, MAX_UNPACK_RATIO
from understudy.tables.sources.parquet_footer import PARQUET_MAGIC, write_plain_copy
from understudy.tables.sql import quoting
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.physical import (
    CellReading,
    clock_reading,
    decimal_bytes_reading,
    decimal_reading,
    decode_text_sql,
    moment_reading,
    native_moment_reading,
)
from understudy.tables.sql.stored import INSTANT_TYPE, ZONED_TIME_TYPE, base_type

OPAQUE_PARQUET_TYPES = ("GEOMETRY", "GEOGRAPHY", "VARIANT")
PARQUET_TIME_UNITS = {"MILLI": "m", "MICRO": "u", "NANO": "n"}
MAX_DECIMAL_BYTES = 16
"""Bytes of the widest decimal that the database knows."""

FREE_STATED_CELLS = 100_000_000
MAX_CELLS_PER_BYTE = 1_000
"""A file that states more cells than the first number, and more for each of its bytes
than the second, is no table but a way to keep a reader busy.
"""


@dataclass(frozen=True)
class SchemaElement:
    """A line of a file's schema: its name, physical type and length, what it means, and
    how many lines below belong to it.
    """

    name: str
    physical: str | None
    length: str | None
    children: int
    meaning: str
    type: str

    @property
    def is_fragile(self) -> bool:
        """Whether one cell could stop the reading of all."""
        if self.type in OPAQUE_PARQUET_TYPES:
            return True
        if self.physical is None:
            return False
        if self.type.startswith("TIMESTAMP"):
            return self.unit == "m"
        if self.type.startswith("DECIMAL"):
            # Integers and short byte arrays always hold a number; long ones may not.
            too_wide = int(self.length or 0) > MAX_DECIMAL_BYTES
            return self.physical == "BYTE_ARRAY" or too_wide
        return self.type.startswith("TIME") or self.type == "JSON"

    @property
    def is_altered(self) -> bool:
        """Whether the database reads cells that are outside their type as others that
        are inside.
        """
        return self.type == ZONED_TIME_TYPE

    @property
    def unit(self) -> str:
        """The unit of moments and times, by Arrow's letter."""
        for word, unit in PARQUET_TIME_UNITS.items():
            # DuckDB spells a logical type as Thrift's structure: MILLIS=MilliSeconds().
            if f"{word}S={word.capitalize()}" in self.meaning:
                return unit
        return ""

    def stripped_reading(self, cell: str) -> CellReading:
        """How to read a cell of this column where only its physical type is stated."""
        if self.physical is None:
            return CellReading(cell, base_type(self.type))
        if self.type.startswith("TIMESTAMP"):
            return moment_reading(cell, self.unit, zoned=self.type == INSTANT_TYPE)
        if self.type.startswith("TIME"):
            return clock_reading(cell, self.unit)
        if self.type.startswith("DECIMAL"):
            return decimal_bytes_reading(cell, *_decimal_digits(self.type))
        if self.type == "JSON":
            return CellReading(decode_text_sql(cell), "VARCHAR")
        return CellReading(cell, base_type(self.type))

    def native_reading(self, cell: str) -> CellReading:
        """How to read a cell of this column as the database does, of the same type as
        `stripped_reading` gives.
        """
        if self.type in ("TIMESTAMP", INSTANT_TYPE):
            return native_moment_reading(cell, self.type)
        if self.type == "TIME_NS":
            return clock_reading(f"epoch_ns({cell})", "n")
        if self.type == ZONED_TIME_TYPE:
            return CellReading(f"CAST({cell} AS TIME)", "TIME")
        if self.type == "JSON":
            return CellReading(f"CAST({cell} AS VARCHAR)", "VARCHAR")
        if self.type.startswith("DECIMAL") and self.physical is not None:
            return decimal_reading(cell, *_decimal_digits(self.type))
        return CellReading(cell, base_type(self.type))


class ParquetFiles:
    """Files of one schema, as one relation of columns x0, x1, …"""

    def __init__(self, paths: list[Path], engine: Engine) -> None:
        self._paths = paths
        self._engine = engine
        self._settled = False
        self._doing = f"reading {paths[0].name}"
        for path in paths:
            _refuse_bomb(engine, path, f"reading {path.name}")
        found = [
            _read_schema_columns(engine, path, f"reading {path.name}") for path in paths
        ]
        self.columns = [column[0] for column in found[0]]
        self._fragile = {
            i for i, column in enumerate(found[0]) if any(e.is_fragile for e in column)
        }
        self._altered = any(e.is_altered for column in found[0] for e in column)
        for path, columns in zip(paths, found, strict=True):
            _refuse_other_types(path, columns, paths[0], found[0], self._fragile)
        listed = quoting.text_literals(quoting.literal_path(path) for path in paths)
        self._engine.run(
            f"CREATE VIEW file AS {_read_parquet_sql(listed)}", doing=self._doing
        )
        # The database tells names that differ by case alone apart in its own way.
        self._cells = [
            quoting.quoted_identifier(name) for name in self._engine.types("file")
        ]
        self._view({})

    @property
    def types(self) -> dict[str, str]:
        """What the files declare."""
        return {element.name: base_type(element.type) for element in self.columns}

    @property
    def stored_types(self) -> dict[str, str]:
        """The types that cells have once they are read."""
        return {
            element.name: element.native_reading("x").type for element in self.columns
        }

    def ensure_readable(self) -> None:
        """Make sure, once, that every cell can be read."""
        if self._settled or not self._fragile:
            return
        self._settled = True
        # Where the database alters cells, that it can read them says nothing.
        if not self._altered and self._is_readable(sorted(self._fragile), self._paths):
            return
        copies = [
            self._engine.directory / f"copy-{i}.parquet"
            for i in range(len(self._paths))
        ]
        for path, copy in zip(self._paths, copies, strict=True):
            write_plain_copy(path, copy, self._fragile)
        listed = quoting.text_literals(quoting.literal_path(copy) for copy in copies)
        self._engine.run(
            f"CREATE OR REPLACE VIEW file AS {_read_parquet_sql(listed)}",
            doing=self._doing,
        )
        self._view(
            {i: self.columns[i].stripped_reading(self._cells[i]) for i in self._fragile}
        )

    def locate_damage(self, wanted: Collection[str]) -> str:
        """Where a file that could not be read to its end is damaged: the file, and the
        first column of which that can be said.
        """
        for path in self._paths:
            for i, element in enumerate(self.columns):
                if element.name in wanted and not self._is_readable([i], [path]):
                    return (
                        f'{path.name}: column "{element.name}": its pages are damaged'
                    )
        return f"{self._paths[0].name}: is damaged"

    def _is_readable(self, columns: Iterable[int], paths: Sequence[Path]) -> bool:
        """Whether the database reads every cell of these columns. A failure may spoil a
        connection, so this one is thrown away.
        """
        trial = Engine()
        try:
            trial.seal(paths)
            listed = quoting.text_literals(quoting.literal_path(path) for path in paths)
            read = ", ".join(f"bit_xor(hash({self._cells[i]}))" for i in columns)
            trial.run(
                f"SELECT {read} FROM ({_read_parquet_sql(listed)})", doing=self._doing
            )
        except TableError:
            return False
        finally:
            trial.close()
        return True

    def _view(self, readings: dict[int, CellReading]) -> None:
        cells = [
            readings.get(i, e.native_reading(self._cells[i])).expression
            for i, e in enumerate(self.columns)
        ]
        select = ", ".join(f"{cell} AS x{i}" for i, cell in enumerate(cells))
        self._engine.run(
            f"CREATE OR REPLACE VIEW cells AS SELECT {select} FROM file",
            doing=self._doing,
        )


def _read_parquet_sql(listed: str) -> str:
    return (
        f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false,"
        " utf8_validation = 'replace')"
    )


def _read_schema_columns(
    engine: Engine,
    path: Path,
    doing: str,
) -> list[list[SchemaElement]]:
    """The lines of a file's schema, column by column."""
    query = (
        "SELECT name, type, type_length, COALESCE(num_children, 0), concat_ws(' ',"
        " converted_type, logical_type), COALESCE(duckdb_type, '') FROM"
        f" parquet_schema({quoting.text_literal(quoting.literal_path(path))}) ORDER BY"
        " column_id"
    )
    lines = [SchemaElement(*row) for row in engine.run(query, doing=doing)]
    columns: list[list[SchemaElement]] = []
    # A tree in one list, parents first: a new column begins where no parent waits for a
    # child.
    awaited: list[int] = []
    for element in lines[1:]:
        if not awaited:
            columns.append([])
        columns[-1].append(element)
        awaited.append(element.children)
        while awaited and awaited[-1] == 0:
            awaited.pop()
            if awaited:
                awaited[-1] -= 1
    return columns


def _refuse_other_types(
    path: Path,
    columns: list[list[SchemaElement]],
    first: Path,
    wanted: list[list[SchemaElement]],
    fragile: Collection[int],
) -> None:
    """Refuse a file whose columns are stored otherwise than those of the first.

    The database would cast its cells to the types of the first file, and one row of
    that can decide whether they are whole numbers: then a single row would round, or
    stop, all the others.
    """
    here = _list_types(columns)
    there = _list_types(wanted)
    plainer = [columns[i] for i in sorted(fragile) if i < len(columns)]
    differing = next((name for name in there if here.get(name) != there[name]), None)
    if differing is None and plainer == [wanted[i] for i in sorted(fragile)]:
        return
    named = "" if differing is None else f' in column "{differing}"'
    raise TableError(
        f"{path.name}: its types differ from those of {first.name}{named}. "
        "Write the files with one schema, or as one file. Nothing was read"
    )


def _list_types(columns: list[list[SchemaElement]]) -> dict[str, list[str]]:
    """The types of the elements of every column."""
    return {column[0].name: [element.type for element in column] for column in columns}


def check_magic_bytes(path: Path) -> None:
    """Refuse a file that does not end as a Parquet file does."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(size - 8, 0))
        end = file.read(8)
    # Magic bytes, footer, its length in four bytes, magic bytes again.
    framed = start == end[4:] == PARQUET_MAGIC
    footer_bytes = int.from_bytes(end[:4], "little")
    if size < 12 or not framed or footer_bytes + 12 > size:
        raise TableError(
            f"{path.name}: does not begin and end as a Parquet file does: it is cut"
            " short, or something else. Nothing was read"
        )


def _refuse_bomb(engine: Engine, path: Path, doing: str) -> None:
    """Refuse a small file that says it holds very much, before any of it is read.

    Three numbers of its footer count: values, bytes once they are unpacked, and bytes
    as they are packed, of which there are no more than the file has unless parts of it
    are listed twice.
    """
    try:
        query = (
            "SELECT COALESCE(sum(num_values), 0),"
            " COALESCE(sum(total_uncompressed_size), 0),"
            " COALESCE(sum(total_compressed_size), 0) FROM"
            f" parquet_metadata({quoting.text_literal(quoting.literal_path(path))})"
        )
        values, unpacked, packed = (
            int(number) for number in engine.run(query, doing=doing)[0]
        )
    except TableError:
        # DuckDB fails on a statistic it cannot show; the footer itself is enough.
        values, unpacked, packed = parquet_footer.sum_column_sizes(path)
    query = (
        "SELECT num_rows FROM"
        f" parquet_file_metadata({quoting.text_literal(quoting.literal_path(path))})"
    )
    rows = int(engine.run(query, doing=doing)[0][0])
    size = path.stat().st_size
    most_cells = max(FREE_STATED_CELLS, MAX_CELLS_PER_BYTE * size)
    if min(rows, values, unpacked, packed) < 0 or max(rows, values) > most_cells:
        raise TableError(
            f"{path.name}: states far more cells than its size can mean. Nothing was"
            " read"
        )
    if unpacked > FREE_UNPACKED_BYTES and (
        unpacked > MAX_UNPACK_RATIO * size or packed > 2 * size
    ):
        raise TableError(
            f"{path.name}: unpacks to more than {MAX_UNPACK_RATIO} times its size."
            " Write it again unpacked if you trust it. Nothing was read"
        )


def _decimal_digits(kind: str) -> tuple[int, int]:
    width, scale = re.findall(r"\d+", kind)
    return int(width), int(scale)
