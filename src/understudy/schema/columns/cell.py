"""Cells: what one entry of a table means, whatever container it came in.

A cell means the same in a CSV file, a Parquet file and a frame. Text is read by four
strict patterns, the same in every locale:

    number   -12   3.50   .5   1e-3
    date     2024-02-29
    moment   2024-02-29 13:45[:30[.125]][Z|+01:00]
    time     13:45[:30[.125]]

Numbers have no thousands separators, no accounting or hexadecimal forms, no words such
as inf. A moment has T or a space in the middle; as a date it is its day, and a date as
a moment is midnight. Spaces around a text do not count. A text that matches no pattern
is no value of that type; reading it never raises.
"""

from __future__ import annotations

import math
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

# Longer texts are no numbers: no lattice reaches them, and arithmetic on them could
# stall a reader.
MAX_NUMBER_DIGITS = 400

# Decimals that a fraction is tried with before it counts as one that no decimal holds.
_MAX_DECIMAL_PLACES = 30

# Whole numbers beyond 128 bits have no text in a list of labels: no database stores them.
_MAX_LABEL_INTEGER = 2**128


_SPAN_UNIT_SECONDS: Final = {
    "W": Fraction(604_800),
    "D": Fraction(86_400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
"""Units of numpy's lengths of time."""


class UnknownCell:
    """A cell that holds an object that is no value of any column type."""


UNKNOWN_CELL: Final = UnknownCell()

Scalar = str | bool | int | float | Fraction | date | datetime | time
Cell = Scalar | UnknownCell | None
"""A cell in plain Python; None is the empty one."""


def to_plain_cell(value: object) -> Cell:
    """A cell's content in plain Python: numpy and pandas scalars unwrapped, NaN, NaT
    and NA and the empty text as None.

    >>> to_plain_cell(np.float32("nan")), to_plain_cell(Decimal("1.50"))
    (None, Fraction(3, 2))
    >>> to_plain_cell(np.datetime64("2024-02-29"))
    datetime.date(2024, 2, 29)
    """
    try:
        return _plain_value(value)
    except Exception:
        # A frame may hold any object, and its methods may raise anything. An error
        # would show that such a cell is there.
        return UNKNOWN_CELL


def _plain_value(value: object) -> Cell:
    kind = type(value)
    # pandas is not imported here, so its missing values are known by name.
    if value is None or kind.__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.datetime64):
        return _plain_moment(value)
    if isinstance(value, np.timedelta64):
        return _plain_numpy_span(value)
    # A period or an interval of pandas is the text that a CSV file would hold.
    if kind.__name__ in ("Period", "Interval") and kind.__module__.startswith("pandas"):
        return str(value)
    # numpy's texts and doubles are Python's too, and are handled below.
    if isinstance(value, np.generic) and not isinstance(value, str | float):
        return _plain_value(value.item())
    if isinstance(value, bool | Fraction):
        return value
    # Methods of the plain types, because a subclass may override its own.
    if isinstance(value, str):
        return str.__str__(value) or None
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        number = float.__float__(value)
        return None if math.isnan(number) else number
    if isinstance(value, Decimal):
        return _plain_decimal(value)
    return _plain_calendar_value(value)


def _plain_calendar_value(value: object) -> Cell:
    if isinstance(value, datetime):
        offset = value.utcoffset()
        zone = None if offset is None else timezone(offset)
        day = date(value.year, value.month, value.day)
        return datetime.combine(day, time(*_clock_fields(value)), zone)
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    if isinstance(value, time):
        return time(*_clock_fields(value))
    return _plain_span(value)


def _plain_numpy_span(value: np.timedelta64) -> Cell:
    """A length of time in seconds, digits beyond the microsecond cut off."""
    if np.isnat(value):
        return None
    unit, count = np.datetime_data(value.dtype)
    # Months and years have no length of their own.
    seconds = _SPAN_UNIT_SECONDS.get(unit)
    if seconds is None:
        return UNKNOWN_CELL
    micros = int(value.view(np.int64)) * count * seconds * 10**6
    return Fraction(math.trunc(micros), 10**6)


def _plain_span(value: object) -> Cell:
    """A length of time in seconds."""
    if not isinstance(value, timedelta):
        return UNKNOWN_CELL
    # By its fields, because a subclass of pandas divides in its own way.
    seconds = 86_400 * value.days + value.seconds
    return seconds + Fraction(value.microseconds, 10**6)


def _clock_fields(value: datetime | time) -> tuple[int, int, int, int]:
    return value.hour, value.minute, value.second, value.microsecond


def _plain_decimal(value: Decimal) -> Cell:
    if value.is_nan():
        return None
    if value.is_infinite():
        return float(value)
    # A short decimal such as 1e999999 would be a fraction of a million digits.
    is_short = abs(value.adjusted()) <= MAX_NUMBER_DIGITS
    return Fraction(value) if is_short else UNKNOWN_CELL


def _plain_moment(value: np.datetime64) -> Cell:
    if np.isnat(value):
        return None
    is_day = np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")
    item = value.astype("datetime64[D]" if is_day else "datetime64[us]").item()
    # Beyond Python's calendar numpy gives a plain number.
    return item if isinstance(item, date) else UNKNOWN_CELL


def spellings_of_cell(cell: Cell) -> tuple[str, ...]:
    """The texts that a cell may stand for in a list of labels, the likeliest first.

    A whole float has two texts, because a frame turns a column of whole numbers into
    floats as soon as one cell is empty. Midnight is first of all a day, because a column
    of days becomes one of moments as soon as one cell has a clock.

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
        case int() if abs(cell) >= _MAX_LABEL_INTEGER:
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
    """The first spelling of a value, given another spelling of it; None if the text is
    no such spelling.

    >>> find_first_spelling("True"), find_first_spelling("3.0"), find_first_spelling("3")
    ('true', '3', None)
    >>> find_first_spelling("2024-02-29T00:00:00")
    '2024-02-29'
    """
    cells: list[Cell] = [True, False, _spelled_float(text), parse_moment(text)]
    for cell in cells:
        first, *others = spellings_of_cell(cell) or ("",)
        if text in others:
            return first
    return None


def _spelled_float(text: str) -> float | None:
    # -0.0 would be another spelling of 0, but it is a text of its own.
    if len(text) > MAX_NUMBER_DIGITS or text == "-0.0":
        return None
    return float(text) if _CELL_NUMBER_REGEX.fullmatch(text) else None


def _date_of_midnight(moment: datetime) -> tuple[str, ...]:
    """The day of a moment at midnight without an offset; nothing for other moments."""
    is_midnight = moment.tzinfo is None and _clock_fields(moment) == (0, 0, 0, 0)
    return (moment.date().isoformat(),) if is_midnight else ()


def decimal_text(number: Fraction) -> str | None:
    """A fraction in plain decimal digits; None if no number of decimals (up to 30)
    holds it.

    >>> decimal_text(Fraction(5, 4)), decimal_text(Fraction(1, 3))
    ('1.25', None)
    """
    if abs(number) >= 10**MAX_NUMBER_DIGITS:
        return None
    for places in range(_MAX_DECIMAL_PLACES + 1):
        if (number * 10**places).denominator == 1:
            return _place_point(int(number * 10**places), places)
    return None


def _place_point(number: int, places: int) -> str:
    """A whole number with a decimal point before its last digits."""
    sign = "-" if number < 0 else ""
    digits = str(abs(number)).rjust(places + 1, "0")
    if places == 0:
        return sign + digits
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def parse_number(text: str) -> Fraction | None:
    """The number that a text spells, exactly.

    >>> parse_number("0.10"), parse_number(" -1e2 "), parse_number("1,000")
    (Fraction(1, 10), Fraction(-100, 1), None)
    """
    text = text.strip(CELL_BLANKS)
    if len(text) > MAX_NUMBER_DIGITS:
        return None
    return Fraction(text) if _CELL_NUMBER_REGEX.fullmatch(text) else None


def parse_date(text: str) -> date | None:
    """The day that a text spells.

    >>> parse_date("2024-02-29"), parse_date("2023-02-29"), parse_date("29.2.2024")
    (datetime.date(2024, 2, 29), None, None)
    """
    moment = parse_moment(text)
    return None if moment is None else moment.date()


def parse_moment(text: str) -> datetime | None:
    """The moment that a text spells; it has an offset only if one is written.

    >>> parse_moment("2024-02-29T13:45:30.5Z")
    datetime.datetime(2024, 2, 29, 13, 45, 30, 500000, tzinfo=datetime.timezone.utc)
    """
    match = _CELL_MOMENT_REGEX.fullmatch(text.strip(CELL_BLANKS))
    if match is None:
        return None
    clock = time() if match["clock"] is None else parse_time(match["clock"])
    try:
        day = date(*(int(part) for part in match["day"].split("-")))
        zone = None if match["offset"] is None else _parse_offset(match["offset"])
    except ValueError:
        return None
    return None if clock is None else datetime.combine(day, clock, zone)


def _parse_offset(text: str) -> timezone:
    if text == "Z":
        return UTC
    hours = int(text[1:3])
    minutes = int(text[3:].lstrip(":") or 0)
    if minutes > 59:
        raise ValueError("an hour has 60 minutes")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def parse_time(text: str) -> time | None:
    """The time of day that a text spells; digits beyond the microsecond are dropped.

    >>> parse_time("09:30"), parse_time("24:00")
    (datetime.time(9, 30), None)
    """
    text = text.strip(CELL_BLANKS)
    if not _CELL_TIME_REGEX.fullmatch(text):
        return None
    clock, _, fraction = text.partition(".")
    fields = [int(field) for field in clock.split(":")]
    microsecond = int(fraction[:6].ljust(6, "0")) if fraction else 0
    hour, minute, second = [*fields, 0][:3]
    try:
        return time(hour, minute, second, microsecond)
    except ValueError:
        return None
