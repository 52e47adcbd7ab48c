"""Columns of rows that stay as they are, kept in memory as places of their domains, so
that a question is counted by adding up arrays. PRIVATE.

A place tells a row's lattice index, clipped to the bounds, and apart from these the codes
of cells that have none; of labels it is the code. Every bin of a question and every
product that it adds up follows from the place, so the cells and sums are those of
`CellSumQuery`, with whole numbers throughout. All columns are read in one pass: rows of
two passes could not be told to be the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TableError
from understudy.queries.statistics import ColumnFactor, Statistic
from understudy.schema import Column, Lattice, Schema, codec_of
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.codec import Codec
from understudy.tables.bounded_rows import BoundedRows
from understudy.tables.cell_sums import CellSumQuery

MAX_KEPT_BYTES = 10**9
"""Places beyond this many bytes are not kept: questions are then counted by queries."""

MAX_COLUMN_PLACES = 1 << 20
"""Places of one column; a column of more is added up by queries."""

MAX_JOINT_PLACES = 1 << 21
"""Cells of a question times the places of a column that it adds up: the counts of all of
them are made in some milliseconds.
"""

_LARGEST_TOTAL = 2**62

CellSums = tuple[NDArray[np.int64], list[list[int]]]
"""The cells that occur, and each statistic's sum over the rows of each of these."""


@dataclass(frozen=True, eq=False)
class KeptColumn:
    """The places of one column's cells; those from `values` up have no value."""

    column: Column
    values: int
    places: NDArray[np.unsignedinteger]

    def describes(self, other: Column) -> bool:
        """Whether it is the same column, apart from its bins."""
        is_alike = type(self.column) is type(other)
        return is_alike and _describe(self.column) == _describe(other)

    @property
    def size(self) -> int:
        """How many places there are."""
        return _count_places(self.column)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each place has."""
        return np.bincount(self.places, minlength=self.size).astype(np.int64)

    def find_codes(self, codec: Codec) -> NDArray[np.int64]:
        """The code of each place, in the bins of a codec."""
        if not isinstance(codec.bins, BinEdges):
            return np.arange(codec.size)
        bins = np.repeat(np.arange(len(codec.bins)), np.diff(codec.bins.edges))
        # Of cells that are no value, the first counts as the first code.
        others = np.arange(self.size - self.values - 1) + len(codec.bins)
        return np.concatenate([bins, [0], others]).astype(np.int64)

    def find_terms(self, factors: Sequence[ColumnFactor]) -> NDArray[np.int64]:
        """What a row of each place adds to a product of factors; 1 for none, and 0 for
        cells that have no value.
        """
        largest = 1
        for factor in factors:
            ends = factor.low - factor.origin, factor.high - factor.origin
            largest *= max(abs(end) for end in ends) ** factor.power
        # Sums beyond 64 bits would wrap around in silence.
        if largest * len(self.places) > _LARGEST_TOTAL:
            raise OverflowError
        terms = np.zeros(self.size, np.int64)
        terms[: self.values] = 1
        for factor in factors:
            assert isinstance(self.column, Lattice)
            assert self.column.low is not None
            indices = np.arange(self.values) + self.column.low
            clipped = np.clip(indices, factor.low, factor.high) - factor.origin
            terms[: self.values] *= clipped**factor.power
        return terms


class KeptColumns:
    """The columns of bounded rows, read when a second question is asked: one alone is
    counted sooner by a query.
    """

    def __init__(self, rows: BoundedRows, schema: Schema) -> None:
        self._rows = rows
        self._schema = schema
        self._questions = 0
        self._columns: dict[str, KeptColumn] | None = None

    def sum_cells(
        self,
        schema: Schema,
        codecs: Mapping[str, Codec],
        statistics: Sequence[Statistic],
    ) -> CellSums | None:
        """What `Table.cell_sums` answers under a schema; None if it has to be asked of
        the rows.
        """
        if not self._rows.source.holds_rows:
            return None
        self._questions += 1
        if self._questions < 2:
            return None
        if self._columns is None:
            self._columns = self._read_columns()
        added = {name for each in statistics for name in each.value_columns}
        cells = math.prod(codec.size for codec in codecs.values())
        if any(len(each.value_columns) > 1 for each in statistics):
            return None
        for name in {*codecs, *added}:
            kept = self._columns.get(name)
            wanted = codecs[name].column if name in codecs else schema[name]
            if kept is None or not kept.describes(wanted):
                return None
            if name in added and cells * kept.size > MAX_JOINT_PLACES:
                return None
        try:
            return self._add_up(codecs, statistics, cells)
        except OverflowError:
            return None

    def _add_up(
        self,
        codecs: Mapping[str, Codec],
        statistics: Sequence[Statistic],
        cells: int,
    ) -> CellSums:
        assert self._columns is not None
        named = {*codecs, *(name for each in statistics for name in each.value_columns)}
        if len(named) == 1:
            return self._add_up_column(named.pop(), codecs, statistics)
        place: NDArray[np.integer] | None = None
        for name, codec in codecs.items():
            kept = self._columns[name]
            codes = kept.find_codes(codec)
            is_same = bool(np.array_equal(codes, np.arange(len(codes))))
            own = kept.places if is_same else codes[kept.places]
            place = own if place is None else place * np.int64(codec.size) + own
        counts = np.array([self._rows.count])
        if place is not None:
            counts = np.bincount(place, minlength=cells)
        (occurring,) = np.nonzero(counts)
        joint: dict[str, NDArray[np.int64]] = {}
        sums = []
        for statistic in statistics:
            added = counts
            for name in statistic.value_columns:
                if name not in joint:
                    joint[name] = self._count_with(name, place, cells)
                terms = self._columns[name].find_terms(statistic.factors)
                added = joint[name] @ terms
            sums.append([int(value) for value in added[occurring]])
        return occurring.astype(np.int64), sums

    def _add_up_column(
        self, name: str, codecs: Mapping[str, Codec], statistics: Sequence[Statistic]
    ) -> CellSums:
        """The same for questions about one column, by its counts, which are made once."""
        assert self._columns is not None
        kept = self._columns[name]
        codes = np.zeros(kept.size, np.int64)
        if codecs:
            codes = kept.find_codes(codecs[name])
        (occurring,) = np.nonzero(np.bincount(codes, weights=kept.counts))
        sums = []
        for statistic in statistics:
            terms = kept.counts
            if statistic.value_columns:
                terms = kept.counts * kept.find_terms(statistic.factors)
            added = np.array([terms.sum()])
            if codecs:
                added = np.zeros(codecs[name].size, np.int64)
                np.add.at(added, codes, terms)
            sums.append([int(value) for value in added[occurring]])
        return occurring.astype(np.int64), sums

    def _count_with(
        self, name: str, place: NDArray[np.integer] | None, cells: int
    ) -> NDArray[np.int64]:
        """How many rows each cell and each place of a column have in common."""
        assert self._columns is not None
        kept = self._columns[name]
        joined: NDArray[np.integer] = kept.places
        if place is not None and cells > 1:
            joined = place * np.int64(kept.size) + kept.places
        counts = np.bincount(joined, minlength=cells * kept.size)
        return counts.reshape(cells, kept.size).astype(np.int64)

    def _read_columns(self) -> dict[str, KeptColumn]:
        """Every column with a declared domain that is small enough, in one pass; none
        if they are too large together.
        """
        wanted = [
            self._schema[name]
            for name in self._schema
            if self._schema[name].is_closed
            and _count_places(self._schema[name]) <= MAX_COLUMN_PLACES
        ]
        rows = self._rows.count
        kinds = [np.min_scalar_type(_count_places(column)) for column in wanted]
        if rows * sum(kind.itemsize for kind in kinds) > MAX_KEPT_BYTES:
            return {}
        places = [np.empty(rows, kind) for kind in kinds]
        source = self._rows.source
        query = CellSumQuery(self._schema, {}, source).places_sql(
            self._rows.relation, wanted
        )
        done = 0
        for batch in (
            source.engine.stream(query, doing="reading rows") if wanted else ()
        ):
            length = len(batch[0])
            for whole, part in zip(places, batch, strict=True):
                whole[done : done + length] = part
            done += length
        if wanted and done != rows:
            raise TableError("the source gave two different numbers of rows")
        return {
            column.name: KeptColumn(column, _count_values(column), own)
            for column, own in zip(wanted, places, strict=True)
        }


def _describe(column: Column) -> dict[str, object]:
    """What decides where a cell lies: all that is declared, but for the bins."""
    apart = ("bins", "grain", "constant", "note")
    named = [field.name for field in fields(column) if field.name not in apart]
    return {name: getattr(column, name) for name in named}


def _count_values(column: Column) -> int:
    """How many places of a column are values."""
    if isinstance(column, Lattice):
        assert column.low is not None
        assert column.high is not None
        return column.high - column.low + 1
    return int(codec_of(column).is_value.sum())


def _count_places(column: Column) -> int:
    """Values, and behind them cells that are none: of a lattice, one for those that
    count as the first code, and one for each other code.
    """
    codec = codec_of(column)
    if not isinstance(column, Lattice):
        return codec.size
    return _count_values(column) + 1 + codec.size - len(codec.bins)
