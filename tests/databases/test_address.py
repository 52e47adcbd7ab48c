"""Addresses name a table, and never show how to connect."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.cli.paths import check_table_input
from understudy.cli.root import run
from understudy.databases.address import is_address, name_spark_ledger, parse_address
from understudy.errors import TableError
from understudy.workflow.open import open_source


def test_the_parts_of_an_address() -> None:
    address = parse_address(
        "postgresql://ann:pw@db:5433/survey?sslmode=require&table=clinic.people"
    )
    assert (address.schema, address.table) == ("clinic", "people")
    assert address.location == "postgresql://ann:pw@db:5433/survey?sslmode=require"
    assert str(address) == address.title == "survey.clinic.people"
    assert address.ledger_path == Path("survey.clinic.people.ledger")


def test_files_of_databases() -> None:
    relative = parse_address("sqlite:///data/a.db?table=people")
    absolute = parse_address("sqlite:////data/a.db?table=people")
    assert relative.path == Path("data/a.db")
    assert absolute.path == Path("/data/a.db")
    assert relative.ledger_path == Path("data/a.db.people.ledger")
    duck = parse_address("shop.duckdb::visits")
    assert (duck.system, duck.path, duck.table) == (
        "duckdb",
        Path("shop.duckdb"),
        "visits",
    )
    assert parse_address("a.sqlite::t").system == "sqlite"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("shop.duckdb::visits", "shop.duckdb::VISITS"),
        ("sqlite:///shop.db?table=visits", "sqlite:///shop.db?table=Visits"),
        ("spark:clinic.visits", "spark:Clinic.Visits"),
        ("spark:visits", "spark:default.`Visits`"),
        ("spark:visits", "spark:spark_catalog.default.visits"),
        ("postgresql:///d?table=visits", "postgresql:///d?table=public.visits"),
    ],
)
def test_a_table_has_one_account_however_it_is_named(one: str, other: str) -> None:
    assert parse_address(one).ledger_path == parse_address(other).ledger_path


def test_a_session_says_where_a_table_of_spark_is() -> None:
    clinic = name_spark_ledger("visits", database="clinic")
    assert clinic == parse_address("spark:clinic.visits").ledger_path
    assert clinic != parse_address("spark:visits").ledger_path
    lake = name_spark_ledger("visits", catalog="lake")
    assert lake == parse_address("spark:lake.default.visits").ledger_path


def test_a_quoted_name_may_hold_a_dot() -> None:
    address = parse_address('postgresql:///d?table="odd.schema"."a""b"')
    assert (address.schema, address.table) == ("odd.schema", 'a"b')
    assert "/" not in parse_address('postgresql:///d?table="a/b"').ledger_path.name


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:pw-canary@h/d",
        "postgresql://u:pw-canary@h/d?table=",
        "postgresql://u:pw-canary@h/d?table=a.b.c",
        "postgresql://u:pw-canary@[h/d?table=a",
        "postgresql://u:p/pw-canary@h/d?table=a",
        "postgresql://u:p?pw-canary@h/d?table=a",
        "postgresql://u:p#pw-canary@h/d?table=a",
        "postgresql:///user=u%20password=pw-canary?table=a",
        "postgresql:///d?table=a;password=pw-canary",
        "host=h user=u password=pw-canary dbname=d",
        "Server=h;Pwd=pw-canary;Database=d",
        "host=h passwd=pw-canary",
        "u:pw-canary@h/d",
        "//u:pw-canary@h:5432/d?table=a",
        "md:d?motherduck_token=pw-canary",
        "sqlite://data/a.db?table=a",
        "spark:s3a://key:pw-canary@bucket",
        "spark:s3a://key:pw-canary@bucket/people.parquet",
        "spark:https://example.org/people.parquet?sig=pw-canary",
        "shop.duckdb",
        "shop.duckdb::",
    ],
)
def test_an_address_without_a_table_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(TableError) as refused:
        parse_address(text)
    assert "pw-canary" not in str(refused.value)
    assert str(refused.value).endswith("Nothing was read")
    assert refused.value.__context__ is None


@given(st.text(st.characters(categories=["L", "N"]), min_size=8, max_size=20))
def test_no_password_is_shown(word: str) -> None:
    secret = f"S{word}S"
    address = parse_address(f"postgresql://ann:{secret}@db/survey?table=people")
    shown = f"{address} {address!r} {address.title} {address.ledger_path}"
    assert secret not in shown
    assert secret in address.location


def test_a_password_is_passed_on_as_it_is_spelled() -> None:
    """A plus is no blank, as it is in the form of a page."""
    address = parse_address("postgresql://h/d?password=a+b%26c&table=t&sslmode=require")
    assert address.location == "postgresql://h/d?password=a+b%26c&sslmode=require"
    served = parse_address("postgresql://?service=clinic&table=people")
    assert served.location == "postgresql://?service=clinic"


def test_a_table_may_have_any_name() -> None:
    assert parse_address("shop.duckdb::people@home").table == "people@home"


def test_paths_are_no_addresses() -> None:
    for text in ("people.csv", "a::b.csv", "parts/*.csv", "-", "table.parquet"):
        assert not is_address(text)
    for text in ("year=2020/a.parquet", "key=5/part-?.csv", "a?token.csv"):
        assert not is_address(text)


def test_a_way_to_connect_is_no_path(capfd: pytest.CaptureFixture[str]) -> None:
    """What the drivers of other programs take, and what a message would repeat."""
    others = ("Server=h;Pwd=pw-canary;Database=d", "u:pw-canary@h/d")
    for text in ("host=h password=pw-canary", *others):
        with pytest.raises(TableError, match="no path and no address"):
            open_source(text)
        assert run(["describe", text, "-o", "x.yaml"]) == 1
    out, err = capfd.readouterr()
    assert "pw-canary" not in out + err


@pytest.mark.parametrize("text", ["s3://key:pw-canary@b/a.parquet", "gs://b/a.csv"])
def test_a_place_on_the_network_is_refused_with_what_reads_it(text: str) -> None:
    with pytest.raises(TableError, match="let Spark read") as refused:
        open_source(text)
    assert "pw-canary" not in str(refused.value)
    with pytest.raises(TableError, match="let Spark read"):
        check_table_input(Path(text))


@pytest.mark.parametrize(
    "text",
    [
        "mysql://o:pw-canary@h/d?table=t",
        "postgresql+psycopg2://o:pw-canary@h/d?table=t",
        "jdbc:postgresql://h/d?password=pw-canary",
        "postgresql:o:pw-canary@h/d?table=t",
        "postgresql:/o:pw-canary@h/d?table=t",
    ],
)
def test_of_a_url_that_is_not_read_the_scheme_alone_is_shown(
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    schema = us.Schema.parse("columns:\n  smoker: boolean\n")
    release = us.synthesize(
        pa.table({"smoker": [True]}), schema, epsilon=1, synthesizer="independent"
    )
    for act in (
        lambda: open_source(text),
        lambda: open_source(Path(text)),
        lambda: release.write(text, 5),
        lambda: check_table_input(Path(text)),
    ):
        with pytest.raises(TableError, match="is no address") as refused:
            act()
        assert "pw-canary" not in str(refused.value)
    for names in ([text, "-o", "x.csv"], ["x.csv", "-o", text]):
        assert run(["synthesize", *names, "--epsilon", "1"]) != 0
    out, err = capfd.readouterr()
    assert "pw-canary" not in out + err
    assert "is no address" in err


def test_a_scheme_is_read_in_any_case() -> None:
    address = parse_address("POSTGRESQL://o:pw-canary@h/d?table=t")
    assert (address.system, address.title) == ("postgresql", "d.t")
    assert address.location == "postgresql://o:pw-canary@h/d"


@pytest.mark.parametrize("mark", ["_delta_log", ".hoodie", "metadata"])
@pytest.mark.parametrize("place", ["", "year=2020/part-0.parquet", "*/*.parquet"])
def test_a_lake_is_not_read_as_its_files(tmp_path: Path, mark: str, place: str) -> None:
    """They hold rows that were deleted from the table: named by its folder, by one of
    its files, by a pattern or by a list.
    """
    (tmp_path / mark).mkdir()
    (tmp_path / mark / "00001-a.metadata.json").write_text("{}")
    rows = tmp_path / "year=2020" / "part-0.parquet"
    rows.parent.mkdir()
    pq.write_table(pa.table({"age": [34]}), rows)
    for data in (tmp_path / place, [str(tmp_path / place)]):
        with pytest.raises(TableError, match="delta_scan"):
            open_source(data)


def test_what_spark_reads() -> None:
    address = parse_address("spark:s3a://bucket/people.parquet")
    assert address.ledger_path == Path("people.parquet.ledger")
    assert parse_address("spark:abfss://box@a.net/p").title == "p"
    assert parse_address("spark:/data/part-?.parquet").title == "part-?.parquet"
    assert parse_address("spark:clinic.people").title == "clinic.people"
    with pytest.raises(TableError):
        parse_address("spark://master:7077")
