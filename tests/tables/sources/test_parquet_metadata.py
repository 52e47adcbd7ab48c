"""What a Parquet file states beside its types is taken where it adds something, and
nothing else is.
"""

from __future__ import annotations

import base64
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.tables.sources.open_table import open_table
from understudy.tables.sources.parquet_metadata import read_stated_types

LABELS = "dictionary<values=string, indices=int32, ordered=0>"


def moments(unit, zone):
    return (
        pd.to_datetime(["2024-01-01", None])
        .tz_localize("UTC")
        .tz_convert(zone)
        .as_unit(unit)
    )


def test_what_pandas_writes_is_read(tmp_path):
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["secret", None]),
            "t": moments("ms", "Europe/Paris"),
            "u": moments("us", "UTC"),
            "w": moments("s", "UTC").tz_localize(None),
            "i": pd.array([1, None], "Int16"),
            "b": pd.array([True, None], "boolean"),
            "f": pd.array([1.5, None], "Float32"),
            "n": np.array([1, 2], np.int64),
            "s": ["a", "b"],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    with open_table(tmp_path / "a.parquet") as source:
        assert source.dtypes == {
            "c": LABELS,
            "t": "timestamp[ms, tz=Europe/Paris]",
            "u": "timestamp[us, tz=UTC]",
            "w": "timestamp[s]",
            "i": "Int16",
            "b": "boolean",
            "f": "Float32",
            "n": "BIGINT",
            "s": "VARCHAR",
        }
        assert source.zones == {"t": "Europe/Paris", "u": "UTC"}


def test_what_polars_writes_is_read(tmp_path):
    frame = pl.DataFrame(
        {
            "c": pl.Series(["a", None], dtype=pl.Categorical),
            "t": pl.Series(moments("ms", "Asia/Tokyo")),
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    with open_table(tmp_path / "a.parquet") as source:
        assert source.dtypes == {"c": LABELS, "t": "timestamp[ms, tz=Asia/Tokyo]"}


def beside(tmp_path, texts):
    table = pa.table(
        {
            "c": ["a", "b"],
            "t": pa.array([0, 1], pa.timestamp("us", tz="UTC")),
            "i": [1, 2],
        }
    )
    with pq.ParquetWriter(
        tmp_path / "a.parquet", table.schema, store_schema=False
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(texts)
    return read_stated_types(
        tmp_path / "a.parquet",
        {"c": "VARCHAR", "t": "TIMESTAMP WITH TIME ZONE", "i": "BIGINT"},
    )


def arrow(**types):
    return {
        "ARROW:schema": base64.b64encode(
            pa.schema(list(types.items())).serialize().to_pybytes()
        ).decode()
    }


def test_the_statement_counts_only_where_it_fits_the_types(tmp_path):
    labels = pa.dictionary(pa.int8(), pa.string())
    right = arrow(c=labels, t=pa.timestamp("us", tz="Europe/Paris"), i=pa.int64())
    assert beside(tmp_path, right)[1] == {"t": "Europe/Paris"}, "the test has teeth"
    wrong = arrow(
        i=labels,
        c=pa.timestamp("us", tz="Europe/Paris"),
        t=pa.timestamp("us"),
        z=labels,
    )
    assert beside(tmp_path, wrong) == ({}, {})
    assert beside(
        tmp_path, {"pandas": '{"columns": [{"field_name": "i", "numpy_type": "Int8"}]}'}
    ) == ({}, {})


@pytest.mark.parametrize(
    "texts",
    [
        {"ARROW:schema": "no base64"},
        {"ARROW:schema": ""},
        {"pandas": "{"},
        {"pandas": "[]"},
        {"pandas": '{"columns": [{"field_name": [], "numpy_type": "Int64"}]}'},
        arrow(t=pa.timestamp("us", tz="Nowhere/../etc")),
    ],
)
def test_what_cannot_be_read_states_nothing(tmp_path, texts):
    assert beside(tmp_path, texts) == ({}, {})


def test_damage_states_what_is_right_or_nothing(tmp_path):
    whole = base64.b64decode(
        arrow(c=pa.dictionary(pa.int8(), pa.string()))["ARROW:schema"]
    )
    for _ in range(200):
        broken = bytearray(whole)
        place = int.from_bytes(os.urandom(2)) % len(broken)
        broken[place] = os.urandom(1)[0]
        dtypes, zones = beside(
            tmp_path, {"ARROW:schema": base64.b64encode(bytes(broken)).decode()}
        )
        assert dtypes in ({}, {"c": LABELS})
        assert not zones
