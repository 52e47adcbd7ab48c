"""The measurements as tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kit.releases.builders import SMALL, measured, release
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models.estimates.noise_moments import noise_variance
from understudy.releases.output.tidy import tidy_tables
from understudy.schema import Categorical, Schema, parse_predicate

FREE = Cost(Accounting.PURE, Fraction(1, 100))


def test_every_measurement_has_a_table_of_its_own():
    assert list(release().tables(kind="pandas")) == [
        "sex",
        "age",
        "smoker",
        "sex × age",
        "sex (2)",
        "sex (3)",
        "total",
        "sex × age, shown above 9",
    ]


def test_estimates_are_the_measured_values_unrounded_unclamped():
    held = measured()
    tables = release(measurements=held).tables(kind="pandas")
    pair = tables["sex × age"]
    assert list(pair.columns) == ["sex", "age", "estimate", "variance", "sd"]
    assert pair["estimate"].tolist() == held[3].values.ravel().tolist()
    assert pair["estimate"].min() < 0
    codec = SMALL.codecs["age"]
    assert pair["age"].tolist() == list(codec.labels()) * 2
    assert pair["sex"].tolist() == ["F"] * codec.size + ["M"] * codec.size
    assert tables["total"].to_dict("list") == {
        "estimate": [42],
        "variance": [12.25],
        "sd": [3.5],
    }


@pytest.mark.parametrize("law", list(Law))
def test_variances_are_those_of_the_noise_as_it_was_drawn(law):
    """Against the law's own probabilities, summed."""
    scale = Fraction(5, 2)
    k = np.arange(-400, 401)
    if law is Law.DISCRETE_LAPLACE:
        weight = np.exp(-np.abs(k) / 2.5)
    elif law is Law.DISCRETE_GAUSSIAN:
        weight = np.exp(-(k**2) / (2 * 2.5**2))
    else:
        from scipy.stats import norm

        weight = norm.cdf((k + 0.5) / 2.5) - norm.cdf((k - 0.5) / 2.5)
    expected = float((k**2 * weight).sum() / weight.sum())
    one = Measurement(("sex",), (Identity(2),), np.array([3, 4]), law, scale, FREE)
    table = tidy_tables(SMALL, Measurements((one,)))["sex"]
    assert table["variance"] == pytest.approx(expected, rel=1e-9)
    assert table["sd"] == pytest.approx(np.sqrt(expected), rel=1e-9)
    assert noise_variance(law, scale) == pytest.approx(expected, rel=1e-9)


def test_coarse_and_centred_entries_say_what_they_are():
    tables = tidy_tables(SMALL, measured())
    assert tables["sex (2)"]["sex"].tolist() == ["F", "M"]
    assert tables["sex (3)"]["sex"].tolist() == ["2 × (F) - sum", "2 × (M) - sum"]


def test_a_bin_of_several_codes_names_its_ends():
    from understudy.measurements import Partition

    schema = Schema(
        columns=(Categorical(name="x", values=("a", "b", "c", "d"), nullable=False),)
    )
    one = Measurement(
        ("x",),
        (Partition((0, 0, 0, 1)),),
        np.array([5, 6]),
        Law.DISCRETE_LAPLACE,
        Fraction(1),
        FREE,
    )
    assert tidy_tables(schema, Measurements((one,)))["x"]["x"].tolist() == [
        "a … c (3)",
        "d",
    ]


def test_what_is_declared_impossible_has_no_noise():
    columns = tuple(
        Categorical(name=n, values=("y", "n"), nullable=False)
        for n in ("pregnant", "male")
    )
    schema = Schema(
        columns=columns, impossible=(parse_predicate("pregnant = 'y' and male = 'y'"),)
    )
    values = np.array([[0, 3], [4, 5]])
    one = Measurement(
        ("pregnant", "male"),
        (Identity(2), Identity(2)),
        values,
        Law.DISCRETE_LAPLACE,
        Fraction(1),
        FREE,
    )
    variance = tidy_tables(schema, Measurements((one,)))["pregnant × male"]["variance"]
    assert variance[0] == 0
    assert (variance[1:] > 1).all()


def test_a_column_named_like_a_result_keeps_its_name():
    schema = Schema(
        columns=(Categorical(name="estimate", values=("a", "b"), nullable=False),)
    )
    one = Measurement(
        ("estimate",),
        (Identity(2),),
        np.array([1, 2]),
        Law.DISCRETE_LAPLACE,
        Fraction(1),
        FREE,
    )
    table = tidy_tables(schema, Measurements((one,)))["estimate"]
    assert list(table) == ["estimate", "estimate_", "variance", "sd"]
    assert table["estimate"].tolist() == ["a", "b"]


def test_every_kind_of_frame_holds_the_same_table():
    held = release()
    plain = held.tables(kind="numpy")["sex × age"]
    pandas, polars = (
        held.tables(kind="pandas")["sex × age"],
        held.tables(kind="polars")["sex × age"],
    )
    arrow, duck = (
        held.tables(kind="pyarrow")["sex × age"],
        held.tables(kind="duckdb")["sex × age"],
    )
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(arrow, pa.Table)
    rows = list(zip(*(column.tolist() for column in plain.values()), strict=True))
    assert list(pandas.itertuples(index=False, name=None)) == rows
    assert polars.rows() == rows
    assert [tuple(row.values()) for row in arrow.to_pylist()] == rows
    assert duck.fetchall() == rows
