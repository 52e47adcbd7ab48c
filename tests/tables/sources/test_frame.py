"""Anything that gives an Arrow stream is a table, also one that can be read only once."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy.errors import TableError
from understudy.models import ProductModel
from understudy.releases import Guarantee, Release
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Integer,
    Real,
    Schema,
    Time,
    UndeclaredColumn,
    codec_of,
)
from understudy.tables import TYPE_CANDIDATES, Table, open_table
from understudy.tables.sources.frame_kinds import open_frame


class Once:
    """A stream of some table, given once and never again."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        table, self._table = self._table, None
        return table.__arrow_c_stream__()


class Broken:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError("canary-7f3a")


ROWS = {"age": [31, None, 40], "sex": ["F", "M", None]}


@pytest.mark.parametrize(
    "table",
    [
        Once(pa.table(ROWS)),
        Once(pl.DataFrame(ROWS)),
        Once(duckdb.sql("SELECT 31 AS age, 'F' AS sex")),
        pa.table(ROWS).to_reader(),
    ],
    ids=["pyarrow", "polars", "duckdb", "reader"],
)
def test_a_stream_is_a_table(table: Any) -> None:
    found = open_frame(table)
    assert found.names == ("age", "sex")
    assert found.kind == "pyarrow"


def test_a_stream_that_breaks_says_nothing_of_why() -> None:
    with pytest.raises(TableError) as caught:
        open_frame(Broken())
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "duckdb"])
def test_what_comes_out_gives_a_stream_again(kind: str) -> None:
    schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    model = ProductModel.uniform(schema, total=4.0)
    release = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    assert pa.table(release.sample(kind=kind)).num_rows == 4


@pytest.mark.parametrize(
    "cell",
    [
        "'10:00:00+02'::TIMETZ",
        "'10:00:00+00'::TIMETZ",
        "'101'::BIT",
        "INTERVAL 1 DAY",
        "'infinity'::TIMESTAMP_S",
    ],
)
@pytest.mark.parametrize(
    "shape", ["{}::VARIANT", "[{}::VARIANT]", "{{'a': {}::VARIANT}}", "{}"]
)
def test_no_cell_of_a_relation_stops_the_reading_of_the_others(
    cell: str, shape: str
) -> None:
    """Which of them are there is nobody's business: a column of variants, or of nested
    ones, holds no value anyway.
    """
    schema = Schema(columns=(Integer(name="age", min=0, max=9),))
    value, connection = shape.format(f"({cell})"), duckdb.connect()
    relation = connection.sql(
        f"SELECT i AS age, CASE WHEN i = 3 THEN {value} END AS other FROM range(5) t(i)"
    )
    with open_table(relation) as source:
        other = source.stored_column("other").cell
        counted = source.engine.run(
            f"SELECT count({other}) FROM {source.relation}", doing="testing"
        )
        table = Table(source, schema)
        table.encode()
        assert (counted, table.rows()) == ([(1,)], 5)


def test_a_label_that_is_called_as_a_type_is_a_label() -> None:
    relation = duckdb.connect().sql("SELECT 'VARIANT'::ENUM('VARIANT', 'b') AS x")
    with open_table(relation) as source:
        assert source.types == {"x": "VARCHAR"}
        assert source.engine.run(
            f"SELECT * FROM {source.relation}", doing="testing"
        ) == [("VARIANT",)]


def test_a_time_of_day_with_an_offset_is_what_its_clock_shows() -> None:
    relation = duckdb.connect().sql(
        "SELECT '10:00:00+02'::TIMETZ AS x UNION ALL SELECT NULL"
    )
    with open_table(relation) as source:
        assert source.types == {"x": "TIME"}
        rows = source.engine.run(
            f"SELECT CAST(x0 AS VARCHAR) FROM {source.relation}", doing="testing"
        )
        assert sorted(rows, key=str) == [("10:00:00",), (None,)]


SPELLED_OTHERWISE = {
    "truths": ([True, False] * 5, None, ("True", "False")),
    "whole numbers beside nothing": ([1, 2] * 5, None, ("1.0", "2.0")),
    "whole floats beside a text": ([1.0, 2.0] * 5, "x", ("1.0", "2.0")),
    "midnights beside a text": ([datetime(2024, 1, 1), datetime(2024, 1, 2)] * 5, "x", ("2024-01-01 00:00:00", "2024-01-02T00:00:00")),
}  # fmt: skip
"""Cells, one more that makes pandas store them all as something else, and labels that
the cells have as their second spelling.
"""


@pytest.mark.parametrize("what", SPELLED_OTHERWISE)
@pytest.mark.parametrize("as_missing", [False, True])
def test_a_label_in_another_spelling_stands_for_the_same_cells_however_they_are_stored(
    what, as_missing
):
    cells, odd, labels = SPELLED_OTHERWISE[what]
    listed = {"values": ("x",), "missing": labels} if as_missing else {"values": labels}
    schema = Schema(columns=(Categorical(name="x", other="other", **listed),))
    counted = []
    for held in (cells, [*cells, odd]):
        with open_table(pd.DataFrame({"x": held})) as source:
            counted.append(Table(source, schema).counts([("x",)])[0])
    assert counted[0][: len(labels)].sum() == len(cells) or as_missing
    assert np.abs(counted[1] - counted[0]).sum() == 1


@pytest.mark.parametrize("unit", ["ns", "us"])
def test_categories_of_instants_are_shown_in_their_own_zone(unit):
    """One cell of another kind makes plain objects of them, each of which knows its
    zone.
    """
    midnights = pd.Series(
        pd.date_range("2024-01-01", periods=3, tz="Europe/Oslo", unit=unit)
    )
    days = Schema(
        columns=(Date(name="x", min=date(2023, 12, 31), max=date(2024, 1, 4)),)
    )
    counted = []
    for cells in (
        midnights,
        midnights.astype("category"),
        pd.Series([*midnights, None], dtype="category")[:3],
    ):
        with open_table(pd.DataFrame({"x": cells})) as source:
            counted.append(Table(source, days).counts([("x",)])[0].tolist())
    assert counted == [[0, 1, 1, 1, 0, 0]] * 3


def test_whole_numbers_of_any_length_vote_as_such():
    """One of 39 digits makes all of a column of another type, which has no text of its
    own.
    """
    long = duckdb.sql(f"SELECT unnest([33, 41, {10**39}]) AS x")
    with open_table(long) as source:
        votes = Table(source, Schema(columns=(UndeclaredColumn(name="x"),))).votes(
            ["x"]
        )[0]
    assert votes[TYPE_CANDIDATES.index("integer")] == 2
    assert votes[TYPE_CANDIDATES.index("large")] == 1


def test_days_and_midnights_are_the_same_time_of_day():
    """Days become moments, or texts, as soon as one cell of them is no day."""
    days = [date(2024, 1, 1), date(2024, 1, 2)]
    hours = Schema(columns=(Time(name="x", resolution=timedelta(hours=12)),))
    counted = []
    for cells in (
        pl.Series(days),
        pl.Series(days).cast(pl.Datetime),
        pl.Series(map(str, days)),
        pl.Series(days, dtype=pl.Object),
    ):
        with open_table(pl.DataFrame({"x": cells})) as source:
            counted.append(Table(source, hours).counts([("x",)])[0].tolist())
    assert counted == [[2, 0, 0]] * 4
    assert codec_of(hours["x"]).code(days[0]) == 0


SPANS = [timedelta(minutes=90), timedelta(seconds=1, microseconds=500_000), None]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": pd.Series(SPANS, dtype="timedelta64[ns]")}),
        pd.DataFrame({"x": pd.Series(SPANS, dtype="timedelta64[us]")}),
        # One odd cell makes the column one of objects: the others stay what they are.
        pd.DataFrame({"x": pd.Series([*SPANS[:2], "x"], dtype=object)}),
        pl.DataFrame({"x": SPANS}, schema={"x": pl.Duration("ns")}),
        pa.table({"x": pa.array(SPANS, pa.duration("ms"))}),
        "FROM (VALUES (INTERVAL 90 MINUTE), (INTERVAL 1500 MILLISECOND)) t(x)",
    ],
    ids=["pandas ns", "pandas us", "objects", "polars", "arrow", "duckdb"],
)  # fmt: skip
def test_lengths_of_time_are_read_as_seconds(frame):
    column = Real(name="x", step=Fraction(1, 10))
    data = duckdb.connect().sql(frame) if isinstance(frame, str) else frame
    with open_table(data) as source:
        values, counts = Table(source, Schema(columns=(column,))).lattice("x")
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {15: 1, 54000: 1}


def test_periods_and_intervals_of_pandas_are_the_texts_of_a_csv_file():
    frame = pd.DataFrame(
        {
            "month": pd.PeriodIndex(["2024-01", None], freq="M"),
            "objects": pd.Series([pd.Period("2024-01", "M"), None], dtype=object),
            "ages": pd.cut([5, 15], [0, 10, 20]),
        }
    )
    labels = {"month": "2024-01", "objects": "2024-01", "ages": "(0, 10]"}
    schema = Schema(
        columns=tuple(Categorical(name=n, values=(v,)) for n, v in labels.items())
    )
    with open_table(frame) as source:
        counts = Table(source, schema).counts([(name,) for name in labels])
    assert [one.tolist() for one in counts] == [[1, 1]] * 3


def test_named_levels_of_an_index_are_columns():
    index = pd.MultiIndex.from_product([["north", "south"], [1, 2]])
    frame = pd.DataFrame({"x": range(4)}, index=index)
    with pytest.raises(TableError, match="several levels without names"):
        open_table(frame)
    frame.index.names = ["ward", None]
    with open_table(frame) as source:
        assert source.names == ("ward", "x")
    named = pd.DataFrame({"x": [1.5]}, index=pd.Index([3], name="visit"))
    with open_table(named) as source:
        assert source.names == ("visit", "x")
    clash = pd.DataFrame({"x": [1.5]}, index=pd.Index([3], name="x"))
    with pytest.raises(TableError, match="have one name"):
        open_table(clash)
