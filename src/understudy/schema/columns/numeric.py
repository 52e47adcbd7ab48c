"""Columns of numbers: whole numbers and decimals, each a multiple of a step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from understudy.errors import SchemaError
from understudy.schema.columns.cell import parse_number
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.number_spelling import NumberSpelling

# Tables and frames store whole numbers in 64 bits. A column of larger ones could be
# described, but never written.
MAX_WHOLE_NUMBER = 2**63 - 1

# Steps of 10^-18 and coarser have at most this many decimals.
MAX_STEP_DECIMALS = 18


@dataclass(frozen=True, kw_only=True)
class Integer(Lattice):
    """Whole numbers, multiples of `step`; `thousands` is what texts separate them by.
    `whole_point` says that they are spelled with a point: 7.0.

    >>> Integer(name="age", min=0, max=90, step=5).high
    18
    """

    type: ClassVar[str] = "integer"
    noun: ClassVar[str] = "whole number"
    min: int | None = None
    max: int | None = None
    step: int = 1
    thousands: str = ""
    whole_point: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = {"min": self.min, "max": self.max, "step": self.step}
        for which, number in numbers.items():
            # In Python a bool is an int, and True as a bound is a slip.
            if isinstance(number, bool) or not isinstance(number, int | None):
                raise SchemaError(f'column "{self.name}": `{which}` is no {self.noun}')
        if self.step < 1:
            raise SchemaError(f'column "{self.name}": `step` must be at least 1')
        _check_spelling(self)
        self._check_width("step", self.step)
        self.check_bounds()
        for which, index in (("min", self.low), ("max", self.high)):
            self._check_width(which, 0 if index is None else index * self.step)

    def _check_width(self, which: str, number: int) -> None:
        if abs(number) > MAX_WHOLE_NUMBER:
            raise SchemaError(
                f'column "{self.name}": `{which}` is beyond 64 bits. Use type real,'
                " or categorical"
            )

    def position_of(self, value: object) -> Fraction:
        return exact_fraction(value) / self.step

    def index_of(self, value: object) -> int:
        return _round_half_away(self.position_of(value))

    def with_whole_point(self, is_written: bool) -> Integer:
        """The column whose numbers are spelled with a point, or without as usual."""
        return replace(self, whole_point=True if is_written else None)

    def value_at(self, index: int) -> int:
        return index * self.step

    @cached_property
    def number_spelling(self) -> NumberSpelling:
        """The marks in the texts of its numbers."""
        return NumberSpelling(
            thousands=self.thousands, decimal=_whole_number_mark(self.thousands)
        )

    def parse(self, text: str) -> object:
        return parse_number(self.number_spelling.to_plain(text))


@dataclass(frozen=True, kw_only=True)
class Real(Lattice):
    """Decimal numbers, multiples of `step` (a fraction; two decimals are 1/100). Noise
    on them is exact because they lie on a lattice.

    `decimal` and `thousands` are the marks that texts have. `trailing_zeros` says
    whether 1.5 is spelled 1.50 in steps of 1/100; None where nothing is known of it.
    `whole_point` is false where 7.0 is spelled 7.

    >>> Real(name="weight", min=Fraction(0), max=Fraction(200), step=Fraction(1, 10)).high
    2000
    """

    type: ClassVar[str] = "real"
    noun: ClassVar[str] = "number"
    min: Fraction | None = None
    max: Fraction | None = None
    step: Fraction = Fraction(1, 100)
    decimal: str = "."
    thousands: str = ""
    trailing_zeros: bool | None = None
    whole_point: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for which in ("min", "max", "step"):
            number = getattr(self, which)
            if number is not None or which == "step":
                self._make_exact(which, number)
        if self.step <= 0:
            raise SchemaError(f'column "{self.name}": `step` must be positive')
        _check_spelling(self)
        self.check_bounds()

    def _make_exact(self, which: str, number: object) -> None:
        try:
            # A float in code means the decimal it shows: 0.1 is one tenth.
            exact = exact_fraction(shown_decimal(number))
        except (ValueError, OverflowError):
            raise SchemaError(
                f'column "{self.name}": `{which}` is no {self.noun}'
            ) from None
        object.__setattr__(self, which, exact)

    @property
    def decimals(self) -> int | None:
        """Decimals that the step needs; None if no number of decimals holds it (a step
        of 1/3).
        """
        for decimals in range(MAX_STEP_DECIMALS + 1):
            if (self.step * 10**decimals).denominator == 1:
                return decimals
        return None

    def position_of(self, value: object) -> Fraction:
        return exact_fraction(value) / self.step

    def index_of(self, value: object) -> int:
        return _round_half_away(self.position_of(value))

    def with_whole_point(self, is_written: bool) -> Real:
        """The column whose whole numbers are spelled with a point as usual, or without."""
        return replace(self, whole_point=None if is_written else False)

    def value_at(self, index: int) -> float:
        return float(index * self.step)

    @cached_property
    def number_spelling(self) -> NumberSpelling:
        """The marks in the texts of its numbers."""
        return NumberSpelling(self.decimal, self.thousands)

    def parse(self, text: str) -> object:
        return parse_number(self.number_spelling.to_plain(text))


def _whole_number_mark(thousands: str) -> str:
    """The decimal mark of whole numbers with this separator: the other of the two."""
    return "," if thousands == "." else "."


def _check_spelling(column: Integer | Real) -> None:
    problem = column.number_spelling.find_problem()
    if problem is not None:
        raise SchemaError(f'column "{column.name}": {problem}')


def exact_fraction(value: object) -> Fraction:
    """A Python number as a fraction; ValueError if it is none, OverflowError if it is
    infinite.

    >>> exact_fraction(0.5), exact_fraction(Decimal("0.1"))
    (Fraction(1, 2), Fraction(1, 10))
    """
    if isinstance(value, bool) or not isinstance(
        value, int | float | Fraction | Decimal
    ):
        raise ValueError("not a number")
    return Fraction(value)


def shown_decimal(value: object) -> object:
    """A float as the decimal that Python shows for it; anything else unchanged."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def _round_half_away(number: Fraction) -> int:
    """Round half away from zero, as databases do (Python rounds half to even)."""
    magnitude = int(abs(number) + Fraction(1, 2))
    return magnitude if number >= 0 else -magnitude
