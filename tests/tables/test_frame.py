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
from understudy.schema import Boolean, Schema
from understudy.tables.frame import frame


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
    found = frame(table)
    assert found.names == ("age", "sex")
    assert found.kind == "pyarrow"


def test_a_stream_that_breaks_says_nothing_of_why() -> None:
    with pytest.raises(TableError) as caught:
        frame(Broken())
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "duckdb"])
def test_what_comes_out_gives_a_stream_again(kind: str) -> None:
    schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    model = ProductModel.uniform(schema, total=4.0)
    release = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    assert pa.table(release.sample(kind=kind)).num_rows == 4
