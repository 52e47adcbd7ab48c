"""Predicates: one small expression tree for constraints, workloads, answers and, in
time, SQL.

    age > 60 and sex = 'F'
    if age < 15 then married = false
    "first visit" <= "last visit"
    cause in ('A00', 'A01') or cause is missing
    wage + interest = income

A name is a bare word or stands in double quotes, a label stands in single quotes, a
date or time too; numbers are exact decimals or fractions (1/3). `str` writes a
predicate so that `parse_predicate` (schema/predicates/parser.py) reads the same one
back. What a predicate means, on values and on codes, is in
schema/predicates/on_cells.py.
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

_IF_BINDING, _OR_BINDING, _AND_BINDING, _NOT_BINDING, _ATOM_BINDING = range(5)
"""How tightly each form binds; an operand that binds less tightly than its place gets
parentheses.
"""


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
        """Whether it needs an order."""
        return self not in (Operator.EQUAL, Operator.UNEQUAL)


@dataclass(frozen=True)
class ColumnName:
    """A column."""

    column: str

    def __str__(self) -> str:
        plain = (
            BARE_WORD_REGEX.fullmatch(self.column)
            and self.column.lower() not in PREDICATE_KEYWORDS
        )
        return self.column if plain else '"' + self.column.replace('"', '""') + '"'


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
    """True or false of a row. A comparison with a missing value is false, `!=` and `not
    in` too; `not` turns that round.
    """

    binds: int = _ATOM_BINDING

    @property
    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The columns it speaks of."""

    def within(self, place: int) -> str:
        """Its text, in parentheses where the place asks for something that binds more
        tightly.
        """
        return f"({self})" if self.binds < place else str(self)


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
        if self.left == self.right:
            raise SchemaError(f'column "{self.left.column}" is compared with itself')

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(
            side.column
            for side in (self.left, self.right)
            if isinstance(side, ColumnName)
        )

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class LinearComparison(Predicate):
    """A weighted sum of columns of numbers against a constant. Terms with a positive
    weight stand first.

    >>> str(LinearComparison(((Fraction(1), ColumnName("a")), (Fraction(2), ColumnName("b")),
    ...     (Fraction(-1), ColumnName("total"))), Operator.EQUAL, Fraction(0)))
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
        if [weight > 0 for weight, _ in self.terms] != sorted(
            (weight > 0 for weight, _ in self.terms), reverse=True
        ):
            raise SchemaError(
                "a sum in a predicate begins with the columns that it adds"
            )

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(name.column for _, name in self.terms)

    def __str__(self) -> str:
        left = [_term_text(weight, name) for weight, name in self.terms if weight > 0]
        right = [_term_text(-weight, name) for weight, name in self.terms if weight < 0]
        if not left:  # nothing is added: all of it is taken away from nothing
            left, right = ["0", *(f"- {term}" for term in right)], []
            return f"{' '.join(left)} {self.operator} {Literal(self.constant)}"
        end = str(Literal(abs(self.constant)))
        if not right:
            return f"{' + '.join(left)} {self.operator} {Literal(self.constant)}"
        tail = (
            "" if not self.constant else f" {'+' if self.constant > 0 else '-'} {end}"
        )
        return f"{' + '.join(left)} {self.operator} {' + '.join(right)}{tail}"


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
        rows = ", ".join(
            f"({', '.join(str(value) for value in row)})" for row in self.rows
        )
        return (
            f"({', '.join(map(str, self.names))}) {'not in' if self.negated else 'in'}"
            f" ({rows})"
        )


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
        listed = ", ".join(str(value) for value in self.values)
        return f"{self.name} {'not in' if self.negated else 'in'} ({listed})"


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
    """The opposite."""

    part: Predicate
    binds = _NOT_BINDING

    @property
    def columns(self) -> frozenset[str]:
        return self.part.columns

    def __str__(self) -> str:
        return f"not {self.part.within(_NOT_BINDING)}"


@dataclass(frozen=True)
class And(Predicate):
    """Both."""

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
    """At least one."""

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
    """Where the premise holds, the conclusion holds: `not premise or conclusion`."""

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
