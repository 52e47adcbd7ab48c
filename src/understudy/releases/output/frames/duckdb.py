"""DuckDB makes the types: exact integers in, one projection, dates, decimals and labels
out.

Numbers never pass through text. Labels are handed over as a session variable, never
inside the SQL, so that no label can be read as a command.
"""

from __future__ import annotations

import math
import re
import signal
import threading
from collections.abc import Mapping
from types import FrameType, TracebackType

import duckdb
import numpy as np
from numpy.typing import NDArray

from understudy.progress_bar import hide_progress_bar
from understudy.releases.output.frames.cells import (
    ColumnCells,
    cells_as_text,
    float_values,
    integer_values,
    microsecond_values,
    spelling_point,
    unscaled_integers,
)
from understudy.schema import Boolean, Date, Datetime, Integer, Lattice, Real, Time

_ANY_DECIMAL_TYPE = re.compile(
    r"decimal\d*\((?:precision=)?(\d{1,2}), ?(?:scale=)?(\d{1,2})\)", re.IGNORECASE
)
_DUCKDB_INTEGER_TYPE = re.compile(r"(U?)(TINYINT|SMALLINT|INTEGER|BIGINT)")
_DUCKDB_INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
_DEFAULT_DECIMAL_PRECISION = 18
_MAX_DECIMAL_PRECISION, _MAX_DECIMAL_SCALE = 38, 18
"""Digits in all, as DuckDB holds them, and after the point, so that 64 bits hold them."""

_INTEGER_LABEL = re.compile(r"-?(0|[1-9][0-9]{0,30})", re.ASCII)


_WALL_CLOCK_TYPES = frozenset(
    {"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
)


class DuckdbSession:
    """A private in-memory connection to which arrays and labels are added."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        hide_progress_bar(self.connection)
        self._arrays: dict[str, NDArray[np.generic]] = {}
        self._label_lists = 0

    def add_array(self, values: NDArray[np.generic]) -> str:
        """The name under which an array can be used in a projection."""
        name = f"a{len(self._arrays)}"
        self._arrays[name] = np.ascontiguousarray(values)
        return name

    def add_labels(self, labels: tuple[str, ...]) -> str:
        """The name under which a list of labels can be used in a projection."""
        name = f"w{self._label_lists}"
        self._label_lists += 1
        self.connection.execute(f"SET VARIABLE {name} = $1::VARCHAR[]", [list(labels)])
        return f"getvariable('{name}')"

    def label_sql(self, labels: tuple[str, ...], positions: NDArray[np.int64]) -> str:
        """The SQL of labels by position; -1 is missing."""
        # Lists of SQL begin at 1, and what is before them is NULL.
        small = (positions + 1).astype(np.min_scalar_type(len(labels)))
        return f"list_extract({self.add_labels(labels)}, {self.add_array(small)})"

    def register_arrays(self) -> str:
        """Make the arrays added so far readable; the name to select from."""
        self.connection.register("cells", self._arrays)
        return "cells"

    def select_sql(self, expressions: Mapping[str, str]) -> str:
        """The SQL of one projection over everything that was added."""
        columns = ", ".join(
            f"{sql} AS {quote_identifier(name)}" for name, sql in expressions.items()
        )
        return f"SELECT {columns} FROM {self.register_arrays()}"

    def run_interruptible(self, sql: str) -> None:
        """Run a statement that may take long. Ctrl-C ends it, and then has the effect
        that it would have had outside of it.
        """
        # DuckDB answers Ctrl-C with an error of its own, and sometimes with none at
        # all, so the handler that was there is called once the statement has ended.
        before = signal.getsignal(signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or not callable(before):
            self.connection.execute(sql)
            return
        caught: list[tuple[int, FrameType | None]] = []

        def interrupt_query(number: int, frame: FrameType | None) -> None:
            caught.append((number, frame))
            self.connection.interrupt()

        signal.signal(signal.SIGINT, interrupt_query)
        try:
            self.connection.execute(sql)
        finally:
            signal.signal(signal.SIGINT, before)
            if caught:
                before(*caught[0])

    def clear_arrays(self) -> None:
        """Release the arrays, to add others."""
        self.connection.unregister("cells")
        self._arrays, self._label_lists = {}, 0

    def close(self) -> None:
        """Release everything."""
        self.connection.close()

    def __enter__(self) -> DuckdbSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def quote_identifier(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def sql_in_natural_type(session: DuckdbSession, cells: ColumnCells) -> str:
    """The SQL of a column in its natural type; missing cells are NULL."""
    if cells.labels is not None:
        return session.label_sql(cells.labels, cells.positions())
    value = _value_sql(session, cells)
    if cells.is_complete:
        return value
    return f"CASE WHEN {session.add_array(cells.null)} THEN NULL ELSE {value} END"


def _value_sql(session: DuckdbSession, cells: ColumnCells) -> str:
    column = cells.column
    decimal = _decimal_sql(session, cells)
    if decimal is not None:
        return decimal
    match column:
        case Boolean():
            return session.add_array(cells.index.astype(np.bool_))
        case Integer():
            return session.add_array(integer_values(cells))
        case Date():
            return f"(DATE '1970-01-01' + CAST({session.add_array(cells.index)} AS INTEGER))"
        case Datetime():
            make = "make_timestamp" if column.zone is None else "make_timestamptz"
            return f"{make}({session.add_array(microsecond_values(cells))})"
        case Time():
            return (
                "(TIME '00:00:00' +"
                f" to_microseconds({session.add_array(microsecond_values(cells))}))"
            )
        case _:
            return session.add_array(float_values(cells))


def _decimal_sql(session: DuckdbSession, cells: ColumnCells) -> str | None:
    """A column of exact decimals; None if it is no such column, or its values have more
    digits than the type.
    """
    column = cells.column
    if not isinstance(column, Real | Integer):
        return None
    wanted = _wanted_decimal(column)
    if wanted is None:
        return None
    precision, scale = wanted
    exact = unscaled_integers(cells, scale)
    if exact is None or (len(exact) and int(np.abs(exact).max()) >= 10**precision):
        return None
    # An integer times 0.01 as a decimal is exact; a division would go through a double.
    unit = "1" if scale == 0 else "0." + "1".rjust(scale, "0")
    unit = f"CAST({unit} AS DECIMAL({scale + 1},{scale}))"
    whole = f"CAST({session.add_array(exact)} AS DECIMAL(19,0))"
    return f"CAST({whole} * {unit} AS DECIMAL({precision},{scale}))"


def _wanted_decimal(column: Real | Integer) -> tuple[int, int] | None:
    """Precision and scale of the column's type; None if that is no decimal."""
    decimals = column.decimals if isinstance(column, Real) else None
    if column.dtype == "DECIMAL" and decimals is not None:
        return _DEFAULT_DECIMAL_PRECISION, decimals
    return decimal_precision_scale(column.dtype)


def decimal_precision_scale(dtype: str | None) -> tuple[int, int] | None:
    """Precision and scale of a decimal type in any library's words.

    >>> decimal_precision_scale("Decimal(precision=38, scale=1)")
    (38, 1)
    >>> decimal_precision_scale("decimal128(10, 2)"), decimal_precision_scale("double")
    ((10, 2), None)
    """
    decimal = _ANY_DECIMAL_TYPE.match(dtype or "")
    if not decimal:
        return None
    precision, scale = int(decimal[1]), int(decimal[2])
    # A release file may name any type; larger ones than these no library has.
    is_known = 1 <= precision <= _MAX_DECIMAL_PRECISION
    is_known = is_known and scale <= min(precision, _MAX_DECIMAL_SCALE)
    return (precision, scale) if is_known else None


def sql_in_original_type(session: DuckdbSession, cells: ColumnCells) -> str:
    """The SQL of a column in the DuckDB type it came with: numbers and dates that were
    texts are texts again.
    """
    kept = cells_as_text(cells) if cells.column.dtype == "VARCHAR" else cells
    return cast_to_original_type(sql_in_natural_type(session, kept), kept)


def cast_to_original_type(sql: str, cells: ColumnCells) -> str:
    """The SQL cast to the DuckDB type that the column came with, where that type can
    hold every value the column may have.
    """
    dtype = cells.column.dtype or ""
    is_enum = dtype == "ENUM" or dtype.startswith("ENUM(")
    if is_enum and cells.labels:
        # An ENUM's labels are part of its type, which no variable can be: the one place
        # where labels stand in the SQL, quoted.
        quoted = [label.replace("'", "''") for label in cells.labels]
        listed = ", ".join(f"'{label}'" for label in quoted)
        return f"CAST({sql} AS ENUM({listed}))"
    return f"CAST({sql} AS {dtype})" if can_hold_cells(dtype, cells) else sql


def can_hold_cells(dtype: str, cells: ColumnCells) -> bool:
    """Whether a DuckDB type can hold every value that the column may have."""
    column = cells.column
    if integer := _DUCKDB_INTEGER_TYPE.fullmatch(dtype):
        unsigned, bits = bool(integer[1]), _DUCKDB_INTEGER_BITS[integer[2]]
        least = 0 if unsigned else -(2 ** (bits - 1))
        most = 2**bits - 1 + least
        return all(least <= number <= most for number in _extreme_numbers(cells))
    match column:
        case Boolean():
            return dtype == "BOOLEAN"
        case Real() | Integer():
            return dtype in {"FLOAT", "DOUBLE"}
        case Date() | Datetime():
            if dtype == "TIMESTAMP_NS" and not fits_nanoseconds(column):
                return False
            is_wall_clock = isinstance(column, Date) or column.zone is None
            return is_wall_clock and dtype in _WALL_CLOCK_TYPES
        case _:
            return False


def fits_nanoseconds(column: Date | Datetime) -> bool:
    """Whether 64 bits of nanoseconds hold every value: from 1678 to 2261."""
    points = _list_end_points(column)
    return all(1678 <= column.value_at(point).year <= 2261 for point in points)


def _list_end_points(column: Lattice) -> list[int]:
    """The bounds of a column, and the points of missing codes that are values too."""
    spelled = [spelling_point(column, spelling) for spelling in column.missing]
    return [p for p in (column.low, column.high, *spelled) if p is not None]


def _extreme_numbers(cells: ColumnCells) -> list[float]:
    """The least and the largest number that the column may have, spelled ones included;
    not a number if it may have anything else, which no integer type then holds.
    """
    column = cells.column
    if isinstance(column, Boolean):
        return [0, 1]
    if isinstance(column, Integer) and None not in (column.low, column.high):
        return [column.value_at(point) for point in _list_end_points(column)]
    labels = cells.labels or ()
    if labels and all(_INTEGER_LABEL.fullmatch(label) for label in labels):
        return [int(label) for label in labels]
    return [math.nan]


def duckdb_relation(columns: Mapping[str, ColumnCells]) -> duckdb.DuckDBPyRelation:
    """A DuckDB relation over a table of its own; it needs no other library."""
    session = DuckdbSession()
    expressions = {
        name: sql_in_original_type(session, cells) for name, cells in columns.items()
    }
    query = session.select_sql(expressions)
    session.connection.execute(f"CREATE TABLE sample AS {query}")
    session.connection.unregister("cells")
    return session.connection.table("sample")


def natural_relation(columns: Mapping[str, ColumnCells]) -> duckdb.DuckDBPyRelation:
    """A relation in natural types, for other libraries to take over."""
    session = DuckdbSession()
    expressions = {
        name: sql_in_natural_type(session, cells) for name, cells in columns.items()
    }
    return session.connection.sql(session.select_sql(expressions))
