"""Summaries of columns: the numbers that anybody would compute from the rows."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from understudy.schema import Integer, Schema
from understudy.workflow.column_summary import SUMMARY_LEVELS, summarise_points
from understudy.workflow.evaluate import evaluate

SCHEMA = """\
columns:
  age: {type: integer, min: -5, max: 90}
  income: {type: real, decimals: 2, min: 0, max: 9999}
  day: {type: date, min: 2024-01-01, max: 2024-12-31}
"""


def test_numbers_are_those_of_the_rows() -> None:
    rng = np.random.default_rng(3)
    income = np.round(np.exp(rng.normal(3, 1, 501)), 2)
    days = [date(2024, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 99, 501)]
    frame = pl.DataFrame(
        {"age": rng.integers(-5, 90, 501), "income": income, "day": days}
    )
    frame = frame.with_columns(
        age=pl.when(pl.int_range(501) < 50).then(None).otherwise(pl.col("age"))
    )
    schema = Schema.parse(SCHEMA)
    other = frame.with_columns(income=pl.col("income") + 1)
    found = evaluate(frame, other, schema=schema, risk=False)
    age, money, day = found.summaries
    assert age.real.missing == pytest.approx(50 / 501)
    assert age.real.mean == pytest.approx(frame["age"].mean())
    assert money.real.mean == pytest.approx(income.mean())
    assert money.real.deviation == pytest.approx(income.std())
    inverse = np.quantile(income, SUMMARY_LEVELS, method="inverted_cdf")
    assert money.real.quantiles == pytest.approx(tuple(inverse))
    assert money.shift == pytest.approx(1 / income.std())
    assert day.real.quantiles[2] == str(sorted(days)[250])
    assert day.shift is None


def test_a_column_without_values_has_no_numbers() -> None:
    none = np.array([], np.int64)
    empty = summarise_points(Integer(name="x", min=0, max=9), none, none, missing=1.0)
    assert empty.mean is None
    assert empty.quantiles == ()
