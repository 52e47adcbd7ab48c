"""Hypothesis strategies for columns of every type, shared by the tests of the room."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction

from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Integer,
    Lattice,
    OutOfBoundsPolicy,
    Real,
    Role,
    Text,
    Time,
    UndeclaredColumn,
)

ZONES = [
    "UTC",
    "Europe/Zurich",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
]
SPELLINGS = ["NA", "-7", "-8.5", "n/a", ".", "1999-01-01", "00:00", "?", "refused"]

# Control characters, line ends of every kind and astral letters: whatever a file can
# hold.
texts = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
)
labels = st.one_of(
    st.sampled_from(
        [
            "F",
            "M",
            "yes",
            "no",
            "null",
            "~",
            "1",
            "1.0",
            "01",
            "a: b",
            "# x",
            "- z",
            "é",
            "learn",
            "true",
        ]
    ),
    texts,
)


def lists(
    of: st.SearchStrategy[str], *, least: int = 0, most: int = 4
) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(of, min_size=least, max_size=most, unique=True).map(tuple)


@st.composite
def common(draw: st.DrawFn) -> dict[str, object]:
    return {
        "name": draw(texts),
        "role": draw(
            st.sampled_from([r for r in Role if r is not Role.DIRECT_IDENTIFIER])
        ),
        "nullable": draw(st.booleans()),
        "missing": draw(lists(st.sampled_from(SPELLINGS), most=3)),
        "use": draw(st.booleans()),
        "learned": draw(lists(st.sampled_from(["type", "values", "bounds"]), most=2)),
        "dtype": draw(st.sampled_from([None, "int64[pyarrow]", "Categorical"])),
        "note": draw(st.one_of(st.just(""), texts)),
    }


def unfolds(of: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, int]]:
    """Public lists of further values, evenly weighted or not."""
    even = lists(of, most=4).map(lambda found: dict.fromkeys(found, 1))
    return st.one_of(
        st.just({}), even, st.dictionaries(of, st.integers(1, 2**53 - 1), max_size=3)
    )


@st.composite
def categoricals(draw: st.DrawFn, *, closed: bool = False) -> Categorical:
    kept = draw(common())
    fresh = labels.filter(lambda label: label not in kept["missing"])
    values = draw(lists(fresh, least=1, most=6))
    if not closed and draw(st.integers(0, 3)) == 0:
        return Categorical(
            **kept, ordered=draw(st.booleans()), unfold=draw(unfolds(fresh))
        )
    other = draw(st.one_of(st.none(), fresh.filter(lambda label: label not in values)))
    levels = {}
    for level in draw(lists(texts, most=2)):
        levels[level] = tuple(
            draw(st.lists(labels, min_size=len(values), max_size=len(values)))
        )
    unfold = (
        {}
        if other is None
        else draw(unfolds(fresh.filter(lambda label: label != other)))
    )
    return Categorical(
        **kept,
        values=values,
        other=other,
        ordered=draw(st.booleans()),
        levels=levels,
        unfold=unfold,
    )


@st.composite
def lattices(draw: st.DrawFn, *, closed: bool = False, most: int = 10**6) -> Lattice:
    kept = draw(common())
    kept["outside"] = draw(st.sampled_from(OutOfBoundsPolicy))
    kind = draw(st.sampled_from([Integer, Real, Date, Datetime, Time]))
    if kind is Integer:
        step = draw(st.sampled_from([1, 1, 1, 5, 12]))
        ends = [
            step * n
            for n in draw(st.lists(st.integers(-most, most), min_size=2, max_size=2))
        ]
        kept["step"] = step
    elif kind is Real:
        step = draw(
            st.sampled_from(
                [
                    Fraction(1, 100),
                    Fraction(1, 3),
                    Fraction(1, 8),
                    Fraction(5, 2),
                    Fraction(1),
                ]
            )
        )
        ends = [
            step * n
            for n in draw(st.lists(st.integers(-most, most), min_size=2, max_size=2))
        ]
        kept["step"] = step
    elif kind is Date:
        ends = draw(
            st.lists(
                st.dates(date(1800, 1, 1), date(2200, 1, 1)), min_size=2, max_size=2
            )
        )
    elif kind is Datetime:
        kept["resolution"] = draw(resolutions)
        kept["zone"] = draw(st.one_of(st.none(), st.sampled_from(ZONES)))
        ends = draw(
            st.lists(
                st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)),
                min_size=2,
                max_size=2,
            )
        )
    else:
        kept["resolution"] = draw(resolutions.filter(lambda r: r < timedelta(days=1)))
        ends = draw(st.lists(st.times(), min_size=2, max_size=2))
    low, high = sorted(ends)
    if closed or draw(st.integers(0, 3)):
        kept |= {"min": low, "max": high}
        try:
            column = kind(**kept)
        except (
            SchemaError
        ):  # clocks that change put two wall-clock times the other way round
            kept |= {"min": high, "max": low}
            column = kind(**kept)
        inner = (
            draw(st.sets(st.integers(column.low + 1, column.high), max_size=4))
            if column.low < column.high
            else ()
        )
        if inner:
            starts = (column.low, *sorted(inner))
            pieces = draw(
                st.sets(st.integers(column.low, column.high), max_size=4)
            ) | set(starts)
            weights = draw(
                st.lists(
                    st.integers(0, 10**6), min_size=len(pieces), max_size=len(pieces)
                )
            )
            grain = (
                tuple(zip(sorted(pieces), weights, strict=True))
                if draw(st.booleans())
                else ()
            )
            return kind(**kept, bins=(*starts, column.high + 1), grain=grain)
        return column
    return kind(**kept)


resolutions = st.sampled_from(
    [
        timedelta(microseconds=1),
        timedelta(milliseconds=100),
        timedelta(seconds=1),
        timedelta(minutes=15),
        timedelta(hours=6),
        timedelta(days=1),
        timedelta(seconds=7),
    ]
)


@st.composite
def booleans(draw: st.DrawFn) -> Boolean:
    if draw(st.booleans()):
        return Boolean(**draw(common()))
    return Boolean(**draw(common()), false=("no", "Nein"), true=("yes", "Ja", "1"))


@st.composite
def dropped(draw: st.DrawFn) -> Column:
    return draw(st.sampled_from([Text, Identifier, UndeclaredColumn]))(**draw(common()))


closed_columns = st.one_of(categoricals(closed=True), lattices(closed=True), booleans())
columns = st.one_of(categoricals(), lattices(), booleans(), dropped())
