"""Long tables in few bytes: nothing is lost on the way, and what few values need is not
eight bytes.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.releases.output.frames import (
    FRAME_KINDS,
    decode_all,
    decode_chunks,
    decoding,
    to_frame,
)
from understudy.releases.output.frames.cells import ColumnCells
from understudy.releases.output.frames.compact import PackedColumns, narrow_cells
from understudy.schema import Boolean, Categorical, Integer, Schema

COLUMN = Integer(name="x")
SCHEMA = Schema(
    columns=(
        Boolean(name="smoker"),
        Categorical(name="town", values=("Delft", "Gouda")),
        Integer(name="age", min=18, max=90),
        Integer(name="pay", min=0, max=9000, bins=(0, 100, 2000, 9001)),
    )
)


def some(index, null=None, spelled=None):
    count = len(index)
    null = np.zeros(count, np.bool_) if null is None else np.array(null, np.bool_)
    return ColumnCells(
        COLUMN,
        np.array(index, np.int64),
        null,
        np.array([0] * count if spelled is None else spelled, np.uint8),
    )


@given(
    st.lists(
        st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), min_size=1, max_size=4
    )
)
def test_every_integer_comes_back(chunks):
    packed = PackedColumns({"x": some(chunk)} for chunk in chunks)
    found = packed["x"]
    assert found.index.dtype == np.int64
    assert found.index.tolist() == [number for chunk in chunks for number in chunk]


def test_missing_cells_come_back_from_chunks_that_have_some():
    packed = PackedColumns(
        [{"x": some([1, 2])}, {"x": some([3, 4], null=[False, True], spelled=[0, 2])}]
    )
    assert packed["x"].null.tolist() == [False, False, False, True]
    assert packed["x"].spelled.tolist() == [0, 0, 0, 2]


def test_few_values_take_one_byte_each():
    small = narrow_cells(some(range(200)))
    assert small.index.dtype.itemsize == 1
    assert small.null.strides == small.spelled.strides == (0,)
    assert narrow_cells(some([-1, 200])).index.dtype.itemsize == 2


def test_a_column_that_was_taken_out_is_gone():
    packed = PackedColumns([{"x": some([1])}, {"x": some([2])}])
    packed["y"] = some([5, 6])
    assert packed.pop("x").index.tolist() == [1, 2]
    assert list(packed) == ["y"]
    assert packed["y"].index.tolist() == [5, 6]


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_a_frame_of_several_chunks_holds_what_the_chunks_hold(kind, monkeypatch):
    codes = {name: np.arange(40) % SCHEMA.codecs[name].size for name in SCHEMA}
    monkeypatch.setattr(decoding, "DECODE_CHUNK_ROWS", 16)
    parts = list(decode_chunks(SCHEMA, codes, np.random.default_rng(0)))
    assert len(parts) == 3
    columns = decode_all(SCHEMA, codes, np.random.default_rng(0))
    assert isinstance(columns, PackedColumns)
    for name in SCHEMA:
        np.testing.assert_array_equal(
            columns[name].index, np.concatenate([part[name].index for part in parts])
        )
    frame = to_frame(SCHEMA, codes, kind=kind, rng=np.random.default_rng(0))
    ages = frame["age"] if kind != "duckdb" else frame.fetchnumpy()["age"]
    ages = (
        ages.to_numpy()
        if hasattr(ages, "to_numpy")
        else np.ma.filled(ages.astype(float), np.nan)
    )
    whole = columns["age"]
    truth = np.where(whole.null, np.nan, whole.index)
    np.testing.assert_array_equal(np.array(ages, float), truth)
