"""Parts of dates and moments: MONTH(born), EXTRACT(QUARTER FROM born), DATE_TRUNC('month',
born), STRFTIME(born, '%Y-%m').

Each is a function of the day, and days are listed by the schema's bounds: what a part is
called on a day, from one day to the next, follows from the calendar alone. So a
comparison of a part is a condition on the column, and a group is one too.

A label is asked for once in each year, month, week or day, whichever it changes with: a
text with hundreds of parts is read within a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import groupby, islice, pairwise
from typing import Any

from understudy.errors import Refused
from understudy.queries.resolving import MAX_KEY_CASES
from understudy.queries.sql.literals import column_name
from understudy.schema import Schema
from understudy.schema.columns.temporal import Date, Datetime
from understudy.schema.predicates.ast import (
    And,
    ColumnComparison,
    ColumnName,
    IsMissing,
    Literal,
    Operator,
    Or,
    Predicate,
)

MAX_SPANS = 1_500
"""Spans of days that a part is listed in: each is two comparisons of the column."""

MAX_CONDITION_SPANS = 90
"""Spans of days in one condition, which has at most 200 comparisons."""

MAX_DAYS_LISTED = 100_000
"""Days between the bounds of a column whose parts are asked for: 273 years."""

KEPT_CALENDARS = 64
"""Calendars whose spans are kept: one text often has the same part again and again."""

DayLabel = int | str
"""What a part is called on a day."""

DaySpan = tuple[DayLabel, date | None, date | None]
"""A label, its first day and the day after its last; None at the bounds of the column."""

_MONTH_LABELS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_WEEKDAY_LABELS = (
    *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "Sunday",
)


@dataclass(frozen=True)
class Calendar:
    """What days are called."""

    word: str
    unit: str
    """How often that changes: with the YEAR, MONTH, WEEK or DAY."""
    label_of: Callable[[date], DayLabel]


_CALENDARS_OF_PARTS = (
    Calendar("year", "YEAR", lambda day: day.year),
    Calendar("quarter", "MONTH", lambda day: (day.month + 2) // 3),
    Calendar("month", "MONTH", lambda day: day.month),
    Calendar("week", "WEEK", lambda day: day.isocalendar().week),
    Calendar("day", "DAY", lambda day: day.day),
    # Sunday is 0, or with ISO 8601 7.
    Calendar("dow", "DAY", lambda day: day.isoweekday() % 7),
    Calendar("isodow", "DAY", lambda day: day.isoweekday()),
    Calendar("monthname", "MONTH", lambda day: _MONTH_LABELS[day.month - 1]),
    Calendar("dayname", "DAY", lambda day: _WEEKDAY_LABELS[day.weekday()]),
)
_CALENDAR_BY_PART = {each.word.upper(): each for each in _CALENDARS_OF_PARTS}
_PART_BY_SYNONYM = {"DAYOFWEEKISO": "ISODOW", "DAYOFWEEK": "DOW", "WEEKDAY": "DOW"}


def _first_of_quarter(day: date) -> date:
    return day.replace(month=day.month - (day.month - 1) % 3, day=1)


_CALENDARS_OF_UNITS = (
    Calendar("year", "YEAR", lambda day: day.replace(month=1, day=1).isoformat()),
    Calendar("quarter", "MONTH", lambda day: _first_of_quarter(day).isoformat()),
    Calendar("month", "MONTH", lambda day: day.replace(day=1).isoformat()),
    Calendar(
        "week", "WEEK", lambda day: (day - timedelta(days=day.weekday())).isoformat()
    ),
    Calendar("day", "DAY", date.isoformat),
)
_TRUNCATION_BY_UNIT = {each.word.upper(): each for each in _CALENDARS_OF_UNITS}
_CALENDAR_BY_CODE = {
    "%Y": Calendar("year", "YEAR", lambda day: f"{day.year:04}"),
    "%y": Calendar("year", "YEAR", lambda day: f"{day.year % 100:02}"),
    "%m": Calendar("month", "MONTH", lambda day: f"{day.month:02}"),
    "%B": _CALENDAR_BY_PART["MONTHNAME"],
    "%b": Calendar("month", "MONTH", lambda day: _MONTH_LABELS[day.month - 1][:3]),
    "%d": Calendar("day", "DAY", lambda day: f"{day.day:02}"),
    "%A": _CALENDAR_BY_PART["DAYNAME"],
    "%a": Calendar("day", "DAY", lambda day: _WEEKDAY_LABELS[day.weekday()][:3]),
}
_UNITS_OF_CODES = ("YEAR", "MONTH", "DAY")
"""From the one that changes least on."""


@dataclass(frozen=True)
class DatePart:
    """A part of the dates or moments of a column."""

    column: Date | Datetime
    calendar: Calendar

    @property
    def title(self) -> str:
        """The name of its column in the answer."""
        return f"{self.column.name}_{self.calendar.word}"

    @property
    def is_text(self) -> bool:
        """Whether days are called by texts."""
        return isinstance(self.calendar.label_of(date(2000, 1, 1)), str)

    def list_labels(self) -> dict[DayLabel, Predicate]:
        """Every label between the bounds of the column, each with the condition that a
        row has it.
        """
        spans: dict[DayLabel, list[Predicate]] = {}
        for label, first, after in self._list_spans():
            spans.setdefault(label, []).append(self._span(first, after))
        if len(spans) > MAX_KEY_CASES:
            raise self._too_many()
        # Names and texts keep the order of the calendar.
        labels = list(spans) if self.is_text else sorted(spans)
        return {label: _join_balanced(spans[label]) for label in labels}

    def where(self, is_met: Callable[[DayLabel], bool]) -> Predicate:
        """The condition that a row has one of the labels that are met."""
        spans = self._list_spans()
        met = {label for label in {label for label, _, _ in spans} if is_met(label)}
        parts: list[Predicate] = []
        for is_in, group in groupby(spans, key=lambda span: span[0] in met):
            run = list(group)
            if is_in:
                parts.append(self._span(run[0][1], run[-1][2]))
        if len(parts) > MAX_CONDITION_SPANS:
            raise Refused(
                f"{self.column.name}: this condition is about {len(parts):,} spans of"
                f" days, more than {MAX_CONDITION_SPANS}. Group by the part of the date"
                " instead. Nothing was spent"
            )
        if parts:
            return _join_balanced(parts)
        # No day meets it: no row is missing and not missing.
        name = ColumnName(self.column.name)
        return And(IsMissing(name), IsMissing(name, negated=True))

    def _list_spans(self) -> tuple[DaySpan, ...]:
        first, last = _bounds_of(self.column)
        if (last - first).days >= MAX_DAYS_LISTED:
            raise self._too_many()
        spans = list_spans(self.calendar, first, last)
        if len(spans) > MAX_SPANS:
            raise self._too_many()
        return spans

    def _span(self, first: date | None, after: date | None) -> Predicate:
        """From one day to before another."""
        name = ColumnName(self.column.name)
        parts: list[Predicate] = []
        for operator, day in ((Operator.AT_LEAST, first), (Operator.LESS, after)):
            if day is not None:
                literal = Literal(day.isoformat())
                parts.append(ColumnComparison(name, operator, literal))
        if not parts:
            return IsMissing(name, negated=True)
        return parts[0] if len(parts) == 1 else And(*parts)

    def _too_many(self) -> Refused:
        name = self.column.name
        first, last = _bounds_of(self.column)
        return Refused(
            f"{name}: between its bounds are {(last - first).days + 1:,} days, too many"
            " for this part of a date. Ask about longer parts, such as MONTH, or compare"
            f" the column itself: {name} >= DATE '2024-12-31'. Nothing was spent"
        )


@lru_cache(maxsize=KEPT_CALENDARS)
def list_spans(calendar: Calendar, first: date, last: date) -> tuple[DaySpan, ...]:
    """The days from first to last by their labels; cut off behind `MAX_SPANS` spans.

    >>> quarters = Calendar("quarter", "MONTH", lambda day: (day.month + 2) // 3)
    >>> list_spans(quarters, date(2020, 2, 1), date(2020, 5, 9))
    ((1, None, datetime.date(2020, 4, 1)), (2, datetime.date(2020, 4, 1), None))
    """
    runs = groupby(_iterate_starts(first, last, calendar.unit), key=calendar.label_of)
    begun = [(label, next(run)) for label, run in islice(runs, MAX_SPANS + 1)]
    ends = [None, *(start for _, start in begun[1:]), None]
    return tuple(
        (label, *bounds)
        for (label, _), bounds in zip(begun, pairwise(ends), strict=True)
    )


def _iterate_starts(first: date, last: date, unit: str) -> Iterator[date]:
    """The first day, and each later one on which a year, month, week or day begins."""
    yield first
    if unit == "YEAR":
        for year in range(first.year + 1, last.year + 1):
            yield date(year, 1, 1)
    elif unit == "MONTH":
        # Counted from 0, so that the month of `first` is one less than where it starts.
        for month in range(12 * first.year + first.month, 12 * last.year + last.month):
            yield date(month // 12, month % 12 + 1, 1)
    else:
        step, start = (7, 7 - first.weekday()) if unit == "WEEK" else (1, 1)
        for days in range(start, (last - first).days + 1, step):
            yield first + timedelta(days=days)


def read_date_part(node: Any, schema: Schema) -> DatePart | None:
    """The part of a date that an expression means; None if it means none."""
    found = _split_part(node)
    if found is None:
        return None
    inner, calendar = found
    name = column_name(inner).casefold()
    for column in schema.columns:
        if column.name.casefold() == name and isinstance(column, Date | Datetime):
            if column.low is None or column.high is None:
                raise Refused(
                    f"{column.name}: it has no bounds. Add `min` and `max` to the"
                    " schema. Nothing was spent"
                )
            return DatePart(column, calendar)
    return None


def _split_part(node: Any) -> tuple[Any, Calendar] | None:
    """The column that a part is of, and what its days are called."""
    calendars: Mapping[str, Calendar] = _CALENDAR_BY_PART
    word, inner = type(node).__name__.upper(), node.this
    match type(node).__name__:
        case "Extract":
            word, inner = str(inner.this).upper(), node.expression
        case "Anonymous":
            *before, inner = node.expressions or [node]
            word = str(node.this).upper()
            if word == "DATE_PART" and len(before) == 1:
                word = str(before.pop().this).upper()
            if before:
                return None
        case "TimestampTrunc":
            word, calendars = str(node.args["unit"].this).upper(), _TRUNCATION_BY_UNIT
        case "TimeToStr" if type(node.args["format"]).__name__ == "Literal":
            calendar = _read_format(str(node.args["format"].this))
            word, calendars = "", {} if calendar is None else {"": calendar}
        case "Literal" | "Column":
            return None
    calendar = calendars.get(_PART_BY_SYNONYM.get(word, word))
    if calendar is None or type(inner).__name__ != "Column":
        return None
    return inner, calendar


@lru_cache(maxsize=KEPT_CALENDARS)
def _read_format(format: str) -> Calendar | None:
    """What days are called in a format of days, months and years."""
    pieces = re.findall("%.|[^%]+|%$", format, re.DOTALL)
    codes = [_CALENDAR_BY_CODE.get(each) for each in pieces if each.startswith("%")]
    if None in codes:
        return None
    units = [code.unit for code in codes if code is not None]

    def spell_day(day: date) -> str:
        spelt = (_CALENDAR_BY_CODE.get(each) for each in pieces)
        return "".join(
            text if code is None else str(code.label_of(day))
            for text, code in zip(pieces, spelt, strict=True)
        )

    unit = max(units, default="YEAR", key=_UNITS_OF_CODES.index)
    return Calendar("format", unit, spell_day)


def _bounds_of(column: Date | Datetime) -> tuple[date, date]:
    assert column.low is not None
    assert column.high is not None
    ends = [column.value_at(index) for index in (column.low, column.high)]
    first, last = (date(end.year, end.month, end.day) for end in ends)
    return first, last


def _join_balanced(parts: Sequence[Predicate]) -> Predicate:
    """One or another of them: a tree as low as can be, since each level is a call."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return Or(_join_balanced(parts[:middle]), _join_balanced(parts[middle:]))
