"""Columns refuse what contradicts itself, with the column's name and a remedy."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from understudy.errors import SchemaError
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Identifier,
    Integer,
    Real,
    Role,
    Text,
    Time,
    UndeclaredColumn,
)

REFUSED = [
    (lambda: Text(name=""), "no name"),
    (lambda: Text(name="a\0b"), "no file can hold"),
    (lambda: Text(name="\ud800"), "no file can hold"),
    (lambda: Text(name=3), "not a text"),
    (lambda: Text(name="x", missing=("a", "a")), "listed twice"),
    (lambda: Text(name="x", missing=("",)), "empty"),
    (lambda: Categorical(name="x", values=("a", "a")), "listed twice"),
    (lambda: Categorical(name="x", values=("a", "")), "a value in `values` is empty"),
    (
        lambda: Categorical(name="x", values=("a",), other="a"),
        "`other` is one of the values",
    ),
    (
        lambda: Categorical(name="x", values=("a",), other="b", missing=("b",)),
        "`other` is one of the missing codes",
    ),
    (
        lambda: Categorical(name="x", values=("a",), missing=("a",)),
        "both as a value and as missing",
    ),
    (lambda: Categorical(name="x", values=(), nullable=False), "no values at all"),
    (
        lambda: Categorical(name="x", values=("a",), levels={"l": ()}),
        "one group per value",
    ),
    (lambda: Categorical(name="x", levels={"l": ("g",)}), "none are listed"),
    (lambda: Boolean(name="x", true=("Y",), false=("y",)), "both true and false"),
    (lambda: Boolean(name="x", true=()), "`true` has no spelling"),
    (lambda: Boolean(name="x", missing=("NO",)), "both as a value and as missing"),
    (lambda: Integer(name="x", min=90, max=17), r"max \(17\) is below min \(90\)"),
    (lambda: Integer(name="x", min=0.5), "`min` is no whole number"),
    (lambda: Integer(name="x", max=True), "`max` is no whole number"),
    (lambda: Integer(name="x", step=0), "at least 1"),
    (lambda: Integer(name="x", bins=(0, 1)), "`bins` need `min` and `max`"),
    (lambda: Integer(name="x", min=0, max=9, bins=(0, 5, 5, 10)), "rising"),
    (lambda: Integer(name="x", min=0, max=9, bins=(0, 5, 9)), "reach from min to max"),
    (lambda: Integer(name="x", min=0, max=9, grain=((0, 1),)), "`grain` needs `bins`"),
    (
        lambda: Integer(
            name="x", min=0, max=9, bins=(0, 5, 10), grain=((1, 1), (5, 1))
        ),
        "`grain` needs `bins`",
    ),
    (
        lambda: Integer(
            name="x", min=0, max=9, bins=(0, 5, 10), grain=((0, 1), (0, 1), (5, 1))
        ),
        "must rise",
    ),
    (
        lambda: Integer(
            name="x", min=0, max=9, bins=(0, 5, 10), grain=((0, 1), (4, 1))
        ),
        "start of every bin",
    ),
    (
        lambda: Integer(
            name="x", min=0, max=9, bins=(0, 5, 10), grain=((0, 1), (5, 1), (10, 1))
        ),
        "none beyond",
    ),
    (
        lambda: Integer(
            name="x", min=0, max=9, bins=(0, 5, 10), grain=((0, 1), (5, -1))
        ),
        "a weight that is none",
    ),
    (
        lambda: Integer(
            name="x", min=0, max=9, bins=(0, 5, 10), grain=((0, 1), (5, 2**60))
        ),
        "a weight that is none",
    ),
    (lambda: Real(name="x", step=Fraction(0)), "positive"),
    (lambda: Real(name="x", min="0"), "`min` is no number"),
    (lambda: Real(name="x", max=float("inf")), "`max` is no number"),
    (
        lambda: Real(name="x", min=Fraction(10**20), step=Fraction(1, 100)),
        "coarser step",
    ),
    (lambda: Date(name="x", min=datetime(2020, 1, 1)), "`min` is no date"),
    (lambda: Date(name="x", min="2020-01-01"), "`min` is no date"),
    (lambda: Datetime(name="x", zone="Mars/Olympus"), "no known time zone"),
    (lambda: Datetime(name="x", zone="../etc/passwd"), "no known time zone"),
    (lambda: Datetime(name="x", resolution=timedelta(0)), "at least one microsecond"),
    (
        lambda: Datetime(name="x", min=datetime.min, resolution=timedelta(days=7)),
        "beyond the calendar",
    ),
    (
        lambda: Datetime(name="x", max=datetime.max, zone="America/New_York"),
        "beyond the calendar",
    ),
    (lambda: Time(name="x", min=time(12), max=time(11)), "is below min"),
    (
        lambda: Time(name="x", resolution=timedelta(days=1)),
        "between a microsecond and a day",
    ),
    (lambda: Time(name="x", min=None, max="noon"), "`max` is no time of day"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_contradictions_are_refused_in_one_line(make, message):
    with pytest.raises(SchemaError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_what_takes_part_in_a_release():
    assert Boolean(name="x").is_modelled
    assert not Boolean(name="x", use=False).is_modelled
    assert not Boolean(name="x", role=Role.DIRECT_IDENTIFIER).is_modelled
    assert not Text(name="x").is_modelled
    assert not Identifier(name="x", role=Role.OTHER).is_modelled
    assert UndeclaredColumn(name="x").is_modelled
    assert not UndeclaredColumn(name="x").is_closed


def test_bounds_of_real_columns_are_exact():
    assert Real(name="x", min=Decimal("0.1"), max=1).min == Fraction(1, 10)
    assert isinstance(Real(name="x", min=0, max=1).max, Fraction)


def test_bounds_of_moments_are_kept_as_instants_or_wall_clock():
    moment = datetime(2020, 6, 1, 12, tzinfo=UTC)
    assert Datetime(name="x", min=moment).min == datetime(2020, 6, 1, 12)
    zoned = Datetime(name="x", min=moment, zone="Europe/Zurich")
    assert zoned.min == moment
    assert zoned.value_at(zoned.low).isoformat() == "2020-06-01T14:00:00+02:00"


def test_the_bounds_of_a_time_are_the_day():
    assert Time(name="x").is_closed
    assert not Date(name="x", min=date(2020, 1, 1)).is_closed


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"values": ("a",), "unfold": {"b": 1}}, "Name it with `other`"),
        ({"other": "rest", "unfold": {"rest": 1}}, "the word for `other` itself"),
        ({"missing": ("?",), "unfold": {"?": 1}}, "both in `unfold` and as missing"),
        ({"unfold": {"": 1}}, "is empty"),
        ({"unfold": {"b": 0}}, "above 0"),
        ({"unfold": {"b": 2**53}}, "above 0"),
    ],
)
def test_a_public_list_that_cannot_be_is_refused(fields, words):
    with pytest.raises(SchemaError, match=words):
        Categorical(name="town", **fields)
