"""A table whose rows stay in their partitions. PRIVATE, as every table.

Each primitive is asked of every partition, and the integers are added up. What remains
of `Table`, rows as arrays, columns per unit and groups that share a key, reads the rows
here, from the same partitions: the salt is the same, so the bounded rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.queries.statistics import Statistic
from understudy.schema import Schema
from understudy.tables.carriers.packed_answer import unpack_answer
from understudy.tables.clique_cover import Clique
from understudy.tables.partitions.codes import PartitionedCodes
from understudy.tables.partitions.questions import PartQuestion
from understudy.tables.partitions.units import BoundedParts
from understudy.tables.reading.type_votes import TYPE_CANDIDATES
from understudy.tables.sources.source import TableSource
from understudy.tables.table import Table


def describe_rows(source: TableSource, schema: Schema) -> Table:
    """The rows of a source as a schema describes them, counted where they lie.

    >>> import duckdb
    >>> from understudy.schema import Boolean
    >>> from understudy.tables import open_table
    >>> smokers = open_table(duckdb.sql("SELECT unnest(['yes', 'no']) AS smoker"))
    >>> describe_rows(smokers, Schema(columns=(Boolean(name="smoker"),))).rows()
    2
    """
    if source.carrier is None:
        return Table(source, schema)
    return PartitionedTable(source, schema)


class PartitionedTable(Table):
    """Exact integers about rows in partitions."""

    def __init__(
        self,
        source: TableSource,
        schema: Schema,
        *,
        rows: BoundedParts | None = None,
        codes: PartitionedCodes | None = None,
    ) -> None:
        bounded = rows or BoundedParts(source, schema)
        super().__init__(source, schema, rows=bounded)
        self._parts = bounded
        self._part_codes = codes or PartitionedCodes(bounded, schema)
        self._codes = self._part_codes

    def with_schema(self, schema: Schema) -> Table:
        """The same rows under another schema, encoded again only where columns differ."""
        if schema == self.schema:
            return self
        own, other = self.schema.unit, schema.unit
        source = self._parts.source
        if (own.id, own.max_rows) != (other.id, other.max_rows):
            return PartitionedTable(source, schema)
        is_same = schema.columns == self.schema.columns
        codes = self._part_codes if is_same else None
        return PartitionedTable(source, schema, rows=self._parts, codes=codes)

    def rows(self) -> int:
        """Number of rows, after every unit is bounded."""
        return int(self.counts([()])[0])

    def sizes(self) -> NDArray[np.int64]:
        """How many units have 1, 2, … max_rows rows."""
        [histogram] = self._add_up("sizes")
        return np.asarray(histogram)

    def broken(self) -> int:
        """Number of rows that break a rule of the schema, after every unit is bounded."""
        return int(self._add_up("broken")[0][0])

    def count_units(self) -> int:
        """Number of units that have a row."""
        return int(self._add_up("count_units")[0][0])

    def sparse_counts(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the cells that occur, in rising order, and their counts."""
        if not clique:
            return super().sparse_counts(clique)
        return self._part_codes.count_cells(tuple(clique))

    def labels(
        self, column: str, *, by_unit: bool = False
    ) -> tuple[list[str], NDArray[np.int64]]:
        """Labels that occur, in the order of their bytes, and how often."""
        labels, times = self._add_up("labels", column, by_unit)
        return labels, times

    def lattice(self, column: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lattice indices that occur, in rising order, and how often."""
        positions, times = self._add_up("lattice", column)
        return positions[:, 0], times

    def lattice_counts(self, column: str, edges: Sequence[int]) -> NDArray[np.int64]:
        """How many lattice indices lie in each bin."""
        [counts] = self._add_up("lattice_counts", column, list(edges))
        return np.asarray(counts)

    def sum(self, column: str, low: int, high: int) -> int:
        """Sum of the lattice indices, each clipped to [low, high]."""
        return int(self._add_up("sum", column, low, high)[0][0])

    def count_valid(self, column: str) -> int:
        """Number of rows that have a value in this column."""
        return int(self._add_up("count_valid", column)[0][0])

    def cell_sums(
        self, clique: Clique, statistics: Sequence[Statistic]
    ) -> tuple[NDArray[np.int64], list[list[int]]]:
        """The cells that occur, and each statistic's sum over the rows of each."""
        places, *sums = self._add_up("cell_sums", clique, list(statistics))
        return places, sums

    def cell_values(
        self, clique: Clique, column: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Cells, lattice indices of a column in them, and how often each pair occurs."""
        keys, times = self._add_up("cell_values", clique, column)
        return keys[:, 0], keys[:, 1], times

    def unit_cells(self, clique: Clique) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A number for each privacy unit, and the cells that each has rows in."""
        units, places = self._add_up("unit_cells", clique)
        return units, places

    def votes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """For each column, how many cells vote for each candidate type."""
        [votes] = self._add_up("votes", list(columns))
        return np.asarray(votes).reshape(len(columns), len(TYPE_CANDIDATES))

    def _add_up(self, primitive: str, *given: Any) -> list[Any]:
        """Ask every partition; the parts of the answer, added up."""
        reading = self._parts.describe_reading(self.schema)
        question = PartQuestion(reading, primitive, given)
        answer = unpack_answer(self._parts.carrier.add_up(question))
        # Copies: what was unpacked cannot be written to.
        return [part if isinstance(part, list) else part.copy() for part in answer]
