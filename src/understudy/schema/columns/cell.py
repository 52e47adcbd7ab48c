"""Cells: what one entry of a table says, whatever container it came in.

A cell means the same in a CSV file, a Parquet file and a frame. Text is read by four
strict patterns, the same in every locale:

    number     -12   3.50   .5   1e-3            no thousands separators, no accounting, no hexadecimal, no words such as inf
    date       2024-02-29                         a moment is read as its day
    moment     2024-02-29 13:45[:30[.125]][Z|+01:00]   T or a space between; a date alone is midnight
    time       13:45[:30[.125]]

Spaces around them do not count. Whatever fits no pattern is no value of that type;
reading it never raises.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np

# The patterns use nothing beyond RE2, so that a table can match cells with the very
# same text.
CELL_NUMBER_PATTERN: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
CELL_DATE_PATTERN: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
CELL_TIME_PATTERN: Final = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
CELL_OFFSET_PATTERN: Final = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
CELL_MOMENT_PATTERN: Final = (
    rf"{CELL_DATE_PATTERN}([T ]{CELL_TIME_PATTERN}{CELL_OFFSET_PATTERN}?)?"
)
CELL_BLANKS: Final = " \t"
"""What may surround the text of a number, date, moment or time."""

_CELL_NUMBER_REGEX = re.compile(CELL_NUMBER_PATTERN, re.ASCII)
_CELL_DATE_REGEX = re.compile(CELL_DATE_PATTERN, re.ASCII)
_CELL_TIME_REGEX = re.compile(CELL_TIME_PATTERN, re.ASCII)
_CELL_MOMENT_REGEX = re.compile(
    rf"(?P<day>{CELL_DATE_PATTERN})([T"
    rf" ](?P<clock>{CELL_TIME_PATTERN})(?P<offset>{CELL_OFFSET_PATTERN})?)?",
    re.ASCII,
)

MAX_NUMBER_DIGITS = 400
"""Longer runs of digits are no number: no lattice reaches them, and arithmetic on them
is a way to stall a reader.
"""


class UnknownCell:
    """A cell that holds an object no column type knows."""


UNKNOWN_CELL: Final = UnknownCell()

Scalar = str | bool | int | float | Fraction | date | datetime | time
Cell = Scalar | UnknownCell | None
"""A cell in plain Python; None is the empty one."""


def to_plain_cell(value: object) -> Cell:
    """A cell's content in plain Python: numpy and pandas scalars unwrapped, NaN, NaT
    and NA and the empty text as None.

    >>> to_plain_cell(np.float32("nan")), to_plain_cell(Decimal("1.50")), to_plain_cell(np.datetime64("2024-02-29"))
    (None, Fraction(3, 2), datetime.date(2024, 2, 29))
    """
    try:
        return _plain_value(value)
    except Exception:
        # Any object may sit in a frame, and its methods may raise anything. It is no
        # value then.
        return UNKNOWN_CELL


def _plain_value(value: object) -> Cell:
    kind = type(value)
    if value is None or kind.__name__ in ("NAType", "NaTType"):
        return None
    if issubclass(kind, np.datetime64):
        return _plain_moment(value)
    if issubclass(kind, np.generic) and not issubclass(kind, str | float):
        return (
            _plain_value(value.item())
            if isinstance(value, np.generic)
            else UNKNOWN_CELL
        )
    if isinstance(value, str):
        return str.__str__(value) or None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        number = float.__float__(value)
        return None if number != number else number
    if isinstance(value, Decimal):
        return _plain_decimal(value)
    if isinstance(value, datetime):
        offset = value.utcoffset()
        zone = None if offset is None else timezone(offset)
        return datetime.combine(
            date(value.year, value.month, value.day), time(*_clock_fields(value)), zone
        )
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    if isinstance(value, time):
        return time(*_clock_fields(value))
    return value if isinstance(value, Fraction) else UNKNOWN_CELL


def _clock_fields(value: datetime | time) -> tuple[int, int, int, int]:
    return value.hour, value.minute, value.second, value.microsecond


def _plain_decimal(value: Decimal) -> Cell:
    if value.is_nan():
        return None
    if value.is_infinite():
        return float(value)
    return (
        Fraction(value) if abs(value.adjusted()) <= MAX_NUMBER_DIGITS else UNKNOWN_CELL
    )


def _plain_moment(value: object) -> Cell:
    assert isinstance(value, np.datetime64)
    if np.isnat(value):
        return None
    day = np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")
    item = value.astype("datetime64[D]" if day else "datetime64[us]").item()
    return item if isinstance(item, date) else UNKNOWN_CELL


def spellings_of_cell(cell: Cell) -> tuple[str, ...]:
    """The texts a cell may stand for in a list of labels, the likeliest first.

    A whole float has two: a column of whole numbers turns to floats as soon as a frame
    holds an empty cell in it. Midnight is first of all a day: a column of days turns to
    moments as soon as one cell of it has a clock.

    >>> spellings_of_cell(3.0), spellings_of_cell(True)
    (('3', '3.0'), ('true', 'True'))
    """
    match cell:
        case str():
            return (cell,)
        case bool():
            return ("true", "True") if cell else ("false", "False")
        case float() if cell.is_integer() and abs(cell) < 2**63:
            return str(int(cell)), repr(cell)
        case int() if abs(cell) >= 2**128:
            return ()
        case int() | float():
            return (str(cell),)
        case Fraction():
            text = decimal_text(cell)
            return () if text is None else (text,)
        case datetime():
            return *_date_of_midnight(cell), cell.isoformat(" "), cell.isoformat("T")
        case date() | time():
            return (cell.isoformat(),)
        case _:
            return ()


def find_first_spelling(text: str) -> str | None:
    """The likeliest text of the value that this is another spelling of; None where it
    is none.

    >>> find_first_spelling("True"), find_first_spelling("3.0"), find_first_spelling("2024-02-29T00:00:00"), find_first_spelling("3")
    ('true', '3', '2024-02-29', None)
    """
    number = (
        float(text)
        if len(text) <= MAX_NUMBER_DIGITS
        and _CELL_NUMBER_REGEX.fullmatch(text)
        and text != "-0.0"
        else None
    )
    for cell in (True, False, number, parse_moment(text)):
        first, *others = ("",) if cell is None else spellings_of_cell(cell)
        if text in others:
            return first
    return None


def _date_of_midnight(moment: datetime) -> tuple[str, ...]:
    """The day that a moment without a clock stands for; none where it has a clock or an
    offset.
    """
    bare = moment.tzinfo is None and _clock_fields(moment) == (0, 0, 0, 0)
    return (moment.date().isoformat(),) if bare else ()


def decimal_text(number: Fraction) -> str | None:
    """A fraction in plain decimal digits; None where no number of decimals (up to 30)
    holds it.

    >>> decimal_text(Fraction(5, 4)), decimal_text(Fraction(1, 3)), decimal_text(Fraction(-3))
    ('1.25', None, '-3')
    """
    if abs(number) >= 10**MAX_NUMBER_DIGITS:
        return None
    places = next((d for d in range(31) if (number * 10**d).denominator == 1), None)
    if places is None:
        return None
    digits = str(abs(int(number * 10**places))).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if number < 0 else "") + whole + ("." + part if part else "")


def parse_number(text: str) -> Fraction | None:
    """The number a text spells, exactly.

    >>> parse_number("0.10"), parse_number(" -1e2 "), parse_number("1,000"), parse_number("nan")
    (Fraction(1, 10), Fraction(-100, 1), None, None)
    """
    text = text.strip(CELL_BLANKS)
    return (
        Fraction(text)
        if len(text) <= MAX_NUMBER_DIGITS and _CELL_NUMBER_REGEX.fullmatch(text)
        else None
    )


def parse_date(text: str) -> date | None:
    """The day a text spells.

    >>> parse_date("2024-02-29"), parse_date("2023-02-29"), parse_date("29.2.2024")
    (datetime.date(2024, 2, 29), None, None)
    """
    moment = parse_moment(text)
    return None if moment is None else moment.date()


def parse_moment(text: str) -> datetime | None:
    """The moment a text spells; with an offset only where one is written.

    >>> parse_moment("2024-02-29T13:45:30.5Z")
    datetime.datetime(2024, 2, 29, 13, 45, 30, 500000, tzinfo=datetime.timezone.utc)
    """
    found = _CELL_MOMENT_REGEX.fullmatch(text.strip(CELL_BLANKS))
    if found is None:
        return None
    clock = time() if found["clock"] is None else parse_time(found["clock"])
    try:
        day = date(*(int(part) for part in found["day"].split("-")))
        zone = None if found["offset"] is None else _parse_offset(found["offset"])
    except ValueError:
        return None
    return None if clock is None else datetime.combine(day, clock, zone)


def _parse_offset(text: str) -> timezone:
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    if minutes > 59:
        raise ValueError("an hour has 60 minutes")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def parse_time(text: str) -> time | None:
    """The time of day a text spells; beyond the microsecond digits are cut off.

    >>> parse_time("09:30"), parse_time("24:00")
    (datetime.time(9, 30), None)
    """
    text = text.strip(CELL_BLANKS)
    if not _CELL_TIME_REGEX.fullmatch(text):
        return None
    whole, _, part = text.partition(".")
    hour, minute, *second = (int(n) for n in whole.split(":"))
    try:
        return time(
            hour,
            minute,
            second[0] if second else 0,
            int(part[:6].ljust(6, "0")) if part else 0,
        )
    except ValueError:
        return None
