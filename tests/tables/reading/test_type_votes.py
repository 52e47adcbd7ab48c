"""Ballots: every cell votes once, for the most specific type that can hold it."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.schema import (
    Boolean,
    Date,
    Datetime,
    Integer,
    Real,
    Schema,
    Time,
    UndeclaredColumn,
    codec_of,
)
from understudy.tables import (
    ELECTED_TYPES,
    EMPTY_CANDIDATE,
    TEXT_CANDIDATE,
    TYPE_CANDIDATES,
    ZERO_LED_CANDIDATE,
    Table,
    is_readable_as,
    kind_of_vote,
    open_table,
)


def votes(cells: list[str | None], missing: tuple[str, ...] = ()) -> list[list[str]]:
    columns = {f"c{i}": [cell] for i, cell in enumerate(cells)}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    schema = Schema(
        columns=tuple(UndeclaredColumn(name=name, missing=missing) for name in columns)
    )
    with open_table(frame) as source:
        counts = Table(source, schema).votes(list(columns))
    assert counts.dtype == np.int64
    assert counts.sum(axis=1).tolist() == [1] * len(cells)
    return [kind_of_vote(TYPE_CANDIDATES[int(row.argmax())]) for row in counts]


CELLS = {
    EMPTY_CANDIDATE: ["", None, "NA"],
    "zero": ["0", " 0"],
    "bit": ["1", " 1"],
    "truth": ["true", "false"],
    "boolean": ["True", "False", "YES", "no", "t", "N"],
    "integer1000": ["5000", "-12000.0", "-0"],
    "integer100": ["300"],
    "integer10": ["10", "10.0", "123456789012345670"],
    "integer5": ["-5", "25.00"],
    "integer2": ["2", "+12", "123456789012345678", "-4.0"],
    "integer": ["3", "+11", "123456789012345677", "-3.0", "2.9999999999999996"],
    "half": ["0.5", ".5"],
    "quarter": ["12.50", "0.75"],
    "fifth": ["0.2", "-7.8"],
    "decimal1": ["0.3", "-2.1"],
    "twentieth": ["0.55", "3.10"],
    "fiftieth": ["0.56", "-.12"],
    "decimal2": ["0.57"],
    # Floats with the rounding of a sum or a quotient.
    "decimal3": ["0.571", "1.5719999999999998", "-22898.990999999998"],
    "decimal6": ["0.123456"],
    "real": ["1e5", "0.1234567", "5.", "-2.5E-3", "0.33333333333333331"],
    "large": ["1234567890123456789", "-2.5E+12", "1e9"],
    "date": ["2024-02-29", " 1999-01-01"],
    "instant": [
        "2024-02-29T10:00:30.5Z",
        "2024-02-29 10:00+01:00",
        "2024-02-29 10:00:30-0530",
    ],
    "datetime": ["2024-02-29 10:00", "2024-02-29T10:00:30.5"],
    "time": ["10:00", "23:59:59.5"],
    ZERO_LED_CANDIDATE: ["007", " 01234", "00"],
    TEXT_CANDIDATE: [
        "x",
        " ",
        "00.5",
        "1,5",
        "2024-02-30",
        "24:00",
        "2024-01-01 25:00",
        "nan",
        "inf",
        "0x1F",
        "é",
    ],
}


def test_a_cell_votes_for_the_most_specific_type():
    cells = [cell for kind in CELLS.values() for cell in kind]
    assert votes(cells, missing=("NA",)) == [
        kind for kind, group in CELLS.items() for _ in group
    ]


def test_a_point_behind_a_whole_number_has_a_vote_of_its_own():
    frame = pl.DataFrame({"x": ["7", "7.0", "10", "10.00", "0", "0.0", "1.0", "7.5"]})
    schema = Schema(columns=(UndeclaredColumn(name="x"),))
    with open_table(frame) as source:
        (counts,) = Table(source, schema).votes(["x"])
    assert {TYPE_CANDIDATES[place] for place in np.flatnonzero(counts)} == {
        *(
            "integer",
            "integer.0",
            "integer10",
            "integer10.0",
            "zero",
            "zero.0",
            "bit.0",
            "half",
        )
    }
    assert not is_readable_as("zero.0", "boolean")


def test_support_is_a_partial_order_and_the_list_follows_it():
    assert {kind_of_vote(vote) for vote in TYPE_CANDIDATES} == {
        EMPTY_CANDIDATE,
        ZERO_LED_CANDIDATE,
        *ELECTED_TYPES,
    }
    # Digits after a zero are no numbers: as such they would lose it.
    assert {kind for kind in ELECTED_TYPES if is_readable_as("zero-led", kind)} == {
        TEXT_CANDIDATE
    }
    for a in ELECTED_TYPES:
        assert is_readable_as(a, a)
        assert is_readable_as(EMPTY_CANDIDATE, a)
        assert is_readable_as(a, TEXT_CANDIDATE)
        for b in ELECTED_TYPES:
            if a != b and is_readable_as(a, b):
                assert not is_readable_as(b, a)
                assert ELECTED_TYPES.index(a) < ELECTED_TYPES.index(b) or (
                    a,
                    b,
                ) in {("zero", "boolean"), ("bit", "boolean")}
            for c in ELECTED_TYPES:
                assert not (
                    is_readable_as(a, b) and is_readable_as(b, c)
                ) or is_readable_as(a, c)


@pytest.mark.parametrize(
    "candidate", ["boolean", "integer", "real", "date", "datetime", "time"]
)
def test_what_supports_a_type_can_be_read_as_it(candidate):
    """A vote never elects a type that would lose the cell."""
    columns = {
        "boolean": Boolean(name="x"),
        "integer": Integer(name="x"),
        "real": Real(name="x", step=Fraction(1, 10**6)),
        "date": Date(name="x"),
        "datetime": Datetime(name="x"),
        "time": Time(name="x"),
    }
    column = columns[candidate]
    for kind, cells in CELLS.items():
        if kind != EMPTY_CANDIDATE and is_readable_as(kind, candidate):
            for cell in cells:
                text = cell.strip()
                read = (
                    codec_of(column).has_own_code(text)
                    if isinstance(column, Boolean)
                    else column.parse(text) is not None
                )
                assert read, (candidate, kind)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        min_size=1,
        max_size=50,
    )
)
def test_any_text_votes_once(cells):
    with open_table(pl.DataFrame({"x": cells})) as source:
        assert Table(source, Schema(columns=(UndeclaredColumn(name="x"),))).votes(
            ["x"]
        ).sum() == len(cells)


def test_wide_tables_vote_in_parts():
    frame = pl.DataFrame({f"c{i}": ["x" if i % 2 else "2.5"] for i in range(20)})
    with open_table(frame) as source:
        counts = Table(
            source,
            Schema(columns=tuple(UndeclaredColumn(name=n) for n in frame.columns)),
        ).votes(frame.columns)
    assert [TYPE_CANDIDATES[int(row.argmax())] for row in counts] == [
        "half",
        TEXT_CANDIDATE,
    ] * 10


def test_typed_columns_vote_too():
    frame = pl.DataFrame({"a": [1, 3], "b": [[1], None]})
    with open_table(frame) as source:
        counts = Table(
            source,
            Schema(columns=(UndeclaredColumn(name="a"), UndeclaredColumn(name="b"))),
        ).votes(["a", "b"])
    assert (
        counts[0][TYPE_CANDIDATES.index("bit")]
        == counts[0][TYPE_CANDIDATES.index("integer")]
        == 1
    )
    assert (
        counts[1][TYPE_CANDIDATES.index(TEXT_CANDIDATE)]
        == counts[1][TYPE_CANDIDATES.index(EMPTY_CANDIDATE)]
        == 1
    )


STORED = {
    "zero": [pa.array([0, 0], kind) for kind in (pa.int8(), pa.float64())],
    "bit": [
        pa.array([1, 1], kind)
        for kind in (
            pa.int8(),
            pa.uint64(),
            pa.float32(),
            pa.float64(),
            pa.decimal128(9, 2),
        )
    ],
    "integer": [
        pa.array([33, -7], kind)
        for kind in (
            pa.int16(),
            pa.int64(),
            pa.float32(),
            pa.decimal128(20, 4),
            pa.decimal256(50, 4),
        )
    ],
    "half": [pa.array([0.5, -2.5], kind) for kind in (pa.float32(), pa.float64())],
    "decimal1": [pa.array([0.3, -2.1], kind) for kind in (pa.float32(), pa.float64())]
    + [
        pa.array([Decimal("0.3"), Decimal("-2.1")], kind)
        for kind in (pa.decimal128(20, 4), pa.decimal256(76, 20))
    ],
    "real": [
        pa.array([Decimal("1E-9"), Decimal("1E-7")], kind)
        for kind in (pa.decimal128(20, 9), pa.decimal256(50, 9))
    ],
    "truth": [pa.array([True, False])],
    "date": [
        pa.array([date(2024, 2, 29), date(1999, 1, 1)], kind)
        for kind in (pa.date32(), pa.date64())
    ]
    + [
        pa.array([datetime(2024, 2, 29), datetime(1999, 1, 1)], pa.timestamp(unit))
        for unit in ("s", "ms", "us", "ns")
    ],
    "datetime": [
        pa.array(
            [datetime(2024, 2, 29, 10), datetime(1999, 1, 1, 0, 0, 1)],
            pa.timestamp("us"),
        )
    ],
    EMPTY_CANDIDATE: [
        pa.nulls(2),
        pa.array([float("nan")] * 2),
        pa.array([None, None], pa.int64()),
        pa.array(["", None]),
    ],
}


@pytest.mark.parametrize("kind", STORED)
def test_a_stored_cell_votes_as_its_text_does(kind):
    """So that a type which one cell decides, such as floats for whole numbers beside an
    empty cell, moves no other cell's vote.
    """
    table = pa.table({f"c{i}": column for i, column in enumerate(STORED[kind])})
    with open_table(table) as source:
        counts = Table(
            source,
            Schema(columns=tuple(UndeclaredColumn(name=n) for n in table.column_names)),
        ).votes(table.column_names)
    kinds = [
        {kind_of_vote(TYPE_CANDIDATES[place]) for place in np.flatnonzero(row)}
        for row in counts
    ]
    assert kinds == [{kind}] * len(STORED[kind])
    assert counts.sum(axis=1).tolist() == [2] * len(STORED[kind])
