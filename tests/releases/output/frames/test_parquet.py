"""Parquet files keep what Parquet has no type for, through pandas, polars and pyarrow,
chunk by chunk.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.releases import write_rows
from understudy.releases.output.frames import decoding, parquet
from understudy.releases.output.write import write_parts
from understudy.schema import Boolean, Categorical, Datetime, Integer, Schema

START = datetime(2024, 10, 27, tzinfo=UTC)
SIZE = Categorical(
    name="size", values=("small", "mid", "large"), ordered=True, nullable=False
)
SEEN = Datetime(
    name="seen",
    min=START,
    max=START + timedelta(hours=3),
    zone="Europe/Paris",
    resolution=timedelta(hours=1),
)


def written(tmp_path, column, codes, dtype):
    schema = Schema(columns=(replace(column, dtype=dtype),))
    write_rows(
        schema,
        {column.name: np.array(codes)},
        tmp_path / "a.parquet",
        np.random.default_rng(0),
    )
    return tmp_path / "a.parquet"


@pytest.mark.parametrize(
    "dtype",
    ["category", "Categorical", "dictionary<values=string, indices=int32, ordered=0>"],
)
def test_categories_are_categories_whoever_called_them_so(tmp_path, dtype):
    path = written(tmp_path, SIZE, [2, 0], dtype)
    assert pq.read_schema(path).field("size").type == pa.dictionary(
        pa.int32(), pa.string(), ordered=True
    )
    assert pl.read_parquet(path).schema["size"] == pl.Categorical
    assert pd.read_parquet(path)["size"].dtype == pd.CategoricalDtype(
        ["small", "mid", "large"], ordered=True
    )


@pytest.mark.parametrize("dtype", [None, "VARCHAR", "str", "string", "large_string"])
def test_texts_stay_texts(tmp_path, dtype):
    path = written(tmp_path, SIZE, [2, 0], dtype)
    assert pq.read_schema(path).field("size").type == pa.string()
    assert pl.read_parquet(path)["size"].to_list() == ["large", "small"]
    assert str(pd.read_parquet(path)["size"].dtype) in ("str", "string")


def test_the_order_of_categories_survives_chunks_that_lack_some(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "DECODE_CHUNK_ROWS", 2)
    path = written(tmp_path, SIZE, [2, 2, 1, 0, 2], "category")
    assert pq.read_metadata(path).num_row_groups == 3
    found = pd.read_parquet(path)["size"]
    assert list(found.cat.categories) == ["small", "mid", "large"]
    assert found.tolist() == ["large", "large", "mid", "small", "large"]
    assert found.min() == "small"


@pytest.mark.parametrize(
    ("dtype", "unit"),
    [
        ("datetime64[ms, Europe/Paris]", "ms"),
        ("timestamp[ns, tz=Europe/Paris]", "ns"),
        ("Datetime(time_unit='ms', time_zone='Europe/Paris')", "ms"),
        (None, "us"),
    ],
)
def test_instants_keep_zone_and_unit(tmp_path, dtype, unit):
    path = written(tmp_path, SEEN, [0, 1, 4], dtype)
    assert pq.read_schema(path).field("seen").type == pa.timestamp(
        unit, tz="Europe/Paris"
    )
    assert pl.read_parquet(path).schema["seen"] == pl.Datetime(unit, "Europe/Paris")
    found = pd.read_parquet(path)["seen"]
    assert str(found.dtype) == f"datetime64[{unit}, Europe/Paris]"
    assert [str(moment) for moment in found] == [
        "2024-10-27 02:00:00+02:00",
        "2024-10-27 02:00:00+01:00",
        "NaT",
    ]


def test_a_unit_too_coarse_for_the_values_is_left(tmp_path):
    fine = replace(
        SEEN,
        max=START + timedelta(microseconds=3),
        resolution=timedelta(microseconds=1),
    )
    path = written(tmp_path, fine, [0, 3], "datetime64[ms, Europe/Paris]")
    first, last = pq.read_table(path)["seen"].cast(pa.int64()).to_pylist()
    assert last - first == 3


def test_a_name_that_cannot_hold_the_values_is_left(tmp_path):
    """pandas would not read a file that calls 1000 an Int8."""
    hundreds = Integer(name="x", min=0, max=1000, step=100)
    found = pd.read_parquet(written(tmp_path, hundreds, [7, 10, 11], "Int8"))["x"]
    assert found.dropna().tolist() == [700, 1000]


def test_gaps_make_no_floats_of_pandas_whole_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "DECODE_CHUNK_ROWS", 2)
    column, truth = Integer(name="x", min=0, max=9), Boolean(name="x")
    for dtype in ("int64", None):
        assert (
            str(
                pd.read_parquet(written(tmp_path, column, [1, 2, 10], dtype))["x"].dtype
            )
            == "Int64"
        )
        assert (
            str(pd.read_parquet(written(tmp_path, column, [1, 2, 3], dtype))["x"].dtype)
            == "int64"
        )
    assert (
        str(pd.read_parquet(written(tmp_path, truth, [1, 0, 2], None))["x"].dtype)
        == "boolean"
    )


def test_parts_state_the_same(tmp_path, monkeypatch):
    schema = Schema(
        columns=(
            replace(SIZE, dtype="category"),
            replace(SEEN, dtype="datetime64[ms, Europe/Paris]"),
        )
    )
    batches = [{"size": np.array([code]), "seen": np.array([0])} for code in (2, 0)]
    write_parts(schema, batches, tmp_path / "parts", np.random.default_rng(0))
    files = sorted((tmp_path / "parts").iterdir())
    assert [file.name for file in files] == ["part-00000.parquet", "part-00001.parquet"]
    assert len({str(pq.read_schema(file)) for file in files}) == 1
    assert pd.read_parquet(tmp_path / "parts")["size"].tolist() == ["large", "small"]


def test_without_pyarrow_the_rows_are_the_same(tmp_path, monkeypatch):
    schema = Schema(
        columns=(
            replace(SIZE, dtype="category"),
            replace(SEEN, dtype="timestamp[ms, tz=Europe/Paris]"),
        )
    )
    codes = {"size": np.arange(300) % 3, "seen": np.arange(300) % 5}
    write_rows(schema, codes, tmp_path / "with.parquet", np.random.default_rng(0))
    monkeypatch.setattr(parquet, "find_spec", lambda name: None)
    write_rows(schema, codes, tmp_path / "without.parquet", np.random.default_rng(0))
    one, two = (
        pq.read_table(tmp_path / f"{name}.parquet") for name in ("with", "without")
    )
    assert one["size"].to_pylist() == two["size"].to_pylist()
    ticks = [table["seen"].cast(pa.timestamp("us", tz="UTC")) for table in (one, two)]
    assert ticks[0] == ticks[1]
