"""Sums of products of clipped lattice indices, by cell, as one query. PRIVATE.

Only public things are in its text: codecs, bounds, origins. A row's cell and its lattice
index are made from the same reading: where a column is both added up and cut into bins,
its bin is that of the index, so that a row adds nothing that its cell does not allow.
Sums are 128-bit integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from understudy.queries.statistics import ColumnFactor, Statistic
from understudy.schema import Column, Lattice, Schema, codec_of
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.tables.reading.encode import code_sql, index_sql
from understudy.tables.reading.grid import WholeGrid
from understudy.tables.sources.source import TableSource
from understudy.tables.sql.let_columns import QueryLayers

MAX_NARROW_TERM = 2**62
"""Largest contribution of a row that is multiplied out in 64 bits: half of what fits."""


class CellSumQuery:
    """The query in the making."""

    def __init__(
        self, schema: Schema, codecs: Mapping[str, Codec], source: TableSource
    ) -> None:
        self._schema = schema
        self._codecs = codecs
        self._source = source
        self._layers = QueryLayers()

    def sql(self, relation: str, statistics: Sequence[Statistic]) -> str:
        """One row for each cell that occurs: its codes, then the sums."""
        added = {name for statistic in statistics for name in statistic.value_columns}
        indices = {name: self._index_sql(name) for name in sorted(added)}
        codes = [
            self._code_sql(name, codec, indices.get(name))
            for name, codec in self._codecs.items()
        ]
        sums = [self._sum_sql(statistic, indices) for statistic in statistics]
        query = self._layers.query(relation, [*codes, *sums])
        if not codes:
            return query
        return f"{query} GROUP BY {', '.join(codes)}"

    def values_sql(self, relation: str, column: str) -> str:
        """One row for each cell and index of a column that occur together: the codes,
        the index, and how often.
        """
        index = self._index_sql(column)
        codes = [
            self._code_sql(name, codec, index if name == column else None)
            for name, codec in self._codecs.items()
        ]
        query = self._layers.query(
            relation, [*codes, f"{index} AS place", "count(*) AS times"]
        )
        return f"{query} WHERE {index} IS NOT NULL GROUP BY ALL"

    def units_sql(self, relation: str) -> str:
        """One row for each cell and unit: the codes, and a number for the unit."""
        codes = [
            self._code_sql(name, codec, None) for name, codec in self._codecs.items()
        ]
        # The relation of bounded rows names a row's unit.
        unit = self._layers.read("CAST(hash(unit) >> 1 AS BIGINT)")
        query = self._layers.query(relation, [*codes, f"{unit} AS unit_number"])
        return query.replace("SELECT ", "SELECT DISTINCT ", 1)

    def groups_sql(self, relation: str, key: str, most: int) -> str:
        """One row for each cell and size of groups that occur: the place of the cell
        among all cells, the size up to `most`, and how many groups have both.

        A group whose rows differ lies in the first of their cells: that depends on its
        own rows alone, and not on their order.
        """
        place = "CAST(0 AS BIGINT)"
        for name, codec in self._codecs.items():
            place = f"({place} * {codec.size} + {self._code_sql(name, codec, None)})"
        named = self._layers.read(key)
        rows = self._layers.query(
            relation, [f"{named} AS group_key", f"{place} AS place"]
        )
        groups = (
            f"SELECT min(place) AS place, least(count(*), {most}) AS size FROM ({rows})"
            " WHERE group_key IS NOT NULL GROUP BY group_key"
        )
        return f"SELECT place, size, count(*) AS times FROM ({groups}) GROUP BY ALL"

    def unit_rows_sql(self, relation: str, columns: Sequence[str]) -> str:
        """One row for each row: the codes, the clipped index of each column, one below
        the least where it has none, and the number of the row's unit.
        """
        indices = {name: self._index_sql(name) for name in columns}
        codes = [
            self._code_sql(name, codec, indices.get(name))
            for name, codec in self._codecs.items()
        ]
        numbers = [self._clipped_sql(name, indices[name]) for name in columns]
        unit = self._layers.read("unit")
        named = [*codes, *numbers, unit]
        shown = [f"{cell} AS c{i}" for i, cell in enumerate(named)]
        last = f"c{len(named) - 1}"
        cells = [f"CAST(c{i} AS BIGINT) AS c{i}" for i in range(len(named) - 1)]
        # Ranks, not hashes: two units must never be taken for one.
        rank = f"CAST(dense_rank() OVER (ORDER BY {last}) - 1 AS BIGINT) AS unit_rank"
        query = self._layers.query(relation, shown)
        return f"SELECT {', '.join([*cells, rank])} FROM ({query})"

    def places_sql(self, relation: str, columns: Sequence[Column]) -> str:
        """One row for each row: the place of each column's cell (kept_columns.py)."""
        places = [self._place_sql(column) for column in columns]
        return self._layers.query(relation, places)

    def _place_sql(self, column: Column) -> str:
        name = column.name
        stored = self._source.stored_column(name)
        if not isinstance(column, Lattice):
            return self._code_sql(name, codec_of(column), None)
        assert column.low is not None
        assert column.high is not None
        # In one bin, a code tells which cells have no value and why.
        whole = codec_of(replace(column, bins=(column.low, column.high + 1), grain=()))
        code = self._code_sql(name, whole, None)
        index = self._layers.read(index_sql(self._layers, column, stored))
        clipped = f"LEAST(GREATEST({index}, {column.low}), {column.high})"
        values = column.high - column.low + 1
        return (
            f"CAST(CASE WHEN {index} IS NULL THEN {values} + {code} ELSE"
            f" {clipped} - ({column.low}) END AS UINTEGER)"
        )

    def _clipped_sql(self, name: str, index: str) -> str:
        column = self._schema[name]
        assert isinstance(column, Lattice)
        assert column.low is not None
        clipped = f"LEAST(GREATEST({index}, {column.low}), {column.high})"
        return f"CASE WHEN {index} IS NULL THEN {column.low - 1} ELSE {clipped} END"

    def _index_sql(self, name: str) -> str:
        """The index of a column's cell, NULL if it has none; labels are only there or
        not.
        """
        column = self._schema[name]
        stored = self._source.stored_column(name)
        if isinstance(column, Lattice):
            return self._layers.read(index_sql(self._layers, column, stored))
        # Not those of the whole schema, in which other columns may be open.
        codec = self._codecs.get(name) or codec_of(column)
        code = self._layers.read(
            code_sql(self._layers, codec, stored, self._source.engine.create_enum)
        )
        values = int(codec.is_value.sum())
        return self._layers.read(f"CASE WHEN {code} < {values} THEN 1 END")

    def _code_sql(self, name: str, codec: Codec, index: str | None) -> str:
        stored = self._source.stored_column(name)
        code = code_sql(self._layers, codec, stored, self._source.engine.create_enum)
        code = self._layers.read(code)
        if index is None or not isinstance(codec.bins, BinEdges):
            return code
        whole = WholeGrid(unit=Fraction(1), nearest=False)
        bin_of_index = whole.bin_sql(index, codec.bins.edges)
        return self._layers.read(
            f"CASE WHEN {index} IS NULL THEN {code} ELSE {bin_of_index} END"
        )

    def _sum_sql(self, statistic: Statistic, indices: Mapping[str, str]) -> str:
        present = [f"{indices[name]} IS NOT NULL" for name in statistic.value_columns]
        if not present and not statistic.factors:
            return "count(*)"
        if not statistic.factors:
            return f"count(CASE WHEN {' AND '.join(present)} THEN 1 END)"
        # A sum of BIGINT has 128 bits; only terms beyond 64 need them from the start.
        kind = "HUGEINT" if _largest_term(statistic) > MAX_NARROW_TERM else "BIGINT"
        terms = [_factor_sql(factor, indices, kind) for factor in statistic.factors]
        term = f"CASE WHEN {' AND '.join(present)} THEN {' * '.join(terms)} ELSE 0 END"
        return f"COALESCE(sum(CAST({term} AS {kind})), 0)"


def _largest_term(statistic: Statistic) -> int:
    """What one row adds at most, and each factor of it alone."""
    largest = 1
    for factor in statistic.factors:
        ends = factor.low, factor.high, factor.origin
        spread = max(max(ends) - min(ends), *(abs(end) for end in ends), 1)
        largest *= spread**factor.power
    return largest


def _factor_sql(factor: ColumnFactor, indices: Mapping[str, str], kind: str) -> str:
    index = f"CAST({indices[factor.column]} AS {kind})"
    clipped = f"(LEAST(GREATEST({index}, {factor.low}), {factor.high})"
    term = f"{clipped} - ({factor.origin}))"
    return " * ".join([term] * factor.power)
