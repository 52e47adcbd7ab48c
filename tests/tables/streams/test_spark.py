"""Spark DataFrames give the same integers as files, also where every task fails once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import understudy as us
from kit.spark import PEOPLE_SCHEMA, disturb_work, open_session, read_people
from understudy.cli.root import run
from understudy.errors import ReleaseError, TableError
from understudy.tables import Table, describe_rows, open_table
from understudy.tables.carriers import spark as spark_carrier
from understudy.tables.carriers.spark import CACHE_ROWS_SETTING, SparkCarrier
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

    # Two cores, and three attempts of each task.
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    settings = {"spark.sql.warehouse.dir": warehouse}
    with open_session(SparkSession.builder.master("local[2,3]"), settings) as running:
        running.sparkContext.setLogLevel("OFF")
        yield running


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_twin() -> Table:
    return Table(open_table(pa.table(ROWS, schema=TYPES)), SCHEMA)


def test_odd_cells_give_the_integers_of_a_frame(session: Any) -> None:
    frame = session.createDataFrame(pa.table(ROWS, schema=TYPES)).repartition(2)
    with open_source(frame) as source:
        assert check_table(describe_rows(source, SCHEMA), read_twin()) > 40
        # What the carrier sets while it keeps the rows is the session's again.
        assert session.conf.get(CACHE_ROWS_SETTING, None) is None


def test_counts_are_exact_when_every_task_fails_once(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks that answer, that encode and that bring units together; answers merged by
    workers, as where there are many partitions.
    """
    monkeypatch.setattr(spark_carrier, "MAX_COLLECTED_PARTS", 1)

    def fail() -> None:
        """In the first attempt of each task, when half of it is done."""
        from pyspark import TaskContext

        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("injected")

    for name in ("add_up", "change_parts"):
        plain = getattr(SparkCarrier, name)
        monkeypatch.setattr(
            SparkCarrier,
            name,
            lambda self, work, plain=plain, **more: plain(
                self, disturb_work(work, fail), **more
            ),
        )
    people = read_people()
    frame = session.createDataFrame(people).repartition(2)
    with open_source(frame) as source:
        table = describe_rows(source, PEOPLE_SCHEMA)
        check_table(table, Table(open_table(people), PEOPLE_SCHEMA))


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


def test_rows_that_are_read_again_and_differ_are_refused(
    session: Any, folder: Path
) -> None:
    """As where an executor is lost with what it kept, and the table changed meanwhile."""
    ages = folder / "ages"
    ages.write_text("34 51 51")

    def read_ages(batches: Iterable[Any]) -> Iterator[Any]:
        for _ in batches:
            numbers = [int(age) for age in ages.read_text().split()]
            yield pa.RecordBatch.from_pydict({"age": pa.array(numbers, pa.int32())})

    frame = session.range(1, numPartitions=1).mapInArrow(read_ages, "age int")
    schema = us.Schema.parse("columns:\n  age: {type: integer, min: 0, max: 90}\n")
    with open_source(frame) as source:
        table = describe_rows(source, schema)
        assert table.sum("age", 0, 90) == 136
        assert isinstance(source.carrier, SparkCarrier)
        # Other rows in their place; the same ones in another order are the same.
        for text, is_same in (("51 34 51", True), ("34 34 51", False)):
            ages.write_text(text)
            source.carrier._frame.unpersist(True)
            if is_same:
                assert table.sum("age", 0, 90) == 136
                continue
            with pytest.raises(TableError, match="not what it was at first"):
                table.sum("age", 0, 90)
            with pytest.raises(TableError, match="not what it was at first"):
                list(source.carrier.fetch_blobs())


def test_a_worker_renames_its_errors(session: Any) -> None:
    frame = session.createDataFrame(pa.table({"sex": ["canary-7f3a"] * 4}))

    class Quotes:
        def answer_part(self, blobs: Iterable[bytes]) -> bytes:
            raise ValueError(next(iter(blobs)))

        def merge_answers(self, answers: Any) -> bytes:
            return b""

    with open_source(frame) as source:
        carrier = source.carrier
        assert isinstance(carrier, SparkCarrier)
        answers = carrier._frame.mapInArrow(
            spark_carrier._answer_task(Quotes(), {}), spark_carrier.BLOB_COLUMNS
        )
        # Spark's own error, which its logs show too.
        with pytest.raises(Exception, match="understudy did not finish") as raised:
            answers.toArrow()
        assert "canary" not in str(raised.value)
        with pytest.raises(TableError, match="did not work"):
            carrier.add_up(Quotes())


@pytest.mark.parametrize("step", ["reading", "asking"])
def test_workers_of_another_version_are_refused(
    session: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A cell might have another code there, and nobody would see it."""
    schema = us.Schema.parse("columns:\n  sex: {type: categorical, values: [F, M]}\n")
    frame = session.createDataFrame(pa.table({"sex": ["F"] * 4}))
    with open_source(frame) as source:
        if step == "asking":
            source.check(["sex"])
        monkeypatch.setattr(spark_carrier, "PACKAGE_VERSION", "0.0.1")
        with pytest.raises(TableError, match="another version"):
            describe_rows(source, schema).count_valid("sex")


def test_no_salt_and_no_label_stands_in_a_plan(session: Any) -> None:
    people = read_people()
    schema = us.Schema.parse(
        "columns:\n  sex: {type: categorical, values: [canary-7f3a]}\n"
        "  person: identifier\nunit: {id: person, max_rows: 3}\n"
    )
    with open_source(session.createDataFrame(people)) as source:
        table = describe_rows(source, schema)
        coded = table._parts.carrier  # type: ignore[attr-defined]
        plan = coded._frame._jdf.queryExecution().toString()
        salt = table._parts._salt  # type: ignore[attr-defined]
        assert salt not in plan
        assert "canary" not in plan


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


def test_a_lake_is_not_read_as_its_files(session: Any, folder: Path) -> None:
    import pyarrow.parquet as pq

    rows = folder / "people" / "year=2020"
    rows.mkdir(parents=True)
    pq.write_table(pa.table({"age": [34, 51]}), rows / "part-0.parquet")
    with open_source(f"spark:{folder}/people") as source:
        assert source.names == ("age", "year")
    (folder / "people" / "_delta_log").mkdir()
    for path in ("people", "people/", "people/year=2020", "people/*/part-0.parquet"):
        with pytest.raises(TableError, match="deleted rows"):
            open_source(f"spark:{folder}/{path}")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("nosuch.table", "finds no such table or path"),
        ("data/nosuch.parquet", "finds no such table or path"),
        ("s3a://bucket/people.parquet", "lacks the library"),
        ("gs://bucket/people.parquet", "lacks the library"),
        ("lake://bucket/people.parquet", "lacks the library"),
    ],
)
def test_what_spark_cannot_read_is_said_in_one_line(
    session: Any, place: str, reason: str
) -> None:
    with pytest.raises(TableError, match=reason) as refused:
        open_source(f"spark:{place}")
    assert "\n" not in str(refused.value)


def test_csv_files_give_the_integers_of_one_file(session: Any, folder: Path) -> None:
    """Quotes in quotes, spaces and empty cells; a file with another header is refused."""
    parts = folder / "parts"
    parts.mkdir()
    (parts / "a.csv").write_text('age,sex\n34,"say ""F"""\n,M\n')
    (parts / "b.csv").write_text('age,sex\n 51 ,\n"12","a,b\\"\n')
    whole = folder / "whole.csv"
    whole.write_text('age,sex\n34,"say ""F"""\n,M\n 51 ,\n"12","a,b\\"\n')
    schema = us.Schema.parse(
        "columns:\n  age: {type: integer, min: 0, max: 90}\n"
        "  sex: {type: categorical, values: ['say \"F\"', M, 'a,b\\']}\n"
    )
    with open_source(f"spark:{parts}/*.csv") as source, open_source(whole) as twin:
        check_table(describe_rows(source, schema), Table(twin, schema))
    (parts / "c.csv").write_text("sex,age\nF,34\n")
    with (
        open_source(f"spark:{parts}/*.csv") as source,
        pytest.raises(TableError, match="Nothing was spent"),
    ):
        source.check(["age"])


def test_a_path_by_the_command_line(session: Any, folder: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": [34, 51] * 100}), folder / "people.parquet")
    assert run(["describe", f"spark:{folder}/people.parquet", "-o", "p.yaml"]) == 0
    assert [column.name for column in us.Schema.load("p.yaml").columns] == ["age"]
    assert run(["describe", "spark:no_such_table", "-o", "q.yaml"]) == 1
