"""DuckDB as the meeting point of types: exact integers in, one projection, dates,
decimals and labels out.

Numbers never pass through text. Labels travel as a session variable, never inside the
SQL, so that no label can be read as a command.
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
from understudy.schema import Boolean, Date, Datetime, Integer, Real, Time

_ANY_DECIMAL_TYPE = re.compile(
    r"decimal\d*\((?:precision=)?(\d{1,2}), ?(?:scale=)?(\d{1,2})\)", re.IGNORECASE
)
_DUCKDB_INTEGER_TYPE = re.compile(r"(U?)(TINYINT|SMALLINT|INTEGER|BIGINT)")
_DUCKDB_INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
_INTEGER_LABEL = re.compile(r"-?(0|[1-9][0-9]{0,30})", re.ASCII)


class DuckdbSession:
    """A private in-memory connection into which cells are laid column by column."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        hide_progress_bar(self.connection)
        self._arrays: dict[str, NDArray[np.generic]] = {}
        self._words = 0

    def add_array(self, values: NDArray[np.generic]) -> str:
        """The name under which an array can be used in a projection."""
        name = f"a{len(self._arrays)}"
        self._arrays[name] = np.ascontiguousarray(values)
        return name

    def add_labels(self, labels: tuple[str, ...]) -> str:
        """The name under which a list of labels can be used in a projection."""
        name = f"w{self._words}"
        self._words += 1
        self.connection.execute(f"SET VARIABLE {name} = $1::VARCHAR[]", [list(labels)])
        return f"getvariable('{name}')"

    def label_sql(self, labels: tuple[str, ...], positions: NDArray[np.int64]) -> str:
        """Labels by position; -1 is missing."""
        small = (positions + 1).astype(np.min_scalar_type(len(labels)))
        return f"list_extract({self.add_labels(labels)}, {self.add_array(small)})"

    def register_arrays(self) -> str:
        """Make the arrays laid so far readable; the name to select from."""
        self.connection.register("cells", self._arrays)
        return "cells"

    def select_sql(self, expressions: Mapping[str, str]) -> str:
        """One projection over everything that was laid."""
        columns = ", ".join(
            f"{sql} AS {quote_identifier(name)}" for name, sql in expressions.items()
        )
        return f"SELECT {columns} FROM {self.register_arrays()}"

    def run_interruptible(self, sql: str) -> None:
        """Run a statement that may take long. Ctrl-C ends it, and then does what it
        would have done outside of it.

        DuckDB answers Ctrl-C with an error of its own, and now and then with none at
        all.
        """
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(
            before
        ):
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
        """Let go of the arrays, and take others."""
        self.connection.unregister("cells")
        self._arrays, self._words = {}, 0

    def close(self) -> None:
        """Let go of everything."""
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
    return (
        value
        if cells.is_complete
        else f"CASE WHEN {session.add_array(cells.null)} THEN NULL ELSE {value} END"
    )


def _value_sql(session: DuckdbSession, cells: ColumnCells) -> str:
    column = cells.column
    wanted = decimal_precision_scale(column.dtype)
    if (
        column.dtype == "DECIMAL"
        and isinstance(column, Real)
        and column.decimals is not None
    ):
        wanted = 18, column.decimals
    if wanted and isinstance(column, Real | Integer):
        precision, scale = wanted
        exact = unscaled_integers(cells, scale)
        if exact is not None and (
            not len(exact) or int(np.abs(exact).max()) < 10**precision
        ):
            unit = (
                f"CAST({'1' if scale == 0 else '0.' + '1'.rjust(scale, '0')} AS"
                f" DECIMAL({scale + 1},{scale}))"
            )
            return (
                f"CAST(CAST({session.add_array(exact)} AS DECIMAL(19,0)) * {unit} AS"
                f" DECIMAL({precision},{scale}))"
            )
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


def decimal_precision_scale(dtype: str | None) -> tuple[int, int] | None:
    """Precision and scale of a decimal type in any library's words.

    >>> (decimal_precision_scale("decimal128(10, 2)"), decimal_precision_scale("Decimal(precision=38, scale=1)"),
    ...     decimal_precision_scale("double"))
    ((10, 2), (38, 1), None)
    """
    found = _ANY_DECIMAL_TYPE.match(dtype or "")
    if not found:
        return None
    precision, scale = int(found[1]), int(found[2])
    return (
        (precision, scale)
        if 1 <= precision <= 38 and scale <= min(precision, 18)
        else None
    )


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
    if (dtype == "ENUM" or dtype.startswith("ENUM(")) and cells.labels:
        listed = ", ".join(
            "'" + label.replace("'", "''") + "'" for label in cells.labels
        )
        return f"CAST({sql} AS ENUM({listed}))"
    return f"CAST({sql} AS {dtype})" if can_hold_cells(dtype, cells) else sql


def can_hold_cells(dtype: str, cells: ColumnCells) -> bool:
    """Whether a DuckDB type can hold every value that the column may have."""
    column = cells.column
    if found := _DUCKDB_INTEGER_TYPE.fullmatch(dtype):
        bits = _DUCKDB_INTEGER_BITS[found[2]]
        least, most = (
            (0, 2**bits - 1) if found[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        return all(least <= number <= most for number in _extreme_numbers(cells))
    match column:
        case Boolean():
            return dtype == "BOOLEAN"
        case Real() | Integer():
            return dtype in {"FLOAT", "DOUBLE"}
        case Date() | Datetime():
            if dtype == "TIMESTAMP_NS" and not fits_nanoseconds(column):
                return False
            wall = isinstance(column, Date) or column.zone is None
            return wall and dtype in {
                "DATE",
                "TIMESTAMP",
                "TIMESTAMP_S",
                "TIMESTAMP_MS",
                "TIMESTAMP_NS",
            }
        case _:
            return False


def fits_nanoseconds(column: Date | Datetime) -> bool:
    """Whether 64 bits of nanoseconds hold every value: from 1678 to 2261."""
    ends = [
        column.low,
        column.high,
        *(spelling_point(column, spelling) for spelling in column.missing),
    ]
    return all(
        1678 <= column.value_at(end).year <= 2261 for end in ends if end is not None
    )


def _extreme_numbers(cells: ColumnCells) -> list[float]:
    """The least and the largest number the column may have, spelled ones included; not
    a number where it has others.
    """
    column = cells.column
    numbers: list[float] = []
    if isinstance(column, Boolean):
        numbers = [0, 1]
    elif (
        isinstance(column, Integer)
        and column.low is not None
        and column.high is not None
    ):
        points = [spelling_point(column, spelling) for spelling in column.missing]
        numbers = [
            column.value_at(i)
            for i in (column.low, column.high, *(i for i in points if i is not None))
        ]
    elif cells.labels and all(
        _INTEGER_LABEL.fullmatch(label) for label in cells.labels
    ):
        numbers = [int(label) for label in cells.labels]
    return numbers or [math.nan]


def duckdb_relation(columns: Mapping[str, ColumnCells]) -> duckdb.DuckDBPyRelation:
    """A DuckDB relation over a table of its own; it needs no other library."""
    session = DuckdbSession()
    query = session.select_sql(
        {name: sql_in_original_type(session, cells) for name, cells in columns.items()}
    )
    session.connection.execute(f"CREATE TABLE sample AS {query}")
    session.connection.unregister("cells")
    return session.connection.table("sample")


def natural_relation(columns: Mapping[str, ColumnCells]) -> duckdb.DuckDBPyRelation:
    """A relation in natural types, for other libraries to take over."""
    session = DuckdbSession()
    return session.connection.sql(
        session.select_sql(
            {
                name: sql_in_natural_type(session, cells)
                for name, cells in columns.items()
            }
        )
    )
