"""Parts of dates and moments: MONTH(born), EXTRACT(QUARTER FROM born), DATE_TRUNC('month',
born), STRFTIME(born, '%Y-%m').

Each is a function of the day, and days are listed by the schema's bounds: what a part is
called on a day, from one day to the next, follows from the calendar alone. So a
comparison of a part is a condition on the column, and a group is one too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import Any

from understudy.errors import Refused
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

MAX_KEY_SPANS = 1_500
"""Spans of days of one group key: each is two comparisons of the column."""

MAX_CONDITION_SPANS = 90
"""Spans of days in one condition, which has at most 200 comparisons."""

MAX_DAYS_LISTED = 100_000
"""Days between the bounds of a column whose parts are asked for: 273 years."""

DayLabel = int | str
"""What a part is called on a day."""

_MONTH_LABELS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_WEEKDAY_LABELS = (
    *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "Sunday",
)

_LABEL_BY_PART: Mapping[str, Callable[[date], DayLabel]] = {
    "YEAR": lambda day: day.year,
    "QUARTER": lambda day: (day.month + 2) // 3,
    "MONTH": lambda day: day.month,
    "WEEK": lambda day: day.isocalendar().week,
    "DAY": lambda day: day.day,
    # Sunday is 0, or with ISO 8601 7.
    "DOW": lambda day: day.isoweekday() % 7,
    "ISODOW": lambda day: day.isoweekday(),
    "MONTHNAME": lambda day: _MONTH_LABELS[day.month - 1],
    "DAYNAME": lambda day: _WEEKDAY_LABELS[day.weekday()],
}
_PART_BY_WORD = {
    **{part: part for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW")},
    **dict.fromkeys(("ISODOW", "DAYOFWEEKISO"), "ISODOW"),
    **dict.fromkeys(("DAYOFWEEK", "WEEKDAY"), "DOW"),
    **{name: name for name in ("MONTHNAME", "DAYNAME")},
}
_FIRST_DAY_BY_UNIT: Mapping[str, Callable[[date], date]] = {
    "YEAR": lambda day: day.replace(month=1, day=1),
    "QUARTER": lambda day: day.replace(month=day.month - (day.month - 1) % 3, day=1),
    "MONTH": lambda day: day.replace(day=1),
    "WEEK": lambda day: day - timedelta(days=day.weekday()),
}
_TEXT_BY_CODE: Mapping[str, Callable[[date], str]] = {
    "%Y": lambda day: f"{day.year:04}",
    "%m": lambda day: f"{day.month:02}",
    "%d": lambda day: f"{day.day:02}",
    "%B": lambda day: _MONTH_LABELS[day.month - 1],
    "%b": lambda day: _MONTH_LABELS[day.month - 1][:3],
    "%A": lambda day: _WEEKDAY_LABELS[day.weekday()],
    "%a": lambda day: _WEEKDAY_LABELS[day.weekday()][:3],
    "%y": lambda day: f"{day.year % 100:02}",
}


@dataclass(frozen=True)
class DatePart:
    """A part of the dates or moments of a column."""

    word: str
    column: Date | Datetime
    label_of: Callable[[date], DayLabel]

    @property
    def title(self) -> str:
        """The name of its column in the answer."""
        return f"{self.column.name}_{self.word.lower()}"

    @property
    def is_text(self) -> bool:
        """Whether it is called by texts."""
        return isinstance(self.label_of(date(2000, 1, 1)), str)

    def list_labels(self) -> dict[DayLabel, Predicate]:
        """Every label between the bounds of the column, each with the condition that a
        row has it.
        """
        spans: dict[DayLabel, list[Predicate]] = {}
        for label, first, after in self._iterate_spans(self.label_of):
            spans.setdefault(label, []).append(self._span(first, after))
        # Names and texts keep the order of the calendar.
        labels = list(spans) if self.is_text else sorted(spans)
        return {label: _join_balanced(spans[label]) for label in labels}

    def where(self, is_met: Callable[[DayLabel], bool]) -> Predicate:
        """The condition that a row has one of the labels that are met."""
        spans = self._iterate_spans(lambda day: is_met(self.label_of(day)))
        parts = [self._span(first, after) for met, first, after in spans if met]
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

    def _iterate_spans(
        self, label_of: Callable[[date], Any]
    ) -> Iterator[tuple[Any, date | None, date | None]]:
        """Labels with their first day, and the day after their last; None at the bounds
        of the column.
        """
        first, last = _bounds_of(self.column)
        count = (last - first).days + 1
        if count > MAX_DAYS_LISTED:
            raise self._too_many(count, "days")
        days = (first + timedelta(days=i) for i in range(count))
        spans = [(label, next(run)) for label, run in groupby(days, key=label_of)]
        if len(spans) > MAX_KEY_SPANS:
            raise self._too_many(len(spans), "spans of days")
        starts = [None, *(start for _, start in spans[1:]), None]
        for place, (label, _) in enumerate(spans):
            yield label, starts[place], starts[place + 1]

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

    def _too_many(self, count: int, what: str) -> Refused:
        return Refused(
            f"{self.column.name}: between its bounds are {count:,} {what}, too many for"
            " this part of a date. Ask about longer parts, such as MONTH. Nothing was"
            " spent"
        )


def read_date_part(node: Any, schema: Schema) -> DatePart | None:
    """The part of a date that an expression means; None if it means none."""
    found = _split_part(node)
    if found is None:
        return None
    inner, word, label_of = found
    name = column_name(inner).casefold()
    for column in schema.columns:
        if column.name.casefold() == name and isinstance(column, Date | Datetime):
            if column.low is None or column.high is None:
                raise Refused(
                    f"{column.name}: it has no bounds. Add `min` and `max` to the"
                    " schema. Nothing was spent"
                )
            return DatePart(word, column, label_of)
    return None


def _split_part(node: Any) -> tuple[Any, str, Callable[[date], DayLabel]] | None:
    """The column that a part is of, the part, and what it is called on a day."""
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
            unit = str(node.args["unit"].this).upper()
            first_of = _FIRST_DAY_BY_UNIT.get(unit)
            if first_of is None or type(inner).__name__ != "Column":
                return None
            return inner, unit, lambda day: first_of(day).isoformat()
        case "TimeToStr":
            return _split_format(node)
        case "Literal" | "Column":
            return None
    part = _PART_BY_WORD.get(word)
    if part is None or type(inner).__name__ != "Column":
        return None
    return inner, part, _LABEL_BY_PART[part]


def _split_format(node: Any) -> tuple[Any, str, Callable[[date], DayLabel]] | None:
    """STRFTIME with a format of days, months and years."""
    format = node.args["format"]
    if type(format).__name__ != "Literal" or type(node.this).__name__ != "Column":
        return None
    pieces = re.findall("%.|[^%]+|%$", str(format.this), re.DOTALL)
    if any(each.startswith("%") and each not in _TEXT_BY_CODE for each in pieces):
        return None

    def spell_day(day: date) -> str:
        return "".join(
            _TEXT_BY_CODE[each](day) if each in _TEXT_BY_CODE else each
            for each in pieces
        )

    return node.this, "format", spell_day


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
