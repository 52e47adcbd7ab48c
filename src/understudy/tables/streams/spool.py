"""A private relation that Arrow batches are written to, as they come.

DuckDB keeps it in memory and, beyond its limit, in the engine's private directory; both
go with the engine. Cells are read as they are stored (tables/sql/physical.py), so that
no cell of a batch can stop the reading of the others.
"""

from __future__ import annotations

from typing import Any

from understudy.tables.sources.frame import short_names
from understudy.tables.sources.frame_arrow import frame_of_pyarrow
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.physical import CellReading, reading_of_format
from understudy.tables.sql.stored import base_type

SPOOL_RELATION = "cells"


class ArrowSpool:
    """The relation of a table of columns x0, x1, …, begun with the batches' schema.

    >>> import pyarrow as pa
    >>> spool = ArrowSpool(Engine(), pa.table({"age": pa.array([], pa.int32())}))
    >>> spool.append_batch(pa.table({"age": pa.array([34, 51], pa.int32())}))
    >>> spool.engine.run("SELECT sum(x0) FROM cells", doing="adding up")
    [(85,)]
    """

    def __init__(self, engine: Engine, empty: Any) -> None:
        self.engine = engine
        frame = frame_of_pyarrow(empty)
        self.names = frame.names
        self.zones = frame.zones
        self.kind = frame.kind
        engine.register("batch", frame.data)
        types = engine.types("batch").values()
        self.types = dict(zip(self.names, map(base_type, types), strict=True))
        self._readings = self._read_formats(frame.data)
        self.stored_types = {
            name: reading.type
            for name, reading in zip(self.names, self._readings, strict=True)
        }
        self._register_batch(frame.data)
        # Of no rows: types come from the schema alone, and no cell decides them.
        self._write_batch(f"CREATE TEMP TABLE {SPOOL_RELATION} AS")

    def append_batch(self, batch: Any) -> None:
        """Add the rows of a pyarrow table of the same schema."""
        self._register_batch(frame_of_pyarrow(batch).data)
        self._write_batch(f"INSERT INTO {SPOOL_RELATION}")

    def remove_rows(self) -> None:
        """Begin anew, without rows."""
        self.engine.run(f"DELETE FROM {SPOOL_RELATION}", doing="reading rows")

    def _read_formats(self, data: Any) -> list[CellReading]:
        formats = self.engine.physical(data.source).formats
        cells = zip(
            short_names(len(self.names)), formats, self.types.values(), strict=True
        )
        return [reading_of_format(*cell) for cell in cells]

    def _register_batch(self, data: Any) -> None:
        self.engine.register("batch", self.engine.physical(data.source))

    def _write_batch(self, statement: str) -> None:
        select = ", ".join(
            f"{reading.expression} AS x{i}" for i, reading in enumerate(self._readings)
        )
        self.engine.run(f"{statement} SELECT {select} FROM batch", doing="reading rows")
