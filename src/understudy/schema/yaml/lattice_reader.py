"""The keys of numbers, dates, moments and times in a schema file: bounds, steps, bins,
grain and weekdays.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.columns.base import OutOfBoundsPolicy
from understudy.schema.columns.calendar import (
    CALENDAR_UNITS,
    MAX_COLUMN_BINS,
    calendar_bins,
)
from understudy.schema.columns.cell import parse_date, parse_moment, parse_time
from understudy.schema.columns.code_layout import equal_bins
from understudy.schema.columns.lattice import Lattice, RowsBeyond
from understudy.schema.columns.numeric import MAX_STEP_DECIMALS, Integer, Real
from understudy.schema.columns.temporal import Date, Datetime, Time
from understudy.schema.yaml.keys import LEARN_WORD, parse_fraction, parse_span
from understudy.schema.yaml.nodes import DocumentNode
from understudy.schema.yaml.section import Section

# A step from min, as a run writes it, may need all digits of a 64-bit number.
_MAX_GRAIN_DIGITS = 19


def read_lattice_fields(kind: type[Lattice], section: Section) -> dict[str, Any]:
    """The fields of a lattice column except its bins and grain, which need its bounds."""
    _check_bounds_word(kind, section)
    outside = section.choice("outside", tuple(OutOfBoundsPolicy))
    fields: dict[str, Any] = {
        "min": _read_bound(kind, section, "min"),
        "max": _read_bound(kind, section, "max"),
        "outside": None if outside is None else OutOfBoundsPolicy(outside),
        "beyond": _read_beyond(section),
    }
    if issubclass(kind, Integer):
        fields["step"] = section.whole("step")
    elif issubclass(kind, Real):
        fields["step"] = _read_step(section)
        fields["decimal"] = section.text("decimal")
        fields["trailing_zeros"] = section.flag("trailing_zeros")
    if issubclass(kind, Integer | Real):
        fields["thousands"] = section.text("thousands")
        fields["whole_point"] = section.flag("whole_point")
    if issubclass(kind, Datetime | Time):
        fields["resolution"] = _read_resolution(section)
    if issubclass(kind, Date | Datetime):
        fields["weekdays"] = _read_weekdays(section)
    if issubclass(kind, Date | Datetime | Time):
        fields["format"] = section.text("format")
    if issubclass(kind, Datetime):
        fields["zone"] = section.text("zone")
    return fields


def _read_beyond(section: Section) -> RowsBeyond | None:
    problem = (
        "`beyond` must be four whole numbers, as a run writes them: rows and steps below"
        " min, and above max. Leave it out"
    )
    numbers = section.whole_numbers("beyond", problem, max_digits=_MAX_GRAIN_DIGITS)
    if numbers is None:
        return None
    if len(numbers) != len(RowsBeyond._fields):
        raise section.error("beyond", problem)
    return RowsBeyond(*numbers)


def _check_bounds_word(kind: type[Lattice], section: Section) -> None:
    """Refuse a `bounds` that is not `learn`, or that contradicts `min` and `max`."""
    bounds = section.text("bounds")
    if bounds not in (None, LEARN_WORD):
        raise section.error(
            "bounds",
            "`bounds` takes the word learn only. Write `min` and `max` to declare them",
        )
    # One bound may be declared and the other learned, so only both contradict it.
    has_both = section.get("min") is not None and section.get("max") is not None
    if bounds is not None and has_both:
        raise section.error(
            "bounds",
            "`bounds: learn` contradicts `min` and `max`. Remove one or the other",
        )
    stated = bounds, section.text("min"), section.text("max")
    if kind is Time and LEARN_WORD in stated:
        raise section.error(
            "bounds",
            "the bounds of a time are those of the day. Leave them out, or declare"
            " others",
        )


def _read_weekdays(section: Section) -> tuple[int, ...] | str | None:
    if section.texts("weekdays") == (LEARN_WORD,):
        return LEARN_WORD
    return section.whole_numbers(
        "weekdays",
        "`weekdays` must be seven whole weights from Monday to Sunday, or the word"
        " learn",
    )


def _read_resolution(section: Section) -> timedelta | None:
    text = section.text("resolution")
    if text is None:
        return None
    span = parse_span(text)
    if span is None:
        raise section.error(
            "resolution",
            "`resolution` must be a length of time such as 1s, 15min, 1h or 1day",
        )
    return span


def _read_step(section: Section) -> Fraction | None:
    decimals = section.whole("decimals")
    if decimals is None:
        return section.number("step")
    if section.get("step") is not None:
        raise section.error(
            "decimals", "`decimals` and `step` say the same twice. Keep one of them"
        )
    if not 0 <= decimals <= MAX_STEP_DECIMALS:
        raise section.error(
            "decimals", f"`decimals` must be between 0 and {MAX_STEP_DECIMALS}"
        )
    # Exact: a float step such as 0.1 would put values off the lattice.
    return Fraction(1, 10**decimals)


def _read_bound(kind: type[Lattice], section: Section, key: str) -> object:
    """A bound, read by the column's type; None if it is left to learn."""
    text = section.text(key)
    if text is None or text == LEARN_WORD:
        return None
    return _parse_value(kind, text, section, key)


def _parse_whole(text: str) -> int | None:
    number = parse_fraction(text)
    return int(number) if number is not None and number.denominator == 1 else None


_VALUE_PARSERS: dict[type[Lattice], tuple[Callable[[str], object], str]] = {
    Integer: (_parse_whole, "a whole number"),
    Real: (parse_fraction, "a number such as 12 or 0.5"),
    Date: (parse_date, "a date such as 2024-12-31"),
    Datetime: (parse_moment, "a moment such as 2024-12-31 23:59"),
    Time: (parse_time, "a time of day such as 23:59"),
}
"""How each type of column reads a value, and an example for errors."""


def _parse_value(kind: type[Lattice], text: str, section: Section, key: str) -> object:
    parse, example = _VALUE_PARSERS[kind]
    value = parse(text)
    if value is None:
        raise section.error(key, f"`{key}` must be {example}")
    return value


def read_bins(column: Lattice, node: DocumentNode, section: Section) -> tuple[int, ...]:
    """Bins from their number, from a unit of the calendar, or from where each begins."""
    low, high = column.low, column.high
    if low is None or high is None:
        raise section.error("bins", "`bins` need `min` and `max`")
    # A list, a unit of the calendar, or a number.
    if node.items is not None:
        return _read_bin_starts(column, low, high, section)
    if node.text in CALENDAR_UNITS:
        return _read_calendar_bins(column, node.text, section)
    pieces = section.whole("bins")
    if pieces is None or not 1 <= pieces <= min(high - low + 1, MAX_COLUMN_BINS):
        raise section.error(
            "bins",
            "`bins` must be a list of where each bin begins, or a number of bins"
            " that is possible",
        )
    return equal_bins(low, high, pieces)


def _read_calendar_bins(
    column: Lattice, unit: str, section: Section
) -> tuple[int, ...]:
    try:
        return calendar_bins(column, unit)
    except SchemaError as error:
        line = section.entries["bins"].node.line
        raise section.source.error(line, str(error)) from None
    except (ValueError, OverflowError):
        raise section.error(
            "bins", f"`bins: {unit}` begins beyond the calendar. Narrow the bounds"
        ) from None


def _read_bin_starts(
    column: Lattice, low: int, high: int, section: Section
) -> tuple[int, ...]:
    values = [
        _parse_value(type(column), text, section, "bins")
        for text in section.texts("bins") or ()
    ]
    try:
        starts = [column.index_of(value) for value in values]
    except (ValueError, OverflowError):
        raise section.error("bins", "`bins` lies beyond the calendar") from None
    if not starts or starts[0] != low:
        raise section.error(
            "bins", "`bins` says where each bin begins, so the first must be min"
        )
    is_rising = all(before < after for before, after in pairwise(starts))
    if not is_rising or starts[-1] > high:
        raise section.error(
            "bins", "`bins` must rise from min, and the last must not lie beyond max"
        )
    # Edges are half-open, so the last one lies one step beyond max.
    return (*starts, high + 1)


def read_grain(low: int, section: Section) -> tuple[tuple[int, int], ...]:
    """Grain as a run writes it: where each piece begins, in steps from min, and its
    weight, in turn.
    """
    problem = (
        "`grain` must be pairs of whole numbers, as a run writes them. Leave it out"
    )
    numbers = section.whole_numbers("grain", problem, max_digits=_MAX_GRAIN_DIGITS)
    if numbers is None:
        return ()
    if len(numbers) % 2:
        raise section.error("grain", problem)
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return tuple((low + start, weight) for start, weight in pairs)
