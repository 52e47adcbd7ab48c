"""Rows that keep the rules of a schema: any one, or one as like a given row as can be.

The rules are compiled once, over columns whose bins are cut where a rule speaks of a
value, so that such a rule is decided by the bin.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from understudy.models.rules.domains import ColumnCodes, StepBudget
from understudy.models.rules.row_search import (
    AllowedValues,
    FoundCells,
    RowSearch,
    SearchAnswer,
)
from understudy.schema import (
    BinEdges,
    Codec,
    Column,
    DecodedCells,
    Lattice,
    NeverRule,
    Predicate,
    Rule,
    Schema,
    codec_of,
)
from understudy.schema.columns.code_layout import (
    EMPTY_STATE,
    FIRST_MISSING_STATE,
    OTHER_STATE,
    VALUE_STATE,
)
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IfThen,
    In,
    InCombinations,
    Literal,
    Not,
    Or,
)
from understudy.schema.predicates.comparable import scale_step_of, scale_value_of

# Steps of one search for a row: about a second. Chains of 400 orders take a fifth of
# it, and 400 random clauses as much unless they are chosen to be hard.
MAX_SEARCH_STEPS = 250_000

# Steps of all searches for rows that replace broken ones of one batch.
MAX_REPLACEMENT_STEPS = 100_000

# With fewer steps left no further search is begun.
MIN_SEARCH_STEPS = 1000

# Bins that a column of numbers is cut into for the search, at most: at the constants
# that rules compare it with.
MAX_COLUMN_CUTS = 4096


class RowFinder:
    """Looks for rows that keep some rules of a schema. What is still to be learned, or
    takes no part in the release, is left out.

    Raises `OutOfSteps` where the rules are too many to be compiled.
    """

    def __init__(
        self, schema: Schema, rules: Sequence[Rule], more: Collection[str] = ()
    ) -> None:
        kept = set(schema)
        breaches = [
            (rule, rule.breach_predicate(schema.by_name))
            for rule in rules
            if rule.columns <= kept
        ]
        judged = [(rule, breach) for rule, breach in breaches if breach is not None]
        self.rules = [rule for rule, _ in judged]
        predicates = [breach for _, breach in judged]
        ruled = set(more).union(*(predicate.columns for predicate in predicates))
        cuts = _constants_by_column(predicates)
        self.columns = {
            name: ColumnCodes.of(codec_of(_cut_at(schema[name], cuts.get(name, ()))))
            for name in schema
            if name in ruled
        }
        self.schema = schema
        self.budget = StepBudget(MAX_SEARCH_STEPS)
        self._search = RowSearch(self.columns, self.budget)
        self._constraints = [self._search.compile(p) for p in predicates]

    def _valued_columns(self, numbers: Iterable[int]) -> set[str]:
        """The columns of rules that are about values. One that says what never holds
        may be about missing cells alone.
        """
        about_values = (
            self.rules[number].columns
            for number in numbers
            if not isinstance(self.rules[number], NeverRule)
        )
        return set().union(*about_values)

    def refill(self, steps: int = MAX_SEARCH_STEPS) -> None:
        """Allow as many steps from here on."""
        self.budget.refill(steps)

    @property
    def is_exhausted(self) -> bool:
        """Whether no steps are left."""
        return self.budget.left <= MIN_SEARCH_STEPS

    def decide(self, numbers: Sequence[int], *, valued: bool) -> SearchAnswer:
        """Whether a row keeps the rules of these numbers, within the steps that are
        left; with `valued`, no column of a rule about values is missing.
        """
        filled = self._valued_columns(numbers) if valued else set()
        constraints = [self._constraints[number] for number in numbers]
        return self._search.decide(constraints, filled=filled)

    def find_row(self, filled: Collection[str] = ()) -> FoundCells | None:
        """A row that keeps all rules, with a value in each of `filled` and, where that
        can be, in all columns of rules about values. None where none is found.
        """
        numbers = range(len(self.rules))
        for more in (self._valued_columns(numbers), set()):
            self.refill()
            row = self._search.find(self._constraints, filled=more.union(filled))
            if row is not None:
                return row
        return None

    def find_like(
        self,
        cells: Mapping[str, DecodedCells],
        row: int,
        allowed: Mapping[str, AllowedValues] | None = None,
    ) -> FoundCells | None:
        """A row that keeps all rules and is near one of some decoded rows, within the
        steps that are left.
        """
        # Preferred values are tried first and kept unless a rule speaks against them, so
        # the row that is found differs in few columns.
        prefer = {
            name: self._preferred_value(
                name, int(cells[name].index[row]), cells[name].state[row]
            )
            for name in self.columns
        }
        return self._search.find(self._constraints, allowed=allowed, prefer=prefer)

    def _preferred_value(self, name: str, index: int, state: int) -> tuple[int, int]:
        codec = self.columns[name].codec
        return code_of_cell(codec, index, int(state)), index

    def allow_code(self, name: str, code: int) -> AllowedValues:
        """What a code of the schema, whose bins are others, leaves of a column."""
        column, bins = self.columns[name], self.schema.codecs[name].bins
        if not isinstance(bins, BinEdges):
            return 1 << code, 0, column.ranks - 1
        assert column.edges is not None
        if code < len(bins):
            return column.ranked, bins.edges[code], bins.edges[code + 1] - 1
        # Behind the bins both orders are the same: other, empty, missing codes.
        beyond = code - len(bins) + column.ranks
        return 1 << beyond, column.edges[0], column.edges[-1] - 1

    def codes_of(self, row: FoundCells) -> dict[str, int]:
        """A found row in the codes of the schema."""
        return {
            name: code_of_cell(
                self.schema.codecs[name], int(cells.index[0]), int(cells.state[0])
            )
            for name, cells in row.items()
        }


def code_of_cell(codec: Codec, index: int, state: int) -> int:
    """The code of a decoded cell.

    >>> from understudy.schema import Integer
    >>> age = codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))
    >>> code_of_cell(age, 7, VALUE_STATE), code_of_cell(age, 0, EMPTY_STATE)
    (2, 3)
    """
    if state == VALUE_STATE:
        if not isinstance(codec.bins, BinEdges):
            return index
        return int(codec.edges.searchsorted(index, side="right")) - 1
    if state == OTHER_STATE:
        assert codec.other is not None
        return codec.other
    if state == EMPTY_STATE:
        assert codec.empty is not None
        return codec.empty
    return codec.missing_code(state - FIRST_MISSING_STATE)


def all_rules(schema: Schema) -> list[Rule]:
    """The rules of a schema, what is declared impossible among them."""
    return [
        *(NeverRule(predicate=predicate) for predicate in schema.impossible),
        *schema.rules,
    ]


def _cut_at(column: Column, constants: Collection[Literal]) -> Column:
    """The column with bins that begin where a rule speaks of a value, so that every
    such rule is decided by the bin.
    """
    column = replace(column, constant=False)  # one row has no others to agree with
    if not isinstance(column, Lattice) or column.low is None or column.high is None:
        return column
    low, high = column.low, column.high
    edges = {low, high + 1}
    for constant in constants:
        value = scale_value_of(column, constant)
        if isinstance(value, Fraction):
            place = math.floor(value / scale_step_of(column))
            edges |= {edge for edge in (place, place + 1) if low < edge <= high}
        if len(edges) >= MAX_COLUMN_CUTS:
            break
    return replace(column, bins=tuple(sorted(edges)), grain=())


def _constants_by_column(
    predicates: Iterable[Predicate],
) -> dict[str, list[Literal]]:
    """The constants that each column is compared with, each once."""
    found: dict[str, dict[Literal, None]] = {}
    for predicate in predicates:
        for name, literal in _named_constants(predicate):
            found.setdefault(name, {})[literal] = None
    return {name: list(literals) for name, literals in found.items()}


def _named_constants(predicate: Predicate) -> Iterator[tuple[str, Literal]]:
    match predicate:
        case And(left, right) | Or(left, right) | IfThen(left, right):
            yield from _named_constants(left)
            yield from _named_constants(right)
        case Not(part):
            yield from _named_constants(part)
        case ColumnComparison(ColumnName(column), _, Literal() as literal):
            yield column, literal
        case In(ColumnName(column), values):
            yield from ((column, literal) for literal in values)
        case InCombinations(names, rows):
            for row in rows:
                for name, literal in zip(names, row, strict=True):
                    yield name.column, literal
