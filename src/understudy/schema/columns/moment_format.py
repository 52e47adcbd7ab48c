"""Formats of dates, moments and times of day, where cells are spelled otherwise than in
ISO 8601: `%d.%m.%Y`, `%-m/%-d/%Y`, `%H:%M`, `%Y-%m-%dT%H:%M:%SZ`.

The directives are those of strftime that stand for digits, and the three-letter English
months. A number may be read with or without its leading zero; `%-d` says that none is
written. A cell is read by respelling it in ISO 8601, so that all further rules are
those of schema/columns/cell.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from types import MappingProxyType

MONTH_NAMES = (
    "jan", "feb", "mar", "apr", "may", "jun",
    "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip

FIRST_YEAR_OF_CENTURY = 69
"""Two digits of a year from here on mean 19xx, the others 20xx, as POSIX has it."""

MAX_FORMAT_CHARACTERS = 100

_SHORT_NUMBER_PATTERN = "([0-9]{1,2})"
_FORMAT_DIRECTIVES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "%Y": ("year", "([0-9]{4})"),
        "%y": ("short_year", "([0-9]{2})"),
        "%m": ("month", _SHORT_NUMBER_PATTERN),
        "%-m": ("month", _SHORT_NUMBER_PATTERN),
        "%b": ("month_name", "([A-Za-z]{3})"),
        "%d": ("day", _SHORT_NUMBER_PATTERN),
        "%-d": ("day", _SHORT_NUMBER_PATTERN),
        "%H": ("hour", _SHORT_NUMBER_PATTERN),
        "%-H": ("hour", _SHORT_NUMBER_PATTERN),
        "%I": ("half_day_hour", _SHORT_NUMBER_PATTERN),
        "%-I": ("half_day_hour", _SHORT_NUMBER_PATTERN),
        "%p": ("half", "([AaPp][Mm])"),
        "%M": ("minute", "([0-9]{2})"),
        "%S": ("second", "([0-9]{2})"),
        "%f": ("part", "([0-9]{1,9})"),
        "%z": ("offset", "(Z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})"),
    }
)
"""What each directive stands for, and its pattern; both Python and RE2 read them."""

_DIRECTIVE_REGEX = re.compile(r"%-?.|[^%]+|%", re.DOTALL)
_YEAR_FIELDS = {"year", "short_year"}
_MONTH_FIELDS = {"month", "month_name"}
_HOUR_FIELDS = {"hour", "half_day_hour"}


@dataclass(frozen=True)
class MomentFormat:
    """A format, taken apart into directives and the texts between them."""

    parts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> MomentFormat | None:
        """The format that a text spells; None if it has an unknown directive, or says
        one thing twice.

        >>> MomentFormat.parse("%d.%m.%Y").fields
        ('day', 'month', 'year')
        >>> MomentFormat.parse("%A") is None
        True
        """
        if not text or len(text) > MAX_FORMAT_CHARACTERS:
            return None
        parts = tuple(_DIRECTIVE_REGEX.findall(text))
        known = all(
            part in _FORMAT_DIRECTIVES for part in parts if part.startswith("%")
        )
        found = cls(parts)
        is_clear = known and len(set(found.fields)) == len(found.fields)
        return found if is_clear else None

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """What is spelled, in the order in which it is."""
        return tuple(
            _FORMAT_DIRECTIVES[part][0]
            for part in self.parts
            if part in _FORMAT_DIRECTIVES
        )

    @property
    def has_day(self) -> bool:
        """Whether it spells a whole date."""
        fields = set(self.fields)
        has_year = len(fields & _YEAR_FIELDS) == len(fields & _MONTH_FIELDS) == 1
        return has_year and "day" in fields

    @property
    def has_clock(self) -> bool:
        """Whether it spells a time of day, to the minute at least."""
        fields = set(self.fields)
        if len(fields & _HOUR_FIELDS) != 1 or "minute" not in fields:
            return False
        # Twelve hours need a half of the day, and a part of a second the second.
        is_whole_hour = ("half_day_hour" in fields) == ("half" in fields)
        return is_whole_hour and ("part" not in fields or "second" in fields)

    @property
    def spells_day_only(self) -> bool:
        """Whether it spells a date and nothing else."""
        return self.has_day and len(self.fields) == 3

    @property
    def spells_clock_only(self) -> bool:
        """Whether it spells a time of day and nothing else."""
        days = {*_YEAR_FIELDS, *_MONTH_FIELDS, "day", "offset"}
        return self.has_clock and not set(self.fields) & days

    @cached_property
    def pattern(self) -> str:
        """What a cell looks like: one group for each of the fields."""
        patterns = [
            _FORMAT_DIRECTIVES[part][1]
            if part in _FORMAT_DIRECTIVES
            else re.escape(part)
            for part in self.parts
        ]
        return "".join(patterns)

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.ASCII)

    def to_iso(self, text: str) -> str | None:
        """The text of a cell in ISO 8601; None if it is not in this format.

        >>> MomentFormat.parse("%-m/%-d/%y %-I:%M %p").to_iso("1/5/24 2:30 pm")
        '2024-01-05T14:30'
        """
        match = self._regex.fullmatch(text)
        if match is None:
            return None
        found = dict(zip(self.fields, match.groups(), strict=True))
        day = _iso_day(found) if self.has_day else ""
        clock = _iso_clock(found) if self.has_clock else ""
        between = "T" if day and clock else ""
        return day + between + clock + found.get("offset", "")

    def write(self, moment: datetime) -> str:
        """The text of a moment, date or time of day.

        >>> MomentFormat.parse("%-d.%-m.%Y").write(datetime(2024, 2, 9))
        '9.2.2024'
        """
        offset = moment.utcoffset() or timedelta()
        # Before standard time offsets had odd seconds, which no format can show: those
        # moments are written in UTC.
        if "offset" in self.fields and offset % timedelta(minutes=1):
            moment = moment.astimezone(UTC)
        return "".join(_write_part(part, moment) for part in self.parts)


@lru_cache(maxsize=256)
def moment_format_of(text: str) -> MomentFormat | None:
    """The format that a column declares; None where it has none."""
    return MomentFormat.parse(text) if text else None


def _iso_day(found: Mapping[str, str]) -> str:
    year = found.get("year") or _whole_year(found["short_year"])
    month = found.get("month") or _month_number(found["month_name"])
    return f"{year}-{month:0>2}-{found['day']:0>2}"


def _whole_year(short: str) -> str:
    return ("19" if int(short) >= FIRST_YEAR_OF_CENTURY else "20") + short


def _month_number(name: str) -> str:
    lower = name.lower()
    # There is no month 0: such a text is no date.
    return str(MONTH_NAMES.index(lower) + 1) if lower in MONTH_NAMES else "0"


def _iso_clock(found: Mapping[str, str]) -> str:
    hour = found.get("hour") or _hour_of_half(found["half_day_hour"], found["half"])
    clock = f"{hour:0>2}:{found['minute']}"
    if "second" in found:
        clock += f":{found['second']}"
    return clock + (f".{found['part']}" if "part" in found else "")


def _hour_of_half(hour: str, half: str) -> str:
    if not 1 <= int(hour) <= 12:
        return "99"  # such a text is no time of day
    return str(int(hour) % 12 + (12 if half.lower() == "pm" else 0))


def _write_part(part: str, moment: datetime) -> str:
    if part not in _FORMAT_DIRECTIVES:
        return part
    match part:
        case "%Y":
            return f"{moment.year:04}"
        case "%b":
            return MONTH_NAMES[moment.month - 1].title()
        case "%p":
            return "PM" if moment.hour >= 12 else "AM"
        case "%f":
            return f"{moment.microsecond:06}"
        case "%z":
            return moment.isoformat()[-6:]
    numbers = {
        "%y": moment.year % 100,
        "%m": moment.month,
        "%d": moment.day,
        "%H": moment.hour,
        "%I": (moment.hour - 1) % 12 + 1,
        "%M": moment.minute,
        "%S": moment.second,
    }
    number = numbers[part.replace("-", "")]
    return str(number) if "-" in part else f"{number:02}"
