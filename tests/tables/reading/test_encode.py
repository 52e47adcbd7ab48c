"""SQL and `Codec.code` give the same code to every cell, whatever type it is stored in
and whatever type is declared.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from understudy.schema import (
    Boolean,
    Categorical,
    Codec,
    Column,
    Date,
    Datetime,
    Integer,
    Lattice,
    OutOfBoundsPolicy,
    Real,
    Time,
    codec_of,
)
from understudy.schema.columns.cell import to_plain_cell
from understudy.tables.reading.encode import code_sql, index_sql
from understudy.tables.reading.grid import MAX_INDEX_MAGNITUDE
from understudy.tables.sources.frame_kinds import open_frame
from understudy.tables.sql.engine import Engine
from understudy.tables.sql.let_columns import QueryLayers
from understudy.tables.sql.stored import StoredColumn, base_type

ZONES = [
    "UTC",
    "Europe/Zurich",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
]
MISSING = [
    "NA",
    "-7",
    "-8.5",
    "-99.9",
    "7",
    "7.0",
    "1999-01-01",
    "00:00",
    "inf",
    "true",
    "2024-03-31 02:30",
]

numbers = st.one_of(
    st.integers(-120, 120).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "+", "-", " ", "00"]),
        st.integers(0, 10**45),
        st.sampled_from(["", ".", "e-2", " "]),
    ),
    st.builds(
        "{}.{}e{}".format,
        st.integers(-99, 99),
        st.integers(0, 10**25),
        st.integers(-40, 40),
    ),
    st.from_regex(
        r"[+-]?[0-9]{0,4}\.?[0-9]{0,4}([eE][+-]?[0-9]{1,3})?", fullmatch=True
    ),
)
moments = st.one_of(
    st.dates(date(1, 1, 2), date(9999, 12, 30)).map(str),
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)).map(str),
    st.datetimes(datetime(2024, 1, 1), datetime(2024, 12, 31)).map(
        lambda m: m.isoformat(timespec="minutes")
    ),
    st.builds(
        "{}{}".format,
        st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
        st.sampled_from(["Z", "+01:00", "-0530", "+23", "+24:00", "+01:60"]),
    ),
    st.times().map(str),
    st.sampled_from(
        [
            "2024-03-31 02:30",
            "2024-10-27 02:30:00",
            "24:00",
            "2024-02-30",
            "2024-01-01T24:00",
            "23:59:60",
            "0000-01-01",
        ]
    )
    | st.sampled_from(
        [
            "12:30",
            "12:30:05.1234567",
            "2024-01-01 12:30:05.9999999",
            "9:30",
            "2024-01-01  10:00",
            " 2024-01-01\t",
            "infinity",
            "epoch",
        ]
    ),
)
words = st.sampled_from(
    [
        "F",
        "M",
        "true",
        "True",
        "YES",
        "no",
        "0",
        "1",
        "1.0",
        " ",
        "é",
        "a'b",
        'a"b',
        "other",
        "x\ny",
        "nan",
        "inf",
        *MISSING,
    ]
)
cells = st.one_of(
    numbers,
    moments,
    words,
    st.text(
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
    ),
    st.none(),
    st.just(""),
)


@st.composite
def columns(draw: st.DrawFn) -> Column:
    common: dict[str, Any] = {
        "name": "x",
        "nullable": draw(st.booleans()),
        "missing": tuple(
            draw(st.lists(st.sampled_from(MISSING), max_size=3, unique=True))
        ),
    }
    kind = draw(
        st.sampled_from([Integer, Real, Date, Datetime, Time, Boolean, Categorical])
    )
    if kind is Boolean:
        common["missing"] = tuple(
            m for m in common["missing"] if m not in ("true", "7")
        )
        return Boolean(**common)
    if kind is Categorical:
        pool = [
            "F",
            "M",
            "1",
            "1.0",
            "7",
            "-7.0",
            "2024-01-01",
            "12:30:00",
            "é",
            "a'b",
            "0.5",
            "True",
            "2024-01-01 00:00:00",
        ]
        values = draw(
            st.lists(st.sampled_from(pool), min_size=1, max_size=6, unique=True)
        )
        listed = tuple(v for v in values if v not in common["missing"]) or ("only",)
        return Categorical(
            **common, values=listed, other=draw(st.sampled_from([None, "other"]))
        )
    common["outside"] = draw(st.sampled_from(OutOfBoundsPolicy))
    if kind in (Integer, Real):
        step = draw(
            st.sampled_from(
                [1, 1, 5, 12]
                if kind is Integer
                else [
                    Fraction(1, 100),
                    Fraction(1, 3),
                    Fraction(1, 8),
                    Fraction(5, 2),
                    Fraction(1, 10**6),
                ]
            )
        )
        low, high = sorted(
            draw(st.tuples(st.integers(-120, 120), st.integers(-120, 120)))
        )
        return kind(**common, step=step, min=low * step, max=high * step)
    resolution = timedelta(
        seconds=draw(st.sampled_from([1, 7, 900, 86_399]))
        if draw(st.booleans())
        else 0,
        microseconds=1,
    )
    if kind is Date:
        low, high = sorted(
            draw(st.tuples(*[st.dates(date(1900, 1, 1), date(2100, 1, 1))] * 2))
        )
        return Date(**common, min=low, max=high)
    if kind is Time:
        low, high = sorted(draw(st.tuples(st.times(), st.times())))
        return Time(**common, min=low, max=high, resolution=resolution)
    low, high = sorted(
        draw(st.tuples(*[st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))] * 2))
    )
    zone = draw(st.one_of(st.none(), st.sampled_from(ZONES)))
    return Datetime(
        **common,
        min=low,
        max=high + timedelta(days=2),
        resolution=resolution,
        zone=zone,
    )


ENGINE = Engine()


def read(data: pa.Table, column: Column) -> tuple[list[int], list[int | None]]:
    """The code and the lattice index of each cell, as the database computes them."""
    ready = open_frame(data)
    ENGINE.register("cells", ready.data)
    (kind,) = ENGINE.types("cells").values()
    stored = StoredColumn("x0", base_type(kind), ready.zones["x"])
    layers = QueryLayers()
    select = [code_sql(layers, codec_of(column), stored, ENGINE.create_enum)]
    select.append(
        index_sql(layers, column, stored) if isinstance(column, Lattice) else "NULL"
    )
    rows = ENGINE.run(layers.query("cells", select), doing="testing")
    return [row[0] for row in rows], [row[1] for row in rows]


def expected(cells: list[Any], column: Column) -> tuple[list[int], list[int | None]]:
    codec = codec_of(column)
    return [codec.code(cell) for cell in cells], [
        expected_index(cell, codec) for cell in cells
    ]


def expected_index(value: object, codec: Codec) -> int | None:
    """What `index_sql` promises, in terms of the codec: clipped far out, none for
    missing cells and for what is no value.
    """
    column, cell = codec.column, to_plain_cell(value)
    place = codec._own_code(cell)
    if (
        not isinstance(column, Lattice)
        or cell is None
        or (place is not None and place >= codec.missing_code(0))
    ):
        return None
    index = codec._index(cell)
    if index is None or (
        column.outside is OutOfBoundsPolicy.MISSING
        and not column.low <= index <= column.high
    ):
        return None
    return max(-MAX_INDEX_MAGNITUDE, min(MAX_INDEX_MAGNITUDE, index))


@settings(max_examples=100, deadline=None)
@given(columns(), st.lists(cells, min_size=1, max_size=40))
@example(
    Integer(name="x", min=0, max=9, missing=("-7",)),
    ["-7.0", "-7.01", "-700e-2", "0.5", "-0.5", "1e999", "1e-999", "9" * 60],
)
@example(
    Real(name="x", min=0, max=1, step=Fraction(1, 100)),
    ["0.005", "0.00499999999999999999999", "0.015", "-0.005"],
)
def test_text_is_read_as_the_codec_says(column, values):
    assert read(pa.table({"x": pa.array(values, pa.string())}), column) == expected(
        values, column
    )


doubles = st.one_of(
    st.floats(),
    st.floats(-200, 200),
    st.integers(-150, 150).map(float),
    st.sampled_from(
        [-99.9, -8.5, 0.005, 1.115, 0.285, -0.0, 0.5, 4.6116860184273843e18]
    ),
)
TYPED = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.one_of(st.integers(-150, 150), st.integers(-(2**63), 2**63 - 1))),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "bool": (pa.bool_(), st.booleans()),
    "double": (pa.float64(), doubles),
    "float": (pa.float32(), st.floats(width=32)),
    "decimal": (pa.decimal128(9, 3), st.decimals(-10_000, 10_000, places=3)),
    "wide decimal": (pa.decimal128(38, 20), st.decimals(-(10**17), 10**17, places=20)),
    "date": (pa.date32(), st.dates()),
    "moment": (pa.timestamp("us"), st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29))),
    "moment in s": (pa.timestamp("s"), st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)).map(lambda m: m.replace(microsecond=0))),
    "time": (pa.time64("us"), st.times()),
    "text": (pa.string(), cells),
}  # fmt: skip


@pytest.mark.parametrize("stored", TYPED)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), column=columns())
def test_every_stored_type_is_read_as_the_codec_says(stored, data, column):
    kind, values = TYPED[stored]
    drawn = data.draw(
        st.lists(
            st.one_of(values, st.none()) if stored != "text" else values,
            min_size=1,
            max_size=25,
        )
    )
    array = pa.array(drawn, kind)
    assert read(pa.table({"x": array}), column) == expected(array.to_pylist(), column)


@settings(max_examples=50, deadline=None)
@given(
    columns(),
    st.sampled_from(ZONES),
    st.lists(
        st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)),
        min_size=1,
        max_size=25,
    ),
)
def test_instants_are_read_in_the_zone_they_are_shown_in(column, zone, moments):
    array = pa.array([m.replace(tzinfo=UTC) for m in moments], pa.timestamp("us", zone))
    assert read(pa.table({"x": array}), column) == expected(array.to_pylist(), column)


@pytest.mark.parametrize("zone", ["+01:00", "-05:30"])
def test_fixed_offsets_are_zones_too(zone):
    column = Time(name="x", resolution=timedelta(minutes=30))
    array = pa.array(
        [datetime(2024, 1, 1, 23, 45, tzinfo=UTC)], pa.timestamp("us", zone)
    )
    assert read(pa.table({"x": array}), column) == expected(array.to_pylist(), column)


@pytest.mark.parametrize(
    "nested",
    [pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"1"])],
)
def test_a_type_that_contradicts_the_schema_has_a_defined_place(nested):
    table = pa.table({"x": nested})
    assert read(table, Categorical(name="x", values=("1",), other="other"))[0] == [1]
    assert read(table, Integer(name="x", min=0, max=3)) == ([4], [None])
    assert read(table, Integer(name="x", min=0, max=3, nullable=False)) == ([0], [None])


def test_a_length_of_time_is_a_number_of_seconds():
    table = pa.table({"x": pa.array([timedelta(1), timedelta(seconds=90)])})
    assert read(table, Integer(name="x", min=0, max=100_000))[1] == [86_400, 90]
    # Beyond its bounds it lies on the nearest one, as any number does.
    assert read(table, Integer(name="x", min=0, max=3))[0] == [3, 3]
    label = Categorical(name="x", values=("1",), other="other")
    assert read(table, label)[0] == [1, 1]


def test_a_hundred_thousand_labels_are_looked_up():
    column = Categorical(name="x", values=tuple(f"label {i}" for i in range(100_000)))
    table = pa.table({"x": ["label 0", "label 99999", "label 100000", None]})
    assert read(table, column)[0] == [0, 99_999, 100_000, 100_000]


def test_far_values_never_wrap():
    column = Integer(name="x", min=-(2**61), max=2**61)
    far = [2**63 - 1, -(2**63), 0]
    codes, indices = read(pa.table({"x": far}), column)
    assert codes == expected(far, column)[0]
    assert indices == [MAX_INDEX_MAGNITUDE, -MAX_INDEX_MAGNITUDE, 0]


def test_a_double_is_never_rounded_twice():
    """1.115 is stored just below the half; multiplying it by 100 would push it over."""
    column = Real(name="x", min=Fraction(0), max=Fraction(10), step=Fraction(1, 100))
    assert math.floor(1.115 * 100 + 0.5) == 112
    assert read(pa.table({"x": [1.115, 1.005, 8.345]}), column)[1] == [111, 100, 835]
    assert read(pa.table({"x": pa.array([Decimal("1.115")])}), column)[1] == [112]


@pytest.mark.slow
@settings(max_examples=2_000, deadline=None)
@given(columns(), st.lists(cells, min_size=1, max_size=40))
def test_text_is_read_as_the_codec_says_at_length(column, values):
    assert read(pa.table({"x": pa.array(values, pa.string())}), column) == expected(
        values, column
    )


@pytest.mark.slow
@pytest.mark.parametrize("stored", TYPED)
@settings(max_examples=400, deadline=None)
@given(data=st.data(), column=columns())
def test_every_stored_type_is_read_as_the_codec_says_at_length(stored, data, column):
    kind, values = TYPED[stored]
    array = pa.array(data.draw(st.lists(values, min_size=1, max_size=25)), kind)
    assert read(pa.table({"x": array}), column) == expected(array.to_pylist(), column)
