"""Predicates as SQL; the same answers as `true_rows` gives, and tested against it.

No expression raises, whatever a cell holds: sums are made of 127-bit numbers, and a
rule whose numbers could outgrow them is taken as kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from understudy.schema import Lattice, Predicate, Schema
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
from understudy.tables.reading.encode import EnumCreator
from understudy.tables.reading.placed_column import (
    MAX_COMPARED_INDEX,
    PlacedColumn,
    place_column,
)
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn

FALSE_SQL = "false"
_MAX_SUM_MAGNITUDE = 2**126
"""Bound on sums, so that no HUGEINT (127 bits and a sign) overflows."""


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
        compared: set[str] = set()
        for _, predicate in schema.named_breaches:
            compared |= predicate.columns
        self._cells = {
            name: place_column(layers, schema[name], column, listing)
            for name, column in stored.items()
            if name in compared
        }

    def condition_sql(self, predicate: Predicate) -> str:
        """A condition, never NULL, that says whether a row has the predicate."""
        if not predicate.columns <= set(self._cells):
            return FALSE_SQL
        condition = self._compile_predicate(predicate)
        # NULL would be a third answer: WHERE drops it, and drops its negation too.
        return self._layers.read(f"COALESCE({condition}, false)")

    def _compile_predicate(self, predicate: Predicate) -> str:
        match predicate:
            case And() | Or() | Not() | IfThen():
                return self._compile_connective(predicate)
            case IsMissing(name, negated):
                place = self._cells[name.column].place
                return f"({place} IS {'NOT ' if negated else ''}NULL)"
            case In(name, values, negated):
                rows = [(value,) for value in values]
                return self._compile_membership((name,), rows, negated)
            case InCombinations(names, rows, negated):
                return self._compile_membership(names, rows, negated)
            case LinearComparison(terms, operator, constant):
                weights = [(weight, name.column) for weight, name in terms]
                return self._compile_sum(weights, operator, constant)
            case ColumnComparison(name, operator, Literal() as literal):
                return self._compile_comparison(name, operator, literal)
            case ColumnComparison(name, operator, ColumnName() as other):
                return self._compile_column_comparison(
                    name.column,
                    operator,
                    other.column,
                )
        raise TypeError(f"{type(predicate).__name__} is no predicate")

    def _compile_connective(self, predicate: And | Or | Not | IfThen) -> str:
        compile_part = self._compile_predicate
        match predicate:
            case And(left, right):
                return f"({compile_part(left)} AND {compile_part(right)})"
            case Or(left, right):
                return f"({compile_part(left)} OR {compile_part(right)})"
            case Not(part):
                return f"(NOT {compile_part(part)})"
            case IfThen(premise, conclusion):
                return f"(NOT {compile_part(premise)} OR {compile_part(conclusion)})"

    def _compile_membership(
        self,
        names: Sequence[ColumnName],
        rows: Sequence[Sequence[Literal]],
        negated: bool,
    ) -> str:
        cells = [self._cells[name.column] for name in names]
        listed: dict[str, None] = {}
        for row in rows:
            constants = [
                cell.constant_sql(literal)
                for cell, literal in zip(cells, row, strict=True)
            ]
            # A row with a constant that no value is cannot occur.
            if all(constant is not None for constant in constants):
                listed[f"({', '.join(str(constant) for constant in constants)})"] = None
        places = ", ".join(cell.place for cell in cells)
        present = " AND ".join(f"{cell.place} IS NOT NULL" for cell in cells)
        # SQL has no empty list.
        member = f"(({places}) IN ({', '.join(listed)}))" if listed else FALSE_SQL
        return f"({present} AND {'NOT ' if negated else ''}{member})"

    def _compile_comparison(
        self,
        name: ColumnName,
        operator: Operator,
        literal: Literal,
    ) -> str:
        cell = self._cells[name.column]
        value = scale_value_of(cell.column, literal)
        if operator in (Operator.EQUAL, Operator.UNEQUAL):
            if value is None:
                return FALSE_SQL
            negated = operator is Operator.UNEQUAL
            return self._compile_membership((name,), [(literal,)], negated)
        order = label_order_of(cell.column)
        if order is not None:
            if not order or value not in order:
                return FALSE_SQL
            return _where_present(
                f"{cell.place} {operator} {order.index(str(value))}",
                cell.rank_sql(order),
            )
        if not isinstance(value, Fraction) or not isinstance(cell.column, Lattice):
            return FALSE_SQL
        index = value / scale_step_of(cell.column)
        # Between two lattice points the comparison moves to the one that decides alike.
        floors = operator in (Operator.AT_MOST, Operator.MORE)
        whole = math.floor(index) if floors else math.ceil(index)
        # No cell lies beyond this index, so clipping the constant changes no
        # comparison.
        clipped = min(max(whole, -MAX_COMPARED_INDEX), MAX_COMPARED_INDEX)
        return _where_present(
            f"{cell.place} {operator} {quoting.whole_literal(clipped)}", cell.place
        )

    def _compile_column_comparison(
        self,
        left: str,
        operator: Operator,
        right: str,
    ) -> str:
        here = self._cells[left]
        there = self._cells[right]
        if family_of_column(here.column) != family_of_column(there.column):
            return FALSE_SQL
        if isinstance(here.column, Lattice):
            # Columns may have different steps; their difference in whole numbers is
            # exact.
            difference = [(Fraction(1), left), (Fraction(-1), right)]
            return self._compile_sum(difference, operator, Fraction(0))
        if operator.needs_order:
            order = label_order_of(here.column)
            if not order or order != label_order_of(there.column):
                return FALSE_SQL
            return _where_present(
                f"{here.place} {operator} {there.place}",
                here.rank_sql(order),
                there.rank_sql(order),
            )
        one = here.label_text_sql()
        two = there.label_text_sql()
        return _where_present(f"{one} {operator} {two}", one, two)

    def _compile_sum(
        self,
        terms: Sequence[tuple[Fraction, str]],
        operator: Operator,
        constant: Fraction,
    ) -> str:
        cells = [self._cells[name] for _, name in terms]
        units = _units_of_sum(cells)
        if units is None:
            return FALSE_SQL
        # All terms over one denominator: the sum is then one of whole numbers.
        steps = [weight * unit for (weight, _), unit in zip(terms, units, strict=True)]
        scale = math.lcm(constant.denominator, *(step.denominator for step in steps))
        factors = [int(step * scale) for step in steps]
        bound = int(constant * scale)
        # Every index fits 64 bits; an overflow would stop the run, depending on the
        # rows.
        largest = sum(abs(factor) for factor in factors) * 2**63 + abs(bound)
        if largest >= _MAX_SUM_MAGNITUDE:
            return FALSE_SQL
        parts = [
            f"CAST({cell.place} AS HUGEINT) * {_huge_literal(factor)}"
            for cell, factor in zip(cells, factors, strict=True)
        ]
        return _where_present(f"{' + '.join(parts)} {operator} {_huge_literal(bound)}")


def _units_of_sum(cells: Sequence[PlacedColumn]) -> list[Fraction] | None:
    """The lattice steps of columns that can be added up; None where they cannot."""
    if len({family_of_column(cell.column) for cell in cells}) > 1:
        return None
    units = []
    for cell in cells:
        if not isinstance(cell.column, Lattice):
            return None
        units.append(scale_step_of(cell.column))
    return units


def _huge_literal(number: int) -> str:
    return f"CAST({quoting.whole_literal(number)} AS HUGEINT)"


def _where_present(condition: str, *sides: str) -> str:
    """A comparison, false where a side is missing."""
    also = "".join(f" AND {side} IS NOT NULL" for side in sides)
    return f"COALESCE({condition}{also}, false)"
