"""Anything that gives an Arrow stream is a table, also one that can be read only once."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from understudy.errors import TableError
from understudy.models import ProductModel
from understudy.releases import Guarantee, Release
from understudy.schema import Boolean, Integer, Schema
from understudy.tables import Table, open_table
from understudy.tables.sources.frame import open_frame


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
    ["'10:00:00+02'::TIMETZ", "'10:00:00+00'::TIMETZ", "'101'::BIT", "INTERVAL 1 DAY", "'infinity'::TIMESTAMP_S"],
)
@pytest.mark.parametrize("shape", ["{}::VARIANT", "[{}::VARIANT]", "{{'a': {}::VARIANT}}", "{}"])
def test_no_cell_of_a_relation_stops_the_reading_of_the_others(cell: str, shape: str) -> None:
    """Which of them are there is nobody's business: a column of variants, or of nested ones, holds no value anyway."""
    schema = Schema(columns=(Integer(name="age", min=0, max=9),))
    value, connection = shape.format(f"({cell})"), duckdb.connect()
    relation = connection.sql(f"SELECT i AS age, CASE WHEN i = 3 THEN {value} END AS other FROM range(5) t(i)")
    with open_table(relation) as source:
        other = source.stored("other").cell
        counted = source.engine.run(f"SELECT count({other}) FROM {source.relation}", doing="testing")
        table = Table(source, schema)
        table.encode()
        assert (counted, table.rows()) == ([(1,)], 5)


def test_a_label_that_is_called_as_a_type_is_a_label() -> None:
    relation = duckdb.connect().sql("SELECT 'VARIANT'::ENUM('VARIANT', 'b') AS x")
    with open_table(relation) as source:
        assert source.types == {"x": "VARCHAR"}
        assert source.engine.run(f"SELECT * FROM {source.relation}", doing="testing") == [("VARIANT",)]


def test_a_time_of_day_with_an_offset_is_what_its_clock_shows() -> None:
    relation = duckdb.connect().sql("SELECT '10:00:00+02'::TIMETZ AS x UNION ALL SELECT NULL")
    with open_table(relation) as source:
        assert source.types == {"x": "TIME"}
        rows = source.engine.run(f"SELECT CAST(x0 AS VARCHAR) FROM {source.relation}", doing="testing")
        assert sorted(rows, key=str) == [("10:00:00",), (None,)]
