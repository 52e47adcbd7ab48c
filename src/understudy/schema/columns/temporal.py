"""Columns of dates, moments and times of day, counted in days or microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import ClassVar
from zoneinfo import ZoneInfo

from understudy.errors import SchemaError
from understudy.schema.columns.cell import (
    CELL_BLANKS,
    parse_date,
    parse_moment,
    parse_time,
)
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.moment_format import moment_format_of

EPOCH_DATE = date(1970, 1, 1)
EPOCH_MOMENT = datetime(1970, 1, 1)
# The finest step of Python's moments.
MICROSECOND_SPAN = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True)
class Date(Lattice):
    """Days of the calendar. A moment counts as its day. `weekdays` weighs the days of
    the week from Monday; None has them learned. `format` says how texts spell them.

    >>> Date(name="born", min=date(1970, 1, 1), max=date(1970, 1, 31)).high
    30
    """

    type: ClassVar[str] = "date"
    noun: ClassVar[str] = "date"
    min: date | None = None
    max: date | None = None
    weekdays: tuple[int, ...] | None = ()
    format: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_weekdays(self.name, self.weekdays)
        _check_format(self)
        for which, bound in (("min", self.min), ("max", self.max)):
            # In Python a datetime is a date, and its clock would be lost in silence.
            if isinstance(bound, datetime):
                raise SchemaError(f'column "{self.name}": `{which}` is no {self.noun}')
        self.check_bounds()

    def position_of(self, value: object) -> Fraction:
        return Fraction(self.index_of(value))

    def index_of(self, value: object) -> int:
        if isinstance(value, datetime):
            value = value.date()
        if not isinstance(value, date):
            raise ValueError("not a date")
        return (value - EPOCH_DATE).days

    def value_at(self, index: int) -> date:
        return EPOCH_DATE + timedelta(days=index)

    def parse(self, text: str) -> object:
        return parse_date(_to_iso(self, text))


@dataclass(frozen=True, kw_only=True)
class Datetime(Lattice):
    """Moments, `resolution` apart. With a `zone` they are instants shown in that zone,
    without one they are wall-clock times.

    In a zone, a wall-clock time that occurs twice (or never) when clocks change is the
    later of its two readings. Without a zone an offset is dropped and the wall-clock
    time kept.

    >>> year = {"min": datetime(2024, 1, 1), "max": datetime(2024, 12, 31)}
    >>> arrived = Datetime(name="arrived", **year, resolution=timedelta(hours=1))
    >>> arrived.value_at(arrived.index_of(datetime(2024, 5, 1, 9, 59)))
    datetime.datetime(2024, 5, 1, 9, 0)
    """

    type: ClassVar[str] = "datetime"
    noun: ClassVar[str] = "moment"
    min: datetime | None = None
    max: datetime | None = None
    resolution: timedelta = timedelta(seconds=1)
    zone: str | None = None
    weekdays: tuple[int, ...] | None = ()
    format: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_weekdays(self.name, self.weekdays)
        _check_format(self)
        if self.resolution < MICROSECOND_SPAN:
            raise SchemaError(
                f'column "{self.name}": `resolution` must be at least one microsecond'
            )
        self._check_zone()
        self._normalise_bound("min")
        self._normalise_bound("max")
        self.check_bounds()

    def _check_zone(self) -> None:
        if self.zone is None:
            return
        try:
            ZoneInfo(self.zone)
        except Exception:
            # Which error a bad name raises differs between systems and their databases.
            raise SchemaError(
                f'column "{self.name}": "{self.zone}" is no known time zone'
            ) from None

    def _normalise_bound(self, which: str) -> None:
        """Bounds are kept as the column stores moments: without an offset, or in UTC.
        So two spellings of a bound make equal schemas.
        """
        bound = getattr(self, which)
        if not isinstance(bound, datetime) or bound.tzinfo is None:
            return
        try:
            if self.zone is None:
                normalised = bound.replace(tzinfo=None)
            else:
                normalised = bound.astimezone(UTC)
        except OverflowError:
            raise SchemaError(
                f'column "{self.name}": `{which}` lies beyond the calendar'
            ) from None
        object.__setattr__(self, which, normalised)

    @property
    def _step_microseconds(self) -> int:
        return self.resolution // MICROSECOND_SPAN

    def position_of(self, value: object) -> Fraction:
        return Fraction(self._to_microseconds(value), self._step_microseconds)

    def index_of(self, value: object) -> int:
        return self._to_microseconds(value) // self._step_microseconds

    def _to_microseconds(self, value: object) -> int:
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            raise ValueError("not a moment")
        return (self._to_naive(value) - EPOCH_MOMENT) // MICROSECOND_SPAN

    def _to_naive(self, moment: datetime) -> datetime:
        """Wall-clock time if the column has no zone, else the clock in UTC."""
        if self.zone is None:
            return moment.replace(tzinfo=None)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC).replace(tzinfo=None)
        # Where clocks change, fold 0 and fold 1 give the two readings of a clock.
        zone = ZoneInfo(self.zone)
        readings = [moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
        latest = max(reading.astimezone(UTC) for reading in readings)
        return latest.replace(tzinfo=None)

    def value_at(self, index: int) -> datetime:
        naive = EPOCH_MOMENT + index * self.resolution
        if self.zone is None:
            return naive
        return naive.replace(tzinfo=UTC).astimezone(ZoneInfo(self.zone))

    def parse(self, text: str) -> object:
        return parse_moment(_to_iso(self, text))


@dataclass(frozen=True, kw_only=True)
class Time(Lattice):
    """Time of day, `resolution` apart. Its bounds are the day's unless declared. A
    moment counts as its time of day, a date as midnight: libraries turn a column of
    dates into moments as soon as one cell has a clock.

    >>> Time(name="bedtime", resolution=timedelta(minutes=1)).index_of(time(0, 2, 30))
    2
    """

    type: ClassVar[str] = "time"
    noun: ClassVar[str] = "time of day"
    min: time = time(0)
    max: time = time(23, 59, 59, 999_999)
    resolution: timedelta = timedelta(seconds=1)
    format: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_format(self)
        if not MICROSECOND_SPAN <= self.resolution < timedelta(days=1):
            raise SchemaError(
                f'column "{self.name}": `resolution` must be between a microsecond and'
                " a day"
            )
        self.check_bounds()

    def position_of(self, value: object) -> Fraction:
        since_midnight = self._since_midnight(value) // MICROSECOND_SPAN
        return Fraction(since_midnight, self.resolution // MICROSECOND_SPAN)

    def index_of(self, value: object) -> int:
        return self._since_midnight(value) // self.resolution

    def _since_midnight(self, value: object) -> timedelta:
        if isinstance(value, date) and not isinstance(value, datetime):
            return timedelta(0)
        if not isinstance(value, time | datetime):
            raise ValueError("not a time of day")
        return timedelta(
            hours=value.hour,
            minutes=value.minute,
            seconds=value.second,
            microseconds=value.microsecond,
        )

    def value_at(self, index: int) -> time:
        return (EPOCH_MOMENT + index * self.resolution).time()

    def parse(self, text: str) -> object:
        iso = _to_iso(self, text)
        clock = parse_time(iso)
        return parse_moment(iso) if clock is None else clock


def _to_iso(column: Date | Datetime | Time, text: str) -> str:
    """A cell's text in ISO 8601, where the column's format spells it otherwise."""
    format = moment_format_of(column.format)
    iso = None if format is None else format.to_iso(text.strip(CELL_BLANKS))
    # A cell that is not in the format may still be in ISO 8601.
    return text if iso is None else iso


def _check_format(column: Date | Datetime | Time) -> None:
    """Refuse a format that does not spell what the column holds."""
    if not column.format:
        return
    format = moment_format_of(column.format)
    examples = {
        "date": "%d.%m.%Y",
        "datetime": "%Y-%m-%dT%H:%M:%S",
        "time": "%H:%M",
    }
    fits = format is not None and {
        "date": format.spells_day_only,
        "datetime": format.has_day and format.has_clock,
        "time": format.spells_clock_only,
    }.get(column.type, False)
    if not fits:
        raise SchemaError(
            f'column "{column.name}": `format` spells no {column.noun}. Write one such'
            f" as {examples[column.type]}"
        )
    assert format is not None
    # Bounds and conditions are in ISO 8601: no format may read those as something else.
    if format.to_iso("2001-02-03") not in (None, "2001-02-03"):
        raise SchemaError(
            f'column "{column.name}": `format` has the day before the month after a'
            " year. Write the cells as 2024-12-31"
        )
    zone = getattr(column, "zone", None)
    if "%z" in column.format and zone is None:
        raise SchemaError(
            f'column "{column.name}": `format` has an offset from UTC. Declare a `zone`'
        )
    if column.format.endswith("Z") and zone != "UTC":
        raise SchemaError(
            f'column "{column.name}": `format` ends in Z, which means UTC. Declare'
            " `zone: UTC`, or write %z"
        )


def _check_weekdays(name: str, weights: tuple[int, ...] | None) -> None:
    if not weights:
        return
    if len(weights) != 7 or min(weights) < 0 or sum(weights) == 0:
        raise SchemaError(
            f'column "{name}": `weekdays` must be seven weights from Monday to'
            " Sunday, not all 0"
        )
