"""Sources: one reading of every kind of table, and only the header and declared types
are public.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import TableError
from understudy.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Integer,
    Real,
    Schema,
    Time,
    codec_of,
)
from understudy.tables import Table, open_table

PEOPLE = {
    "age": [5, 99, None, 41],
    "weight": [70.5, float("nan"), None, 3.25],
    "sex": ["F", "M", None, "x"],
    "smoker": [True, False, None, True],
    "born": [date(1970, 1, 1), date(2024, 2, 29), None, date(1999, 12, 31)],
    "seen": [
        datetime(2024, 1, 1, 10),
        datetime(2024, 3, 31, 2, 30),
        None,
        datetime(2024, 10, 27, 2, 30),
    ],
    "fee": [Decimal("1.50"), Decimal("-2.25"), None, Decimal("0.00")],
}
SCHEMA = Schema(
    columns=(
        Integer(name="age", min=0, max=50),
        Real(name="weight", min=0, max=100, step=0.5),
        Categorical(name="sex", values=("F", "M"), other="other"),
        Boolean(name="smoker"),
        Date(name="born", min=date(1950, 1, 1), max=date(2030, 1, 1)),
        Datetime(
            name="seen",
            min=datetime(2024, 1, 1),
            max=datetime(2025, 1, 1),
            zone="Europe/Zurich",
        ),
        Real(name="fee", min=-5, max=5, step=0.25),
    )
)


def arrow() -> pa.Table:
    columns = {
        name: pa.array(values, from_pandas=False) for name, values in PEOPLE.items()
    }
    return pa.table(columns)


def as_csv(path: Path) -> Path:
    def text(value: object) -> str:
        return "" if value is None or value != value else str(value)

    rows = zip(*PEOPLE.values(), strict=True)
    lines = [",".join(PEOPLE), *(",".join(text(v) for v in row) for row in rows)]
    path.write_text("\n".join(lines))
    return path


def as_parquet(path: Path) -> list[Path]:
    parts = [path.with_suffix(f".{i}.parquet") for i in range(2)]
    for part, rows in zip(parts, (arrow().slice(0, 1), arrow().slice(1)), strict=True):
        pq.write_table(rows, part)
    return parts


KINDS: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda p: arrow().to_pandas(),
    "pandas, arrow dtypes": lambda p: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, nullable dtypes": lambda p: arrow().to_pandas().convert_dtypes(),
    "pandas, objects": lambda p: pd.DataFrame(
        {k: pd.Series(v, dtype=object) for k, v in PEOPLE.items()}
    ),
    "polars": lambda p: pl.from_arrow(arrow()),
    "pyarrow": lambda p: arrow(),
    "duckdb": lambda p: duckdb.from_arrow(arrow()),
    "csv": lambda p: as_csv(p / "people.csv"),
    "parquet": lambda p: as_parquet(p / "people"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_read_alike(kind, tmp_path):
    with open_table(KINDS[kind](tmp_path)) as source:
        assert source.names == tuple(PEOPLE)
        assert source.kind == kind.split(",")[0]
        assert (source.types is None) == (kind == "csv")
        table = Table(source, SCHEMA)
        codes, counts = table.sparse_counts(tuple(SCHEMA))
        found = sorted(
            tuple(row)
            for row, n in zip(codes.tolist(), counts, strict=True)
            for _ in range(n)
        )
    expected = [
        tuple(codec_of(SCHEMA[n]).code(v) for n, v in zip(PEOPLE, row, strict=True))
        for row in zip(*PEOPLE.values(), strict=True)
    ]
    assert found == sorted(expected)


def one(data: Any, column: Column) -> list[int]:
    with open_table(data) as source:
        table = Table(source, Schema(columns=(column,)))
        table.encode()
        assert table._codes._kept_codes is not None
        return [int(c) for c in table._codes._kept_codes[column.name]]


LABELS = Categorical(name="x", values=("a", "b", "3", "true"), other="other")
NUMBERS = Integer(name="x", min=0, max=9)
FRAMES: dict[str, tuple[Any, Column]] = {
    "pandas str": (pd.DataFrame({"x": ["a", None, "z"]}), LABELS),
    "pandas python str": (pd.DataFrame({"x": pd.Series(["a", None], dtype=pd.StringDtype("python"))}), LABELS),
    "pandas category": (pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype="category")}), LABELS),
    "pandas category of ints": (pd.DataFrame({"x": pd.Series([3, 5, None], dtype="category")}), NUMBERS),
    "pandas category of bools": (pd.DataFrame({"x": pd.Series([True, None], dtype="category")}), LABELS),
    "pandas category of mixed": (pd.DataFrame({"x": pd.Series(["a", 3, None], dtype="category")}), LABELS),
    "pandas mixed": (pd.DataFrame({"x": ["a", 3, 3.0, True, None, date(2020, 1, 1), b"a", object()]}), LABELS),
    "pandas Int8": (pd.DataFrame({"x": pd.Series([3, None], dtype="Int8")}), NUMBERS),
    "pandas boolean": (pd.DataFrame({"x": pd.Series([True, None], dtype="boolean")}), LABELS),
    "pandas sparse": (pd.DataFrame({"x": pd.Series([0, 4], dtype="Sparse[int]")}), NUMBERS),
    "pandas period": (pd.DataFrame({"x": pd.period_range("2020", periods=2, freq="Y")}), LABELS),
    "pandas complex": (pd.DataFrame({"x": [1j, 2j]}), NUMBERS),
    "pandas float16": (pd.DataFrame({"x": np.array([1.5, np.nan], np.float16)}), NUMBERS),
    "pandas tz": (pd.DataFrame({"x": pd.to_datetime(["2024-07-01 12:00", None]).tz_localize("Asia/Kathmandu")}), Time(name="x")),
    "pandas s": (pd.DataFrame({"x": pd.Series(["2024-07-01 12:00"], dtype="datetime64[s]")}), Time(name="x")),
    "pandas index": (pd.DataFrame({"x": [1, 2]}, index=["p", "q"]), NUMBERS),
    "polars categorical": (pl.DataFrame({"x": pl.Series(["a", None], dtype=pl.Categorical)}), LABELS),
    "polars enum": (pl.DataFrame({"x": pl.Series(["b", None], dtype=pl.Enum(["z", "b"]))}), LABELS),
    "polars decimal": (pl.DataFrame({"x": pl.Series([Decimal("2.50")], dtype=pl.Decimal(9, 2))}), NUMBERS),
    "polars tz": (pl.DataFrame({"x": pl.Series([datetime(2024, 1, 1, tzinfo=UTC)], dtype=pl.Datetime("ns", "UTC"))}), Time(name="x")),
    "polars time": (pl.DataFrame({"x": [time(1, 2, 3)]}), Time(name="x")),
    "polars null": (pl.DataFrame({"x": [None, None]}), NUMBERS),
    "polars object": (pl.DataFrame({"x": pl.Series(["a", object()], dtype=pl.Object)}), LABELS),
    "polars int128": (pl.DataFrame({"x": pl.Series([3, 2**100], dtype=pl.Int128)}), NUMBERS),
    "pyarrow dictionary": (pa.table({"x": pa.array(["a", None]).dictionary_encode()}), LABELS),
    "pyarrow null": (pa.table({"x": pa.nulls(2)}), LABELS),
    "pyarrow decimal256": (pa.table({"x": pa.array([Decimal("2.5")], pa.decimal256(50, 1))}), NUMBERS),
    "pyarrow half": (pa.table({"x": pa.array([1.5, None], pa.float16())}), NUMBERS),
    "pyarrow time": (pa.table({"x": pa.array([3_600_000_000_000], pa.time64("ns"))}), Time(name="x")),
    "no rows": (pl.DataFrame({"x": []}, schema={"x": pl.Int64}), NUMBERS),
    "one row": (pl.DataFrame({"x": [4]}), NUMBERS),
}  # fmt: skip


@pytest.mark.parametrize("kind", FRAMES)
def test_every_dtype_is_read_as_its_values_say(kind):
    data, column = FRAMES[kind]
    values = data["x"].to_pylist() if isinstance(data, pa.Table) else list(data["x"])
    assert one(data, column) == [codec_of(column).code(value) for value in values]


def test_types_never_depend_on_the_rows():
    """A frame of objects declares nothing, whatever the objects; a category declares
    its kind and not its values.
    """
    whole = pd.DataFrame(
        {
            "o": pd.Series([1, 2], dtype=object),
            "c": pd.Series(["canary", "b"], dtype="category"),
        }
    )
    other = pd.DataFrame(
        {
            "o": pd.Series(["x", None], dtype=object),
            "c": pd.Series([None, "z"], dtype="category"),
        }
    )
    with open_table(whole) as a, open_table(other) as b:
        assert a.types == b.types == {"o": "VARCHAR", "c": "VARCHAR"}
        assert a.dtypes == b.dtypes == {"o": "object", "c": "category"}
    with open_table(
        pl.DataFrame({"e": pl.Series(["b"], dtype=pl.Enum(["canary", "b"]))})
    ) as source:
        assert "canary" not in repr((source.types, source.dtypes))
    ints = [
        pd.DataFrame({"x": pd.Series(v, dtype="category")})
        for v in ([3, 5], pd.Categorical([3, None], categories=[3]))
    ]
    assert [open_table(f).types for f in ints] == [{"x": "BIGINT"}] * 2


def test_a_source_is_named_after_its_file(tmp_path):
    with open_table(as_csv(tmp_path / "people.csv")) as source:
        assert (source.title, source.ledger_path) == (
            "people.csv",
            tmp_path / "people.csv.ledger",
        )
    with open_table(arrow()) as source:
        assert (source.title, source.ledger_path) == ("table", Path("table.ledger"))


@pytest.mark.parametrize(
    "name", ["a b", 'quo"te', "semi;colon", "select", "é", "x0", "c1", "A"]
)
def test_any_column_name_will_do(name, tmp_path):
    column = Integer(name=name, min=0, max=9)
    assert one(pl.DataFrame({name: [4], "other": [1]}), column) == [4]
    pq.write_table(pa.table({name: [4]}), tmp_path / "t.parquet")
    assert one(tmp_path / "t.parquet", column) == [4]


def test_names_that_differ_by_case_alone_are_different():
    frame = pl.DataFrame({"a": [1], "A": [2]})
    assert [one(frame, Integer(name=n, min=0, max=9)) for n in ("a", "A")] == [[1], [2]]


def test_odd_file_names_are_taken_literally(tmp_path):
    for name in ("a[1]*.csv", "it's.csv", "a b?.csv"):
        (tmp_path / name).write_text("x\n4\n")
        (tmp_path / "a1b.csv").write_text("x\n5\n")
        assert one(tmp_path / name, NUMBERS) == [4]


def test_a_parquet_file_of_folders_named_like_partitions_gains_no_column(tmp_path):
    folder = tmp_path / "secret=1"
    folder.mkdir()
    pq.write_table(pa.table({"x": [1]}), folder / "t.parquet")
    with open_table(folder / "t.parquet") as source:
        assert source.names == ("x",)


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no file": (lambda p: p / "none.csv", "there is no such file"),
    "directory": (lambda p: p, "there is no CSV or Parquet file"),
    "pattern": (lambda p: p / "*.csv", "there is no CSV or Parquet file"),
    "directory in a list": (lambda p: [p], "is a directory"),
    "ending": (lambda p: written(p / "t.docx", ""), "neither a CSV nor a Parquet"),
    "not parquet": (
        lambda p: written(p / "t.parquet", "canary"),
        r"t\.parquet: does not begin and end as",
    ),
    "not gzip": (
        lambda p: written(p / "t.csv.gz", "canary"),
        r"t\.csv\.gz:1: its packed data are damaged",
    ),
    "two headers": (
        lambda p: [written(p / "a.csv", "a\n"), written(p / "b.csv", "b\n")],
        "its header differs",
    ),
    "two kinds": (
        lambda p: [written(p / "a.csv", "a\n"), written(p / "b.parquet", "")],
        "as one table",
    ),
    "duplicates": (
        lambda p: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        "columns 1 and 2 have one name",
    ),
    "numbers for names": (lambda p: pd.DataFrame([[1]]), "not a text"),
    "no columns": (lambda p: pl.DataFrame(), "has no columns"),
    "lazy": (lambda p: pl.LazyFrame({"a": [1]}), "collect"),
    "a list": (lambda p: [1, 2], "list is no table"),
    "nothing": (lambda p: None, "NoneType is no table"),
}


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_table_is_refused_in_one_line(kind, tmp_path):
    make, says = REFUSED[kind]
    with pytest.raises(TableError, match=says) as caught:
        open_table(make(tmp_path))
    assert "\n" not in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_missing_column_is_named():
    with (
        open_table(pl.DataFrame({"x": [1]})) as source,
        pytest.raises(TableError, match='"y" is in the schema'),
    ):
        Table(source, Schema(columns=(Integer(name="y", min=0, max=1),)))


WITHOUT = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None
from understudy.schema import Categorical, Integer, Schema
from understudy.tables import Table, open_table
schema = Schema(columns=(Integer(name="a", min=0, max=9), Categorical(name="b", values=("x", "y"))))
data = {make}
table = Table(open_table(data), schema)
assert table.counts([("a", "b")])[0].sum() == 2, "two rows"
assert table.rows() == 2
"""


@pytest.mark.parametrize(
    ("hidden", "make"),
    [
        (["pyarrow", "pandas", "polars"], "{path!r}"),
        (
            ["pyarrow", "pandas"],
            "__import__('polars').DataFrame({{'a': [1, 2], 'b': ['x', None]}})",
        ),
        (
            ["pyarrow", "polars"],
            "__import__('pandas').DataFrame({{'a': [1, 2], 'b': ['x', None]}})",
        ),
        (
            ["pyarrow", "pandas", "polars"],
            "__import__('duckdb').sql(\"SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, NULL\")",
        ),
    ],
    ids=["csv", "polars", "pandas", "duckdb"],
)
def test_no_frame_library_is_needed_but_the_owners(hidden, make, tmp_path):
    path = written(tmp_path / "t.csv", "a,b\n1,x\n2,\n")
    script = WITHOUT.format(hidden=hidden, make=make.format(path=str(path)))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_guarded_table_is_read_by_the_names_and_labels_that_are_known(tmp_path):
    """The apostrophe is taken off where that makes a name or a label; a label that has
    one of its own stays.
    """
    path = tmp_path / "synthetic.csv"
    path.write_text("'=a,'=other,c\n'=x,1,''=x\n=x,2,'=x\n'b,3,it's\n")
    schema = Schema(
        columns=(
            Categorical(name="=a", values=("=x", "'b"), nullable=False, other="?"),
            Categorical(name="c", values=("'=x", "it's"), nullable=False, other="?"),
        )
    )
    with open_table(path) as source:
        read = source.without_formula_guards(["=a", "c"])
        assert read.names == ("=a", "'=other", "c")
        table = Table(read, schema)
        assert [table.counts([(name,)])[0].tolist() for name in schema] == [
            [2, 1, 0],
            [2, 1, 0],
        ]
        assert (
            source.without_formula_guards(["c"]).relation == read.relation
        )  # read once
