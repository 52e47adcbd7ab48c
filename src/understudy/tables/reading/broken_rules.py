"""Breaches: which rows break a rule, as SQL; the same answers as `true_rows` gives, and tested against it.

A cell is read as a position: its lattice index within the declared bounds, or the place of its label. What a column leaves to be learned
is not known here, so labels are then compared as texts and numbers without bounds. No expression raises, whatever a cell holds: sums are
made of 127-bit numbers, and a rule whose numbers could outgrow them is taken as kept.

Rows are judged one by one, so a row that is dropped or emptied changes nothing about any other: whatever moves a table by one row moves
what is left of it by at most one row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.schema import Boolean, Broken, Categorical, Column, Lattice, Predicate, Schema, codec_of
from understudy.schema.predicates.ast import (
    And,
    Comparison,
    IfThen,
    In,
    Linear,
    Listed,
    Literal,
    Missing,
    Name,
    Not,
    Operator,
    Or,
)
from understudy.schema.predicates.comparable import family, order_of, spot, unit_of
from understudy.schema.predicates.on_values import place_of
from understudy.tables.reading.encode import Listing, code, index, label
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import Layers
from understudy.tables.sql.stored import Stored

_LARGEST = 2**126
_NEVER = "false"


@dataclass(frozen=True)
class _Cell:
    """A column in a query: where its value stands, NULL where it has none; and how many values come before `other`."""

    column: Column
    place: str
    labels: tuple[str, ...] | None = None


class Judge:
    """Turns predicates into SQL over the columns of one relation."""

    def __init__(self, layers: Layers, schema: Schema, stored: Mapping[str, Stored], listing: Listing) -> None:
        self._layers = layers
        spoken = set().union(*(predicate.columns for _, predicate in schema.breaches))
        self._cells = {
            name: _cell(layers, schema[name], one, listing) for name, one in stored.items() if name in spoken
        }

    def broken(self, predicate: Predicate) -> str:
        """A condition, never NULL, that says whether a row has the predicate."""
        if not predicate.columns <= set(self._cells):
            return _NEVER
        return self._layers.read(f"COALESCE({self._says(predicate)}, false)")

    def _says(self, predicate: Predicate) -> str:
        match predicate:
            case And(left, right):
                return f"({self._says(left)} AND {self._says(right)})"
            case Or(left, right):
                return f"({self._says(left)} OR {self._says(right)})"
            case Not(part):
                return f"(NOT {self._says(part)})"
            case IfThen(premise, conclusion):
                return f"(NOT {self._says(premise)} OR {self._says(conclusion)})"
            case Missing(name, negated):
                return f"({self._cells[name.column].place} IS {'NOT ' if negated else ''}NULL)"
            case In(name, values, negated):
                return self._among((name,), [(value,) for value in values], negated)
            case Listed(names, rows, negated):
                return self._among(names, rows, negated)
            case Linear(terms, operator, constant):
                return self._sum([(weight, name.column) for weight, name in terms], operator, constant)
            case Comparison(name, Operator.EQUAL | Operator.UNEQUAL as operator, Literal() as literal):
                if spot(self._cells[name.column].column, literal) is None:
                    return _NEVER
                return self._among((name,), [(literal,)], operator is Operator.UNEQUAL)
            case Comparison(name, operator, Literal() as literal):
                return self._against(self._cells[name.column], operator, literal)
            case Comparison(name, operator, Name() as other):
                return self._beside(name.column, operator, other.column)
        raise TypeError(f"{type(predicate).__name__} is no predicate")

    def _among(self, names: Sequence[Name], rows: Sequence[Sequence[Literal]], negated: bool) -> str:
        cells = [self._cells[name.column] for name in names]
        listed = []
        for row in rows:
            constants = [_constant(cell, literal) for cell, literal in zip(cells, row, strict=True)]
            if all(constant is not None for constant in constants):
                listed.append(f"({', '.join(str(constant) for constant in constants)})")
        places = ", ".join(cell.place for cell in cells)
        known = " AND ".join(f"{cell.place} IS NOT NULL" for cell in cells)
        # A text is looked up as a label, whole numbers as rows of them.
        found = f"(({places}) IN ({', '.join(dict.fromkeys(listed))}))" if listed else _NEVER
        return f"({known} AND {'NOT ' if negated else ''}{found})"

    def _against(self, cell: _Cell, operator: Operator, literal: Literal) -> str:
        found, order = spot(cell.column, literal), order_of(cell.column)
        if order is not None:
            if not order or found not in order:
                return _NEVER
            return self._known(f"{cell.place} {operator} {order.index(str(found))}", _ranked(cell, order))
        if not isinstance(found, Fraction) or not isinstance(cell.column, Lattice):
            return _NEVER
        place = found / unit_of(cell.column)
        whole = math.floor(place) if operator in (Operator.AT_MOST, Operator.MORE) else math.ceil(place)
        return self._known(f"{cell.place} {operator} {quoting.whole(min(max(whole, -(2**62)), 2**62))}", cell.place)

    def _beside(self, left: str, operator: Operator, right: str) -> str:
        here, there = self._cells[left], self._cells[right]
        if family(here.column) != family(there.column):
            return _NEVER
        if isinstance(here.column, Lattice):
            return self._sum([(Fraction(1), left), (Fraction(-1), right)], operator, Fraction(0))
        if operator.ordering:
            order = order_of(here.column)
            if not order or order != order_of(there.column):
                return _NEVER
            return self._known(f"{here.place} {operator} {there.place}", _ranked(here, order), _ranked(there, order))
        one, two = _text(here), _text(there)
        return self._known(f"{one} {operator} {two}", one, two)

    def _sum(self, terms: Sequence[tuple[Fraction, str]], operator: Operator, constant: Fraction) -> str:
        cells = [self._cells[name] for _, name in terms]
        if not all(isinstance(cell.column, Lattice) for cell in cells) or len({family(c.column) for c in cells}) > 1:
            return _NEVER
        units = [unit_of(cell.column) for cell in cells if isinstance(cell.column, Lattice)]
        steps = [weight * unit for (weight, _), unit in zip(terms, units, strict=True)]
        unit = math.lcm(constant.denominator, *(step.denominator for step in steps))
        factors, bound = [int(step * unit) for step in steps], int(constant * unit)
        if sum(abs(factor) for factor in factors) * 2**63 + abs(bound) >= _LARGEST:
            return _NEVER
        parts = [
            f"CAST({cell.place} AS HUGEINT) * CAST({quoting.whole(factor)} AS HUGEINT)"
            for cell, factor in zip(cells, factors, strict=True)
        ]
        return self._known(f"{' + '.join(parts)} {operator} CAST({quoting.whole(bound)} AS HUGEINT)")

    @staticmethod
    def _known(condition: str, *present: str) -> str:
        """A comparison, false where a side is missing."""
        also = "".join(f" AND {side} IS NOT NULL" for side in present)
        return f"COALESCE({condition}{also}, false)"


def _cell(layers: Layers, column: Column, stored: Stored, listing: Listing) -> _Cell:
    if isinstance(column, Lattice):
        raw = found = layers.read(index(layers, column, stored))
        if column.low is not None:
            found = f"GREATEST({found}, {quoting.whole(column.low)})"
        if column.high is not None:
            found = f"LEAST({found}, {quoting.whole(column.high)})"
        none = "NULL"  # GREATEST and LEAST would skip it
        if column.closed and not column.nullable:  # what is no value counts as the first one
            placed = layers.read(code(layers, codec_of(column), stored, listing))
            none = f"CASE WHEN {placed} = 0 THEN {quoting.whole(column.low or 0)} END"
        return _Cell(column, layers.read(f"CASE WHEN {raw} IS NULL THEN {none} ELSE {found} END"))
    if isinstance(column, Categorical) and column.values is None:
        return _Cell(column, layers.read(label(layers, column, stored)))
    if isinstance(column, Categorical | Boolean):
        codec = codec_of(column)
        placed = layers.read(code(layers, codec, stored, listing))
        values = len(codec.bins) + codec.has_other
        labels = ("false", "true") if isinstance(column, Boolean) else (*(column.values or ()), *_other(column))
        place = f"CASE WHEN {placed} < {values} THEN CAST({placed} AS BIGINT) END"
        return _Cell(column, layers.read(place), labels)
    return _Cell(column, layers.read("CAST(NULL AS BIGINT)"))


def _other(column: Categorical) -> tuple[str, ...]:
    return () if column.other is None else (column.other,)


def _constant(cell: _Cell, literal: Literal) -> str | None:
    """A constant as a column's place is written; None where no value is it."""
    if cell.labels is None and isinstance(cell.column, Categorical):
        return quoting.text(literal.value) if isinstance(literal.value, str) else None
    if isinstance(cell.column, Lattice):
        found = spot(cell.column, literal)
        place = found / unit_of(cell.column) if isinstance(found, Fraction) else None
        return (
            quoting.whole(int(place)) if place is not None and place.denominator == 1 and abs(place) < 2**62 else None
        )
    at = place_of(codec_of(cell.column), literal) if cell.labels is not None else None
    return None if at is None else str(at)


def _ranked(cell: _Cell, order: Sequence[str]) -> str:
    """The place of a label that has a rank; `other` has none."""
    return f"CASE WHEN {cell.place} < {len(order)} THEN {cell.place} END"


def _text(cell: _Cell) -> str:
    if cell.labels is None:
        return cell.place
    return f"list_extract([{quoting.texts(cell.labels)}], {cell.place} + 1)" if cell.labels else "CAST(NULL AS VARCHAR)"


def held(
    layers: Layers,
    schema: Schema,
    stored: Mapping[str, Stored],
    listing: Listing,
    *,
    width: Sequence[str],
    relation: str,
) -> str:
    """A query for the rows of a relation with broken rows dropped, or emptied where the broken rule speaks, as the schema says.

    `width` names the relation's columns, `stored` those that the schema describes.
    """
    judge = Judge(layers, schema, stored, listing)
    flags = [(predicate, judge.broken(predicate)) for _, predicate in schema.breaches]
    select = list(width)
    if schema.broken is Broken.MISSING:
        spoken = {one.cell: [flag for p, flag in flags if name in p.columns] for name, one in stored.items()}
        for i, cell in enumerate(width):
            if spoken.get(cell):
                select[i] = f"CASE WHEN {' OR '.join(spoken[cell])} THEN NULL ELSE {cell} END AS {cell}"
        return layers.query(relation, select)
    every = " OR ".join(flag for _, flag in flags) or _NEVER
    return (
        f"SELECT {', '.join(width)} FROM ({layers.query(relation, [*select, f'({every}) AS broken'])}) WHERE NOT broken"
    )


def broken_count(
    layers: Layers, schema: Schema, stored: Mapping[str, Stored], listing: Listing, *, relation: str
) -> str:
    """A query for the number of rows that break any rule."""
    judge = Judge(layers, schema, stored, listing)
    every = " OR ".join(judge.broken(predicate) for _, predicate in schema.breaches) or _NEVER
    return layers.query(relation, [f"count(*) FILTER (WHERE {every})"])
