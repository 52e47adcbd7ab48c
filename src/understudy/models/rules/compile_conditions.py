"""Compiles the predicates of rules into conditions for the search
(models/rules/conditions.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from understudy.models.rules.conditions import (
    COMBINATIONS_PER_STEP,
    ColumnCondition,
    CombinationCondition,
    CompoundCondition,
    Condition,
    Entry,
    LabelCondition,
    NegatedCondition,
    UnknownCondition,
)
from understudy.models.rules.domains import ColumnCodes, StepBudget, bits_from_flags
from understudy.models.rules.sum_condition import SumCondition
from understudy.schema import Boolean, Categorical, Codec, Lattice, Predicate
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    InCombinations,
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
)
from understudy.schema.predicates.kleene import KLEENE_FALSE, KLEENE_TRUE
from understudy.schema.predicates.on_cells import truth_of_cells
from understudy.schema.predicates.on_values import place_of_literal

# What it takes to compile a test of one column: so many steps, and one more for every
# so many of its codes.
COLUMN_TEST_STEPS, CODES_PER_STEP = 20, 1000


class ConditionCompiler:
    """Compiles predicates over the same columns; what is about one column is kept, as
    many rules ask the same of it.
    """

    def __init__(self, columns: Mapping[str, ColumnCodes], budget: StepBudget) -> None:
        self.columns, self.budget = columns, budget
        self.places = {name: place for place, name in enumerate(columns)}
        self.codecs: dict[str, Codec] = {n: c.codec for n, c in columns.items()}
        self._column_conditions: dict[Predicate, ColumnCondition] = {}

    def compile(self, predicate: Predicate) -> Condition:
        """The predicate as a test."""
        if len(predicate.columns) == 1:
            return self._column_condition(predicate)
        match predicate:
            case And() | Or():
                parts = _gather_by_column(_flatten(predicate), type(predicate))
                every = isinstance(predicate, And)
                return CompoundCondition(
                    [self.compile(part) for part in parts], every=every
                )
            case IfThen(premise, conclusion):
                # Material implication: a row outside the premise keeps the rule.
                return self.compile(Or(Not(premise), conclusion))
            case Not(part):
                return NegatedCondition(self.compile(part))
            case LinearComparison():
                return self._sum_condition(predicate)
            case InCombinations():
                return self._combination_condition(predicate)
            case ColumnComparison(left, operator, ColumnName() as right):
                return self._comparison_condition(left.column, operator, right.column)
        return UnknownCondition()

    def _column_condition(self, predicate: Predicate) -> ColumnCondition:
        if predicate not in self._column_conditions:
            (name,) = predicate.columns
            self.budget.spend(
                COLUMN_TEST_STEPS + self.codecs[name].size // CODES_PER_STEP
            )
            truth = truth_of_cells(predicate, self.codecs, (name,))
            self._column_conditions[predicate] = ColumnCondition(
                self.places[name],
                bits_from_flags(np.equal(truth, KLEENE_TRUE)),
                bits_from_flags(np.not_equal(truth, KLEENE_FALSE)),
            )
        return self._column_conditions[predicate]

    def _sum_condition(self, predicate: LinearComparison) -> Condition:
        columns = [self.codecs[name.column].column for _, name in predicate.terms]
        if any(family_of_column(column) != "number" for column in columns):
            return UnknownCondition()
        steps = [
            weight * scale_step_of(column)
            for (weight, _), column in zip(predicate.terms, columns, strict=True)
            if isinstance(column, Lattice)
        ]
        names = [name.column for _, name in predicate.terms]
        return self._whole_sum(
            names, steps, predicate.operator, Fraction(predicate.constant)
        )

    def _whole_sum(
        self,
        names: Sequence[str],
        steps: Sequence[Fraction],
        operator: Operator,
        bound: Fraction,
    ) -> SumCondition:
        # Over a common denominator all arithmetic is in whole numbers, and exact.
        unit = math.lcm(bound.denominator, *(step.denominator for step in steps))
        terms = [
            (int(step * unit), self.places[name])
            for name, step in zip(names, steps, strict=True)
        ]
        return SumCondition(terms, operator, int(bound * unit))

    def _comparison_condition(
        self, left: str, operator: Operator, right: str
    ) -> Condition:
        names = left, right
        columns = [self.codecs[name].column for name in names]
        # A learned type may not fit the other column: such a rule is judged on whole
        # rows only.
        if family_of_column(columns[0]) != family_of_column(columns[1]):
            return UnknownCondition()
        if all(isinstance(column, Lattice) for column in columns):
            scales = [scale_step_of(c) for c in columns if isinstance(c, Lattice)]
            return self._whole_sum(
                names, [scales[0], -scales[1]], operator, Fraction(0)
            )
        if not operator.needs_order:
            return self._label_condition(left, right, alike=operator is Operator.EQUAL)
        if label_order_of(columns[0]) != label_order_of(columns[1]):
            return UnknownCondition()
        return self._whole_sum(
            names, [Fraction(1), Fraction(-1)], operator, Fraction(0)
        )

    def _label_condition(self, left: str, right: str, *, alike: bool) -> Condition:
        places = self.places[left], self.places[right]
        here, there = (
            _code_by_label(self.codecs[left]),
            _code_by_label(self.codecs[right]),
        )
        self.budget.spend((len(here) + len(there)) // COMBINATIONS_PER_STEP)
        if here == there:
            return LabelCondition(places, None, alike=alike)
        onward = {code: there[label] for label, code in here.items() if label in there}
        back = {code: here[label] for label, code in there.items() if label in here}
        return LabelCondition(places, (onward, back), alike=alike)

    def _combination_condition(self, predicate: InCombinations) -> Condition:
        names = [name.column for name in predicate.names]
        self.budget.spend(len(predicate.rows))
        rows = []
        for listed in predicate.rows:
            entries = [
                self._entry(name, literal)
                for name, literal in zip(names, listed, strict=True)
            ]
            row = tuple(entry for entry in entries if entry is not None)
            if len(row) == len(names):
                rows.append(row)
        places = [self.places[name] for name in names]
        return CombinationCondition(places, rows, listed=not predicate.negated)

    def _entry(self, name: str, literal: Literal) -> Entry | None:
        """Where a listed value stands; None where the column has no such value."""
        column = self.columns[name]
        place = place_of_literal(column.codec, literal)
        if place is None or column.edges is None:
            return None if place is None else (place, place)
        if not column.edges[0] <= place < column.edges[-1]:
            return None
        return int(np.searchsorted(column.codec.edges, place, side="right")) - 1, place


def _flatten(predicate: Predicate) -> list[Predicate]:
    """The parts of a chain of `and`s, or of `or`s."""
    kind, parts, waiting = type(predicate), [], [predicate]
    while waiting:
        part = waiting.pop()
        if isinstance(part, And | Or) and type(part) is kind:
            waiting += [part.right, part.left]
        else:
            parts.append(part)
    return parts


def _gather_by_column(
    parts: Sequence[Predicate], kind: type[And] | type[Or]
) -> list[Predicate]:
    """The same parts, those about the same single column as one: `a > 3 and a < 4` is
    false of every code of `a`, which neither part says alone.
    """
    gathered: dict[frozenset[str], Predicate] = {}
    rest: list[Predicate] = []
    for part in parts:
        columns = part.columns
        if len(columns) > 1:
            rest.append(part)
        elif columns in gathered:
            gathered[columns] = kind(gathered[columns], part)
        else:
            gathered[columns] = part
    return [*gathered.values(), *rest]


def _code_by_label(codec: Codec) -> dict[str | bool, int]:
    if isinstance(codec.column, Boolean):
        return {False: 0, True: 1}
    assert isinstance(codec.column, Categorical)
    values = codec.column.values or ()
    codes: dict[str | bool, int] = {label: code for code, label in enumerate(values)}
    if codec.column.other is not None:
        codes[codec.column.other] = len(values)
    return codes
