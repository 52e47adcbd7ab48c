"""Spark DataFrames give the same integers as files, also where every task fails once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import understudy as us
from understudy.cli.root import run
from understudy.errors import ReleaseError, TableError
from understudy.tables import Table, open_table
from understudy.testing.table_conformance import check_table
from understudy.workflow.open import open_source

pytestmark = [
    pytest.mark.spark,
    # Spark's own: its note about pandas, and sockets that it closes late.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SCHEMA = us.Schema.parse("""\
columns:
  age: {type: integer, min: 0, max: 90}
  height: {type: real, min: 0, max: 3, step: 0.1}
  pay: {type: real, min: 0, max: 100, step: 0.01}
  born: {type: date, min: 1900-01-01, max: 2020-12-31}
  seen: {type: datetime, min: 2020-01-01, max: 2021-01-01, zone: UTC, resolution: 1s}
  sex: {type: categorical, values: [F, M]}
  smoker: boolean
rules:
  - age >= 18 or smoker = false
""")
ROWS = {
    "age": [34, None, -5, 12, 2**31 - 1] * 40,
    "height": [1.8, float("nan"), float("inf"), None, 0.1 + 0.2] * 40,
    "pay": [Decimal("12.50"), None, Decimal("-3.99"), Decimal("99.99"), Decimal("0.00")] * 40,
    "born": [date(1990, 5, 1), None, date(1, 1, 1), date(9999, 12, 31), date(2020, 1, 1)] * 40,
    "seen": [datetime(2020, 3, 1, 10), None, datetime(1990, 1, 1), datetime(2020, 12, 31, 23, 59, 59, 999999), datetime(2020, 1, 1)] * 40,
    "sex": ["F", None, "", "Ω", "M"] * 40,
    "smoker": [True, None, False, True, True] * 40,
}  # fmt: skip
TYPES = pa.schema(
    [
        ("age", pa.int64()),
        ("height", pa.float64()),
        ("pay", pa.decimal128(10, 2)),
        ("born", pa.date32()),
        ("seen", pa.timestamp("us", "UTC")),
        ("sex", pa.string()),
        ("smoker", pa.bool_()),
    ]
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    warehouse = tmp_path_factory.mktemp("warehouse")
    # Two cores, and three attempts of each task.
    running = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.sql.catalogImplementation", "in-memory")
        .getOrCreate()
    )
    running.sparkContext.setLogLevel("OFF")
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_twin() -> Table:
    return Table(open_table(pa.table(ROWS, schema=TYPES)), SCHEMA)


def test_odd_cells_give_the_integers_of_a_frame(session: Any) -> None:
    frame = session.createDataFrame(pa.table(ROWS, schema=TYPES)).repartition(3)
    with open_source(frame) as source:
        assert check_table(Table(source, SCHEMA), read_twin()) > 40


def test_counts_are_exact_when_every_task_fails_once(session: Any) -> None:
    frame = session.createDataFrame(pa.table(ROWS, schema=TYPES)).repartition(3)

    def fail_once(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        rows = list(batches)
        yield from rows[:1]
        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("injected")
        yield from rows[1:]

    with open_source(frame.mapInArrow(fail_once, frame.schema)) as source:
        check_table(Table(source, SCHEMA), read_twin())


def test_a_job_that_fails_quotes_no_cell(session: Any) -> None:
    frame = session.createDataFrame(pa.table({"sex": ["canary-7f3a"] * 4}))

    def fail(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            raise ValueError(str(batch.to_pydict()))
            yield batch

    with (
        open_source(frame.mapInArrow(fail, frame.schema)) as source,
        pytest.raises(TableError, match="Nothing was spent") as refused,
    ):
        source.check(["sex"])
    assert "canary" not in str(refused.value)
    assert refused.value.__context__ is None


def test_what_has_no_text_stays_where_it_is(session: Any) -> None:
    frame = session.sql(
        "SELECT array(1) AS list, map('a', 1) AS pairs, X'FF' AS bytes, named_struct('a',"
        " 1) AS parts, INTERVAL '1' DAY AS stay, CAST(X'46FF' AS STRING) AS odd, 1 AS `a``b`"
    )
    types = {column.name: column.type for column in us.describe(frame).columns}
    assert [types[name] for name in ("list", "pairs", "bytes", "parts")] == ["text"] * 4
    assert "a`b" in types
    with open_source(frame) as source:
        relation = source.relation
        odd = source.stored_column("odd").cell
        shown = source.engine.run(f"SELECT {odd} FROM {relation}", doing="reading")
    assert shown == [("F?",)]


def test_a_table_goes_back_drawn_by_the_workers(session: Any, folder: Path) -> None:
    frame = session.createDataFrame(pa.table(ROWS, schema=TYPES))
    release = us.synthesize(frame, SCHEMA, epsilon=1, synthesizer="independent")
    assert (folder / "table.ledger").exists()
    assert release.write("spark:made", 1000, seed=3) == 1000
    made = session.table("made")
    assert made.count() == 1000
    assert made.columns == list(SCHEMA)
    again = release.write("spark:twice", 1000, seed=3)
    assert again == 1000
    assert made.exceptAll(session.table("twice")).count() == 0
    with pytest.raises(ReleaseError, match="exists already"):
        release.write("spark:made", 10)


def test_a_path_by_the_command_line(session: Any, folder: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": [34, 51] * 100}), folder / "people.parquet")
    assert run(["describe", f"spark:{folder}/people.parquet", "-o", "p.yaml"]) == 0
    assert [column.name for column in us.Schema.load("p.yaml").columns] == ["age"]
    assert run(["describe", "spark:no_such_table", "-o", "q.yaml"]) == 1
