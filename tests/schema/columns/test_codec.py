"""Codecs: every value has a code, every code has a value of its own bin."""

from __future__ import annotations

import enum
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.schema.cells import HOSTILE, HostileText
from kit.schema.columns import SPELLINGS, closed_columns, lattices
from understudy.errors import SchemaError
from understudy.schema import (
    BinEdges,
    Boolean,
    Categorical,
    Date,
    Datetime,
    Integer,
    LabelLookup,
    Lattice,
    OutOfBoundsPolicy,
    Real,
    Time,
    UndeclaredColumn,
    codec_of,
)
from understudy.schema.columns.base import LOST_FACT
from understudy.schema.columns.code_layout import (
    EMPTY_STATE,
    EQUAL_WIDTH_BINS,
    FIRST_MISSING_STATE,
    MAX_UNIT_BINS,
    OTHER_STATE,
    VALUE_STATE,
    equal_edges,
)

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=None),
    st.fractions(),
    st.text(max_size=12),
    st.sampled_from(
        [*SPELLINGS, "F", "yes", " 3 ", "2024-02-29", "12:30", "0.1", "1e5"]
    ),
    st.binary(max_size=3),
    st.dates(),
    st.datetimes(timezones=st.one_of(st.none(), st.timezones())),
    st.times(),
    st.timedeltas(),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(
        [
            pd.NaT,
            pd.NA,
            np.datetime64("NaT"),
            np.int16(3),
            np.float32(1.5),
            np.bool_(False),
        ]
    ),
)


def decoded(codec, codes, seed=0):
    return codec.decode(np.asarray(codes, codec.dtype), np.random.default_rng(seed))


@given(closed_columns, anything)
def test_every_object_has_a_code(column, value):
    codec = codec_of(column)
    code = codec.code(value)
    assert type(code) is int
    assert 0 <= code < codec.size
    assert type(codec.has_own_code(value)) is bool


@pytest.mark.parametrize(
    "value", [*HOSTILE, HostileText("F")], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize(
    "column",
    [
        Categorical(name="x", values=("F", "M"), missing=("NA",), other="else"),
        Boolean(name="x"),
        Integer(name="x", min=0, max=9),
        Real(name="x", min=0, max=9),
        Date(name="x", min=date(2020, 1, 1), max=date(2020, 1, 9)),
        Datetime(
            name="x", min=datetime(2020, 1, 1), max=datetime(2020, 1, 9), zone="UTC"
        ),
        Time(name="x"),
    ],
    ids=lambda c: c.type,
)
def test_a_hostile_object_goes_to_a_declared_place(column, value):
    codec = codec_of(column)
    expected = (
        0
        if isinstance(value, str) and isinstance(codec.bins, LabelLookup)
        else codec.unlisted_code
    )
    assert codec.code(value) == expected


@given(closed_columns, st.integers(0, 2**32))
def test_a_decoded_code_encodes_to_itself(column, seed):
    """Over all codes: what a code decodes to goes back to that code, as a Python value
    and as a cell's text.
    """
    codec = codec_of(column)
    cells = decoded(codec, np.arange(codec.size), seed)
    for code, (index, state) in enumerate(
        zip(cells.index.tolist(), cells.state.tolist(), strict=True)
    ):
        if state == EMPTY_STATE:
            assert codec.code(None) == code
        elif state >= FIRST_MISSING_STATE:
            assert codec.code(column.missing[state - FIRST_MISSING_STATE]) == code
        elif state == OTHER_STATE:
            assert (
                codec.code("no label has this text") == codec.code(column.other) == code
            )
        elif isinstance(column, Lattice):
            value = column.value_at(index)
            assert column.index_of(value) == index
            if column.position_of(value) not in codec._missing_by_position:
                assert codec.code(value) == code
        else:
            assert codec.code(codec.bins.labels[index]) == code


@given(closed_columns)
def test_states_come_in_the_stated_order(column):
    codec = codec_of(column)
    states = decoded(codec, np.arange(codec.size)).state.tolist()
    values = [VALUE_STATE] * len(codec.bins)
    assert states == values + [OTHER_STATE] * codec.has_other + [
        EMPTY_STATE
    ] * column.nullable + [FIRST_MISSING_STATE + j for j in range(len(column.missing))]
    assert codec.empty == (states.index(EMPTY_STATE) if column.nullable else None)
    assert codec.other == (states.index(OTHER_STATE) if codec.has_other else None)
    assert [codec.missing_code(j) for j in range(len(column.missing))] == [
        i for i, state in enumerate(states) if state >= FIRST_MISSING_STATE
    ]
    assert len(codec.labels()) == codec.size


@given(lattices(closed=True), st.integers(0, 2**32))
def test_decoding_stays_inside_the_bin(column, seed):
    codec = codec_of(column)
    codes = np.repeat(np.arange(len(codec.bins)), 20)
    index = decoded(codec, codes, seed).index
    edges = np.array(codec.bins.edges)
    assert np.all((edges[codes] <= index) & (index < edges[codes + 1]))
    assert edges[0] == column.low
    assert edges[-1] == column.high + 1


def test_decoding_reaches_every_value_of_a_bin():
    codec = codec_of(Integer(name="x", min=0, max=9, bins=(0, 3, 10)))
    index = decoded(codec, np.repeat([0, 1], 400)).index
    assert set(index[:400].tolist()) == {0, 1, 2}
    assert set(index[400:].tolist()) == set(range(3, 10))


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**6))
def test_equal_edges_cover_the_bounds_with_equal_bins(low, width):
    edges = equal_edges(low, low + width)
    widths = np.diff(edges)
    assert (edges[0], edges[-1]) == (low, low + width + 1)
    assert len(widths) == (width + 1 if width < MAX_UNIT_BINS else EQUAL_WIDTH_BINS)
    assert widths.max() - widths.min() <= 1


def test_the_widest_lattice_fits_64_bits():
    limit = 2**62 - 1
    codec = codec_of(Integer(name="x", min=-limit, max=limit))
    cells = decoded(codec, [0, codec.size - 2])
    assert -limit <= cells.index[0] < cells.index[1] <= limit
    assert codec.code(10**500) == codec.size - 2
    assert codec.code(-(10**500)) == 0
    with pytest.raises(SchemaError, match="coarser step"):
        Integer(name="x", max=2**62)


# --- numbers
# ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        3,
        3.0,
        "3",
        " 3 ",
        "3.0",
        "3e0",
        Decimal("3.00"),
        Fraction(3),
        np.int8(3),
        np.float32(3),
        2.6,
        "3.4",
        np.uint64(3),
    ],
)
def test_a_whole_number_in_any_container_is_the_same_code(value):
    assert codec_of(Integer(name="x", min=0, max=9)).code(value) == 3


@pytest.mark.parametrize(
    "value",
    [True, False, "three", "true", float("inf"), "-inf", "0x3", "1,000", b"3", "3 4"],
)
def test_what_is_no_number_is_missing(value):
    codec = codec_of(Integer(name="x", min=0, max=9))
    assert codec.code(value) == codec.empty
    assert not codec.has_own_code(value)


def test_halves_go_away_from_zero():
    codec = codec_of(Integer(name="x", min=-5, max=5))
    assert [codec.code(v) + -5 for v in (0.5, 1.5, 2.5, -0.5, -2.5, "-1.5")] == [
        1,
        2,
        3,
        -1,
        -3,
        -2,
    ]


def test_a_step_of_five():
    column = Integer(name="x", min=0, max=20, step=5)
    codec = codec_of(column)
    assert codec.bins == BinEdges((0, 1, 2, 3, 4, 5))
    assert [codec.code(v) for v in (0, 2, 3, 7, 8, 20, 99, -99)] == [
        0,
        0,
        1,
        1,
        2,
        4,
        4,
        0,
    ]
    assert codec.labels()[:5] == ("0", "5", "10", "15", "20")


def test_a_step_of_a_third():
    column = Real(name="x", min=Fraction(0), max=Fraction(2), step=Fraction(1, 3))
    codec = codec_of(column)
    assert column.decimals is None
    assert len(codec.bins) == 7
    assert [codec.code(v) for v in (0, 1, 2, "0.33", 0.34, Fraction(1, 3), "1.99")] == [
        0,
        3,
        6,
        1,
        1,
        1,
        6,
    ]
    assert [codec.code(column.value_at(i)) for i in range(7)] == list(range(7))


def test_decimals_in_code_mean_the_decimals_they_show():
    column = Real(name="x", min=0.1, max=0.3, step=0.1)
    assert (column.min, column.max, column.step) == (
        Fraction(1, 10),
        Fraction(3, 10),
        Fraction(1, 10),
    )
    assert (column.low, column.high) == (1, 3)


@given(st.integers(-(10**9), 10**9), st.integers(0, 9))
def test_decimals_survive_the_round_trip(index, decimals):
    column = Real(
        name="x",
        min=Fraction(-(10**9)),
        max=Fraction(10**9),
        step=Fraction(1, 10**decimals),
    )
    assert column.decimals == decimals
    value = column.value_at(index)
    assert column.index_of(value) == index
    assert column.index_of(Decimal(repr(value))) == index


def test_outside_clips_or_is_missing():
    clipped = codec_of(Integer(name="x", min=10, max=19))
    dropped = codec_of(
        Integer(name="x", min=10, max=19, outside=OutOfBoundsPolicy.MISSING)
    )
    strict = codec_of(
        Integer(
            name="x", min=10, max=19, outside=OutOfBoundsPolicy.MISSING, nullable=False
        )
    )
    assert [clipped.code(v) for v in (9, 20, "-1e99")] == [0, 9, 0]
    assert [dropped.code(v) for v in (9, 20, "-1e99")] == [10, 10, 10]
    assert [strict.code(v) for v in (9, 20, None, "x")] == [0, 0, 0, 0]
    assert not any(codec.has_own_code(9) for codec in (clipped, dropped, strict))
    assert all(codec.has_own_code(10) for codec in (clipped, dropped, strict))


# --- missing codes
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", ["-7", -7, -7.0, np.int64(-7), Decimal(-7), "-7.0", " -7"]
)
def test_a_missing_code_is_missing_in_any_container(value):
    codec = codec_of(Integer(name="x", min=0, max=9, missing=("NA", "-7")))
    assert codec.code(value) == codec.missing_code(1)
    assert codec.has_own_code(value)


def test_a_missing_code_within_the_bounds_wins():
    codec = codec_of(Integer(name="age", min=0, max=120, step=5, missing=("99",)))
    assert codec.code(99) == codec.missing_code(0)
    assert codec.code(98) == codec.code(100) != codec.missing_code(0)


def test_missing_codes_of_labels_are_texts():
    codec = codec_of(Categorical(name="x", values=("1", "2"), missing=("-7", "?")))
    assert [codec.code(v) for v in ("?", -7, -7.0, "-7", "-7.0")] == [
        4,
        3,
        3,
        3,
        codec.empty,
    ]


def test_empty_and_each_code_are_kept_apart():
    codec = codec_of(
        Date(
            name="d",
            min=date(2020, 1, 1),
            max=date(2020, 1, 3),
            missing=("unknown", "9999-09-09"),
        )
    )
    assert [
        codec.code(v) for v in (None, "", "unknown", "9999-09-09", date(9999, 9, 9))
    ] == [3, 3, 4, 5, 5]
    assert codec.labels() == (
        "2020-01-01",
        "2020-01-02",
        "2020-01-03",
        "(missing)",
        "(missing: unknown)",
        "(missing: 9999-09-09)",
    )


@pytest.mark.parametrize("value", [None, "", float("nan"), pd.NA, pd.NaT, "not listed"])
def test_without_nulls_what_is_no_value_is_the_first_code(value):
    assert (
        codec_of(Categorical(name="x", values=("a", "b"), nullable=False)).code(value)
        == 0
    )


def test_two_hundred_missing_codes_and_no_more():
    spellings = tuple(f"m{i}" for i in range(200))
    codec = codec_of(Categorical(name="x", values=("a",), missing=spellings))
    assert decoded(codec, [codec.size - 1]).state.tolist() == [
        FIRST_MISSING_STATE + 199
    ]
    with pytest.raises(SchemaError, match="more than 200"):
        Categorical(name="x", values=("a",), missing=(*spellings, "one more"))


# --- labels
# ----------------------------------------------------------------------------------------------------------------------------


def test_labels_are_exact_texts():
    codec = codec_of(
        Categorical(name="x", values=("a", "A", " a", "1", "01"), other="else")
    )
    assert [
        codec.code(v)
        for v in ("a", "A", " a", "1", "01", 1, 1.0, "1.0", "b", "else", object())
    ] == [*(0, 1, 2, 3, 4, 3, 3, 5, 5, 5, 5)]
    assert codec.has_own_code("else")
    assert not codec.has_own_code("b")


def test_enumerations_and_typed_labels():
    class Sex(enum.StrEnum):
        F = "f"

    codec = codec_of(
        Categorical(
            name="x", values=("f", "true", "2024-01-02", "1.5", "2024-01-02 03:04:00")
        )
    )
    values = (
        Sex.F,
        True,
        date(2024, 1, 2),
        1.5,
        Decimal("1.50"),
        datetime(2024, 1, 2, 3, 4),
        pd.Timestamp("2024-01-02 03:04"),
    )
    assert [codec.code(v) for v in values] == [0, 1, 2, 3, 3, 4, 4]


def test_booleans_in_every_spelling():
    codec = codec_of(Boolean(name="x"))
    assert codec.bins == LabelLookup(("false", "true"))
    assert [
        codec.code(v) for v in (True, "TRUE", "Yes", 1, 1.0, np.bool_(True), "t")
    ] == [1] * 7
    assert [codec.code(v) for v in (False, "no", 0, 0.0, "N")] == [0] * 5
    assert [codec.code(v) for v in (None, 2, "maybe", "")] == [codec.empty] * 4


# --- dates and moments
# -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        date(2020, 1, 3),
        datetime(2020, 1, 3, 23, 59),
        "2020-01-03",
        "2020-01-03 23:59",
        pd.Timestamp("2020-01-03"),
        np.datetime64("2020-01-03T12:00", "ns"),
        datetime(2020, 1, 3, 23, tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_a_day_in_any_container_is_the_same_code(value):
    assert (
        codec_of(Date(name="d", min=date(2020, 1, 1), max=date(2020, 1, 9))).code(value)
        == 2
    )


ZURICH = ZoneInfo("Europe/Zurich")


def hours(zone, low, high, **more):
    return codec_of(
        Datetime(
            name="t",
            min=low,
            max=high,
            zone=zone,
            resolution=timedelta(hours=1),
            **more,
        )
    )


def test_an_instant_in_any_zone_is_the_same_code():
    codec = hours("Europe/Zurich", datetime(2020, 6, 1), datetime(2020, 6, 1, 23))
    noon = datetime(2020, 6, 1, 12, tzinfo=ZURICH)
    values = [
        noon,
        noon.astimezone(UTC),
        noon.astimezone(ZoneInfo("Asia/Kathmandu")),
        noon.replace(tzinfo=None),
    ]
    values += [
        noon.isoformat(),
        "2020-06-01T10:00Z",
        pd.Timestamp(noon),
        date(2020, 6, 1),
    ]
    assert [codec.code(v) for v in values] == [12] * 7 + [0]


def test_the_repeated_hour_has_two_instants_and_a_bare_clock_reads_the_later():
    codec = hours("Europe/Zurich", datetime(2020, 10, 25), datetime(2020, 10, 25, 23))
    assert len(codec.bins) == 25
    first, second = (
        datetime(2020, 10, 25, 2, 30, tzinfo=ZURICH, fold=fold) for fold in (0, 1)
    )
    assert [
        codec.code(v)
        for v in (first, second, "2020-10-25 02:30", datetime(2020, 10, 25, 2, 30))
    ] == [2, 3, 3, 3]
    assert [codec.column.value_at(codec.column.low + i).fold for i in (2, 3)] == [0, 1]


def test_the_skipped_hour_moves_forward():
    codec = hours("Europe/Zurich", datetime(2020, 3, 29), datetime(2020, 3, 29, 23))
    assert len(codec.bins) == 23
    assert codec.code("2020-03-29 02:30") == codec.code("2020-03-29 03:30") == 2


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.timezones())
)
def test_every_instant_survives_a_zone(moment):
    column = Datetime(
        name="t", zone="Australia/Lord_Howe", resolution=timedelta(microseconds=1)
    )
    index = column.index_of(moment)
    shown = column.value_at(index)
    assert column.index_of(shown) == index
    assert shown.astimezone(UTC) == moment.astimezone(UTC)


def test_without_a_zone_the_wall_clock_stays():
    codec = hours(None, datetime(2020, 6, 1), datetime(2020, 6, 1, 23))
    values = (
        datetime(2020, 6, 1, 12, 59),
        datetime(2020, 6, 1, 12, tzinfo=ZURICH),
        "2020-06-01T12:00+09:00",
    )
    assert [codec.code(v) for v in values] == [12, 12, 12]


def test_moments_before_1970_go_to_the_point_before():
    codec = hours(None, datetime(1969, 12, 31, 20), datetime(1970, 1, 1, 3))
    assert codec.code(datetime(1969, 12, 31, 23, 59)) == 3


def test_times_of_day():
    codec = codec_of(Time(name="t", resolution=timedelta(hours=6)))
    assert [
        codec.code(v)
        for v in (
            time(0),
            time(5, 59),
            "06:00",
            datetime(2020, 1, 1, 23),
            "2020-01-01T12:00",
        )
    ] == [*(0, 0, 1, 3, 2)]
    assert [codec.code(v) for v in ("24:00", 6)] == [codec.empty] * 2
    assert [
        codec.code(v) for v in ("2020-01-01", date(2020, 1, 1), datetime(2020, 1, 1))
    ] == [0] * 3
    assert codec.labels()[:4] == ("00:00:00", "06:00:00", "12:00:00", "18:00:00")


# --- the rest
# --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "dtype"),
    [(256, np.uint8), (257, np.uint16), (65536, np.uint16), (65537, np.uint32)],
)
def test_codes_take_the_smallest_type(count, dtype):
    values = tuple(str(i) for i in range(count))
    assert codec_of(Categorical(name="x", values=values, nullable=False)).dtype == dtype


def test_a_column_of_nothing_but_missing_has_one_code():
    codec = codec_of(Categorical(name="x", values=()))
    assert codec.size == 1
    assert codec.code("x") == codec.code(None) == 0
    assert decoded(codec, [0, 0]).state.tolist() == [EMPTY_STATE, EMPTY_STATE]


@pytest.mark.parametrize(
    "column",
    [
        Categorical(name="x"),
        Integer(name="x", min=1),
        Datetime(name="x"),
        UndeclaredColumn(name="x"),
    ],
)
def test_an_open_column_has_no_codec(column):
    with pytest.raises(SchemaError, match="its domain is not known yet"):
        codec_of(column)


def test_bins_have_labels():
    codec = codec_of(
        Integer(name="age", min=0, max=90, bins=(0, 18, 65, 91), nullable=False)
    )
    assert codec.labels() == ("0 to 17", "18 to 64", "65 to 90")


TOWNS = Categorical(
    name="town",
    values=("Basel", "Bern"),
    other="elsewhere",
    missing=("?",),
    unfold={"Bern": 50, "Chur": 3, "Zug": 1},
)


def test_what_falls_into_other_unfolds_by_public_weights_into_values_not_listed():
    codec = codec_of(TOWNS)
    codes = np.array([0, 1, codec.other, codec.empty, codec.missing_code(0)] * 4000)
    decoded = codec.decode(codes, np.random.default_rng(3))
    labels = [*TOWNS.values, TOWNS.other, *TOWNS.unfold_weights]
    rest = np.array(labels)[decoded.index[codes == codec.other]]
    assert set(rest) == {"Chur", "Zug"}
    assert abs(np.mean(rest == "Chur") - 0.75) < 0.05
    assert decoded.index[codes == 1].tolist() == [1] * 4000
    assert set(decoded.state[codes == codec.other]) == {1}


def test_an_unfolded_value_is_read_as_other():
    codec = codec_of(TOWNS)
    assert (
        codec.code("Chur")
        == codec.code("Zug")
        == codec.code("elsewhere")
        == codec.other
    )


def test_a_list_that_holds_nothing_new_leaves_other_as_it_is():
    codec = codec_of(
        Categorical(
            name="town", values=("Basel",), other="elsewhere", unfold={"Basel": 1}
        )
    )
    decoded = codec.decode(np.array([0, 1, 1]), np.random.default_rng(0))
    assert decoded.state.tolist() == [0, 1, 1]
    assert decoded.index.max() == 0


@pytest.mark.parametrize(
    "column",
    [
        Integer(name="age", min=0, max=1, learned=("bounds", LOST_FACT)),
        Categorical(
            name="town", values=(), other="other", learned=("values", LOST_FACT)
        ),
    ],
)
def test_a_lost_column_comes_back_empty_and_never_as_a_made_up_value(column):
    codec = codec_of(column)
    codes = np.arange(codec.size).repeat(5)
    cells = codec.decode(codes, np.random.default_rng(0))
    assert (cells.state == EMPTY_STATE).all()
    kept = codec_of(replace(column, learned=()))
    assert (kept.decode(codes, np.random.default_rng(0)).state != EMPTY_STATE).any()
