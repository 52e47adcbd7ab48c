"""The keys of a schema file, by type of column, and how lengths of time and exact
numbers are written in it.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from itertools import chain

from understudy.schema.columns.base import Column
from understudy.schema.columns.cell import decimal_text, parse_number
from understudy.schema.columns.discrete import (
    Boolean,
    Categorical,
    Identifier,
    Text,
    UndeclaredColumn,
)
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import MICROSECOND_SPAN, Date, Datetime, Time

# Raised when a file can say something that an older program would misread.
SCHEMA_FILE_VERSION = 1
LEARN_WORD = "learn"
"""In place of a value: the curator learns it inside the privacy budget."""

SCHEMA_FILE_KEYS = (
    "version",
    "unit",
    "rows",
    "columns",
    "impossible",
    "rules",
    "broken",
    "count_broken",
    "census",
)
RULE_KEYS = (
    "name",
    "always",
    "impossible",
    "columns",
    "allowed",
    "from",
    "to",
    "map",
    "learned",
)
UNIT_KEYS = ("id", "max_rows", "sizes", "learned")
COMMON_COLUMN_KEYS = (
    "type",
    "role",
    "nullable",
    "missing",
    "use",
    "learned",
    "dtype",
    "note",
    "constant",
)
_LATTICE_KEYS = ("min", "max", "bounds", "bins", "grain", "beyond", "outside")

COLUMN_CLASSES: dict[str, type[Column]] = {
    "categorical": Categorical,
    "boolean": Boolean,
    "integer": Integer,
    "real": Real,
    "date": Date,
    "datetime": Datetime,
    "time": Time,
    "text": Text,
    "identifier": Identifier,
    LEARN_WORD: UndeclaredColumn,
}

COLUMN_KEYS_BY_TYPE: dict[str, tuple[str, ...]] = {
    "categorical": ("values", "ordered", "other", "levels", "unfold"),
    "boolean": ("true", "false"),
    "integer": (*_LATTICE_KEYS, "step", "thousands", "whole_point"),
    "real": (
        *_LATTICE_KEYS,
        "step",
        "decimals",
        "decimal",
        "thousands",
        "trailing_zeros",
        "whole_point",
    ),
    "date": (*_LATTICE_KEYS, "weekdays", "format"),
    "datetime": (*_LATTICE_KEYS, "resolution", "zone", "weekdays", "format"),
    "time": (*_LATTICE_KEYS, "resolution", "format"),
    "text": (),
    "identifier": ("generate",),
    LEARN_WORD: (),
}

COLUMN_KEYS = tuple(
    dict.fromkeys(chain(COMMON_COLUMN_KEYS, *COLUMN_KEYS_BY_TYPE.values()))
)
"""The keys of all columns, each once, in the order in which an error lists them."""

_SPAN_MICROSECONDS = {
    "day": 86_400_000_000,
    "h": 3_600_000_000,
    "min": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
# More digits than any length of time needs would only make arithmetic slow.
_SPAN_REGEX = re.compile(r"([0-9]{1,12}) ?(day|days|d|h|min|s|ms|us)", re.ASCII)
# So would longer ratios.
_SCHEMA_RATIO_REGEX = re.compile(r"[+-]?[0-9]{1,40}/[0-9]{1,40}", re.ASCII)


def span_text(span: timedelta) -> str:
    """A length of time in its largest whole unit.

    >>> span_text(timedelta(minutes=15)), span_text(timedelta(days=1))
    ('15min', '1day')
    """
    microseconds = span // MICROSECOND_SPAN
    unit = next(
        name for name, size in _SPAN_MICROSECONDS.items() if microseconds % size == 0
    )
    return f"{microseconds // _SPAN_MICROSECONDS[unit]}{unit}"


def parse_span(text: str) -> timedelta | None:
    """The length of time that a text spells; None if it spells none.

    >>> parse_span("1h"), parse_span("100 ms"), parse_span("soon")
    (datetime.timedelta(seconds=3600), datetime.timedelta(microseconds=100000), None)
    """
    match = _SPAN_REGEX.fullmatch(text.strip())
    if match is None:
        return None
    count = int(match[1])
    unit = match[2]
    if unit in ("d", "days"):
        unit = "day"
    try:
        return count * _SPAN_MICROSECONDS[unit] * MICROSECOND_SPAN
    except OverflowError:
        return None


def fraction_text(number: Fraction) -> str:
    """An exact number: a decimal if one holds it, else a ratio.

    >>> fraction_text(Fraction(1, 8)), fraction_text(Fraction(1, 3))
    ('0.125', '1/3')
    """
    return decimal_text(number) or str(number)


def parse_fraction(text: str) -> Fraction | None:
    """The number that a text spells, as a decimal or as a ratio; None if it spells none.

    >>> parse_fraction("0.10"), parse_fraction("1/3"), parse_fraction("1/0")
    (Fraction(1, 10), Fraction(1, 3), None)
    """
    if _SCHEMA_RATIO_REGEX.fullmatch(text.strip()):
        try:
            return Fraction(text.strip())
        except ZeroDivisionError:
            return None
    return parse_number(text)
