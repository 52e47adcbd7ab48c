"""Breaches: which rows break a rule, as SQL; the same answers as `true_rows` gives, and
tested against it.

A cell is read as a position: its lattice index within the declared bounds, or the place
of its label. What a column leaves to be learned is not known here, so labels are then
compared as texts and numbers without bounds. No expression raises, whatever a cell
holds: sums are made of 127-bit numbers, and a rule whose numbers could outgrow them is
taken as kept.

Rows are judged one by one, so a row that is dropped or emptied changes nothing about
any other: whatever moves a table by one row moves what is left of it by at most one
row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.schema import (
    Boolean,
    BrokenRowPolicy,
    Categorical,
    Column,
    Lattice,
    Predicate,
    Schema,
    codec_of,
)
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    InCombinations,
    IsMissing,
    LinearComparison,
    Literal,
    Not,
    Operator,
    Or,
)
from understudy.schema.predicates.comparable import (
    family_of_column,
    label_order_of,
    scale_step_of,
    scale_value_of,
)
from understudy.schema.predicates.on_values import place_of_literal
from understudy.tables.reading.encode import EnumCreator, code_sql, index_sql, label_sql
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn

_MAX_SUM_MAGNITUDE = 2**126
_FALSE_SQL = "false"


@dataclass(frozen=True)
class _PlacedColumn:
    """A column in a query: where its value stands, NULL where it has none; and how many
    values come before `other`.
    """

    column: Column
    place: str
    labels: tuple[str, ...] | None = None


class PredicateCompiler:
    """Turns predicates into SQL over the columns of one relation."""

    def __init__(
        self,
        layers: QueryLayers,
        schema: Schema,
        stored: Mapping[str, StoredColumn],
        listing: EnumCreator,
    ) -> None:
        self._layers = layers
        spoken = set().union(
            *(predicate.columns for _, predicate in schema.named_breaches)
        )
        self._cells = {
            name: _place_column(layers, schema[name], one, listing)
            for name, one in stored.items()
            if name in spoken
        }

    def broken(self, predicate: Predicate) -> str:
        """A condition, never NULL, that says whether a row has the predicate."""
        if not predicate.columns <= set(self._cells):
            return _FALSE_SQL
        return self._layers.read(
            f"COALESCE({self._compile_predicate(predicate)}, false)"
        )

    def _compile_predicate(self, predicate: Predicate) -> str:
        match predicate:
            case And(left, right):
                return (
                    f"({self._compile_predicate(left)} AND"
                    f" {self._compile_predicate(right)})"
                )
            case Or(left, right):
                return (
                    f"({self._compile_predicate(left)} OR"
                    f" {self._compile_predicate(right)})"
                )
            case Not(part):
                return f"(NOT {self._compile_predicate(part)})"
            case IfThen(premise, conclusion):
                return (
                    f"(NOT {self._compile_predicate(premise)} OR"
                    f" {self._compile_predicate(conclusion)})"
                )
            case IsMissing(name, negated):
                return (
                    f"({self._cells[name.column].place} IS"
                    f" {'NOT ' if negated else ''}NULL)"
                )
            case In(name, values, negated):
                return self._compile_membership(
                    (name,), [(value,) for value in values], negated
                )
            case InCombinations(names, rows, negated):
                return self._compile_membership(names, rows, negated)
            case LinearComparison(terms, operator, constant):
                return self._sum(
                    [(weight, name.column) for weight, name in terms],
                    operator,
                    constant,
                )
            case ColumnComparison(
                name,
                Operator.EQUAL | Operator.UNEQUAL as operator,
                Literal() as literal,
            ):
                if scale_value_of(self._cells[name.column].column, literal) is None:
                    return _FALSE_SQL
                return self._compile_membership(
                    (name,), [(literal,)], operator is Operator.UNEQUAL
                )
            case ColumnComparison(name, operator, Literal() as literal):
                return self._compile_comparison(
                    self._cells[name.column], operator, literal
                )
            case ColumnComparison(name, operator, ColumnName() as other):
                return self._compile_column_comparison(
                    name.column, operator, other.column
                )
        raise TypeError(f"{type(predicate).__name__} is no predicate")

    def _compile_membership(
        self,
        names: Sequence[ColumnName],
        rows: Sequence[Sequence[Literal]],
        negated: bool,
    ) -> str:
        cells = [self._cells[name.column] for name in names]
        listed = []
        for row in rows:
            constants = [
                _constant_sql(cell, literal)
                for cell, literal in zip(cells, row, strict=True)
            ]
            if all(constant is not None for constant in constants):
                listed.append(f"({', '.join(str(constant) for constant in constants)})")
        places = ", ".join(cell.place for cell in cells)
        known = " AND ".join(f"{cell.place} IS NOT NULL" for cell in cells)
        # A text is looked up as a label, whole numbers as rows of them.
        found = (
            f"(({places}) IN ({', '.join(dict.fromkeys(listed))}))"
            if listed
            else _FALSE_SQL
        )
        return f"({known} AND {'NOT ' if negated else ''}{found})"

    def _compile_comparison(
        self, cell: _PlacedColumn, operator: Operator, literal: Literal
    ) -> str:
        found, order = scale_value_of(cell.column, literal), label_order_of(cell.column)
        if order is not None:
            if not order or found not in order:
                return _FALSE_SQL
            return self._known(
                f"{cell.place} {operator} {order.index(str(found))}",
                _rank_sql(cell, order),
            )
        if not isinstance(found, Fraction) or not isinstance(cell.column, Lattice):
            return _FALSE_SQL
        place = found / scale_step_of(cell.column)
        whole = (
            math.floor(place)
            if operator in (Operator.AT_MOST, Operator.MORE)
            else math.ceil(place)
        )
        return self._known(
            f"{cell.place} {operator}"
            f" {quoting.whole_literal(min(max(whole, -(2**62)), 2**62))}",
            cell.place,
        )

    def _compile_column_comparison(
        self, left: str, operator: Operator, right: str
    ) -> str:
        here, there = self._cells[left], self._cells[right]
        if family_of_column(here.column) != family_of_column(there.column):
            return _FALSE_SQL
        if isinstance(here.column, Lattice):
            return self._sum(
                [(Fraction(1), left), (Fraction(-1), right)], operator, Fraction(0)
            )
        if operator.needs_order:
            order = label_order_of(here.column)
            if not order or order != label_order_of(there.column):
                return _FALSE_SQL
            return self._known(
                f"{here.place} {operator} {there.place}",
                _rank_sql(here, order),
                _rank_sql(there, order),
            )
        one, two = _label_text_sql(here), _label_text_sql(there)
        return self._known(f"{one} {operator} {two}", one, two)

    def _sum(
        self,
        terms: Sequence[tuple[Fraction, str]],
        operator: Operator,
        constant: Fraction,
    ) -> str:
        cells = [self._cells[name] for _, name in terms]
        if (
            not all(isinstance(cell.column, Lattice) for cell in cells)
            or len({family_of_column(c.column) for c in cells}) > 1
        ):
            return _FALSE_SQL
        units = [
            scale_step_of(cell.column)
            for cell in cells
            if isinstance(cell.column, Lattice)
        ]
        steps = [weight * unit for (weight, _), unit in zip(terms, units, strict=True)]
        unit = math.lcm(constant.denominator, *(step.denominator for step in steps))
        factors, bound = [int(step * unit) for step in steps], int(constant * unit)
        if (
            sum(abs(factor) for factor in factors) * 2**63 + abs(bound)
            >= _MAX_SUM_MAGNITUDE
        ):
            return _FALSE_SQL
        parts = [
            f"CAST({cell.place} AS HUGEINT) * CAST({quoting.whole_literal(factor)} AS"
            " HUGEINT)"
            for cell, factor in zip(cells, factors, strict=True)
        ]
        return self._known(
            f"{' + '.join(parts)} {operator} CAST({quoting.whole_literal(bound)} AS"
            " HUGEINT)"
        )

    @staticmethod
    def _known(condition: str, *present: str) -> str:
        """A comparison, false where a side is missing."""
        also = "".join(f" AND {side} IS NOT NULL" for side in present)
        return f"COALESCE({condition}{also}, false)"


def _place_column(
    layers: QueryLayers, column: Column, stored: StoredColumn, listing: EnumCreator
) -> _PlacedColumn:
    if isinstance(column, Lattice):
        raw = found = layers.read(index_sql(layers, column, stored))
        if column.low is not None:
            found = f"GREATEST({found}, {quoting.whole_literal(column.low)})"
        if column.high is not None:
            found = f"LEAST({found}, {quoting.whole_literal(column.high)})"
        none = "NULL"  # GREATEST and LEAST would skip it
        if (
            column.is_closed and not column.nullable
        ):  # what is no value counts as the first one
            placed = layers.read(code_sql(layers, codec_of(column), stored, listing))
            none = (
                f"CASE WHEN {placed} = 0 THEN"
                f" {quoting.whole_literal(column.low or 0)} END"
            )
        return _PlacedColumn(
            column, layers.read(f"CASE WHEN {raw} IS NULL THEN {none} ELSE {found} END")
        )
    if isinstance(column, Categorical) and column.values is None:
        return _PlacedColumn(column, layers.read(label_sql(layers, column, stored)))
    if isinstance(column, Categorical | Boolean):
        codec = codec_of(column)
        placed = layers.read(code_sql(layers, codec, stored, listing))
        values = len(codec.bins) + codec.has_other
        labels = (
            ("false", "true")
            if isinstance(column, Boolean)
            else (*(column.values or ()), *_other_labels(column))
        )
        place = f"CASE WHEN {placed} < {values} THEN CAST({placed} AS BIGINT) END"
        return _PlacedColumn(column, layers.read(place), labels)
    return _PlacedColumn(column, layers.read("CAST(NULL AS BIGINT)"))


def _other_labels(column: Categorical) -> tuple[str, ...]:
    return () if column.other is None else (column.other,)


def _constant_sql(cell: _PlacedColumn, literal: Literal) -> str | None:
    """A constant as a column's place is written; None where no value is it."""
    if cell.labels is None and isinstance(cell.column, Categorical):
        return (
            quoting.text_literal(literal.value)
            if isinstance(literal.value, str)
            else None
        )
    if isinstance(cell.column, Lattice):
        found = scale_value_of(cell.column, literal)
        place = (
            found / scale_step_of(cell.column) if isinstance(found, Fraction) else None
        )
        return (
            quoting.whole_literal(int(place))
            if place is not None and place.denominator == 1 and abs(place) < 2**62
            else None
        )
    at = (
        place_of_literal(codec_of(cell.column), literal)
        if cell.labels is not None
        else None
    )
    return None if at is None else str(at)


def _rank_sql(cell: _PlacedColumn, order: Sequence[str]) -> str:
    """The place of a label that has a rank; `other` has none."""
    return f"CASE WHEN {cell.place} < {len(order)} THEN {cell.place} END"


def _label_text_sql(cell: _PlacedColumn) -> str:
    if cell.labels is None:
        return cell.place
    return (
        f"list_extract([{quoting.text_literals(cell.labels)}], {cell.place} + 1)"
        if cell.labels
        else "CAST(NULL AS VARCHAR)"
    )


def query_kept_rows(
    layers: QueryLayers,
    schema: Schema,
    stored: Mapping[str, StoredColumn],
    listing: EnumCreator,
    *,
    width: Sequence[str],
    relation: str,
) -> str:
    """A query for the rows of a relation with broken rows dropped, or emptied where the
    broken rule speaks, as the schema says.

    `width` names the relation's columns, `stored` those that the schema describes.
    """
    judge = PredicateCompiler(layers, schema, stored, listing)
    flags = [
        (predicate, judge.broken(predicate)) for _, predicate in schema.named_breaches
    ]
    select = list(width)
    if schema.broken is BrokenRowPolicy.MISSING:
        spoken = {
            one.cell: [flag for p, flag in flags if name in p.columns]
            for name, one in stored.items()
        }
        for i, cell in enumerate(width):
            if spoken.get(cell):
                select[i] = (
                    f"CASE WHEN {' OR '.join(spoken[cell])} THEN NULL ELSE {cell} END"
                    f" AS {cell}"
                )
        return layers.query(relation, select)
    every = " OR ".join(flag for _, flag in flags) or _FALSE_SQL
    return (
        f"SELECT {', '.join(width)} FROM"
        f" ({layers.query(relation, [*select, f'({every}) AS broken'])}) WHERE NOT"
        " broken"
    )


def query_broken_count(
    layers: QueryLayers,
    schema: Schema,
    stored: Mapping[str, StoredColumn],
    listing: EnumCreator,
    *,
    relation: str,
) -> str:
    """A query for the number of rows that break any rule."""
    judge = PredicateCompiler(layers, schema, stored, listing)
    every = (
        " OR ".join(judge.broken(predicate) for _, predicate in schema.named_breaches)
        or _FALSE_SQL
    )
    return layers.query(relation, [f"count(*) FILTER (WHERE {every})"])
