"""Tables of SQLite and DuckDB files give the same integers as a CSV file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import understudy as us
from understudy.errors import TableError, UnderstudyError
from understudy.tables import Table, open_table
from understudy.tables.streams.open_stream import open_stream
from understudy.testing.table_conformance import check_table
from understudy.workflow.open import open_source

SCHEMA = us.Schema.parse("""\
columns:
  age: {type: integer, min: 0, max: 90}
  height: {type: real, min: 0, max: 3, step: 0.1}
  sex: {type: categorical, values: [F, M]}
""")
LOOSE_ROWS = [
    (34, 1.8, "F"),
    ("thirty", "tall", 5),
    (None, None, None),
    ("51", 0.1 + 0.2, "M"),
    (2**62, float("inf"), b"\xff\xfe"),
    (12.0, -0.05, ""),
    (-1, 1e-320, "F\n"),
]
TEXTS = [
    ("34", "1.8", "F"),
    ("thirty", "tall", "5"),
    (None, None, None),
    ("51", "0.30000000000000004", "M"),
    (str(2**62), "Inf", "??"),
    ("12", "-0.05", ""),
    ("-1", "9.99988867182683e-321", "F\n"),
]
"""What SQLite prints of the cells above: 12.0 in a column of integers is stored as 12."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Many rows without a cell come first: a driver would take their type for all.
    rows = [(None, None, None)] * 3000 + LOOSE_ROWS * 20
    with sqlite3.connect("people.sqlite") as connection:
        connection.execute("CREATE TABLE people (age INTEGER, height REAL, sex TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.close()
    return tmp_path


def read_twin() -> Table:
    texts = [(None, None, None)] * 3000 + TEXTS * 20
    columns = [pa.array(column, pa.string()) for column in zip(*texts, strict=True)]
    return Table(open_table(pa.table(columns, names=list(SCHEMA))), SCHEMA)


@pytest.mark.parametrize("given", ["sqlite:///people.sqlite?table=people", "dbapi"])
def test_loose_types_give_the_integers_of_their_texts(file: Path, given: str) -> None:
    connection = sqlite3.connect("people.sqlite")
    data = us.DatabaseTable(connection, "people") if given == "dbapi" else given
    with open_source(data) as source:
        check_table(Table(source, SCHEMA), read_twin())
    connection.close()


def test_computed_columns_are_in_the_header(file: Path) -> None:
    """However the table is named; the pragma that lists columns leaves them out."""
    with sqlite3.connect("people.sqlite") as connection:
        connection.execute(
            "CREATE TABLE paid (pay INTEGER, year INTEGER AS (12 * pay),"
            " kind TEXT AS ('k' || pay) STORED)"
        )
        connection.execute("INSERT INTO paid VALUES (3)")
    names = ("pay", "year", "kind")
    for data in ("people.sqlite::paid", us.DatabaseTable(connection, "paid")):
        with open_source(data) as source:
            assert source.names == names
            cells = source.engine.run(f"FROM {source.relation}", doing="reading")
        assert cells == [("3", "36", "k3")]
    connection.close()


def test_a_table_without_rows(file: Path) -> None:
    with sqlite3.connect("people.sqlite") as connection:
        connection.execute("DELETE FROM people")
    connection.close()
    with open_source("people.sqlite::people") as source:
        assert Table(source, SCHEMA).rows() == 0


def test_a_duckdb_file_is_read_in_place(tmp_path: Path) -> None:
    file = tmp_path / "a.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT (i % 95)::INT AS age, CASE WHEN i % 7 = 0 THEN"
            " 'NaN'::DOUBLE WHEN i % 11 = 0 THEN 'inf'::DOUBLE ELSE i / 100 END AS height,"
            " CASE i % 3 WHEN 0 THEN 'F' WHEN 1 THEN 'M' END AS sex, i::UHUGEINT AS big"
            " FROM range(500) r(i)"
        )
        rows = connection.table("people").to_arrow_table().drop_columns(["big"])
    with open_source(f"{file}::people") as source:
        assert source.ledger_path == tmp_path / "a.duckdb.people.ledger"
        check_table(Table(source, SCHEMA), Table(open_table(rows), SCHEMA))
    with pytest.raises(TableError, match="no table of a DuckDB file"):
        open_source(f"{file}::nobody")


def test_what_check_table_finds(file: Path) -> None:
    """A suite that passes a table with one other cell compares nothing."""
    with sqlite3.connect("people.sqlite") as connection:
        connection.execute("UPDATE people SET sex = 'M' WHERE rowid = 3001")
    connection.close()
    with (
        open_source("people.sqlite::people") as source,
        pytest.raises(AssertionError, match="differ in their"),
    ):
        check_table(Table(source, SCHEMA), read_twin())


@pytest.mark.parametrize("target", ["out.duckdb::made", "sqlite:///out.db?table=made"])
def test_synthetic_rows_go_back(file: Path, target: str) -> None:
    release = us.synthesize(
        "people.sqlite::people", SCHEMA, epsilon=1, synthesizer="independent"
    )
    assert release.write(target, 40, seed=1) == 40
    assert (file / "people.sqlite.people.ledger").exists()
    with pytest.raises(UnderstudyError, match="exists already"):
        release.write(target, 40)
    drafted = us.describe(target)
    assert [column.name for column in drafted.columns] == list(SCHEMA)


def test_what_concerns_csv_files_is_refused(file: Path) -> None:
    with pytest.raises(TableError, match="is no CSV file"):
        open_source("people.sqlite::people", delimiter=";")


@pytest.mark.parametrize(
    "data", ["people.sqlite::nobody", "sqlite:///none.db?table=a", "people.sqlite"]
)
def test_what_is_not_there_is_refused_in_one_line(file: Path, data: str) -> None:
    with pytest.raises(TableError, match="Nothing was read") as refused:
        open_source(data)
    assert "\n" not in str(refused.value)


def test_rows_of_an_attempt_that_failed_are_not_counted_twice() -> None:
    batch = pa.table({"age": pa.array(["34", "51"])})
    attempts = []

    def read_batches() -> Iterator[pa.Table]:
        attempts.append(1)
        yield batch
        if len(attempts) == 1:
            raise OSError("the connection is lost")

    source = open_stream(
        read_batches,
        batch.slice(0, 0),
        kind="database",
        title="people",
        path=None,
        ledger_path=Path("people.ledger"),
        release=lambda: None,
    )
    table = Table(source, us.Schema.parse("columns: {age: {type: integer}}"))
    with pytest.raises(TableError, match="did not answer"):
        table.rows()
    assert table.rows() == 2
