"""Rules: what holds for every row, whatever the data.

    admitted <= discharged                      a condition that always holds
    {impossible: age < 15 and smoker = true}    one that never does
    {columns: [ward, bed], allowed: [...]}      the combinations there are
    {from: town, to: canton, map: {...}}        one column determines another

A rule is broken only by values that contradict it. A missing value contradicts nothing:
`admitted <= discharged` says nothing of a patient who is still in bed, as a CHECK in a
database says nothing of NULL. Every rule comes down to one predicate, its breach, that
holds for exactly the rows that break it; the rest of the program works with breaches
alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product

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

OPPOSITE_OPERATORS = {
    Operator.EQUAL: Operator.UNEQUAL,
    Operator.UNEQUAL: Operator.EQUAL,
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.LESS,
    Operator.MORE: Operator.AT_MOST,
    Operator.AT_MOST: Operator.MORE,
}


# To learn a map all combinations of two columns are counted with noise.
MAX_LEARNED_MAP_CELLS = 10_000_000

# A conjunction of disjunctions has a product of parts; beyond this it is kept whole.
MAX_PREDICATE_DISJUNCTS = 64

# A boolean column has true, false and missing.
_BOOLEAN_LABELS = 3


class BrokenRowPolicy(StrEnum):
    """What becomes of a row of the table that breaks a rule.

    `keep` counts it in each of its columns, but not in the cells that the rule forbids;
    `drop` leaves it out of everything; `missing` empties its cells in the columns that
    the rule names.
    """

    KEEP = "keep"
    DROP = "drop"
    MISSING = "missing"


def breach_of(predicate: Predicate) -> Predicate:
    """The predicate that holds where another is contradicted by the values there are.

    >>> from understudy.schema import parse_predicate
    >>> print(breach_of(parse_predicate("if age < 15 then smoker = false")))
    age < 15 and smoker != false
    >>> print(breach_of(parse_predicate("a + b = total")))
    a + b != total
    """
    match predicate:
        case And(left, right):
            return Or(breach_of(left), breach_of(right))
        case Or(left, right):
            return And(breach_of(left), breach_of(right))
        case Not(part):
            return affirmation_of(part)
        case IfThen(premise, conclusion):
            return And(affirmation_of(premise), breach_of(conclusion))
    return _opposite_test(predicate)


def affirmation_of(predicate: Predicate) -> Predicate:
    """The predicate that holds where another is confirmed by the values there are: `not`
    is moved inwards, because `not age < 15` holds of a missing age, which confirms
    nothing.

    >>> from understudy.schema import parse_predicate
    >>> print(affirmation_of(parse_predicate("not age < 15")))
    age >= 15
    """
    match predicate:
        case And(left, right):
            return And(affirmation_of(left), affirmation_of(right))
        case Or(left, right):
            return Or(affirmation_of(left), affirmation_of(right))
        case Not(part):
            return breach_of(part)
        case IfThen(premise, conclusion):
            return Or(breach_of(premise), affirmation_of(conclusion))
    return predicate


def _opposite_test(predicate: Predicate) -> Predicate:
    """The test that is true where another is false, and false of missing values as all
    tests but `is missing` are.
    """
    match predicate:
        case IsMissing() | In() | InCombinations():
            return replace(predicate, negated=not predicate.negated)
        case LinearComparison() | ColumnComparison():
            return replace(predicate, operator=OPPOSITE_OPERATORS[predicate.operator])
    raise TypeError(f"{type(predicate).__name__} is no predicate")


def split_disjuncts(predicate: Predicate) -> list[Predicate]:
    """Predicates of which at least one holds exactly where the given one does. If it is
    forbidden, each of them is, and each names fewer columns.

    >>> from understudy.schema import parse_predicate
    >>> either = parse_predicate("age < 15 and (wage > 0 or rent > 0)")
    >>> [str(part) for part in split_disjuncts(either)]
    ['age < 15 and wage > 0', 'age < 15 and rent > 0']
    """
    parts = _expand_disjuncts(predicate)
    return parts if len(parts) <= MAX_PREDICATE_DISJUNCTS else [predicate]


def _expand_disjuncts(predicate: Predicate) -> list[Predicate]:
    match predicate:
        case Or(left, right):
            return [*_expand_disjuncts(left), *_expand_disjuncts(right)]
        case And(left, right):
            lefts = _expand_disjuncts(left)
            rights = _expand_disjuncts(right)
            if len(lefts) * len(rights) > MAX_PREDICATE_DISJUNCTS:
                return [predicate]
            return [And(one, two) for one, two in product(lefts, rights)]
    return [predicate]


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """A rule that holds for every row. Errors and reports call it by its `name`."""

    name: str = ""

    @property
    def title(self) -> str:
        """Its name, or what it says."""
        return self.name or str(self)

    @property
    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The columns that it names."""

    @abstractmethod
    def breach_predicate(self, columns: Mapping[str, Column]) -> Predicate | None:
        """The predicate that holds for the rows that break the rule; None as long as
        the rule is still to be learned.
        """

    def check(self, columns: Mapping[str, Column]) -> None:
        """Refuse a rule that makes no sense for the columns it names."""
        for column in sorted(self.columns - set(columns)):
            raise SchemaError(f'column "{column}" is not in the schema')
        breach = self.breach_predicate(columns)
        if breach is not None:
            check_predicate(breach, columns)


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
    """All combinations of values that some columns may have; a row with a missing value
    among them breaks nothing.
    """

    names: tuple[str, ...]
    combinations: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len(self.names) < 2 or len(set(self.names)) != len(self.names):
            raise SchemaError("`columns` must name at least two different columns")
        if any(len(values) != len(self.names) for values in self.combinations):
            raise SchemaError(
                "`allowed` needs one value for each of `columns` in each combination"
            )
        if not self.combinations:
            raise SchemaError("`allowed` lists no combination at all")

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.names)

    def breach_predicate(self, columns: Mapping[str, Column]) -> Predicate:
        named = [columns[name] for name in self.names]
        rows = tuple(
            tuple(map(_literal_from_text, named, texts)) for texts in self.combinations
        )
        return InCombinations(tuple(map(ColumnName, self.names)), rows, negated=True)

    def __str__(self) -> str:
        return f"only listed combinations of {', '.join(self.names)}"


@dataclass(frozen=True, kw_only=True)
class FunctionalDependency(Rule):
    """One column's value determines another's, as `map` says; None has the map learned
    inside the privacy budget. Values that are not mapped determine nothing.

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
            cells *= _count_labels(columns[name])
        if cells > MAX_LEARNED_MAP_CELLS:
            raise SchemaError(
                f"a map over more than {MAX_LEARNED_MAP_CELLS:,} combinations cannot be"
                " learned. Declare `map`"
            )

    def breach_predicate(self, columns: Mapping[str, Column]) -> Predicate | None:
        # A learned map is empty if nothing stood out of the noise.
        if not self.map:
            return None
        source = columns[self.source]
        target = columns[self.target]
        sources = [_literal_from_text(source, text) for text in self.map]
        targets = [_literal_from_text(target, text) for text in self.map.values()]
        # Only mapped values are bound: an unmapped one is in no listed pair either.
        is_mapped = In(ColumnName(self.source), tuple(sources))
        names = ColumnName(self.source), ColumnName(self.target)
        pairs = tuple(zip(sources, targets, strict=True))
        return And(is_mapped, InCombinations(names, pairs, negated=True))

    def __str__(self) -> str:
        return f"{self.source} determines {self.target}"


def _count_labels(column: Column) -> int:
    """How many labels a column has, as far as is known; a map over others cannot be
    learned.
    """
    if family_of_column(column) not in ("label", "truth", None):
        raise SchemaError(
            f'column "{column.name}" has no labels, so the map cannot be learned.'
            " Declare `map`"
        )
    if isinstance(column, Categorical):
        return len(column.values or ()) + 1
    return _BOOLEAN_LABELS


def _literal_from_text(column: Column, text: str) -> Literal:
    """A value as the file spells it, read by its column."""
    if isinstance(column, Boolean):
        return Literal(column.truth_by_spelling.get(text.lower(), text))
    number = parse_number(text) if family_of_column(column) == "number" else None
    return Literal(text if number is None else number)
