"""The table: rows behind a small interface of exact integers. PRIVATE: nothing here may
leave without noise, except through the curator.

Every answer is about the rows after each unit is bounded (bounded_rows.py), so one unit
moves a marginal by at most `max_rows` in all. Marginals are counted from codes
(row_codes.py); labels, values and sums by queries of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TableError
from understudy.queries.features import FeaturePlan
from understudy.queries.statistics import Statistic
from understudy.schema import Categorical, Lattice, Schema
from understudy.tables.bounded_rows import BoundedRows
from understudy.tables.cell_sums import CellSumQuery
from understudy.tables.clique_cover import Clique
from understudy.tables.counting import Tally, bin_values, count_sparse, fuse_places
from understudy.tables.kept_columns import KeptColumns
from understudy.tables.privacy_unit import name_id_sql
from understudy.tables.reading.encode import (
    code_sql,
    index_sql,
    is_listable_sql,
    label_sql,
)
from understudy.tables.reading.grid import WholeGrid
from understudy.tables.reading.type_votes import TYPE_CANDIDATES, vote_sql
from understudy.tables.records import Records, join_batches, thin_relation
from understudy.tables.row_codes import CodesByColumn, Progress, RowCodes
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn
from understudy.tables.unit_features import derive_unit_source

MAX_QUERY_EDGES = 257
"""Bins of a lattice beyond which values are counted one by one and then put into bins:
each edge is a comparison in a query.
"""

VOTE_BATCH_COLUMNS = 8
"""Columns whose votes are counted in one query: many patterns in one query take long to
plan.
"""


class Table:
    """Exact counts, sums and lists of the rows of a source, as a schema describes them.

    >>> import duckdb
    >>> from understudy.schema import Boolean
    >>> from understudy.tables import open_table
    >>> smokers = duckdb.sql("SELECT unnest(['yes', 'no', 'yes']) AS smoker")
    >>> schema = Schema(columns=(Boolean(name="smoker"),))
    >>> table = Table(open_table(smokers), schema)
    >>> table.rows(), table.counts([("smoker",)])[0].tolist()
    (3, [1, 2, 0])
    """

    def __init__(
        self,
        source: TableSource,
        schema: Schema,
        *,
        rows: BoundedRows | None = None,
    ) -> None:
        for column in schema.columns:
            needed = column.is_modelled or column.name == schema.unit.id
            if needed and column.name not in source.names:
                raise TableError(
                    f'column "{column.name}" is in the schema and not in the table.'
                    " Nothing was read"
                )
        self.schema = schema
        self._rows = rows or BoundedRows(source, schema)
        self._codes = RowCodes(self._rows, schema)
        self._kept = KeptColumns(self._rows, schema)

    def with_schema(self, schema: Schema) -> Table:
        """The same rows under another schema. Rows that were encoded are not encoded
        again where the columns stay the same.
        """
        if schema == self.schema:
            return self
        own, other = self.schema.unit, schema.unit
        if (own.id, own.max_rows) != (other.id, other.max_rows):
            return Table(self._rows.source, schema)
        described = Table(self._rows.source, schema, rows=self._rows)
        described._kept = self._kept
        # Rules and the sizes of units may differ: no code depends on them.
        if schema.columns == self.schema.columns:
            described._codes = self._codes
        return described

    def holds(self, column: str) -> bool:
        """Whether its rows have such a column, described or not."""
        return column in self._rows.source.names

    def rows(self) -> int:
        """Number of rows, after every unit is bounded."""
        return self._rows.count

    def sizes(self) -> NDArray[np.int64]:
        """How many units have 1, 2, … max_rows rows."""
        histogram = np.zeros(self.schema.unit.max_rows, np.int64)
        if self.schema.unit.id is None:
            histogram[0] = self.rows()
            return histogram
        per_unit = f"SELECT count(*) AS rows FROM {self._rows.relation} GROUP BY unit"
        query = f"SELECT rows, count(*) FROM ({per_unit}) GROUP BY rows"
        for rows, units in self._run(query, "counting units"):
            histogram[rows - 1] = units
        return histogram

    def broken(self) -> int:
        """Number of rows that break a rule of the schema, after every unit is bounded."""
        return self._rows.broken

    def count_units(self) -> int:
        """Number of units that have a row."""
        if self.schema.unit.id is None:
            return self.rows()
        query = f"SELECT count(DISTINCT unit) FROM {self._rows.relation}"
        return int(self._run(query, "counting units")[0][0])

    def encode(self, progress: Progress | None = None) -> bool:
        """Encode every column of a closed schema once; whether the codes fit in memory
        and are kept.
        """
        return self._codes.encode_rows(progress)

    def read_codes(self) -> Iterator[CodesByColumn]:
        """Codes of every column of a closed schema, batch by batch, read anew."""
        return self._codes.read_batches(list(self.schema))

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Dense counts over each clique, all in one pass, axes in the clique's order.
        The empty clique gives the number of rows.

        The answers are read-only: they may be given again.
        """
        return self._codes.count_marginals(cliques)

    def sparse_counts(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the cells that occur, one row each in rising order, and their
        counts; the domain may be of any size.
        """
        if not clique:
            # One cell without columns, or none where there is no row.
            cells = min(self.rows(), 1)
            return np.zeros((cells, 0), np.int64), np.full(cells, self.rows(), np.int64)
        batches = self._codes.iter_batches(list(clique))
        return count_sparse(clique, self._codes.find_sizes(clique), batches)

    def labels(
        self, column: str, *, by_unit: bool = False
    ) -> tuple[list[str], NDArray[np.int64]]:
        """Labels that occur in a categorical column, in the order of their bytes, and
        how often, or how many units have each; missing cells are left out, and so are
        texts that are no label: those no schema could list, and very long ones.
        """
        described = self.schema[column]
        if not isinstance(described, Categorical):
            raise TableError(
                f'column "{column}" is {described.type}, so it has no labels. Nothing'
                " was counted"
            )
        layers = QueryLayers()
        label = layers.read(label_sql(layers, described, self._stored_column(column)))
        times = "count(*)"
        if by_unit and self.schema.unit.id is not None:
            times = f"count(DISTINCT {layers.read('unit')})"
        query = layers.query(
            self._rows.relation, [f"{label} AS label", f"{times} AS times"]
        )
        query += (
            f" WHERE {label} IS NOT NULL AND {is_listable_sql(label)} GROUP BY ALL"
            " ORDER BY label"
        )
        rows = self._run(query, "counting labels")
        labels = [label for label, _ in rows]
        return labels, np.array([times for _, times in rows], np.int64)

    def lattice(self, column: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lattice indices that occur, in rising order, and how often."""
        layers, index = self._index(column)
        query = layers.query(
            self._rows.relation, [f"{index} AS position", "count(*) AS times"]
        )
        query += f" WHERE {index} IS NOT NULL GROUP BY ALL ORDER BY position"
        positions, times = self._fetch_arrays(query, doing="counting values")
        return positions.astype(np.int64), times.astype(np.int64)

    def lattice_counts(self, column: str, edges: Sequence[int]) -> NDArray[np.int64]:
        """How many lattice indices lie in each bin edges[i] ≤ x < edges[i + 1]; those
        outside are not counted.
        """
        if len(edges) > MAX_QUERY_EDGES:
            return bin_values(*self.lattice(column), edges)
        layers, index = self._index(column)
        # A bin per whole number needs no comparisons; others go through a tree of them.
        grid = WholeGrid(unit=Fraction(1), nearest=False)
        bin_of_index = grid.bin_sql(index, tuple(edges))
        # Counted by the index: a single bin is a constant, and a query that selects no
        # cell carries none to its condition.
        query = layers.query(
            self._rows.relation, [f"{bin_of_index} AS bin", f"count({index}) AS times"]
        )
        query += f" WHERE {index} >= {edges[0]} AND {index} < {edges[-1]} GROUP BY ALL"
        counts = np.zeros(len(edges) - 1, np.int64)
        for position, times in self._run(query, "counting values"):
            counts[position] = times
        return counts

    def sum(self, column: str, low: int, high: int) -> int:
        """Sum of the lattice indices, each clipped to [low, high]. It is a Python
        integer: it cannot wrap.
        """
        layers, index = self._index(column)
        # LEAST and GREATEST would pass over a NULL, and count a missing cell.
        clipped = (
            f"CASE WHEN {index} IS NOT NULL THEN LEAST(GREATEST(CAST({index} AS"
            f" HUGEINT), {low}), {high}) END"
        )
        query = layers.query(self._rows.relation, [f"COALESCE(sum({clipped}), 0)"])
        return int(self._run(query, "adding up")[0][0])

    def count_valid(self, column: str) -> int:
        """Number of rows that have a value in this column."""
        layers, index = self._index(column)
        query = layers.query(self._rows.relation, [f"count({index})"])
        return int(self._run(query, "counting values")[0][0])

    def cell_sums(
        self, clique: Clique, statistics: Sequence[Statistic]
    ) -> tuple[NDArray[np.int64], list[list[int]]]:
        """The cells of a clique that occur, by their place among all cells, and for
        each statistic its sum over the rows of each of these cells.
        """
        codecs = self._codes.find_codecs(clique)
        if kept := self._kept.sum_cells(self.schema, codecs, statistics):
            return kept
        query = CellSumQuery(self.schema, codecs, self._rows.source).sql(
            self._rows.relation, statistics
        )
        rows = self._run(query, "adding up")
        codes = [np.array([row[i] for row in rows]) for i in range(len(clique))]
        places = fuse_places(codes, codecs, len(rows))
        first, last = len(clique), len(clique) + len(statistics)
        sums = [[int(row[i]) for row in rows] for i in range(first, last)]
        return places, sums

    def cell_values(
        self, clique: Clique, column: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Cells of a clique, lattice indices of a column in them, and how often each
        pair occurs; rows without a value are left out.
        """
        codecs = self._codes.find_codecs(clique)
        query = CellSumQuery(self.schema, codecs, self._rows.source).values_sql(
            self._rows.relation, column
        )
        *codes, values, times = self._fetch_arrays(query, doing="counting values")
        places = fuse_places(codes, codecs, len(values))
        return places, values.astype(np.int64), times.astype(np.int64)

    def unit_cells(self, clique: Clique) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A number for each privacy unit, and the cells that each has rows in."""
        codecs = self._codes.find_codecs(clique)
        query = CellSumQuery(self.schema, codecs, self._rows.source).units_sql(
            self._rows.relation
        )
        *codes, units = self._fetch_arrays(query, doing="counting units")
        return units.astype(np.int64), fuse_places(codes, codecs, len(units))

    def group_sizes(
        self, key: str, clique: Clique, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Groups of rows that share a key: cells, numbers of rows up to `most`, and how
        many groups have both.
        """
        codecs = self._codes.find_codecs(clique)
        named = name_id_sql(self._stored_column(key), self.schema[key])
        query = CellSumQuery(self.schema, codecs, self._rows.source).groups_sql(
            self._rows.relation, named, most
        )
        found = self._fetch_arrays(query, doing="counting groups")
        places, sizes, times = (column.astype(np.int64) for column in found)
        return places, sizes, times

    def derive_units(self, plan: FeaturePlan) -> Table:
        """The table of units: one row for each, with columns per unit."""
        described = self.with_schema(plan.cells.schema)
        codecs = described._codes.find_codecs(plan.cells.clique)
        source = derive_unit_source(
            plan, codecs, self._rows.source, self._rows.relation
        )
        return Table(source, plan.schema)

    def votes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """For each column, how many cells vote for each candidate type; every cell
        votes once.
        """
        counts: list[NDArray[np.int64]] = []
        for start in range(0, len(columns), VOTE_BATCH_COLUMNS):
            counts += self._count_votes(columns[start : start + VOTE_BATCH_COLUMNS])
        return np.array(counts, np.int64).reshape(len(columns), len(TYPE_CANDIDATES))

    def _count_votes(self, columns: Sequence[str]) -> list[NDArray[np.int64]]:
        layers = QueryLayers()
        ballots = [
            vote_sql(layers, self._stored_column(name), self.schema[name].missing)
            for name in columns
        ]
        sizes = dict.fromkeys(columns, len(TYPE_CANDIDATES))
        tally = Tally([(name,) for name in columns], sizes)
        query = layers.query(self._rows.relation, ballots)
        for batch in self._rows.source.engine.stream(query, doing="reading types"):
            tally.add(dict(zip(columns, batch, strict=True)))
        return tally.counts()

    def records(
        self,
        columns: Sequence[str] | None = None,
        *,
        key: str | None = None,
        most: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> Records:
        """Rows of a closed schema as arrays, at most `most` of them, for the
        custodian's own comparisons.

        A value beyond its bounds lies on the nearest one; `key` names the column that
        aligns two tables. Of a large table a sample is drawn before it is encoded, anew
        each time.
        """
        names = list(self.schema) if columns is None else list(columns)
        lattice = [name for name in names if isinstance(self.schema[name], Lattice)]
        layers = QueryLayers()
        engine = self._rows.source.engine
        select = [
            code_sql(layers, codec, self._stored_column(name), engine.create_enum)
            for name, codec in self._codes.find_codecs(names).items()
        ]
        select += [self._place_sql(layers, name) for name in lattice]
        if key is not None:
            select.append(f"hash(CAST({self._stored_column(key).cell} AS VARCHAR))")
        relation = thin_relation(self._rows.relation, self.rows(), most)
        query = layers.query(relation, select)
        batches = list(engine.stream(query, doing="reading rows"))
        rows = join_batches(self.schema, names, lattice, batches, keyed=key is not None)
        if most is None or rows.rows <= most:
            return rows
        if rng is None:
            raise TypeError("a sample of rows needs a generator")
        return rows.sample(most, rng)

    def _place_sql(self, layers: QueryLayers, name: str) -> str:
        """A cell's lattice index, clipped to the bounds and counted from 1 at the lower
        one; 0 where it has no value.
        """
        described = self.schema[name]
        if not isinstance(described, Lattice) or described.low is None:
            raise TableError(f'column "{name}" has no bounds. Nothing was read')
        index = layers.read(index_sql(layers, described, self._stored_column(name)))
        clipped = f"LEAST(GREATEST({index}, {described.low}), {described.high})"
        return (
            f"CAST(CASE WHEN {index} IS NULL THEN 0 ELSE {clipped} -"
            f" ({described.low - 1}) END AS UBIGINT)"
        )

    def _stored_column(self, name: str) -> StoredColumn:
        return self._rows.source.stored_column(name)

    def _index(self, name: str) -> tuple[QueryLayers, str]:
        """A query in the making, and the lattice index of a column's cell in it."""
        described = self.schema[name]
        if not isinstance(described, Lattice):
            raise TableError(
                f'column "{name}" is {described.type}, so it has no numbers. Nothing'
                " was counted"
            )
        layers = QueryLayers()
        index = index_sql(layers, described, self._stored_column(name))
        return layers, layers.read(index)

    def _run(self, query: str, doing: str) -> list[tuple[Any, ...]]:
        return self._rows.source.engine.run(query, doing=doing)

    def _fetch_arrays(self, query: str, doing: str) -> list[NDArray[Any]]:
        return self._rows.source.engine.arrays(query, doing=doing)
