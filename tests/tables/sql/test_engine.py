"""The engine: private, sealed, and silent about rows."""

from __future__ import annotations

import gc
import tempfile
import traceback
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from understudy.errors import TableError
from understudy.schema import Categorical, Integer, Schema
from understudy.tables import Table, open_table
from understudy.tables.sql.engine import LEAKING_STEP, SLOW_STEP, Engine

CANARY = "canary-7f3a"


def whole_story(error: BaseException) -> str:
    """Everything a log could show of an error."""
    chain = []
    seen: BaseException | None = error
    while seen is not None:
        chain.append(repr(seen))
        seen = seen.__cause__ or seen.__context__
    return "".join(traceback.format_exception(error)) + "".join(chain)


BROKEN = [
    f"SELECT CAST('{CANARY}' AS INTEGER)",
    f"SELECT error('{CANARY}')",
    f"SELECT CAST(x AS INTEGER) FROM (SELECT '{CANARY}' || range AS x FROM range(10))",
]


@pytest.mark.parametrize("query", BROKEN)
@pytest.mark.parametrize("ask", ["run", "arrays", "stream"])
def test_no_error_quotes_a_cell(query, ask):
    engine = Engine()
    with pytest.raises(duckdb.Error, match=CANARY):
        duckdb.connect().execute(query).fetchall()
    with pytest.raises(TableError) as caught:
        list(getattr(engine, ask)(query, doing="testing"))
    shown = whole_story(caught.value).replace(query, "")
    assert CANARY not in "".join(
        line for line in shown.splitlines() if "list(getattr" not in line
    )
    assert str(caught.value).startswith("testing did not work (")


def test_a_stream_that_breaks_off_midway_says_so():
    engine = Engine()
    late = "SELECT CASE WHEN range < 500000 THEN 1::UTINYINT ELSE error('secret')::UTINYINT END FROM range(600000)"
    with pytest.raises(TableError, match="testing did not work"):
        for _ in engine.stream(late, doing="testing"):
            pass


def test_streamed_columns_are_our_own():
    engine = Engine()
    query = "SELECT (range % 7)::UTINYINT, (range % 300)::USMALLINT, range::UINTEGER FROM range(300000)"
    batches = list(engine.stream(query, doing="testing"))
    small, middle, large = (
        np.concatenate(parts) for parts in zip(*batches, strict=True)
    )
    assert (small.dtype, middle.dtype, large.dtype) == (np.uint8, np.uint16, np.uint32)
    order = np.argsort(large)
    np.testing.assert_array_equal(large[order], np.arange(300_000))
    np.testing.assert_array_equal(small[order], np.arange(300_000) % 7)
    np.testing.assert_array_equal(middle[order], np.arange(300_000) % 300)


def test_an_empty_stream_has_no_rows():
    batches = list(Engine().stream("SELECT 1::UTINYINT WHERE false", doing="testing"))
    assert sum(len(batch[0]) for batch in batches) == 0


def test_a_stream_may_be_left_early():
    stream = Engine().stream(
        "SELECT range::UINTEGER FROM range(5000000)", doing="testing"
    )
    assert len(next(stream)) == 1
    stream.close()
    gc.collect()


def test_a_code_that_is_missing_is_an_error():
    with pytest.raises(TableError, match="StreamError"):
        list(Engine().stream("SELECT NULL::UTINYINT", doing="testing"))


def test_a_sealed_engine_reads_nothing_else(tmp_path):
    (tmp_path / "mine.csv").write_text("a\n1\n")
    (tmp_path / "theirs.csv").write_text("a\n1\n")
    engine = Engine()
    engine.seal([tmp_path / "mine.csv"])
    read = "SELECT * FROM read_csv('{}', columns = {{'a': 'VARCHAR'}}, auto_detect = false)"
    engine.run(read.format(tmp_path / "mine.csv"), doing="testing")
    for query in (
        read.format(tmp_path / "theirs.csv"),
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ):
        with pytest.raises(TableError):
            engine.run(query, doing="testing")
    assert not (tmp_path / "out.csv").exists()


def test_the_private_directory_is_private_and_goes_away():
    engine = Engine()
    directory = engine.directory
    assert directory.stat().st_mode & 0o777 == 0o700
    del engine
    gc.collect()
    assert not directory.exists()


def test_closing_twice_is_harmless():
    engine = Engine()
    engine.close()
    engine.close()


@pytest.fixture
def odd_files(tmp_path) -> list[Path]:
    """Files in which every cell is a canary, in every kind of disorder."""
    bodies = [
        f"{CANARY},{CANARY},{CANARY}\n",
        f'"{CANARY}\n',
        f'{CANARY}"{CANARY},\n',
        f"{CANARY}\xff\n",
        f"{CANARY}\0{CANARY}\n",
    ]
    paths = []
    for i, body in enumerate([*bodies, "".join(bodies)]):
        paths.append(tmp_path / f"t{i}.csv")
        paths[-1].write_bytes(b"a,b\n" + body.encode("latin-1"))
    return paths


def test_canaries_raise_nothing_and_are_counted(odd_files):
    schema = Schema(
        columns=(
            Integer(name="a", min=0, max=1),
            Categorical(name="b", values=("x",), other="other"),
        )
    )
    for path in odd_files:
        with open_table(path) as source:
            table = Table(source, schema)
            assert table.counts([("a",)])[0][2] == table.rows() > 0
            table.votes(["a", "b"])
            table.labels("b")


def test_canaries_in_a_file_that_breaks_are_not_quoted(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [CANARY] * 1000, "b": list(range(1000))}).write_parquet(
        path, compression="uncompressed"
    )
    content = bytearray(path.read_bytes())
    content[30:200] = b"\xff" * 170
    path.write_bytes(content)
    with pytest.raises(TableError) as caught, open_table(path) as source:
        Table(
            source,
            Schema(columns=(Integer(name="b", min=0, max=1), Categorical(name="a"))),
        ).labels("a")
    assert CANARY not in whole_story(caught.value)


def test_planning_leaves_out_the_step_that_takes_seconds_over_a_rule():
    """Counting the rows that break a rule on two columns of text took six seconds to
    plan, for five rows.
    """
    disabled = Engine().run(
        "SELECT current_setting('disabled_optimizers')", doing="testing"
    )[0][0]
    assert set(disabled.split(",")) == {LEAKING_STEP, SLOW_STEP}


def test_an_interrupt_while_it_opens_leaves_no_directory(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o700]
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(duckdb, "connect", interrupted)
    try:
        Engine()
    except KeyboardInterrupt as error:
        error.__traceback__ = (
            None  # whoever answers an interrupt lets go of where it was
        )
    gc.collect()
    assert list(tmp_path.iterdir()) == []
