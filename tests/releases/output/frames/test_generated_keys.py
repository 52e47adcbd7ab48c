"""Generated keys: fresh, unique, one for each person, in every kind of frame and in
files.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from understudy.models import ProductModel
from understudy.models.sampling.persons import MIN_KEY_START
from understudy.releases.output.frames import decoding, to_frame
from understudy.releases.output.write import write_rows
from understudy.schema import Schema

SCHEMA = Schema.parse("""
unit: {id: patient, max_rows: 3, sizes: [2, 1, 1]}
columns:
  visit: {type: identifier, generate: true}
  born: {type: date, min: 1930-01-01, max: 2010-12-31, constant: true}
  patient: {type: identifier, generate: true}
  sex: {type: categorical, values: [F, M], constant: true}
  seen: {type: date, min: 1930-01-01, max: 2024-12-31}
  remarks: text
rules: [born <= seen]
""")


def sampled(schema, rows, kind="polars", seed=1):
    rng = np.random.default_rng(seed)
    return to_frame(
        schema, ProductModel.uniform(schema, rows).sample(rows, rng), kind=kind, rng=rng
    )


def test_persons_have_keys_and_agree_on_what_is_constant():
    frame = sampled(SCHEMA, 20_000)
    assert frame.columns == ["visit", "born", "patient", "sex", "seen"]
    assert frame["visit"].n_unique() == 20_000
    assert frame["visit"].min() >= MIN_KEY_START
    each = frame.group_by("patient").agg(
        pl.len(),
        pl.col("born").n_unique().alias("b"),
        pl.col("sex").n_unique().alias("s"),
    )
    assert each["b"].max() == each["s"].max() == 1
    counts = each["len"].value_counts().sort("len")["count"].to_list()
    # Dates that missed their rule may have left their person: a few households are
    # smaller than asked.
    assert np.abs(np.array(counts) / sum(counts) - [0.5, 0.25, 0.25]).max() < 0.03
    assert frame.filter(pl.col("born") > pl.col("seen")).is_empty()


def test_keys_do_not_repeat_from_chunk_to_chunk(monkeypatch):
    monkeypatch.setattr(decoding, "DECODE_CHUNK_ROWS", 1_000)
    frame = sampled(SCHEMA, 5_500)
    assert frame["visit"].n_unique() == 5_500
    assert frame.group_by("patient").len()["len"].max() == 3
    assert frame.group_by("patient").agg(pl.col("sex").n_unique())["sex"].max() == 1


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "duckdb", "numpy"])
def test_every_kind_of_frame_carries_them(kind):
    right = sampled(SCHEMA, 50)["patient"].to_list()
    frame = sampled(SCHEMA, 50, kind)
    found = {
        "pandas": lambda: frame["patient"].tolist(),
        "pyarrow": lambda: frame.column("patient").to_pylist(),
        "duckdb": lambda: [row[0] for row in frame.select("patient").fetchall()],
        "numpy": lambda: frame["patient"].tolist(),
    }[kind]()
    assert found == right


def test_files_carry_them(tmp_path):
    for ending in ("csv", "parquet"):
        rng = np.random.default_rng(1)
        codes = ProductModel.uniform(SCHEMA, 50).sample(50, rng)
        write_rows(SCHEMA, codes, tmp_path / f"out.{ending}", rng)
    assert (
        pl.read_csv(tmp_path / "out.csv")["patient"].to_list()
        == sampled(SCHEMA, 50)["patient"].to_list()
    )
    assert (
        pl.read_parquet(tmp_path / "out.parquet")["patient"].to_list()
        == sampled(SCHEMA, 50)["patient"].to_list()
    )


def test_without_a_unit_every_row_has_its_own():
    schema = Schema.parse(
        "columns: {id: {type: identifier, generate: true}, smoker: boolean}"
    )
    assert sampled(schema, 300)["id"].n_unique() == 300


def test_nothing_is_generated_unless_asked_for():
    schema = Schema.parse("columns: {id: identifier, smoker: boolean}")
    assert sampled(schema, 3).columns == ["smoker"]
