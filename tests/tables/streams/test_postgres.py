"""Tables of a real PostgreSQL give the same integers as files, and keep its secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pyarrow as pa
import pytest

import understudy as us
from kit.postgres import PASSWORD, PostgresServer, run_postgres
from understudy.cli.root import run
from understudy.errors import ReleaseError, TableError, UnderstudyError
from understudy.tables import Table, open_table
from understudy.testing.table_conformance import check_table
from understudy.workflow.open import open_source

SCHEMA = us.Schema.parse("""\
columns:
  age: {type: integer, min: 0, max: 90}
  pay: {type: real, min: 0, max: 100, step: 0.01}
  height: {type: real, min: 0, max: 3, step: 0.1}
  born: {type: date, min: 1900-01-01, max: 2020-12-31}
  seen: {type: datetime, min: 2020-01-01, max: 2021-01-01, zone: UTC, resolution: 1s}
  sex: {type: categorical, values: [F, M]}
  smoker: boolean
rules:
  - age >= 18 or smoker = false
""")

ODD_ROWS = """
(34, 12.50, 1.8, '1990-05-01', '2020-03-01 10:00+02', 'F', true),
(NULL, 'NaN', 'NaN', 'infinity', 'infinity', NULL, NULL),
(2147483647, 'Infinity', 'Infinity', '-infinity', '-infinity', '', false),
(-5, -3.999, '-Infinity', '0044-03-15 BC', '1990-01-01', E'F\\t', true),
(12, 99999999999999999999999999.5, 1e300, '5874897-12-31', '2020-12-31 23:59:59.9999+00', 'Ω', true),
(90, 0.005, 0.30000000000000004, '2020-12-31', '2020-02-30'::text::timestamptz - interval '1 day', 'M', false)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with run_postgres() as running:
        rows = ODD_ROWS.replace(
            "'2020-02-30'::text::timestamptz - interval '1 day'", "'2020-02-29'"
        )
        running.run(
            "CREATE SCHEMA clinic",
            "CREATE TABLE clinic.odd (age int, pay numeric, height float8, born date,"
            " seen timestamptz, sex text, smoker bool)",
            f"INSERT INTO clinic.odd VALUES {rows}",
            "CREATE TABLE people AS SELECT (random() * 72)::int + 18 AS age,"
            " (ARRAY['F', 'M'])[1 + (random() * 1)::int] AS sex"
            " FROM generate_series(1, 2000)",
            "CREATE TYPE mood AS ENUM ('low', 'high')",
            "CREATE DOMAIN years AS int CHECK (value < 200)",
            "CREATE TABLE kinds AS SELECT 'low'::mood AS mood, 34::years AS years,"
            " 12.5::money AS price, '10.0.0.1'::inet AS host, B'101' AS flags,"
            " '10:00+02'::timetz AS clock, '1 day'::interval AS stay, ARRAY[1] AS list,"
            " '\\x00'::bytea AS thumb, '{}'::jsonb AS json, 'a'::char(3) AS padded",
        )
        yield running


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_odd_cells_give_the_integers_of_a_file(server: PostgresServer) -> None:
    """The twin holds what PostgreSQL prints, as a CSV export would."""
    texts = server.fetch(
        "SELECT age::text, pay::text, height, born::text, (seen AT TIME ZONE"
        " 'UTC')::text, sex, smoker FROM clinic.odd"
    )
    columns = [list(column) for column in zip(*texts, strict=True)]
    columns[4] = [text and f"{text}Z" for text in columns[4]]
    twin = open_table(pa.table(columns, names=list(SCHEMA)))
    with twin, open_source(server.address("clinic.odd")) as source:
        answers = check_table(Table(source, SCHEMA), Table(twin, SCHEMA))
    assert answers > 40


def test_a_date_beyond_the_calendar_does_not_wrap(server: PostgresServer) -> None:
    """The driver's own `infinity` is a day in 5,877,612 BC, which would be clipped to
    the first day; as a text it is no date at all.
    """
    with open_source(server.address("clinic.odd")) as source:
        counts = Table(source, SCHEMA).counts([("born",)])[0]
    first, last = counts[0], counts[SCHEMA.codecs["born"].size - 2]
    assert (first, last) == (0, 1)


def test_rows_are_those_of_the_moment_it_was_opened(server: PostgresServer) -> None:
    server.run("CREATE TABLE live AS SELECT generate_series(1, 50) AS age")
    schema = us.Schema(columns=(us.Integer(name="age", min=0, max=90),))
    with open_source(server.address("live")) as source:
        server.run("INSERT INTO live VALUES (1), (2)", "DELETE FROM live WHERE age > 9")
        table = Table(source, schema)
        assert table.rows() == 50
        server.run("DROP TABLE live")
        assert table.sum("age", 0, 90) == 1275


def test_every_type_is_read_or_left_out(server: PostgresServer) -> None:
    types = {c.name: c.type for c in us.describe(server.address("kinds")).columns}
    assert types["list"] == types["thumb"] == "text"
    assert types["mood"] == types["price"] == types["stay"] == "categorical"
    assert types["years"] == "integer"


def test_a_release_holds_no_password(server: PostgresServer, folder: Path) -> None:
    release = us.synthesize(
        server.address("people"), epsilon=1, synthesizer="independent"
    )
    release.save("r.understudy")
    assert release.write(server.address("synthetic"), 500, seed=1) == 500
    assert server.fetch("SELECT count(*), min(age) >= 0 FROM synthetic") == [
        (500, True)
    ]
    assert (folder / "postgres.people.ledger").exists()
    assert release.statement.dataset == "postgres.people"
    for path in folder.rglob("*"):
        assert PASSWORD.encode() not in path.read_bytes()
        assert PASSWORD not in path.name
    with pytest.raises(ReleaseError, match="exists already"):
        release.write(server.address("synthetic"), 5)
    with pytest.raises(UnderstudyError) as refused:
        release.write(server.address("nowhere.synthetic"), 5)
    assert PASSWORD not in str(refused.value)
    assert refused.value.__context__ is None


def test_a_table_has_one_account_however_it_is_named(server: PostgresServer) -> None:
    """Also where the address leaves its database or its schema to the server."""
    options = {"host": str(server.folder), "user": "owner", "dbname": "postgres"}
    query = urlencode({**options, "options": "-csearch_path=clinic"}, quote_via=quote)
    for address in (
        server.address("clinic.odd"),
        f"postgresql://?{query}&table=odd",
        f"postgresql://?{query}&table=clinic.odd",
    ):
        with open_source(address) as source:
            assert source.ledger_path == Path("postgres.clinic.odd.ledger")
            assert source.title == "postgres.clinic.odd"


def test_rows_that_cannot_be_written_leave_no_table(server: PostgresServer) -> None:
    schema = us.Schema(columns=(us.Integer(name="age", min=0, max=9),))
    release = us.synthesize(
        pa.table({"age": [1, 2, 3] * 50}), schema, epsilon=1, synthesizer="independent"
    )
    server.run(
        "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE 'no table here'; END$$",
        "CREATE EVENT TRIGGER late ON ddl_command_end WHEN TAG IN ('CREATE TABLE')"
        " EXECUTE FUNCTION refuse()",
    )
    try:
        with pytest.raises(UnderstudyError, match="Nothing was written"):
            release.write(server.address("half"), 100)
    finally:
        server.run("DROP EVENT TRIGGER late")
    assert server.fetch("SELECT to_regclass('half') IS NULL") == [(True,)]


def test_a_command_line(
    server: PostgresServer, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = server.address("people")
    assert run(["describe", address, "-o", "people.yaml"]) == 0
    command = ["synthesize", address, "--schema", "people.yaml", "--epsilon", "1"]
    command += ["--synthesizer", "independent", "--seed", "1", "--json"]
    assert run([*command, "-o", server.address("made")]) == 0, capfd.readouterr()
    assert server.fetch("SELECT count(*) > 1000 FROM made") == [(True,)]
    spent = (folder / "postgres.people.ledger").read_bytes()
    assert run([*command, "-o", server.address("made")]) == 1
    assert (folder / "postgres.people.ledger").read_bytes() == spent
    assert run(["describe", server.address("nosuch"), "-o", "x.yaml"]) == 1
    out, err = capfd.readouterr()
    assert PASSWORD not in out + err
    assert "the table exists already" in err
    assert "has no table of that name" in err


def test_a_table_that_may_not_be_made_is_refused_before_anything_is_spent(
    server: PostgresServer, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server.run("CREATE ROLE reader LOGIN", "GRANT SELECT ON people TO reader")
    address = server.address("people").replace("owner", "reader")
    command = ["synthesize", address, "--epsilon", "1", "--synthesizer", "independent"]
    for name, reason in (("made_late", "may not"), ("nosuch.made", "no schema")):
        target = address.replace("people", name)
        assert run([*command, "-o", target]) == 1
        err = capfd.readouterr().err
        assert reason in err
        assert "Nothing was spent" in err
    assert not list(folder.glob("*.ledger"))
    assert server.fetch("SELECT to_regclass('made_late') IS NULL") == [(True,)]


def test_a_row_that_cannot_be_read_is_refused_in_one_line(
    server: PostgresServer,
) -> None:
    """By a view that fails in the middle, with a cell in the database's message."""
    server.run(
        "CREATE VIEW broken AS SELECT 1 / (i - 1500) AS a, 'canary'::text AS b FROM"
        " generate_series(1, 2000) i"
    )
    with (
        open_source(server.address("broken")) as source,
        pytest.raises(TableError) as refused,
    ):
        source.check(["a"])
    assert str(refused.value).startswith("postgres.broken: the database did not")
    assert str(refused.value).endswith("Nothing was spent")


def test_a_connection_of_its_owner(server: PostgresServer) -> None:
    import adbc_driver_postgresql.dbapi

    with adbc_driver_postgresql.dbapi.connect(server.location) as connection:
        with connection.cursor() as cursor:
            # What it prints for its owner is not what is read.
            cursor.execute("SET DateStyle = 'SQL, DMY'")
        source = open_source(us.DatabaseTable(connection, "odd", "clinic"))
        with source, open_source(server.address("clinic.odd")) as expected:
            check_table(Table(source, SCHEMA), Table(expected, SCHEMA))
        # It is left open, for its owner.
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('DateStyle')")
            assert cursor.fetchall() == [("SQL, DMY",)]


@pytest.mark.parametrize(
    ("encoding", "shown"), [("LATIN1", "Ä"), ("SQL_ASCII", "?"), ("UTF8", "Ä")]
)
def test_letters_of_every_encoding(
    server: PostgresServer, encoding: str, shown: str
) -> None:
    """A database that does not know its encoding may hold bytes that are no text."""
    server.run(
        f"CREATE DATABASE letters ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
    )
    letters = PostgresServer(server.folder, server.process, "letters")
    cell = "E'\\xc4'" if shown == "?" else "chr(196)"
    letters.run(f"CREATE TABLE people AS SELECT {cell} AS name")
    with open_source(letters.address("people")) as source:
        cells = source.engine.run(f"FROM {source.relation}", doing="reading")
    server.run("DROP DATABASE letters")
    assert cells == [(shown,)]


def test_a_server_that_is_gone() -> None:
    with pytest.raises(TableError) as refused:
        open_source(f"postgresql://u:{PASSWORD}@127.0.0.1:1/d?table=t")
    assert PASSWORD not in str(refused.value)
    assert refused.value.__context__ is None
