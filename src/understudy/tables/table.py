"""The table: rows behind a small interface of exact integers. PRIVATE: nothing here may
leave without noise, except through the curator.

Rows are encoded once into compact codes where these fit in memory, else anew from the
source at each count. Every answer is about the rows after each unit is bounded, so one
unit moves a marginal by at most `max_rows` in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TableError
from understudy.schema import (
    BrokenRowPolicy,
    Categorical,
    Codec,
    Column,
    Lattice,
    Schema,
    codec_of,
)
from understudy.tables.counting import Clique, Tally, count_sparse
from understudy.tables.privacy_unit import bound_units, draw_salt
from understudy.tables.reading.broken_rules import query_broken_count, query_kept_rows
from understudy.tables.reading.encode import (
    code_sql,
    index_sql,
    is_listable_sql,
    label_sql,
)
from understudy.tables.reading.grid import WholeGrid
from understudy.tables.reading.type_votes import TYPE_CANDIDATES, vote_sql
from understudy.tables.records import Records, join_batches, thin_relation
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn

MAX_CODES_BYTES = 10**9
"""Codes beyond this many bytes are not kept in memory but read anew for each count."""

MAX_CACHED_CELLS = 1 << 22
"""Cells of marginals that are kept once counted: what chooses among the same cliques
round after round counts them once.
"""

MAX_QUERY_EDGES = 257
"""Bins of a lattice beyond which values are counted one by one and then put into bins:
each edge is a comparison in a query.
"""

VOTE_BATCH_COLUMNS = 8
"""Columns whose votes are counted in one query."""

CodesByColumn = dict[str, NDArray[np.unsignedinteger]]
Progress = Callable[[str, float], None]


class BoundedRows:
    """The rows of a source, bounded per unit; shared by tables that describe them
    differently.
    """

    def __init__(self, source: TableSource, schema: Schema) -> None:
        self.source = source
        self.unit = schema.unit
        self._schema = schema
        self._salt = draw_salt()

    @cached_property
    def relation(self) -> str:
        """The relation that holds them; rows that break a rule are in it as the schema
        says.
        """
        schema, engine = self._schema, self.source.engine
        if schema.broken is BrokenRowPolicy.KEEP or not schema.named_breaches:
            return self.bounded
        columns, unit = self._cell_names, "unit" if self.unit.id is not None else None
        renamed = f"x{len(self.source.names)}"  # so that the id travels with the cells
        base = (
            self.bounded
            if unit is None
            else (
                f"(SELECT {', '.join(columns)}, {unit} AS {renamed} FROM"
                f" {self.bounded})"
            )
        )
        width = columns if unit is None else [*columns, renamed]
        query = query_kept_rows(
            QueryLayers(),
            schema,
            self._stored_columns,
            engine.create_enum,
            width=width,
            relation=base,
        )
        back = "" if unit is None else f", {renamed} AS {unit}"
        query = f"SELECT {', '.join(columns)}{back} FROM ({query})"
        engine.run(
            f"CREATE TEMP VIEW held AS {query}", doing="reading rows by the rules"
        )
        return "held"

    @cached_property
    def broken(self) -> int:
        """How many of the bounded rows break a rule."""
        if not self._schema.named_breaches:
            return 0
        query = query_broken_count(
            QueryLayers(),
            self._schema,
            self._stored_columns,
            self.source.engine.create_enum,
            relation=self.bounded,
        )
        return int(
            self.source.engine.run(query, doing="counting rows by the rules")[0][0]
        )

    @property
    def _cell_names(self) -> list[str]:
        """The cells that rows have, by name."""
        kept = {column.name for column in self._schema.columns}
        names = self.source.names
        return [
            f"x{i}"
            for i, name in enumerate(names)
            if self.unit.id is None or name in kept
        ]

    @property
    def _stored_columns(self) -> dict[str, StoredColumn]:
        """Where the columns that take part in a release are."""
        return {name: self.source.stored(name) for name in self._schema}

    @cached_property
    def bounded(self) -> str:
        """The relation that holds the rows of every unit, as many as each may have."""
        source, unit = self.source, self.unit
        if unit.id is None:
            return source.relation
        names = [column.name for column in self._schema.columns]
        return bound_units(
            source.engine,
            source.relation,
            id=source.stored(unit.id),
            column=self._schema[unit.id],
            unit=unit,
            salt=self._salt,
            cells=[source.stored(name) for name in source.names],
            keep=[i for i, name in enumerate(source.names) if name in names],
        )

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return int(
            self.source.engine.run(
                f"SELECT count(*) FROM {self.relation}", doing="counting rows"
            )[0][0]
        )


class Table:
    """Exact counts, sums and lists of the rows of a source, as a schema describes them.

    >>> import duckdb
    >>> from understudy.schema import Boolean
    >>> from understudy.tables import open_table
    >>> table = Table(open_table(duckdb.sql("SELECT unnest(['yes', 'no', 'yes']) AS smoker")), Schema(columns=(Boolean(name="smoker"),)))
    >>> table.rows(), table.counts([("smoker",)])[0].tolist()
    (3, [1, 2, 0])
    """

    def __init__(
        self, source: TableSource, schema: Schema, *, rows: BoundedRows | None = None
    ) -> None:
        for column in schema.columns:
            if (
                column.is_modelled or column.name == schema.unit.id
            ) and column.name not in source.names:
                raise TableError(
                    f'column "{column.name}" is in the schema and not in the table.'
                    " Nothing was read"
                )
        self.schema = schema
        self._rows = rows or BoundedRows(source, schema)
        self._codes: CodesByColumn | None = None
        self._kept: dict[Clique, NDArray[np.int64]] = {}
        self._space = MAX_CACHED_CELLS

    def with_schema(self, schema: Schema) -> Table:
        """The same rows under another schema; for an equal one this table itself, so
        that rows encoded once are not read again.
        """
        if schema == self.schema:
            return self
        own, other = self.schema.unit, schema.unit
        same_unit = (own.id, own.max_rows) == (other.id, other.max_rows)
        return Table(self._rows.source, schema, rows=self._rows if same_unit else None)

    def holds(self, column: str) -> bool:
        """Whether its rows have such a column, described or not."""
        return column in self._rows.source.names

    def rows(self) -> int:
        """Number of rows, after every unit is bounded."""
        return self._rows.count

    def sizes(self) -> NDArray[np.int64]:
        """How many units have 1, 2, … max_rows rows."""
        found = np.zeros(self.schema.unit.max_rows, np.int64)
        if self.schema.unit.id is None:
            found[0] = self.rows()
            return found
        each = f"SELECT count(*) AS rows FROM {self._rows.relation} GROUP BY unit"
        for rows, units in self._run(
            f"SELECT rows, count(*) FROM ({each}) GROUP BY rows", "counting units"
        ):
            found[rows - 1] = units
        return found

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
        if self._codes is not None:
            return True
        names = list(self.schema)
        codecs = self._codecs_of(names)
        if (
            self.rows() * sum(codec.dtype.itemsize for codec in codecs.values())
            > MAX_CODES_BYTES
        ):
            return False
        codes: CodesByColumn = {
            name: np.empty(self.rows(), codec.dtype) for name, codec in codecs.items()
        }
        done = 0
        for batch in self._batches(names):
            length = len(next(iter(batch.values()))) if batch else 0
            for name, part in batch.items():
                codes[name][done : done + length] = part
            done += length
            if progress is not None:
                progress("encoding", done / max(self.rows(), 1))
        assert done == self.rows() or not names, (
            "a source gave two different numbers of rows"
        )
        self._codes = codes
        return True

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Dense counts over each clique, all in one pass, axes in the clique's order.
        The empty clique gives the number of rows.

        The answers are read-only: they may be given again.
        """
        wanted = list(dict.fromkeys(map(tuple, cliques)))
        missing = [clique for clique in wanted if clique not in self._kept]
        fresh = (
            dict(zip(missing, self._count_marginals(missing), strict=True))
            if missing
            else {}
        )
        found = {
            clique: fresh[clique] if clique in fresh else self._kept[clique]
            for clique in wanted
        }
        for clique, table in fresh.items():
            table.flags.writeable = False
            if table.size <= self._space:
                self._space -= table.size
                self._kept[clique] = table
        return [found[tuple(clique)] for clique in cliques]

    def _count_marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        names = list(dict.fromkeys(name for clique in cliques for name in clique))
        sizes = {name: codec.size for name, codec in self._codecs_of(names).items()}
        tally = Tally(cliques, sizes)
        if names:
            for batch in self._iter_codes(names):
                tally.add(batch)
        else:
            tally.add({}, rows=self.rows())
        return tally.counts()

    def sparse_counts(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the cells that occur, one row each in rising order, and their
        counts; the domain may be of any size.
        """
        if not clique:
            return (
                np.zeros((1, 0), np.int64)[: self.rows()],
                np.array([self.rows()], np.int64)[: self.rows()],
            )
        sizes = {name: codec.size for name, codec in self._codecs_of(clique).items()}
        return count_sparse(clique, sizes, self._iter_codes(list(clique)))

    def labels(self, column: str) -> tuple[list[str], NDArray[np.int64]]:
        """Labels that occur in a categorical column, in the order of their bytes, and
        how often; missing cells are left out, and so are texts that are no label: those
        no schema could list, and very long ones.
        """
        described = self._schema_column(column)
        if not isinstance(described, Categorical):
            raise TableError(
                f'column "{column}" is {described.type}, so it has no labels. Nothing'
                " was counted"
            )
        layers = QueryLayers()
        found = layers.read(label_sql(layers, described, self._stored(column)))
        query = layers.query(
            self._rows.relation, [f"{found} AS label", "count(*) AS times"]
        )
        query += (
            f" WHERE {found} IS NOT NULL AND {is_listable_sql(found)} GROUP BY ALL"
            " ORDER BY label"
        )
        answer = self._run(query, "counting labels")
        return [row[0] for row in answer], np.array(
            [row[1] for row in answer], np.int64
        )

    def lattice(self, column: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lattice indices that occur, in rising order, and how often."""
        layers, found = self._index(column)
        query = layers.query(
            self._rows.relation, [f"{found} AS position", "count(*) AS times"]
        )
        query += f" WHERE {found} IS NOT NULL GROUP BY ALL ORDER BY position"
        positions, times = self._rows.source.engine.arrays(
            query, doing="counting values"
        )
        return positions.astype(np.int64), times.astype(np.int64)

    def lattice_counts(self, column: str, edges: Sequence[int]) -> NDArray[np.int64]:
        """How many lattice indices lie in each bin edges[i] ≤ x < edges[i + 1]; those
        outside are not counted.
        """
        if len(edges) > MAX_QUERY_EDGES:
            positions, times = self.lattice(column)
            bins = (
                np.searchsorted(np.array(edges, np.int64), positions, side="right") - 1
            )
            held = (bins >= 0) & (bins < len(edges) - 1)
            found_in = np.zeros(len(edges) - 1, np.int64)
            np.add.at(found_in, bins[held], times[held])
            return found_in
        layers, found = self._index(column)
        # A bin per whole number needs no comparisons; others go through a tree of them.
        bin = WholeGrid(unit=Fraction(1), nearest=False).bin_sql(found, tuple(edges))
        # Counted by the index: a single bin is a constant, and a query that selects no
        # cell carries none to its condition.
        query = layers.query(
            self._rows.relation, [f"{bin} AS bin", f"count({found}) AS times"]
        )
        query += f" WHERE {found} >= {edges[0]} AND {found} < {edges[-1]} GROUP BY ALL"
        counts = np.zeros(len(edges) - 1, np.int64)
        for position, times in self._run(query, "counting values"):
            counts[position] = times
        return counts

    def sum(self, column: str, low: int, high: int) -> int:
        """Sum of the lattice indices, each clipped to [low, high]. It is a Python
        integer: it cannot wrap.
        """
        layers, found = self._index(column)
        clipped = (
            f"CASE WHEN {found} IS NOT NULL THEN LEAST(GREATEST(CAST({found} AS"
            f" HUGEINT), {low}), {high}) END"
        )
        query = layers.query(self._rows.relation, [f"COALESCE(sum({clipped}), 0)"])
        return int(self._run(query, "adding up")[0][0])

    def count_valid(self, column: str) -> int:
        """Number of rows that have a value in this column."""
        layers, found = self._index(column)
        return int(
            self._run(
                layers.query(self._rows.relation, [f"count({found})"]),
                "counting values",
            )[0][0]
        )

    def votes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """For each column, how many cells vote for each candidate type; every cell
        votes once.
        """
        engine, counted = self._rows.source.engine, []
        # A few columns at a time: many patterns in one query take long to plan.
        for start in range(0, len(columns), VOTE_BATCH_COLUMNS):
            some = columns[start : start + VOTE_BATCH_COLUMNS]
            layers = QueryLayers()
            ballots = [
                vote_sql(layers, self._stored(name), self._schema_column(name).missing)
                for name in some
            ]
            tally = Tally(
                [(name,) for name in some], dict.fromkeys(some, len(TYPE_CANDIDATES))
            )
            for batch in engine.stream(
                layers.query(self._rows.relation, ballots), doing="reading types"
            ):
                tally.add(dict(zip(some, batch, strict=True)))
            counted += tally.counts()
        return np.array(counted, np.int64).reshape(len(columns), len(TYPE_CANDIDATES))

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
        lattice = [
            name for name in names if isinstance(self._schema_column(name), Lattice)
        ]
        layers, engine = QueryLayers(), self._rows.source.engine
        select = [
            code_sql(layers, codec, self._stored(name), engine.create_enum)
            for name, codec in self._codecs_of(names).items()
        ]
        for name in lattice:
            described = self._schema_column(name)
            assert isinstance(described, Lattice)
            assert described.low is not None
            found = layers.read(index_sql(layers, described, self._stored(name)))
            clipped = f"LEAST(GREATEST({found}, {described.low}), {described.high})"
            select.append(
                f"CAST(CASE WHEN {found} IS NULL THEN 0 ELSE {clipped} -"
                f" ({described.low - 1}) END AS UBIGINT)"
            )
        if key is not None:
            select.append(f"hash(CAST({self._stored(key).cell} AS VARCHAR))")
        relation = thin_relation(self._rows.relation, self.rows(), most)
        batches = list(
            engine.stream(layers.query(relation, select), doing="reading rows")
        )
        rows = join_batches(self.schema, names, lattice, batches, keyed=key is not None)
        if most is None or rows.rows <= most:
            return rows
        assert rng is not None, "a sample needs a generator"
        return rows.sample(most, rng)

    def _schema_column(self, name: str) -> Column:
        return self.schema[name]

    def _stored(self, name: str) -> StoredColumn:
        return self._rows.source.stored(name)

    def _codecs_of(self, names: Sequence[str]) -> dict[str, Codec]:
        return {name: codec_of(self._schema_column(name)) for name in names}

    def _index(self, name: str) -> tuple[QueryLayers, str]:
        described = self._schema_column(name)
        if not isinstance(described, Lattice):
            raise TableError(
                f'column "{name}" is {described.type}, so it has no numbers. Nothing'
                " was counted"
            )
        layers = QueryLayers()
        return layers, layers.read(index_sql(layers, described, self._stored(name)))

    def _iter_codes(self, names: list[str]) -> Iterator[CodesByColumn]:
        """Codes of some columns: from memory where they are kept, else from the source."""
        if self.schema.is_closed and self.encode():
            assert self._codes is not None
            yield {name: self._codes[name] for name in names}
        else:
            yield from self._batches(names)

    def _batches(self, names: list[str]) -> Iterator[CodesByColumn]:
        """Codes of some columns, batch by batch, from the source."""
        engine = self._rows.source.engine
        layers = QueryLayers()
        codecs = self._codecs_of(names)
        select = [
            code_sql(layers, codec, self._stored(name), engine.create_enum)
            for name, codec in codecs.items()
        ]
        for batch in engine.stream(
            layers.query(self._rows.relation, select), doing="encoding rows"
        ):
            yield dict(zip(names, batch, strict=True))

    def _run(self, query: str, doing: str) -> list[tuple[Any, ...]]:
        return self._rows.source.engine.run(query, doing=doing)
