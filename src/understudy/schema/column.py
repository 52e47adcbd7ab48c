"""Columns: what a table looks like, one column at a time, and nothing about who is in it.

Every column that can be modelled is, in the end, integers. A category is a position in a list of labels; a number, date or time is an
index on a lattice (its step, its day, its second). So every count, sum and sensitivity is exact, and no float touches the privacy argument.

A column may have holes: no type, no values, no bounds. A hole is filled by the owner (public) or bought by the curator (paid); what
was bought is listed in `learned`. Nothing else can fill it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar
from zoneinfo import ZoneInfo

from understudy.errors import SchemaError

EPOCH = date(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
LATTICE_LIMIT = 2**62
"""No lattice index lies beyond this, so that differences of two never overflow 64 bits."""


class Role(StrEnum):
    """What a column could do to a person."""

    DIRECT_IDENTIFIER = "direct_identifier"
    QUASI_IDENTIFIER = "quasi_identifier"
    SENSITIVE = "sensitive"
    OTHER = "other"


class Outside(StrEnum):
    """Where a number beyond the declared bounds goes."""

    CLIP = "clip"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class Column:
    """What every column has.

    `missing` lists spellings that mean missing (kept apart from each other and from an empty cell). In a column that is not `nullable`,
    a cell that is no value counts as the first code: a declared place, so that reading a table never raises.
    """

    type: ClassVar[str] = "undeclared"
    name: str
    role: Role = Role.OTHER
    nullable: bool = True
    missing: tuple[str, ...] = ()
    use: bool = True
    learned: tuple[str, ...] = ()
    dtype: str | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise SchemaError("a column has no name. Give every column a name")
        if len(set(self.missing)) != len(self.missing):
            raise SchemaError(f'column "{self.name}": a missing code is listed twice')

    @property
    def modelled(self) -> bool:
        """Whether the column takes part in a release."""
        return self.use and self.role is not Role.DIRECT_IDENTIFIER

    @property
    def closed(self) -> bool:
        """Whether nothing about the column is left to learn."""
        return False


@dataclass(frozen=True, kw_only=True)
class Undeclared(Column):
    """A column whose type nobody stated: a paid vote decides it."""


@dataclass(frozen=True, kw_only=True)
class Text(Column):
    """Free text. Never released."""

    type: ClassVar[str] = "text"

    @property
    def modelled(self) -> bool:
        return False

    @property
    def closed(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Identifier(Column):
    """A key such as a patient number. Never released; it may name the privacy unit."""

    type: ClassVar[str] = "identifier"
    role: Role = Role.DIRECT_IDENTIFIER

    @property
    def modelled(self) -> bool:
        return False

    @property
    def closed(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Categorical(Column):
    """One of a list of labels.

    `other` names the place of unlisted values; without it they count as missing (or as the first value where missing is not allowed).
    `levels` maps a level's name to each value's group, for hierarchies such as code → chapter.
    """

    type: ClassVar[str] = "categorical"
    values: tuple[str, ...] | None = None
    ordered: bool = False
    other: str | None = None
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is None:
            return
        if not self.values and self.other is None and not self.nullable:
            raise SchemaError(
                f'column "{self.name}": no values at all. List `values`, or leave them out to have them learned'
            )
        if len(set(self.values)) != len(self.values):
            raise SchemaError(f'column "{self.name}": a value is listed twice')
        if self.other in self.values:
            raise SchemaError(f'column "{self.name}": `other` is one of the values. Choose another word for it')
        if set(self.missing) & set(self.values):
            raise SchemaError(f'column "{self.name}": a code is listed both as a value and as missing')
        for level, groups in self.levels.items():
            if len(groups) != len(self.values):
                raise SchemaError(f'column "{self.name}": level "{level}" needs one group per value')

    @property
    def closed(self) -> bool:
        return self.values is not None


@dataclass(frozen=True, kw_only=True)
class Boolean(Column):
    """Yes or no; `false` and `true` are its spellings in files."""

    type: ClassVar[str] = "boolean"
    false: tuple[str, ...] = ("false", "0", "no", "f", "n")
    true: tuple[str, ...] = ("true", "1", "yes", "t", "y")

    def __post_init__(self) -> None:
        super().__post_init__()
        if {s.lower() for s in self.false} & {s.lower() for s in self.true}:
            raise SchemaError(f'column "{self.name}": a spelling stands for both true and false')

    @property
    def closed(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Lattice(Column, ABC):
    """A column whose values are integers in disguise: `index` times a step from an origin.

    `bins` are the inner and outer edges as lattice indices; without them `Codec` chooses equal ones from the bounds alone.
    """

    outside: Outside = Outside.CLIP
    bins: tuple[int, ...] | None = None

    @property
    def low(self) -> int | None:
        """Lattice index of the lower bound."""
        return self._index_of_bound("min")

    @property
    def high(self) -> int | None:
        """Lattice index of the upper bound."""
        return self._index_of_bound("max")

    @property
    def closed(self) -> bool:
        return self.low is not None and self.high is not None

    def _index_of_bound(self, which: str) -> int | None:
        bound = getattr(self, which)
        return None if bound is None else self.index_of(bound)

    @abstractmethod
    def index_of(self, value: object) -> int:
        """The lattice index of a Python value of the column's type; ValueError where it is none."""

    @abstractmethod
    def value_at(self, index: int) -> object:
        """The Python value at a lattice index."""

    def check_bounds(self) -> None:
        """Refuse bounds that contradict each other or the bins."""
        low, high = self.low, self.high
        if low is not None and high is not None and high < low:
            text = f"max ({self.value_at(high)}) is below min ({self.value_at(low)})"
            raise SchemaError(f'column "{self.name}": {text}')
        for bound in (low, high):
            if bound is not None and abs(bound) >= LATTICE_LIMIT:
                raise SchemaError(f'column "{self.name}": a bound is too large for its step. Use a coarser step')
        if self.bins is not None and (
            len(self.bins) < 2 or any(a >= b for a, b in zip(self.bins, self.bins[1:], strict=False))
        ):
            raise SchemaError(f'column "{self.name}": `bins` must be at least two rising edges')


@dataclass(frozen=True, kw_only=True)
class Integer(Lattice):
    """Whole numbers, multiples of `step`.

    >>> Integer(name="age", min=0, max=90, step=5).high
    18
    """

    type: ClassVar[str] = "integer"
    min: int | None = None
    max: int | None = None
    step: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step < 1:
            raise SchemaError(f'column "{self.name}": `step` must be at least 1')
        self.check_bounds()

    def index_of(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("not a whole number")
        return _nearest(Fraction(value, self.step))

    def value_at(self, index: int) -> int:
        return index * self.step


@dataclass(frozen=True, kw_only=True)
class Real(Lattice):
    """Decimal numbers, multiples of `step` (a fraction; two decimals are 1/100). The lattice is what makes noise on them exact.

    >>> Real(name="weight", min=Fraction(0), max=Fraction(200), step=Fraction(1, 10)).high
    2000
    """

    type: ClassVar[str] = "real"
    min: Fraction | None = None
    max: Fraction | None = None
    step: Fraction = Fraction(1, 100)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step <= 0:
            raise SchemaError(f'column "{self.name}": `step` must be positive')
        self.check_bounds()

    @property
    def decimals(self) -> int | None:
        """Decimals that the step needs, None where no number of decimals holds it (a step of 1/3)."""
        return next((d for d in range(19) if (self.step * 10**d).denominator == 1), None)

    def index_of(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise ValueError("not a number")
        return _nearest(Fraction(value) / self.step)  # Fraction(nan) and Fraction(inf) raise by themselves

    def value_at(self, index: int) -> float:
        return float(index * self.step)


@dataclass(frozen=True, kw_only=True)
class Date(Lattice):
    """Days of the calendar.

    >>> Date(name="born", min=date(1970, 1, 1), max=date(1970, 1, 31)).high
    30
    """

    type: ClassVar[str] = "date"
    min: date | None = None
    max: date | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_bounds()

    def index_of(self, value: object) -> int:
        if isinstance(value, datetime) or not isinstance(value, date):
            raise ValueError("not a date")
        return (value - EPOCH).days

    def value_at(self, index: int) -> date:
        return EPOCH + timedelta(days=index)


@dataclass(frozen=True, kw_only=True)
class Datetime(Lattice):
    """Moments, `resolution` apart; with a `zone` they are instants shown in that zone, without one they are wall-clock times."""

    type: ClassVar[str] = "datetime"
    min: datetime | None = None
    max: datetime | None = None
    resolution: timedelta = timedelta(seconds=1)
    zone: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.resolution < MICROSECOND:
            raise SchemaError(f'column "{self.name}": `resolution` must be at least one microsecond')
        if self.zone is not None:
            try:
                ZoneInfo(self.zone)
            except Exception:
                raise SchemaError(f'column "{self.name}": "{self.zone}" is no known time zone') from None
        self.check_bounds()

    def index_of(self, value: object) -> int:
        if not isinstance(value, datetime):
            raise ValueError("not a moment")
        if self.zone is None:
            naive = value.replace(tzinfo=None)
        else:
            zoned = value if value.tzinfo else value.replace(tzinfo=ZoneInfo(self.zone))
            naive = zoned.astimezone(UTC).replace(tzinfo=None)
        return ((naive - datetime(1970, 1, 1)) // MICROSECOND) // (self.resolution // MICROSECOND)

    def value_at(self, index: int) -> datetime:
        naive = datetime(1970, 1, 1) + index * self.resolution
        return naive if self.zone is None else naive.replace(tzinfo=UTC).astimezone(ZoneInfo(self.zone))


@dataclass(frozen=True, kw_only=True)
class Time(Lattice):
    """Time of day, `resolution` apart. Its bounds are the day's unless declared."""

    type: ClassVar[str] = "time"
    min: time = time(0)
    max: time = time(23, 59, 59, 999_999)
    resolution: timedelta = timedelta(seconds=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not MICROSECOND <= self.resolution < timedelta(days=1):
            raise SchemaError(f'column "{self.name}": `resolution` must be between a microsecond and a day')
        self.check_bounds()

    def index_of(self, value: object) -> int:
        if not isinstance(value, time):
            raise ValueError("not a time of day")
        moment = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
        return moment // self.resolution

    def value_at(self, index: int) -> time:
        return (datetime(1970, 1, 1) + index * self.resolution).time()


def _nearest(number: Fraction) -> int:
    """Round half away from zero, as the databases do."""
    return int(number + Fraction(1, 2)) if number >= 0 else -int(-number + Fraction(1, 2))
