"""How the values of a column are spelled as texts: with the format, marks and zeros
that its schema declares or a run learned.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Context, Decimal

from understudy.schema import Boolean, Column, Date, Datetime, Integer, Real, Time
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.moment_format import moment_format_of

_EXACT_DECIMAL_DIGITS = 60

WHOLE_POINT = ".0"
"""What is written behind a whole number whose column has points."""


def write_value(column: Column, index: int) -> str:
    """The value at an index of a column's lattice, as the table it came from spells it.

    >>> write_value(Real(name="price", decimal=","), 1250)
    '12,50'
    >>> write_value(Real(name="size", whole_point=False), 700)
    '7'
    >>> write_value(Date(name="born", format="%d.%m.%Y"), 0)
    '01.01.1970'
    """
    if isinstance(column, Boolean):
        return (column.true if index else column.false)[0]
    assert isinstance(column, Lattice)
    if isinstance(column, Integer | Real):
        return column.number_spelling.write(_plain_number(column, index))
    value = column.value_at(index)
    format = moment_format_of(getattr(column, "format", ""))
    if format is None:
        return str(value)
    return format.write(_as_moment(value))


def is_written_specially(column: Column) -> bool:
    """Whether `write_value` spells a column's values otherwise than a database would."""
    match column:
        case Boolean():
            return True
        case Integer() | Real():
            return not column.number_spelling.is_plain
        case Date() | Datetime() | Time():
            return bool(column.format)
    return False


def decimal_at(column: Column, index: int) -> Decimal | None:
    """A value of a column of decimals, with all of its decimals; None if no number of
    decimals holds its step.

    >>> from fractions import Fraction
    >>> str(decimal_at(Real(name="price", step=Fraction(1, 20)), 3))
    '0.15'
    """
    if not isinstance(column, Real) or column.decimals is None:
        return None
    unscaled = Decimal(int(index * column.step * 10**column.decimals))
    # Python's default of 28 digits would round large values.
    return unscaled.scaleb(-column.decimals, Context(prec=_EXACT_DECIMAL_DIGITS))


def has_fixed_places(column: Real) -> bool:
    """Whether all numbers of a column are spelled with as many decimals: where that is
    declared or learned, and otherwise where the decimals themselves are declared. A
    binary float has as many as it needs.
    """
    if column.decimals is None:
        return False
    if column.trailing_zeros is not None:
        return column.trailing_zeros
    return "type" not in column.learned


def _plain_number(column: Integer | Real, index: int) -> str:
    exact = decimal_at(column, index)
    if exact is None:
        return _point_whole(column, str(column.value_at(index)))
    assert isinstance(column, Real)
    text = format(exact, "f")
    if has_fixed_places(column) or "." not in text:
        return _point_whole(column, text)
    # As floats are written: at least one decimal.
    stripped = text.rstrip("0")
    text = stripped + "0" if stripped.endswith(".") else stripped
    return _point_whole(column, text)


def _point_whole(column: Integer | Real, text: str) -> str:
    """A number with the point that its column writes behind whole ones, or without."""
    if isinstance(column, Integer):
        return text + WHOLE_POINT if column.whole_point else text
    whole, _, places = text.partition(".")
    is_bare = column.whole_point is False and not places.strip("0")
    return whole if is_bare else text


def _as_moment(value: object) -> datetime:
    match value:
        case datetime():
            return value
        case date():
            return datetime(value.year, value.month, value.day)
        case time():
            return datetime.combine(date(1970, 1, 1), value)
    raise TypeError(f"{type(value).__name__} is no moment")
