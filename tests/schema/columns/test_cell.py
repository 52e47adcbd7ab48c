"""Cells: the same meaning in every container, and no object that stops the reader."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.schema.cells import HOSTILE, HostileText
from understudy.schema.columns.cell import (
    CELL_DATE_PATTERN,
    CELL_MOMENT_PATTERN,
    CELL_NUMBER_PATTERN,
    CELL_TIME_PATTERN,
    UNKNOWN_CELL,
    decimal_text,
    parse_date,
    parse_moment,
    parse_number,
    parse_time,
    spellings_of_cell,
    to_plain_cell,
)


@pytest.mark.parametrize(
    "text", ["12", "-12", "+3.5", ".5", "5.", "1e3", "1E-3", " 7\t", "007"]
)
def test_numbers_are_read_exactly(text):
    assert parse_number(text) == Fraction(text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1,000",
        "1_000",
        "0x1F",
        "inf",
        "nan",
        "1e9999",
        "1 2",
        "١٢",
        "--1",
        "1/3",
        "e5",
        ".",
        "9" * 500,
        "1\n",
    ],
)
def test_what_is_no_number_is_none(text):
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-02-29", datetime(2024, 2, 29)),
        ("2024-02-29 13:45", datetime(2024, 2, 29, 13, 45)),
        ("2024-02-29T13:45:30.123456789", datetime(2024, 2, 29, 13, 45, 30, 123456)),
        ("2024-02-29T13:45:30Z", datetime(2024, 2, 29, 13, 45, 30, tzinfo=UTC)),
        ("2024-02-29T13:45:30+0530", datetime(2024, 2, 29, 8, 15, 30, tzinfo=UTC)),
        ("2024-02-29T13:45:30-02", datetime(2024, 2, 29, 15, 45, 30, tzinfo=UTC)),
    ],
)
def test_moments_are_iso(text, moment):
    assert parse_moment(text) == moment
    assert parse_date(text) == date(2024, 2, 29)


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29",
        "29.02.2024",
        "2024-2-9",
        "2024-02-29T25:00",
        "2024-02-29T10:00+25:00",
        "2024-02-29T10:00+01:99",
        "0000-01-01",
        "today",
        "2024-02-29  10:00",
        "20240229",
        "2024-W09",
        "2024-02-29T10:61",
    ],
)
def test_what_is_no_moment_is_none(text):
    assert parse_moment(text) is None
    assert parse_date(text) is None


def test_times_are_iso():
    assert parse_time(" 09:05:07.5 ") == time(9, 5, 7, 500_000)
    assert [
        parse_time(t) for t in ("9:05", "24:00", "09:60", "09", "09:05 PM", "")
    ] == [None] * 6


@given(st.text(max_size=30))
def test_no_text_stops_a_parser(text):
    for parse in (parse_number, parse_date, parse_moment, parse_time):
        parse(text)


@given(st.fractions(max_denominator=10**6))
def test_decimal_text_is_exact_or_refused(number):
    text = decimal_text(number)
    prime_to_ten = number.denominator
    for p in (2, 5):
        while prime_to_ten % p == 0:
            prime_to_ten //= p
    assert (text is None) == (prime_to_ten != 1)
    assert text is None or parse_number(text) == number


@given(st.datetimes(), st.integers(-1439, 1439))
def test_a_moment_reads_back_from_its_text(moment, minutes):
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert parse_moment(moment.isoformat()) == moment
    assert parse_moment(zoned.isoformat(" ")) == zoned
    assert parse_time(moment.time().isoformat()) == moment.time()


@pytest.mark.parametrize(
    "value",
    [
        None,
        float("nan"),
        np.float32("nan"),
        np.float64("nan"),
        pd.NaT,
        pd.NA,
        np.datetime64("NaT"),
        Decimal("nan"),
        "",
    ],
)
def test_every_empty_is_none(value):
    assert to_plain_cell(value) is None


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (np.int8(-7), -7),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (Decimal("0.10"), Fraction(1, 10)),
        (np.datetime64("2024-02-29"), date(2024, 2, 29)),
        (
            np.datetime64("2024-02-29T01:02:03.999999999"),
            datetime(2024, 2, 29, 1, 2, 3, 999999),
        ),
        (
            pd.Timestamp("2024-02-29T01:02:03.999999999"),
            datetime(2024, 2, 29, 1, 2, 3, 999999),
        ),
        (
            pd.Timestamp("2024-02-29", tz="Asia/Kathmandu"),
            datetime(2024, 2, 28, 18, 15, tzinfo=UTC),
        ),
    ],
)
def test_scalars_are_unwrapped(value, cell):
    assert to_plain_cell(value) == cell
    assert type(to_plain_cell(value)) is type(cell)


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: type(v).__name__)
def test_a_hostile_object_is_no_value(value):
    assert to_plain_cell(value) is UNKNOWN_CELL


def test_a_hostile_text_is_its_text():
    assert to_plain_cell(HostileText("abc")) == "abc"


def test_spellings_of_cells():
    assert spellings_of_cell(to_plain_cell(Decimal("1.50"))) == ("1.5",)
    assert spellings_of_cell(10**200) == ()
    assert spellings_of_cell(1e300) == ("1e+300",)
    assert spellings_of_cell(to_plain_cell(date(2024, 1, 2))) == ("2024-01-02",)
    assert (
        spellings_of_cell(UNKNOWN_CELL)
        == spellings_of_cell(None)
        == spellings_of_cell(Fraction(1, 3))
        == ()
    )


@given(
    st.one_of(
        st.integers(),
        st.decimals(),
        st.datetimes(),
        st.dates(),
        st.times(),
        st.text(max_size=30),
    )
)
def test_the_published_patterns_agree_with_the_parsers(value):
    """Tables match cells with these patterns; a text the pattern refuses must be no
    value here either.
    """
    text = str(value)
    for pattern, parse in (
        (CELL_NUMBER_PATTERN, parse_number),
        (CELL_DATE_PATTERN, None),
        (CELL_MOMENT_PATTERN, parse_moment),
        (CELL_TIME_PATTERN, parse_time),
    ):
        if (
            parse is not None
            and re.fullmatch(rf"[ \t]*({pattern})[ \t]*", text, re.ASCII) is None
        ):
            assert parse(text) is None


@pytest.mark.parametrize(
    ("span", "seconds"),
    [
        (timedelta(days=-1, seconds=1), -86_399),
        (np.timedelta64(1500, "ms"), Fraction(3, 2)),
        (pd.Timedelta(minutes=90), 5400),
        (np.timedelta64(2**62, "D"), 2**62 * 86_400),
        (np.timedelta64(1_999_999_999, "ns"), Fraction(1_999_999, 10**6)),
        (np.timedelta64("NaT"), None),
        (pd.NaT, None),
    ],
)
def test_a_length_of_time_is_its_seconds(span, seconds):
    assert to_plain_cell(span) == seconds


def test_a_period_is_the_text_of_a_csv_file():
    assert to_plain_cell(pd.Period("2024-01", "M")) == "2024-01"
    assert to_plain_cell(pd.Interval(0, 10)) == "(0, 10]"
