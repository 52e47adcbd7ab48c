"""Spellings of dates, moments and times of day that cells vote for.

A candidate is a format together with the coarsest resolution of such cells: 10:00:00 votes
for full hours that are spelled with seconds. All votes for one kind of value support
it, whatever their spelling; then the most frequent format is that of the column, and
its finest resolution that of the column.

Where the day and the month cannot be told apart (05/01/2024), a cell supports both
orders, and the cells of other days decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from understudy.schema.columns.cell import (
    CELL_DATE_PATTERN,
    CELL_OFFSET_PATTERN,
    CELL_TIME_PATTERN,
)
from understudy.tables.sql import quoting
from understudy.tables.sql.let_columns import QueryLayers


@dataclass(frozen=True)
class MomentSpelling:
    """What such cells are (date, datetime, instant or time, or a date in an order of
    its own), their format and their resolution.

    The format is empty where a release spells values so by itself.
    """

    kind: str
    format: str
    resolution: timedelta


@dataclass(frozen=True)
class _ClockSpelling:
    """The directives of a clock, its resolution, and what its text looks like."""

    format: str
    resolution: timedelta
    pattern: str


_DAY, _HOUR, _MINUTE, _SECOND = (
    timedelta(days=1),
    timedelta(hours=1),
    timedelta(minutes=1),
    timedelta(seconds=1),
)
_MILLISECOND, _MICROSECOND = timedelta(milliseconds=1), timedelta(microseconds=1)

_LONG_HOUR_CLOCKS = (
    _ClockSpelling("%H:%M:%S", _DAY, "00:00:00"),
    _ClockSpelling("%H:%M:%S", _HOUR, "..:00:00"),
    _ClockSpelling("%H:%M:%S", _MINUTE, "..:..:00"),
    _ClockSpelling("%H:%M:%S", _SECOND, "..:..:.."),
    _ClockSpelling("%H:%M", _HOUR, "..:00"),
    _ClockSpelling("%H:%M", _MINUTE, "..:.."),
    _ClockSpelling("%H:%M:%S.%f", _MILLISECOND, ".*\\.[0-9]{3}(000)*"),
    _ClockSpelling("%H:%M:%S.%f", _MICROSECOND, ".*"),
)
"""Spellings of a clock, the first that its text looks like."""

_SHORT_HOUR_CLOCKS = (
    _ClockSpelling("%-H:%M", _MINUTE, "[0-9]:[0-9]{2}"),
    _ClockSpelling("%-H:%M:%S", _SECOND, "[0-9]:[0-9]{2}:[0-9]{2}"),
)
"""Clocks whose hour has one digit."""

_ISO_JOINTS = (("T", ""), ("T", "Z"), ("T", "%z"), (" ", ""), (" ", "%z"))
"""What stands between day and clock, and what after the clock."""

_USUAL_FORMATS = frozenset(
    {
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%d %H:%M:%S%z",
        "%Y-%m-%d %H:%M:%S.%f",
        "%Y-%m-%d %H:%M:%S.%f%z",
        "%H:%M:%S",
        "%H:%M:%S.%f",
    }
)
"""Formats in which a release writes moments and times of day by itself."""

_PLAIN_NAMES = {
    "%Y-%m-%d %H:%M:%S by 0:00:01": "datetime",
    "%Y-%m-%d %H:%M:%S%z by 0:00:01": "instant",
    "%H:%M:%S by 0:00:01": "time",
}
"""Candidates that are called as their type: those of its usual spelling."""

_LOCAL_CLOCKS = (("", _DAY), (" %H:%M", _MINUTE), (" %H:%M:%S", _SECOND))
"""Clocks behind a local date; the first stands for none."""

_UNKNOWN_ORDER = "?"
_LOCAL_ORDERS = (
    ("/", _UNKNOWN_ORDER),
    ("/", "dmY"),
    ("/", "mdY"),
    ("/", "Ymd"),
    (".", "dmY"),
    ("-", _UNKNOWN_ORDER),
    ("-", "dmY"),
    ("-", "mdY"),
)
"""Separators, and the orders of day, month and year that are told apart with them."""


def _order_kind(mark: str, order: str, clock: str) -> str:
    """What cells of one order are called."""
    return f"{order}{mark}{clock}"


def _local_format(mark: str, order: str, clock: str, *, padded: bool) -> str:
    if order == _UNKNOWN_ORDER:
        return ""
    directives = [
        f"%{letter}" if padded or letter == "Y" else f"%-{letter}" for letter in order
    ]
    return mark.join(directives) + (clock if padded else clock.replace("%H", "%-H"))


def _list_iso_spellings() -> dict[str, MomentSpelling]:
    spellings = {}
    for between, offset in _ISO_JOINTS:
        for clock in _LONG_HOUR_CLOCKS:
            format = f"%Y-%m-%d{between}{clock.format}{offset}"
            usual = "" if format in _USUAL_FORMATS else format
            kind = "instant" if offset else "datetime"
            spelling = MomentSpelling(kind, usual, clock.resolution)
            spellings[_candidate_name(format, clock.resolution)] = spelling
    return spellings


def _list_clock_spellings() -> dict[str, MomentSpelling]:
    spellings = {}
    for clock in (*_LONG_HOUR_CLOCKS, *_SHORT_HOUR_CLOCKS):
        usual = "" if clock.format in _USUAL_FORMATS else clock.format
        spelling = MomentSpelling("time", usual, clock.resolution)
        spellings[_candidate_name(clock.format, clock.resolution)] = spelling
    return spellings


def _list_local_spellings() -> dict[str, MomentSpelling]:
    spellings = {}
    for mark, order in _LOCAL_ORDERS:
        for clock, resolution in _LOCAL_CLOCKS:
            kind = _order_kind(mark, order, clock)
            for padded in (True, False):
                format = _local_format(mark, order, clock, padded=padded)
                name = f"{kind} {'padded' if padded else 'short'}"
                spellings[name] = MomentSpelling(kind, format, resolution)
    return spellings


def _candidate_name(format: str, resolution: timedelta) -> str:
    name = f"{format} by {resolution}"
    return _PLAIN_NAMES.get(name, name)


_ISO_SPELLINGS = _list_iso_spellings()
_CLOCK_SPELLINGS = _list_clock_spellings()
_LOCAL_SPELLINGS = _list_local_spellings()

MOMENT_SPELLINGS: Mapping[str, MomentSpelling] = MappingProxyType(
    _ISO_SPELLINGS | _CLOCK_SPELLINGS | _LOCAL_SPELLINGS
)
"""Every spelling that cells vote for, by the name of its candidate."""

LOCAL_KINDS: Mapping[str, str] = MappingProxyType(
    {
        _order_kind(mark, order, clock): "datetime" if clock else "date"
        for mark, order in _LOCAL_ORDERS
        for clock, _ in _LOCAL_CLOCKS
        if order != _UNKNOWN_ORDER
    }
)
"""Dates and moments in an order of their own, and the type that they are."""

AMBIGUOUS_KINDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        _order_kind(mark, _UNKNOWN_ORDER, clock): frozenset(
            _order_kind(mark, order, clock) for order in ("dmY", "mdY")
        )
        for mark, order in _LOCAL_ORDERS
        if order == _UNKNOWN_ORDER
        for clock, _ in _LOCAL_CLOCKS
    }
)
"""Dates that may be in either of two orders."""


def choose_spelling(
    kind: str, votes: Mapping[str, int], *, is_resolution_clear: bool
) -> MomentSpelling:
    """The spelling of a column of this kind: the most frequent format that can show its
    finest resolution. `votes` are those that stand out; where the resolution is not
    clear, what lies between may have drowned in noise, and is kept.
    """
    own = {
        vote: MOMENT_SPELLINGS[vote]
        for vote in votes
        if vote in MOMENT_SPELLINGS and MOMENT_SPELLINGS[vote].kind == kind
    }
    if kind in LOCAL_KINDS:
        # Only a leading zero says that numbers are padded, and nothing says otherwise.
        return next(iter(own.values()))
    counts: dict[str, int] = {}
    for vote, spelling in own.items():
        counts[spelling.format] = counts.get(spelling.format, 0) + votes[vote]
    finest = min((s.resolution for s in own.values()), default=_SECOND)
    format = _choose_format(counts, finest)
    if not is_resolution_clear:
        finest = min(finest, _format_unit(format))
    return MomentSpelling(kind, format, finest)


def _choose_format(counts: Mapping[str, int], finest: timedelta) -> str:
    """The most frequent of the formats that can show this resolution."""
    showing = [format for format in counts if _shows(format, finest)] or [""]
    # Hours from 10 on look alike, padded or not: one digit alone says that they are not.
    short = [format for format in showing if format.startswith("%-H")]
    return max(short or showing, key=lambda each: counts.get(each, 0))


def _format_unit(format: str) -> timedelta:
    """The smallest unit that a format spells; a second where it is the usual one."""
    return _MINUTE if format and "%S" not in format else _SECOND


def _shows(format: str, resolution: timedelta) -> bool:
    if not format or "%f" in format:
        return True
    return resolution >= _format_unit(format)


def moment_vote_sql(
    layers: QueryLayers, text: str, first: int
) -> list[tuple[str, str]]:
    """When a text is a moment or time of day, and the place of the candidate it votes
    for; `first` is the place of the first spelling. The conditions come in order.
    """
    # Nearly all texts end here; what follows is computed for the others alone.
    may_be = layers.read(f"regexp_matches({text}, '^[0-9]{{1,4}}[-/.:][0-9]')")
    clocks = first + len(_ISO_SPELLINGS)
    local = clocks + len(_CLOCK_SPELLINGS)
    iso = _iso_vote_sql(layers, text, may_be)
    clock = _clock_vote_sql(layers, text, may_be)
    day = _local_vote_sql(layers, text, may_be)
    return [
        (f"{iso} IS NOT NULL", f"{first} + {iso}"),
        (f"{clock} IS NOT NULL", f"{clocks} + {clock}"),
        (f"{day} IS NOT NULL", f"{local} + {day}"),
    ]


def _iso_vote_sql(layers: QueryLayers, text: str, may_be: str) -> str:
    """The place of a moment's spelling among those in ISO 8601; NULL for other texts."""
    pattern = (
        f"^({CELL_DATE_PATTERN})([T ])({CELL_TIME_PATTERN})({CELL_OFFSET_PATTERN})?$"
    )
    names = "['day', 'between', 'clock', 'second', 'part', 'offset']"
    found = layers.read(
        f"CASE WHEN {may_be} THEN regexp_extract({text},"
        f" {quoting.text_literal(pattern)}, {names}) END"
    )
    whens = {
        0: f"{found}.between = 'T' AND {found}.offset = ''",
        1: f"{found}.between = 'T' AND {found}.offset = 'Z'",
        2: f"{found}.between = 'T'",
        3: f"{found}.offset = ''",
    }
    cases = " ".join(f"WHEN {rule} THEN {place}" for place, rule in whens.items())
    joint = f"CASE {cases} ELSE {len(_ISO_JOINTS) - 1} END"
    # A pattern takes 2024-02-30 and 25:00 for a date and a time: a cast decides.
    is_moment = f"TRY_CAST({found}.day AS DATE) IS NOT NULL AND {_is_clock_sql(f'{found}.clock')}"
    place = (
        f"({joint}) * {len(_LONG_HOUR_CLOCKS)} + {_clock_place_sql(f'{found}.clock')}"
    )
    return layers.read(f"CASE WHEN {is_moment} THEN {place} END")


def _clock_vote_sql(layers: QueryLayers, text: str, may_be: str) -> str:
    """The place of a time of day among the spellings of clocks; NULL for other texts."""
    is_time = f"regexp_full_match({text}, {quoting.text_literal(CELL_TIME_PATTERN)})"
    short = " ".join(
        f"WHEN {_is_like_sql(text, clock.pattern)} AND {_is_clock_sql(text)} THEN"
        f" {len(_LONG_HOUR_CLOCKS) + i}"
        for i, clock in enumerate(_SHORT_HOUR_CLOCKS)
    )
    return layers.read(
        f"CASE WHEN NOT {may_be} THEN NULL WHEN {is_time} AND {_is_clock_sql(text)} THEN"
        f" {_clock_place_sql(text)} {short} END"
    )


def _local_vote_sql(layers: QueryLayers, text: str, may_be: str) -> str:
    """The place of a date or moment among the local spellings; NULL for other texts."""
    pattern = (
        "^([0-9]{1,4})([-/.])([0-9]{1,2})([-/.])([0-9]{1,4})( ([0-9]{1,2}:[0-9]{2}"
        "(:[0-9]{2})?))?$"
    )
    names = "['one', 'mark', 'two', 'again', 'three', 'tail', 'clock', 'second']"
    found = layers.read(
        f"CASE WHEN {may_be} THEN regexp_extract({text},"
        f" {quoting.text_literal(pattern)}, {names}) END"
    )
    one, two, three = (f"{found}.{name}" for name in ("one", "two", "three"))
    order = layers.read(
        "CASE"
        f" WHEN {found}.mark <> {found}.again OR {found}.mark = '' THEN NULL"
        f" WHEN length({one}) = 4 AND length({three}) <= 2 THEN"
        f" CASE WHEN {_is_date_sql(one, two, three)} THEN 'Ymd' END"
        f" WHEN length({three}) <> 4 OR length({one}) > 2 THEN NULL"
        f" WHEN {found}.mark <> '.' AND {_is_date_sql(three, one, two)} AND"
        f" {_is_date_sql(three, two, one)} THEN '{_UNKNOWN_ORDER}'"
        f" WHEN {_is_date_sql(three, two, one)} THEN 'dmY'"
        f" WHEN {_is_date_sql(three, one, two)} THEN 'mdY' END"
    )
    orders = " ".join(
        f"WHEN {found}.mark = '{mark}' AND {order} = '{known}' THEN {place}"
        for place, (mark, known) in enumerate(_LOCAL_ORDERS)
    )
    clock = (
        f"CASE WHEN {found}.clock = '' THEN 0 WHEN NOT {_is_clock_sql(f'{found}.clock')}"
        f" THEN NULL WHEN {found}.second = '' THEN 1 ELSE 2 END"
    )
    # Only a leading zero says that numbers are padded.
    is_padded = (
        f"left({one}, 1) = '0' OR left({two}, 1) = '0' OR left({three}, 1) = '0'"
    )
    padding = f"CASE WHEN {is_padded} THEN 0 ELSE 1 END"
    return layers.read(
        f"((CASE {orders} END) * {len(_LOCAL_CLOCKS)} + ({clock})) * 2 + {padding}"
    )


def _is_date_sql(year: str, month: str, day: str) -> str:
    parts = f"{year} || '-' || lpad({month}, 2, '0') || '-' || lpad({day}, 2, '0')"
    return f"TRY_CAST({parts} AS DATE) IS NOT NULL"


def _is_clock_sql(clock: str) -> str:
    # 24:00 is no time of day, though the database would take it for the next midnight.
    return f"TRY_CAST({clock} AS TIME) < TIME '24:00:00'"


def _clock_place_sql(clock: str) -> str:
    """The place of a clock's spelling; its hour has two digits."""
    whens = " ".join(
        f"WHEN {_is_like_sql(clock, spelling.pattern)} THEN {place}"
        for place, spelling in enumerate(_LONG_HOUR_CLOCKS)
    )
    return f"(CASE {whens} END)"


def _is_like_sql(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, {quoting.text_literal(pattern)})"
