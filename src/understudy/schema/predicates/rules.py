"""Rules: what holds for every row, by the nature of the thing.

    admitted <= discharged                      a condition that always holds
    {impossible: age < 15 and smoker = true}    one that never does
    {columns: [ward, bed], allowed: [...]}      the combinations there are
    {from: town, to: canton, map: {...}}        one column determines another

A rule is broken only by values that contradict it. A missing value contradicts nothing:
`admitted <= discharged` says nothing of a patient who is still in bed, as a CHECK in a
database says nothing of NULL. Every rule comes down to one predicate, its breach, that
holds for exactly the rows that break it; everything else in the program works with
breaches alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column
from understudy.schema.columns.cell import parse_number
from understudy.schema.columns.discrete import Boolean, Categorical
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
    Predicate,
)
from understudy.schema.predicates.comparable import check_predicate, family_of_column

_OPPOSITE_OPERATORS = {
    Operator.EQUAL: Operator.UNEQUAL,
    Operator.UNEQUAL: Operator.EQUAL,
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.LESS,
    Operator.MORE: Operator.AT_MOST,
    Operator.AT_MOST: Operator.MORE,
}


MAX_LEARNED_MAP_CELLS = 10_000_000
"""No map is bought over more combinations than this."""


class BrokenRowPolicy(StrEnum):
    """What becomes of a row of the table that breaks a rule.

    `keep` counts it wherever it does not show; `drop` leaves it out of everything;
    `missing` empties the cells that the broken rule speaks of.
    """

    KEEP = "keep"
    DROP = "drop"
    MISSING = "missing"


def breach_of(predicate: Predicate, *, of: bool = True) -> Predicate:
    """The predicate that holds where another is false of the values there are; with
    `of=False`, where it is true of them.

    >>> from understudy.schema import parse_predicate
    >>> print(breach_of(parse_predicate("if age < 15 then smoker = false")))
    age < 15 and smoker != false
    >>> print(breach_of(parse_predicate("a + b = total")))
    a + b != total
    """
    match predicate:
        case And(left, right):
            return (Or if of else And)(breach_of(left, of=of), breach_of(right, of=of))
        case Or(left, right):
            return (And if of else Or)(breach_of(left, of=of), breach_of(right, of=of))
        case Not(part):
            return breach_of(part, of=not of)
        case IfThen(premise, conclusion):
            return (And if of else Or)(
                breach_of(premise, of=not of), breach_of(conclusion, of=of)
            )
    if not of:
        return predicate
    match predicate:
        case IsMissing(name, negated):
            return IsMissing(name, not negated)
        case In(name, values, negated):
            return In(name, values, not negated)
        case InCombinations(names, rows, negated):
            return InCombinations(names, rows, not negated)
        case LinearComparison(terms, operator, constant):
            return LinearComparison(terms, _OPPOSITE_OPERATORS[operator], constant)
        case ColumnComparison(left_name, operator, right_side):
            return ColumnComparison(
                left_name, _OPPOSITE_OPERATORS[operator], right_side
            )
    raise TypeError(f"{type(predicate).__name__} is no predicate")


MAX_PREDICATE_DISJUNCTS = 64
"""A predicate is taken apart into no more than this."""


def split_disjuncts(predicate: Predicate) -> list[Predicate]:
    """Predicates of which at least one holds exactly where the given one does: what is
    forbidden apart is forbidden together.

    >>> from understudy.schema import parse_predicate
    >>> [str(part) for part in split_disjuncts(parse_predicate("age < 15 and (wage > 0 or rent > 0)"))]
    ['age < 15 and wage > 0', 'age < 15 and rent > 0']
    """
    found = _expand_disjuncts(predicate)
    return found if len(found) <= MAX_PREDICATE_DISJUNCTS else [predicate]


def _expand_disjuncts(predicate: Predicate) -> list[Predicate]:
    match predicate:
        case Or(left, right):
            return [*_expand_disjuncts(left), *_expand_disjuncts(right)]
        case And(left, right):
            ours, theirs = _expand_disjuncts(left), _expand_disjuncts(right)
            if len(ours) * len(theirs) > MAX_PREDICATE_DISJUNCTS:
                return [predicate]
            return [And(one, two) for one in ours for two in theirs]
    return [predicate]


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """Something that holds for every row. `name` is what errors and reports call it."""

    name: str = ""

    @property
    def title(self) -> str:
        """Its name, or what it says."""
        return self.name or str(self)

    @property
    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The columns it speaks of."""

    @abstractmethod
    def breach_predicate(self, columns: Mapping[str, Column]) -> Predicate | None:
        """Holds for the rows that break the rule; None while what the rule says is
        still to be learned.
        """

    def check(self, columns: Mapping[str, Column]) -> None:
        """Refuse a rule that makes no sense for the columns it names."""
        for column in sorted(self.columns - set(columns)):
            raise SchemaError(f'column "{column}" is not in the schema')
        found = self.breach_predicate(columns)
        if found is not None:
            check_predicate(found, columns)


@dataclass(frozen=True, kw_only=True)
class AlwaysRule(Rule):
    """A condition that no row contradicts.

    >>> from understudy.schema import parse_predicate
    >>> print(AlwaysRule(predicate=parse_predicate("start <= end")).breach_predicate({}))
    start > end
    """

    predicate: Predicate

    @property
    def columns(self) -> frozenset[str]:
        return self.predicate.columns

    def breach_predicate(self, columns: Mapping[str, Column]) -> Predicate:  # noqa: ARG002
        return breach_of(self.predicate)

    def __str__(self) -> str:
        return str(self.predicate)


@dataclass(frozen=True, kw_only=True)
class NeverRule(Rule):
    """A condition that holds for no row."""

    predicate: Predicate

    @property
    def columns(self) -> frozenset[str]:
        return self.predicate.columns

    def breach_predicate(self, columns: Mapping[str, Column]) -> Predicate:  # noqa: ARG002
        return self.predicate

    def __str__(self) -> str:
        return f"never {self.predicate}"


@dataclass(frozen=True, kw_only=True)
class AllowedCombinations(Rule):
    """The combinations of some columns' values that there are; a row with a missing one
    among them breaks nothing.
    """

    names: tuple[str, ...]
    combinations: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len(self.names) < 2 or len(set(self.names)) != len(self.names):
            raise SchemaError("`columns` must name at least two different columns")
        if any(len(one) != len(self.names) for one in self.combinations):
            raise SchemaError(
                "`allowed` needs one value for each of `columns` in each combination"
            )
        if not self.combinations:
            raise SchemaError("`allowed` lists no combination at all")

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.names)

    def breach_predicate(self, columns: Mapping[str, Column]) -> Predicate:
        rows = tuple(
            tuple(
                _literal_from_text(columns[name], text)
                for name, text in zip(self.names, one, strict=True)
            )
            for one in self.combinations
        )
        return InCombinations(tuple(map(ColumnName, self.names)), rows, negated=True)

    def __str__(self) -> str:
        return f"only listed combinations of {', '.join(self.names)}"


@dataclass(frozen=True, kw_only=True)
class FunctionalDependency(Rule):
    """One column's value decides another's. `map` says how; None has it learned inside
    the budget. Unmapped values decide nothing.

    >>> str(FunctionalDependency(source="town", target="canton"))
    'town determines canton'
    """

    source: str
    target: str
    map: Mapping[str, str] | None = None
    learned: bool = False

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise SchemaError(f'column "{self.source}" cannot determine itself')

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({self.source, self.target})

    def check(self, columns: Mapping[str, Column]) -> None:
        super().check(columns)
        if self.map is not None:
            return
        cells = 1
        for name in (self.source, self.target):
            column = columns[name]
            if family_of_column(column) not in ("label", "truth", None):
                raise SchemaError(
                    f'column "{name}" has no labels, so the map cannot be learned.'
                    " Declare `map`"
                )
            cells *= (
                len(column.values or ()) + 1 if isinstance(column, Categorical) else 3
            )
        if cells > MAX_LEARNED_MAP_CELLS:
            raise SchemaError(
                f"a map over more than {MAX_LEARNED_MAP_CELLS:,} combinations cannot be"
                " learned. Declare `map`"
            )

    def breach_predicate(self, columns: Mapping[str, Column]) -> Predicate | None:
        if not self.map:
            return None
        names = ColumnName(self.source), ColumnName(self.target)
        rows = tuple(
            (
                _literal_from_text(columns[self.source], source),
                _literal_from_text(columns[self.target], target),
            )
            for source, target in self.map.items()
        )
        return And(
            In(names[0], tuple(source for source, _ in rows)),
            InCombinations(names, rows, negated=True),
        )

    def __str__(self) -> str:
        return f"{self.source} determines {self.target}"


def _literal_from_text(column: Column, text: str) -> Literal:
    """A value as the file spells it, read by its column."""
    if isinstance(column, Boolean):
        return Literal(column.truth_by_spelling.get(text.lower(), text))
    number = parse_number(text) if family_of_column(column) == "number" else None
    return Literal(text if number is None else number)
