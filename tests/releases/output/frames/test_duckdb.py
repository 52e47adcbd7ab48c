"""DuckDB relations in and out, and plain arrays where there is no frame library."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import date
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from understudy.errors import Refused
from understudy.releases import to_frame
from understudy.releases.output.frames import FRAME_KINDS, default_kind
from understudy.schema import Boolean, Categorical, Date, Integer, Real, Schema

TYPES = [
    (Integer(name="tiny", min=0, max=9), "TINYINT", [0, 9, None]),
    (Integer(name="short", min=0, max=9), "USMALLINT", [0, 9, None]),
    (Integer(name="int", min=0, max=9), "INTEGER", [0, 9, None]),
    (Integer(name="long", min=0, max=9), "BIGINT", [0, 9, None]),
    (
        Real(name="float", min=0, max=1, step=Fraction(1, 10)),
        "DOUBLE",
        [0.1, 0.3, None],
    ),
    (
        Real(name="money", min=0, max=1, step=Fraction(1, 20)),
        "DECIMAL(9,2)",
        ["0.05", "0.95", None],
    ),
    (Boolean(name="flag"), "BOOLEAN", [True, False, None]),
    (Categorical(name="word", values=("a", "it's")), "VARCHAR", ["a", "it's", None]),
    (
        Categorical(name="enum", values=("a", "it's")),
        "ENUM('a', 'it''s')",
        ["a", "it's", None],
    ),
    (Categorical(name="code", values=("1", "20")), "INTEGER", [1, 20, None]),
    (
        Date(name="day", min=date(2020, 1, 1), max=date(2020, 1, 31)),
        "DATE",
        [date(2020, 1, 1), date(2020, 1, 31), None],
    ),
]


def test_values_and_types_survive():
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE t ({', '.join(f'{column.name} {kind}' for column, kind, _ in TYPES)})"
    )
    connection.executemany(
        f"INSERT INTO t VALUES ({', '.join('?' * len(TYPES))})",
        list(zip(*(values for *_, values in TYPES), strict=True)),
    )
    original = connection.table("t")
    dtypes = dict(zip(original.columns, map(str, original.types), strict=True))
    schema = Schema(
        columns=tuple(replace(col, dtype=dtypes[col.name]) for col, *_ in TYPES)
    )
    rows = original.fetchall()
    codes = {
        n: np.array([codec.code(row[i]) for row in rows])
        for i, (n, codec) in enumerate(schema.codecs.items())
    }
    back = to_frame(schema, codes, kind="duckdb", rng=np.random.default_rng(0))
    assert list(map(str, back.types)) == list(map(str, original.types))
    assert back.fetchall() == rows


def test_a_type_without_its_list_or_precision_takes_them_from_the_schema():
    columns = (
        Categorical(name="x", values=("a", "b"), dtype="ENUM"),
        Real(name="y", min=0, max=1, step=Fraction(1, 100), dtype="DECIMAL"),
    )
    back = to_frame(
        Schema(columns=columns),
        {"x": np.array([1]), "y": np.array([0])},
        kind="duckdb",
        rng=np.random.default_rng(0),
    )
    assert list(map(str, back.types)) == ["ENUM('a', 'b')", "DECIMAL(18,2)"]


def test_a_type_that_cannot_hold_the_domain_is_left_aside():
    columns = (
        Integer(name="x", min=0, max=300, dtype="TINYINT"),
        Integer(name="y", min=0, max=3, missing=("-9",), dtype="UTINYINT"),
        Categorical(name="z", values=("1",), other="else", dtype="INTEGER"),
    )
    codes = {"x": np.array([0]), "y": np.array([5]), "z": np.array([1])}
    back = to_frame(
        Schema(columns=columns), codes, kind="duckdb", rng=np.random.default_rng(0)
    )
    assert list(map(str, back.types)) == ["BIGINT", "BIGINT", "VARCHAR"]
    assert back.fetchall()[0][1:] == (-9, "else")


def test_arrays_are_masked_where_cells_are_missing():
    schema = Schema(columns=(Integer(name="x", min=0, max=3),))
    back = to_frame(
        schema, {"x": np.array([2, 4])}, kind="numpy", rng=np.random.default_rng(0)
    )
    assert back["x"].tolist() == [2, None]


def test_names_that_look_like_sql_are_only_names():
    name = 'a"; DROP TABLE cells; --'
    schema = Schema(columns=(Integer(name=name, min=0, max=3, nullable=False),))
    for kind in FRAME_KINDS:
        back = to_frame(
            schema, {name: np.array([2])}, kind=kind, rng=np.random.default_rng(0)
        )
        assert list(
            back
            if kind == "numpy"
            else back.columns
            if kind != "pyarrow"
            else back.column_names
        ) == [name]


def test_an_unknown_kind_is_refused():
    schema = Schema(columns=(Integer(name="x", min=0, max=3),))
    with pytest.raises(Refused, match="A frame is one of polars"):
        to_frame(
            schema, {"x": np.array([2])}, kind="excel", rng=np.random.default_rng(0)
        )


def test_the_kind_that_came_in_is_remembered_and_an_unknown_one_is_not_trusted():
    assert default_kind("pandas") == "pandas"
    assert default_kind("os") in FRAME_KINDS


def test_without_any_frame_library_there_are_arrays():
    program = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name in ("pandas", "polars", "pyarrow") else real(name, *a)
from understudy.releases.output.frames import default_kind
print(default_kind("pandas"), [m for m in ("pandas", "polars", "pyarrow") if m in sys.modules])
"""
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "numpy []"
