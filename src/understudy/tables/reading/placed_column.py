"""Where the value of a column stands in a query: its lattice index within the declared
bounds, or the place of its label.

What a column leaves to be learned is not known here, so labels are then compared as
texts and numbers without bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.schema import Boolean, Categorical, Column, Lattice, codec_of
from understudy.schema.predicates.ast import Literal
from understudy.schema.predicates.comparable import scale_step_of, scale_value_of
from understudy.schema.predicates.on_values import place_of_literal
from understudy.tables.reading.encode import EnumCreator, code_sql, index_sql, label_sql
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn

MAX_COMPARED_INDEX = 2**62
"""Lattice indices beyond this are no constants of a comparison: no column reaches it."""


@dataclass(frozen=True)
class PlacedColumn:
    """A column in a query: where its value stands, NULL where it has none; and the
    labels by place, the one for unlisted values last, None where they are not known.
    """

    column: Column
    place: str
    labels: tuple[str, ...] | None = None

    def constant_sql(self, literal: Literal) -> str | None:
        """A constant as the column's place is written; None where no value is it."""
        if isinstance(self.column, Lattice):
            return self._index_constant(self.column, literal)
        if self.labels is not None:
            place = place_of_literal(codec_of(self.column), literal)
            return None if place is None else str(place)
        if isinstance(self.column, Categorical) and isinstance(literal.value, str):
            return quoting.text_literal(literal.value)
        return None

    def rank_sql(self, order: Sequence[str]) -> str:
        """The place of a label that has a rank; `other` has none."""
        return f"CASE WHEN {self.place} < {len(order)} THEN {self.place} END"

    def label_text_sql(self) -> str:
        """The text of a label."""
        if self.labels is None:
            return self.place
        if not self.labels:
            return "CAST(NULL AS VARCHAR)"
        labels = quoting.text_literals(self.labels)
        return f"list_extract([{labels}], {self.place} + 1)"

    @staticmethod
    def _index_constant(column: Lattice, literal: Literal) -> str | None:
        value = scale_value_of(column, literal)
        if not isinstance(value, Fraction):
            return None
        index = value / scale_step_of(column)
        if index.denominator != 1 or abs(index) >= MAX_COMPARED_INDEX:
            return None
        return quoting.whole_literal(int(index))


def place_column(
    layers: QueryLayers,
    column: Column,
    stored: StoredColumn,
    listing: EnumCreator,
) -> PlacedColumn:
    """A column of a relation, its place read once per row."""
    if isinstance(column, Lattice):
        place = _place_index_sql(layers, column, stored, listing)
        return PlacedColumn(column, layers.read(place))
    if isinstance(column, Categorical) and column.values is None:
        return PlacedColumn(column, layers.read(label_sql(layers, column, stored)))
    if isinstance(column, Categorical | Boolean):
        codec = codec_of(column)
        code = layers.read(code_sql(layers, codec, stored, listing))
        values = len(codec.bins) + codec.has_other
        place = f"CASE WHEN {code} < {values} THEN CAST({code} AS BIGINT) END"
        return PlacedColumn(column, layers.read(place), _labels_by_place(column))
    return PlacedColumn(column, layers.read("CAST(NULL AS BIGINT)"))


def _place_index_sql(
    layers: QueryLayers,
    column: Lattice,
    stored: StoredColumn,
    listing: EnumCreator,
) -> str:
    raw = clipped = layers.read(index_sql(layers, column, stored))
    if column.low is not None:
        clipped = f"GREATEST({clipped}, {quoting.whole_literal(column.low)})"
    if column.high is not None:
        clipped = f"LEAST({clipped}, {quoting.whole_literal(column.high)})"
    absent = "NULL"
    if column.is_closed and not column.nullable:
        # Where nothing may be missing, what is no value counts as the first one.
        code = layers.read(code_sql(layers, codec_of(column), stored, listing))
        first = quoting.whole_literal(column.low or 0)
        absent = f"CASE WHEN {code} = 0 THEN {first} END"
    # GREATEST and LEAST would pass over a NULL.
    return f"CASE WHEN {raw} IS NULL THEN {absent} ELSE {clipped} END"


def _labels_by_place(column: Categorical | Boolean) -> tuple[str, ...]:
    if isinstance(column, Boolean):
        return ("false", "true")
    other = () if column.other is None else (column.other,)
    return (*(column.values or ()), *other)
