"""A number by which rows are known again, in whatever order they come.

It is the sum of a hash of every row, so it holds for a multiset and adds up. It finds
what changed by accident; who wants to deceive could have changed the rows before.
"""

from __future__ import annotations

from typing import Any

from understudy.tables.carriers.spark import SUM_MODULUS
from understudy.tables.sources.frame import short_names
from understudy.tables.sources.frame_arrow import frame_of_pyarrow
from understudy.tables.sql.engine import Engine


class RowSums:
    """An engine that adds up the hashes of rows.

    >>> import pyarrow as pa
    >>> sums = RowSums()
    >>> one, other = pa.table({"age": [34, 51]}), pa.table({"age": [51, 34]})
    >>> sums.sum_rows(one) == sums.sum_rows(other)
    True
    >>> sums.close()
    """

    def __init__(self) -> None:
        self._engine = Engine(threads=1)

    def sum_rows(self, table: Any) -> int:
        """The sum of a pyarrow table."""
        data: Any = frame_of_pyarrow(table).data
        # As they are stored: no cell can stop the reading of the others.
        self._engine.register("rows", self._engine.physical(data.source))
        cells = ", ".join(short_names(table.num_columns))
        [(total,)] = self._engine.run(
            f"SELECT sum(hash({cells})) FROM rows", doing="adding up rows"
        )
        return int(total or 0) % SUM_MODULUS

    def close(self) -> None:
        """Let go of the engine."""
        self._engine.close()
