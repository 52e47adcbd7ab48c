"""Columns whose values are integers in disguise: numbers, dates, moments, times of day.

A value off its lattice goes to a point of it: numbers to the nearest (halves away from
zero), moments and times to the one before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar
from zoneinfo import ZoneInfo

from understudy.errors import SchemaError
from understudy.schema.columns.base import Column, OutOfBoundsPolicy
from understudy.schema.columns.cell import (
    parse_date,
    parse_moment,
    parse_number,
    parse_time,
)

EPOCH_DATE = date(1970, 1, 1)
EPOCH_MOMENT = datetime(1970, 1, 1)
MICROSECOND_SPAN = timedelta(microseconds=1)
MAX_LATTICE_INDEX = 2**62
"""No lattice index lies beyond this, so that differences of two never overflow 64 bits.
"""

MAX_WHOLE_NUMBER = 2**63 - 1
"""Whole numbers of tables and frames lie within this; a column of larger ones could be
described, and never written.
"""

MAX_GRAIN_PIECES = 1 << 16
"""Most pieces of grain a column may have."""

MAX_GRAIN_WEIGHT = 2**52
"""No weight of a piece reaches this, so that their sum is exact in a double."""


@dataclass(frozen=True, kw_only=True)
class Lattice(Column, ABC):
    """A column whose values are integers in disguise: `index` times a step from an
    origin.

    `bins` are the inner and outer edges as lattice indices, from `low` to `high + 1`;
    without them `Codec` chooses equal ones from the bounds alone. `grain` says how
    values spread inside them, as a run learned it: where each piece begins, and its
    weight.
    """

    noun: ClassVar[str]
    outside: OutOfBoundsPolicy = OutOfBoundsPolicy.CLIP
    bins: tuple[int, ...] | None = None
    grain: tuple[tuple[int, int], ...] = ()

    @cached_property
    def low(self) -> int | None:
        """Lattice index of the lower bound."""
        return self._index_of_bound("min")

    @cached_property
    def high(self) -> int | None:
        """Lattice index of the upper bound."""
        return self._index_of_bound("max")

    @property
    def is_closed(self) -> bool:
        return self.low is not None and self.high is not None

    def _index_of_bound(self, which: str) -> int | None:
        bound = getattr(self, which)
        return None if bound is None else self.index_of(bound)

    @abstractmethod
    def position_of(self, value: object) -> Fraction:
        """Where a Python value of the column's type lies, in steps, before it goes to a
        lattice point; ValueError where it is none.
        """

    @abstractmethod
    def index_of(self, value: object) -> int:
        """The lattice index of a Python value of the column's type; ValueError where it
        is none.
        """

    @abstractmethod
    def value_at(self, index: int) -> object:
        """The Python value at a lattice index."""

    @abstractmethod
    def parse(self, text: str) -> object:
        """The value a cell's text spells; None where it spells none."""

    def check_bounds(self) -> None:
        """Refuse bounds that contradict each other or the bins."""
        for which in ("min", "max"):
            try:
                bound = self._index_of_bound(which)
                if bound is None:
                    continue
                too_large = abs(bound) >= MAX_LATTICE_INDEX
                if not too_large:
                    self.value_at(bound)
            except (ValueError, TypeError):
                raise SchemaError(
                    f'column "{self.name}": `{which}` is no {self.noun}'
                ) from None
            except OverflowError:
                raise SchemaError(
                    f'column "{self.name}": `{which}` lies beyond the calendar'
                ) from None
            if too_large:
                raise SchemaError(
                    f'column "{self.name}": `{which}` is too large for its step. Use a'
                    " coarser step"
                )
        low, high = self.low, self.high
        if low is not None and high is not None and high < low:
            text = f"max ({self.value_at(high)}) is below min ({self.value_at(low)})"
            raise SchemaError(f'column "{self.name}": {text}')
        if self.bins is not None:
            if low is None or high is None:
                raise SchemaError(f'column "{self.name}": `bins` need `min` and `max`')
            if len(self.bins) < 2 or any(a >= b for a, b in pairwise(self.bins)):
                raise SchemaError(
                    f'column "{self.name}": `bins` must be at least two rising edges'
                )
            if self.bins[0] != low or self.bins[-1] != high + 1:
                raise SchemaError(
                    f'column "{self.name}": `bins` must reach from min to max, no less'
                    " and no more"
                )
        if self.grain:
            self._check_grain()

    def _check_grain(self) -> None:
        starts = [start for start, _ in self.grain]
        if (
            self.bins is None
            or starts[0] != self.bins[0]
            or any(a >= b for a, b in pairwise(starts))
        ):
            raise SchemaError(
                f'column "{self.name}": `grain` needs `bins`, and must rise from min'
            )
        if starts[-1] >= self.bins[-1] or not set(self.bins[:-1]) <= set(starts):
            raise SchemaError(
                f'column "{self.name}": `grain` must have a piece at the start of every'
                " bin, and none beyond"
            )
        if len(starts) > MAX_GRAIN_PIECES or any(
            not 0 <= weight < MAX_GRAIN_WEIGHT for _, weight in self.grain
        ):
            raise SchemaError(
                f'column "{self.name}": `grain` has too many pieces, or a weight that'
                " is none"
            )


@dataclass(frozen=True, kw_only=True)
class Integer(Lattice):
    """Whole numbers, multiples of `step`.

    >>> Integer(name="age", min=0, max=90, step=5).high
    18
    """

    type: ClassVar[str] = "integer"
    noun: ClassVar[str] = "whole number"
    min: int | None = None
    max: int | None = None
    step: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for which, number in (
            ("min", self.min),
            ("max", self.max),
            ("step", self.step),
        ):
            if isinstance(number, bool) or not isinstance(number, int | None):
                raise SchemaError(f'column "{self.name}": `{which}` is no {self.noun}')
        if self.step < 1:
            raise SchemaError(f'column "{self.name}": `step` must be at least 1')
        if self.step > MAX_WHOLE_NUMBER:
            raise SchemaError(
                f'column "{self.name}": `step` is beyond 64 bits. Use type real, or'
                " categorical"
            )
        self.check_bounds()
        for which, index in (("min", self.low), ("max", self.high)):
            if index is not None and abs(index * self.step) > MAX_WHOLE_NUMBER:
                raise SchemaError(
                    f'column "{self.name}": `{which}` is beyond 64 bits. Use type real,'
                    " or categorical"
                )

    def position_of(self, value: object) -> Fraction:
        return exact_fraction(value) / self.step

    def index_of(self, value: object) -> int:
        return _round_half_away(self.position_of(value))

    def value_at(self, index: int) -> int:
        return index * self.step

    def parse(self, text: str) -> object:
        return parse_number(text)


@dataclass(frozen=True, kw_only=True)
class Real(Lattice):
    """Decimal numbers, multiples of `step` (a fraction; two decimals are 1/100). The
    lattice is what makes noise on them exact.

    >>> Real(name="weight", min=Fraction(0), max=Fraction(200), step=Fraction(1, 10)).high
    2000
    """

    type: ClassVar[str] = "real"
    noun: ClassVar[str] = "number"
    min: Fraction | None = None
    max: Fraction | None = None
    step: Fraction = Fraction(1, 100)

    def __post_init__(self) -> None:
        super().__post_init__()
        for which in ("min", "max", "step"):
            number = getattr(self, which)
            if number is None and which != "step":
                continue
            try:
                # A float in code means the decimal it shows: 0.1 is one tenth.
                object.__setattr__(self, which, exact_fraction(repr_decimal(number)))
            except (ValueError, OverflowError):
                raise SchemaError(
                    f'column "{self.name}": `{which}` is no {self.noun}'
                ) from None
        if self.step <= 0:
            raise SchemaError(f'column "{self.name}": `step` must be positive')
        self.check_bounds()

    @property
    def decimals(self) -> int | None:
        """Decimals that the step needs, None where no number of decimals holds it (a
        step of 1/3).
        """
        return next(
            (d for d in range(19) if (self.step * 10**d).denominator == 1), None
        )

    def position_of(self, value: object) -> Fraction:
        return exact_fraction(value) / self.step

    def index_of(self, value: object) -> int:
        return _round_half_away(self.position_of(value))

    def value_at(self, index: int) -> float:
        return float(index * self.step)

    def parse(self, text: str) -> object:
        return parse_number(text)


@dataclass(frozen=True, kw_only=True)
class Date(Lattice):
    """Days of the calendar. A moment counts as its day. `weekdays` weighs the days of
    the week from Monday; None has them learned.

    >>> Date(name="born", min=date(1970, 1, 1), max=date(1970, 1, 31)).high
    30
    """

    type: ClassVar[str] = "date"
    noun: ClassVar[str] = "date"
    min: date | None = None
    max: date | None = None
    weekdays: tuple[int, ...] | None = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_weekdays(self)
        for which, bound in (("min", self.min), ("max", self.max)):
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
        return parse_date(text)


@dataclass(frozen=True, kw_only=True)
class Datetime(Lattice):
    """Moments, `resolution` apart; with a `zone` they are instants shown in that zone,
    without one they are wall-clock times.

    In a zone, a wall-clock time that occurs twice (or never) when clocks change is the
    later of its two readings. Without a zone an offset is dropped and the wall-clock
    time kept.

    >>> arrived = Datetime(name="arrived", min=datetime(2024, 1, 1), max=datetime(2024, 12, 31), resolution=timedelta(hours=1))
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

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_weekdays(self)
        if self.resolution < MICROSECOND_SPAN:
            raise SchemaError(
                f'column "{self.name}": `resolution` must be at least one microsecond'
            )
        if self.zone is not None:
            try:
                ZoneInfo(self.zone)
            except Exception:
                raise SchemaError(
                    f'column "{self.name}": "{self.zone}" is no known time zone'
                ) from None
        for which in ("min", "max"):
            bound = getattr(self, which)
            if isinstance(bound, datetime) and bound.tzinfo is not None:
                try:
                    kept = (
                        bound.replace(tzinfo=None)
                        if self.zone is None
                        else bound.astimezone(UTC)
                    )
                except OverflowError:
                    raise SchemaError(
                        f'column "{self.name}": `{which}` lies beyond the calendar'
                    ) from None
                object.__setattr__(self, which, kept)
        self.check_bounds()

    def position_of(self, value: object) -> Fraction:
        return Fraction(
            self._to_microseconds(value), self.resolution // MICROSECOND_SPAN
        )

    def index_of(self, value: object) -> int:
        return self._to_microseconds(value) // (self.resolution // MICROSECOND_SPAN)

    def _to_microseconds(self, value: object) -> int:
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            raise ValueError("not a moment")
        if self.zone is None:
            naive = value.replace(tzinfo=None)
        elif value.tzinfo is not None:
            naive = value.astimezone(UTC).replace(tzinfo=None)
        else:
            zone = ZoneInfo(self.zone)
            readings = (
                value.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)
            )
            naive = max(readings).replace(tzinfo=None)
        return (naive - EPOCH_MOMENT) // MICROSECOND_SPAN

    def value_at(self, index: int) -> datetime:
        naive = EPOCH_MOMENT + index * self.resolution
        return (
            naive
            if self.zone is None
            else naive.replace(tzinfo=UTC).astimezone(ZoneInfo(self.zone))
        )

    def parse(self, text: str) -> object:
        return parse_moment(text)


@dataclass(frozen=True, kw_only=True)
class Time(Lattice):
    """Time of day, `resolution` apart. Its bounds are the day's unless declared. A
    moment counts as its time of day, a day as its midnight: one moment among days makes
    moments of all.

    >>> Time(name="bedtime", resolution=timedelta(minutes=1)).index_of(time(0, 2, 30))
    2
    """

    type: ClassVar[str] = "time"
    noun: ClassVar[str] = "time of day"
    min: time = time(0)
    max: time = time(23, 59, 59, 999_999)
    resolution: timedelta = timedelta(seconds=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not MICROSECOND_SPAN <= self.resolution < timedelta(days=1):
            raise SchemaError(
                f'column "{self.name}": `resolution` must be between a microsecond and'
                " a day"
            )
        self.check_bounds()

    def position_of(self, value: object) -> Fraction:
        return Fraction(
            self._since_midnight(value) // MICROSECOND_SPAN,
            self.resolution // MICROSECOND_SPAN,
        )

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
        moment = parse_time(text)
        return parse_moment(text) if moment is None else moment


def _check_weekdays(column: Date | Datetime) -> None:
    weights = column.weekdays
    if weights and (len(weights) != 7 or min(weights) < 0 or sum(weights) == 0):
        raise SchemaError(
            f'column "{column.name}": `weekdays` must be seven weights from Monday to'
            " Sunday, not all 0"
        )


def exact_fraction(value: object) -> Fraction:
    """A Python number as a fraction; ValueError where it is none, OverflowError where
    it is infinite.

    >>> exact_fraction(0.5), exact_fraction(Decimal("0.1"))
    (Fraction(1, 2), Fraction(1, 10))
    """
    if isinstance(value, bool) or not isinstance(
        value, int | float | Fraction | Decimal
    ):
        raise ValueError("not a number")
    return Fraction(value)


def repr_decimal(value: object) -> object:
    """A float as the decimal it shows; anything else as it is."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def _round_half_away(number: Fraction) -> int:
    """Round half away from zero, as the databases do."""
    return (
        int(number + Fraction(1, 2)) if number >= 0 else -int(-number + Fraction(1, 2))
    )
