"""Records: the rows as arrays, by the same rule as codes."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from understudy.schema import Categorical, Date, Identifier, Integer, Schema
from understudy.tables import ABSENT_PLACE, Table, open_table, records

SCHEMA = Schema(
    columns=(
        Identifier(name="id"),
        Integer(name="age", min=-5, max=200, missing=("-7",)),
        Categorical(name="job", values=("x", "y"), other="else"),
        Date(name="seen", min=date(1990, 1, 1), max=date(2020, 1, 1)),
        Integer(name="visits", min=2, max=9, nullable=False),
    )
)
CELLS = {
    "id": [5, 6, 7, 8],
    "age": [1, None, -7, 500],
    "job": ["x", "q", None, "y"],
    "seen": [date(2000, 1, 1), None, date(1990, 1, 1), date(2020, 1, 1)],
    "visits": [3, None, 9, 4],
}


def opened() -> Table:
    return Table(open_table(pa.table(CELLS)), SCHEMA)


def test_codes_are_those_of_the_codec_and_places_those_of_the_lattice() -> None:
    found = opened().records()
    assert found.rows == 4
    for name in SCHEMA:
        codec = SCHEMA.codecs[name]
        assert sorted(found.codes[name].tolist()) == sorted(
            codec.code(cell) for cell in CELLS[name]
        )
    order = np.argsort(
        found.codes["visits"], kind="stable"
    )  # rows: missing (first code), 3, 4, 9
    assert found.places["visits"][order].tolist() == [2, 3, 4, 9]
    assert found.places["age"][order].tolist() == [ABSENT_PLACE, 1, 200, ABSENT_PLACE]
    assert found.numbers("seen")[order][1:].tolist() == [10957.0, 18262.0, 7305.0]
    assert np.isnan(found.numbers("age")[order]).tolist() == [True, False, False, True]
    assert found.absent("job")[order].tolist() == [False, False, False, True]


def test_a_key_aligns_two_tables_whatever_the_order() -> None:
    backwards = {name: cells[::-1] for name, cells in CELLS.items()}
    one = opened().records(key="id")
    two = Table(open_table(pa.table(backwards)), SCHEMA).records(key="id")
    assert one.keys is not None
    assert two.keys is not None
    a, b = np.argsort(one.keys), np.argsort(two.keys)
    assert np.array_equal(one.keys[a], two.keys[b])
    assert np.array_equal(one.take(a).codes["age"], two.take(b).codes["age"])


def test_a_sample_has_its_size_and_no_row_twice() -> None:
    many = Table(
        open_table(pa.table({"n": list(range(1000))})),
        Schema(columns=(Integer(name="n", min=0, max=999),)),
    )
    some = many.records(most=100, rng=np.random.default_rng(1))
    assert len(set(some.places["n"].tolist())) == some.rows == 100
    assert many.records(["n"]).sample(10, np.random.default_rng(1)).rows == 10
    assert many.records(most=5000).rows == 1000


def test_a_large_table_is_thinned_out_evenly_before_it_is_encoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "MAX_UNTHINNED_ROWS", 1000)
    count, most = 20_000, 4_000
    many = Table(
        open_table(pa.table({"n": list(range(count))})),
        Schema(columns=(Integer(name="n", min=0, max=count - 1),)),
    )
    some = many.records(most=most, rng=np.random.default_rng(1))
    drawn = some.places["n"]
    assert len(set(drawn.tolist())) == some.rows == most
    # Ten stretches of the table, 400 expected in each: chi-square with 9 degrees of
    # freedom, less for being without replacement.
    counts = np.bincount(drawn // (count // 10), minlength=10)
    assert ((counts - 400) ** 2 / 400).sum() < chi2.isf(1e-6, 9)
    # Its broken twin, the first rows, is far from even.
    first = np.bincount(np.arange(most) // (count // 10), minlength=10)
    assert ((first - 400) ** 2 / 400).sum() > chi2.isf(1e-6, 9)
    assert many.records(most=count).rows == count


def test_no_rows_are_no_records() -> None:
    empty = Table(
        open_table(pa.table({"n": pa.array([], pa.int64())})),
        Schema(columns=(Integer(name="n", min=0, max=9),)),
    )
    assert empty.records().rows == 0
