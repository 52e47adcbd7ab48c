"""Columns that are their own bins, with values to fill them: what must survive the way
through codes unchanged.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Integer,
    Lattice,
    Real,
    Schema,
    Time,
)

LABELS = ("F", "M", "ä b", "=1+1", "'; DROP TABLE x; --", '"q"', "NaN", "1", "é\tü")
BERLIN = ZoneInfo("Europe/Berlin")


@dataclass(frozen=True)
class Case:
    """One column: its description without a dtype, the values it may hold, and the
    dtypes each library may keep them in.
    """

    column: Column
    values: Sequence[Any]
    nulls: bool = True


def _days(start: date, count: int) -> list[date]:
    return [start + timedelta(days=i) for i in range(count)]


def _instants(zone: ZoneInfo) -> list[datetime]:
    # the two hours around a change of clocks, in which a wall-clock time occurs twice
    return [
        (datetime(2024, 10, 26, 23, tzinfo=UTC) + timedelta(minutes=5 * i)).astimezone(
            zone
        )
        for i in range(40)
    ]


INTEGERS = Case(Integer(name="i", min=-20, max=30), range(-20, 31))
NATURALS = Case(Integer(name="n", min=0, max=60), range(61))
BIG = Case(Integer(name="big", min=2**61, max=2**61 + 20), range(2**61, 2**61 + 21))
STEPS = Case(Integer(name="s", min=0, max=100, step=5), range(0, 101, 5))
REALS = Case(
    Real(name="r", min=Fraction(-2), max=Fraction(3), step=Fraction(1, 10)),
    [i / 10 for i in range(-20, 31)],
)
THIRDS = Case(
    Real(name="t", min=Fraction(0), max=Fraction(5), step=Fraction(1, 3)),
    [i / 3 for i in range(16)],
)
CENTS = Case(
    Real(name="c", min=Fraction(0), max=Fraction(1, 2), step=Fraction(1, 100)),
    [Decimal(i).scaleb(-2) for i in range(51)],
)
FLAGS = Case(Boolean(name="b"), [False, True])
WORDS = Case(Categorical(name="w", values=LABELS), LABELS)
GRADES = Case(
    Categorical(name="g", values=("low", "mid", "high"), ordered=True),
    ("low", "mid", "high"),
)
CODED = Case(Categorical(name="k", values=("1", "2", "10")), (1, 2, 10))
DAYS = Case(
    Date(name="d", min=date(1968, 12, 1), max=date(1969, 1, 31)),
    _days(date(1968, 12, 1), 62),
)
MOMENTS = Case(
    Datetime(
        name="m",
        min=datetime(1969, 12, 31, 23, 59, 40),
        max=datetime(1970, 1, 1, 0, 0, 30),
    ),
    [datetime(1969, 12, 31, 23, 59, 40) + timedelta(seconds=i) for i in range(51)],
)
TICKS = Case(
    Datetime(
        name="u",
        min=datetime(2024, 2, 29, 23, 59, 59, 999_990),
        max=datetime(2024, 3, 1, 0, 0, 0, 10),
        resolution=timedelta(microseconds=1),
    ),
    [
        datetime(2024, 2, 29, 23, 59, 59, 999_990) + timedelta(microseconds=i)
        for i in range(21)
    ],
)
ZONED = Case(
    Datetime(
        name="z",
        min=_instants(BERLIN)[0],
        max=_instants(BERLIN)[-1],
        zone="Europe/Berlin",
        resolution=timedelta(minutes=5),
    ),
    _instants(BERLIN),
)
CLOCKS = Case(
    Time(name="o", min=time(0), max=time(23, 30), resolution=timedelta(minutes=30)),
    [time(h, m) for h in range(24) for m in (0, 30)],
)


def whole(case: Case) -> Case:
    """The same column without empty cells."""
    return Case(replace(case.column, nullable=False), case.values, nulls=False)


def plan(cases: Sequence[tuple[Case, str]]) -> tuple[Schema, list[Case]]:
    """A schema with one column per case, each with its dtype, and the cases themselves."""
    columns = tuple(
        replace(case.column, name=f"{case.column.name}{i}", dtype=dtype)
        for i, (case, dtype) in enumerate(cases)
    )
    return Schema(columns=columns), [case for case, _ in cases]


TABLES = 12


def table(cases: Sequence[Case], number: int) -> list[list[Any]]:
    """The columns of a table, one per case: no row, every value and an empty cell, one
    row of either, and a few rows at random.
    """
    held = [[*case.values, *([None] if case.nulls else [])] for case in cases]
    rng = random.Random(number)
    length = {0: 0, 1: max(map(len, held)), 2: 1, 3: 1}.get(number, rng.randint(2, 12))
    if number < 3:
        return [[values[i % len(values)] for i in range(length)] for values in held]
    return [
        values[-1:] if number == 3 else rng.choices(values, k=length) for values in held
    ]


def encode(
    schema: Schema, cells: Callable[[str], Sequence[Any]]
) -> dict[str, np.ndarray]:
    """Codes of a frame's cells, one value at a time, by the codec's own rule."""
    return {
        name: np.array([c.code(v) for v in cells(name)], c.dtype)
        for name, c in schema.codecs.items()
    }


def all_unit(schema: Schema) -> bool:
    """Whether every lattice column has one code per value."""
    return all(
        len(codec.bins) == codec.column.high - codec.column.low + 1
        for codec in schema.codecs.values()
        if isinstance(codec.column, Lattice)
        and codec.column.high is not None
        and codec.column.low is not None
    )
