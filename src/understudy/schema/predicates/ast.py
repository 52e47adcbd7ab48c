"""Predicates: one small expression tree for rules, workloads, answers and SQL.

    age > 60 and sex = 'F'
    if age < 15 then married = false
    "first visit" <= "last visit"
    cause in ('A00', 'A01') or cause is missing
    wage + interest = income

A name is a bare word or stands in double quotes, a label stands in single quotes, a
date or time too; numbers are exact decimals or fractions (1/3). `str` writes a
predicate so that `parse_predicate` (parser.py) reads the same one back. What a
predicate means is in on_row.py (one row), on_values.py (decoded rows) and on_cells.py
(codes).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from understudy.errors import SchemaError
from understudy.schema.columns.cell import decimal_text

PREDICATE_KEYWORDS = frozenset(
    ["and", "or", "not", "in", "is", "missing", "null", "if", "then", "true", "false"]
)
BARE_WORD_REGEX = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

# How tightly each form binds. An operand that binds less tightly than its place needs
# gets parentheses.
_IF_BINDING, _OR_BINDING, _AND_BINDING, _NOT_BINDING, _ATOM_BINDING = range(5)


class Operator(StrEnum):
    """How two operands are compared."""

    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="

    @property
    def needs_order(self) -> bool:
        """Whether it compares values that must have an order."""
        return self not in (Operator.EQUAL, Operator.UNEQUAL)


@dataclass(frozen=True)
class ColumnName:
    """A column."""

    column: str

    def __str__(self) -> str:
        is_keyword = self.column.lower() in PREDICATE_KEYWORDS
        if BARE_WORD_REGEX.fullmatch(self.column) and not is_keyword:
            return self.column
        return '"' + self.column.replace('"', '""') + '"'


@dataclass(frozen=True)
class Literal:
    """A constant: a number, a text (a label, date or time, as its column reads it),
    true or false.
    """

    value: Fraction | str | bool

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        return decimal_text(self.value) or str(self.value)


Operand = ColumnName | Literal


class Predicate(ABC):
    """A condition that is true or false of a row. Comparisons with a missing value are
    false, those with `!=` and `not in` too; `not` makes them true.
    """

    binds: int = _ATOM_BINDING

    @property
    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The columns that it names."""

    def within(self, binding: int) -> str:
        """Its text, in parentheses if its place needs a form that binds more tightly."""
        return f"({self})" if self.binds < binding else str(self)


@dataclass(frozen=True)
class ColumnComparison(Predicate):
    """A column against a constant or another column.

    >>> str(ColumnComparison(ColumnName("age"), Operator.MORE, Literal(Fraction(60))))
    'age > 60'
    """

    left: ColumnName
    operator: Operator
    right: Operand

    def __post_init__(self) -> None:
        # Such a comparison is true or false of all values: a slip.
        if self.left == self.right:
            raise SchemaError(f'column "{self.left.column}" is compared with itself')

    @property
    def columns(self) -> frozenset[str]:
        names = {self.left.column}
        if isinstance(self.right, ColumnName):
            names.add(self.right.column)
        return frozenset(names)

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class LinearComparison(Predicate):
    """A weighted sum of numeric columns against a constant. Terms with a positive weight
    come first.

    >>> weights = {"a": 1, "b": 2, "total": -1}
    >>> terms = tuple((Fraction(w), ColumnName(name)) for name, w in weights.items())
    >>> str(LinearComparison(terms, Operator.EQUAL, Fraction(0)))
    'a + 2 * b = total'
    """

    terms: tuple[tuple[Fraction, ColumnName], ...]
    operator: Operator
    constant: Fraction

    def __post_init__(self) -> None:
        if not self.terms or any(weight == 0 for weight, _ in self.terms):
            raise SchemaError(
                "a sum in a predicate weighs each of its columns with a number other"
                " than 0"
            )
        if len({name for _, name in self.terms}) != len(self.terms):
            raise SchemaError("a sum in a predicate names each of its columns once")
        is_negative = [weight < 0 for weight, _ in self.terms]
        # One order for one sum, so that equal predicates are equal objects.
        if is_negative != sorted(is_negative):
            raise SchemaError(
                "a sum in a predicate begins with the columns that it adds"
            )

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(name.column for _, name in self.terms)

    def __str__(self) -> str:
        added = [_term_text(weight, name) for weight, name in self.terms if weight > 0]
        subtracted = [
            _term_text(-weight, name) for weight, name in self.terms if weight < 0
        ]
        constant = Literal(self.constant)
        # The grammar has no leading minus, so a sum that adds nothing begins with 0.
        if not added:
            left = " - ".join(["0", *subtracted])
            return f"{left} {self.operator} {constant}"
        left = " + ".join(added)
        if not subtracted:
            return f"{left} {self.operator} {constant}"
        # What is subtracted on the left is written as added on the right.
        right = " + ".join(subtracted)
        if self.constant:
            sign = "+" if self.constant > 0 else "-"
            right += f" {sign} {Literal(abs(self.constant))}"
        return f"{left} {self.operator} {right}"


def _term_text(weight: Fraction, name: ColumnName) -> str:
    return str(name) if weight == 1 else f"{Literal(weight)} * {name}"


@dataclass(frozen=True)
class InCombinations(Predicate):
    """Every column has a value, and the combination is one of a list, or none of it."""

    names: tuple[ColumnName, ...]
    rows: tuple[tuple[Literal, ...], ...]
    negated: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.names) for row in self.rows):
            raise SchemaError(
                "a listed combination needs one value for each of its columns"
            )

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(name.column for name in self.names)

    def __str__(self) -> str:
        rows = ", ".join(f"({', '.join(map(str, row))})" for row in self.rows)
        names = ", ".join(map(str, self.names))
        return f"({names}) {'not in' if self.negated else 'in'} ({rows})"


@dataclass(frozen=True)
class In(Predicate):
    """A column's value is one of a list, or none of it."""

    name: ColumnName
    values: tuple[Literal, ...]
    negated: bool = False

    def __post_init__(self) -> None:
        if not self.values:
            raise SchemaError("a list in a predicate holds at least one value")

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({self.name.column})

    def __str__(self) -> str:
        values = ", ".join(map(str, self.values))
        return f"{self.name} {'not in' if self.negated else 'in'} ({values})"


@dataclass(frozen=True)
class IsMissing(Predicate):
    """A column's cell is empty or holds a missing code, or does not."""

    name: ColumnName
    negated: bool = False

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({self.name.column})

    def __str__(self) -> str:
        return f"{self.name} is {'not ' if self.negated else ''}missing"


@dataclass(frozen=True)
class Not(Predicate):
    """True where its part is false."""

    part: Predicate
    binds = _NOT_BINDING

    @property
    def columns(self) -> frozenset[str]:
        return self.part.columns

    def __str__(self) -> str:
        return f"not {self.part.within(_NOT_BINDING)}"


@dataclass(frozen=True)
class And(Predicate):
    """True where both sides are."""

    left: Predicate
    right: Predicate
    binds = _AND_BINDING

    @property
    def columns(self) -> frozenset[str]:
        return self.left.columns | self.right.columns

    def __str__(self) -> str:
        return (
            f"{self.left.within(_AND_BINDING)} and"
            f" {self.right.within(_AND_BINDING + 1)}"
        )


@dataclass(frozen=True)
class Or(Predicate):
    """True where at least one side is."""

    left: Predicate
    right: Predicate
    binds = _OR_BINDING

    @property
    def columns(self) -> frozenset[str]:
        return self.left.columns | self.right.columns

    def __str__(self) -> str:
        return (
            f"{self.left.within(_OR_BINDING)} or {self.right.within(_OR_BINDING + 1)}"
        )


@dataclass(frozen=True)
class IfThen(Predicate):
    """True where the conclusion holds or the premise does not."""

    premise: Predicate
    conclusion: Predicate
    binds = _IF_BINDING

    @property
    def columns(self) -> frozenset[str]:
        return self.premise.columns | self.conclusion.columns

    def __str__(self) -> str:
        return (
            f"if {self.premise.within(_OR_BINDING)} then"
            f" {self.conclusion.within(_OR_BINDING)}"
        )
