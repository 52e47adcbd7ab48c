"""Canaries in cells that must not be released: none may be found in any file, log,
message or temporary folder afterwards.
"""

from __future__ import annotations

import base64
import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from kit.privacy.canary import Cage, scan
from understudy.cli.root import run as command
from understudy.errors import UnderstudyError
from understudy.releases import Release
from understudy.schema import Schema
from understudy.workflow.describe import describe
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

HEADER = "patient_id,sex,city,age,weight,born,remarks\n"
ROWS = 400


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A folder for temporary files of this test alone; empty at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def table(cage: Cage, rng: np.random.Generator) -> tuple[str, str]:
    """A CSV file of common values, an id and a remark in every row, and in some a
    canary of each type; and a label that is common.
    """
    common = f"common{cage.text()}"
    cage.texts.pop()
    lines = []
    for i in range(ROWS):
        city, age, weight, born = (
            common,
            str(20 + i % 50),
            f"{50 + i % 40}.5",
            f"19{50 + i % 40}-06-15",
        )
        match i % 80:
            case 11:
                city = cage.text()
            case 22:
                age = str(cage.number())
            case 33:
                weight = cage.real()
            case 44:
                born = cage.day().isoformat()
            case 55:
                age, weight, born = cage.text(), cage.text(), cage.text()
        person, remark = (
            (cage.text(), cage.text()) if i % 10 == 0 else (f"p{i}", f"remark {i}")
        )
        lines.append(f"{person},{'FM'[i % 2]},{city},{age},{weight},{born},{remark}")
    return HEADER + "\n".join(lines[i] for i in rng.permutation(ROWS)) + "\n", common


def released(folder: Path, cage: Cage, rng: np.random.Generator, *, number: int) -> str:
    """One run of one kind, everything written that can be written; the common label."""
    text, common = table(cage, rng)
    path = folder / "people.csv"
    path.write_text(text)
    data: object = path
    if number % 3 == 1:
        data = pandas.read_csv(path)
    elif number % 3 == 2:
        data = folder / "people.parquet"
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pandas(pandas.read_csv(path)), data
        )
    schema: Schema | None = describe(path) if number % 2 else None
    method = ("independent", "stability", "independent")[number // 2 % 3]
    release = synthesize(
        data,
        schema,
        epsilon=8,
        delta="1e-6",
        synthesizer=method,
        anyway=True,
        ledger=folder / "people.ledger",
        run=RunOptions(dataset="people"),
    )
    if schema is not None:
        schema.save(folder / "schema.yaml")
        release.schema.save(folder / "learned.yaml")
    release.save(folder / "people.understudy")
    release.write(folder / "out.csv")
    release.write(folder / "out.parquet")
    loaded = Release.load(folder / "people.understudy")
    (folder / "shown.txt").write_text(
        repr(loaded) + loaded._repr_html_() + str(loaded.tables(kind="pandas"))
    )
    return common


def check(folder: Path, caplog, number: int) -> None:
    cage, rng = Cage(), np.random.default_rng(number)
    with caplog.at_level(logging.DEBUG):
        common = released(folder, cage, rng, number=number)
    inputs = {folder / "people.csv", folder / "people.parquet"}
    assert scan(cage, folder, but=inputs) == {}
    assert cage.found_in(caplog.text.encode()) == []
    # The same scanner finds every canary in the input, and a label that was learned and
    # paid for in the output.
    assert len(cage.found_in((folder / "people.csv").read_bytes())) >= len(cage.texts)
    learned = Cage(texts=[common])
    assert {"out.csv", "people.understudy", "people.ledger"} <= set(
        scan(learned, folder, but=inputs)
    )


@pytest.mark.parametrize("number", range(6))
def test_no_canary_leaves(number, tmp_path, temporary, caplog):
    (tmp_path / "run").mkdir()
    check(tmp_path / "run", caplog, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(50))
def test_no_canary_leaves_in_fifty_runs(number, tmp_path, temporary, caplog):
    (tmp_path / "run").mkdir()
    check(tmp_path / "run", caplog, number)


# Messages


def message(error: BaseException) -> str:
    """An error and everything it came of."""
    texts = []
    while error is not None:
        texts.append(f"{type(error).__name__}: {error} {error.args}")
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def broken(folder: Path, cage: Cage) -> dict[str, object]:
    """Data that cannot be read, or not as described, with canaries in it."""
    token = cage.text()
    (folder / "binary.csv").write_bytes(
        b"a,b\n" + bytes(range(256)) + token.encode() + b"\n"
    )
    (folder / "quoted.csv").write_text(f'sex,age\n"{token},3\nF,4\n')
    (folder / "false.parquet").write_text(f"sex,age\n{token},3\n")
    (folder / "torn.parquet").write_bytes(b"PAR1" + token.encode() * 50 + b"PAR1")
    nested = pyarrow.table({"sex": [{"a": token}, {"a": "b"}], "age": [[1], [2]]})
    pyarrow.parquet.write_table(nested, folder / "nested.parquet")

    class Odd:
        def __repr__(self) -> str:
            return token

    return {
        "binary": folder / "binary.csv",
        "quoted": folder / "quoted.csv",
        "false": folder / "false.parquet",
        "torn": folder / "torn.parquet",
        "nested": folder / "nested.parquet",
        "objects": pandas.DataFrame(
            {"sex": [token, 3, Odd()], "age": [Odd(), token, [token]]}
        ),
        "list": [token, 1],
        "number": 3,
    }


def test_no_message_repeats_a_cell(tmp_path, temporary, caplog):
    cage, messages = Cage(), []
    sex, age = describe_plain(tmp_path)
    for data in broken(tmp_path, cage).values():
        for schema in (None, Schema(columns=(sex, age))):
            try:
                synthesize(
                    data,
                    schema,
                    epsilon=1,
                    delta="1e-6",
                    anyway=True,
                    ledger=tmp_path / "l.ledger",
                    run=RunOptions(dataset="x"),
                )
            except UnderstudyError as error:
                messages.append(message(error))
    assert len(messages) > 4
    assert cage.found_in("\n".join([*messages, caplog.text]).encode()) == []


def describe_plain(folder: Path) -> tuple[object, object]:
    (folder / "plain.csv").write_text("sex,age\n" + "F,30\nM,40\n" * 50)
    schema = describe(folder / "plain.csv", public_domains=True)
    return schema["sex"], schema["age"]


def test_an_unforeseen_failure_shows_no_cell_either(
    tmp_path, temporary, capsys, monkeypatch
):
    """A library's own message may quote a cell; the command line prints only its kind."""
    from understudy.tables import Table

    cage = Cage()
    token = cage.text()
    (tmp_path / "people.csv").write_text(f"sex,age\n{token},30\n")

    def quote(self, cliques):
        raise ValueError(f"could not convert {token}")

    monkeypatch.setattr(Table, "counts", quote)
    monkeypatch.setattr(Table, "votes", lambda self, columns: quote(self, columns))
    monkeypatch.delenv("UNDERSTUDY_DEBUG", raising=False)
    assert (
        command(
            [
                "synthesize",
                str(tmp_path / "people.csv"),
                "--epsilon",
                "1",
                "-o",
                str(tmp_path / "out.csv"),
            ]
        )
        == 1
    )
    shown = capsys.readouterr()
    assert "ValueError" in shown.err
    assert cage.found_in((shown.out + shown.err).encode()) == []


def typed(line: str, folder: Path, temporary: Path) -> bytes:
    """What a process of its own shows, its temporary files in a folder that is empty
    again when it ends.
    """
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONWARNINGS": "default"}
    program = [
        sys.executable,
        "-c",
        "import understudy.cli; understudy.cli.main()",
        *line.split(),
    ]
    done = subprocess.run(
        program, cwd=folder, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(temporary.iterdir()) == []
    return done.stdout + done.stderr


def test_a_process_leaves_no_canary_on_its_screen_or_behind_it(
    tmp_path, temporary, monkeypatch, capfd
):
    """The commands as a custodian types them, their temporary files included: one as a
    process of its own, the others in this one.
    """
    cage = Cage()
    folder = tmp_path / "run"
    folder.mkdir()
    text, _ = table(cage, np.random.default_rng(1))
    (folder / "people.csv").write_text(text)
    shown = typed(
        "synthesize people.csv --epsilon 4 --delta 1e-6 -o out.csv --release r.understudy --json",
        folder,
        temporary,
    )
    monkeypatch.chdir(folder)
    for line in (
        "describe people.csv -o schema.yaml --json",
        "synthesize people.csv --schema schema.yaml --epsilon 4 --delta 1e-6 -o two.parquet",
        "synthesize people.csv --synthesizer stability --epsilon 4 --delta 1e-6 -o three.csv",
        "ledger show people.csv.ledger",
    ):
        assert command(line.split()) == 0
        assert list(temporary.iterdir()) == []
    printed = capfd.readouterr()
    assert printed.out
    assert (
        cage.found_in(b"\n".join([shown, printed.out.encode(), printed.err.encode()]))
        == []
    )
    assert scan(cage, folder, but={folder / "people.csv"}) == {}


@pytest.mark.parametrize(
    "hidden", ["zip", "sqlite", "parquet", "wide", "base64", "integer", "float"]
)
def test_the_scanner_finds_a_canary_wherever_it_hides(hidden, tmp_path):
    cage = Cage()
    token, number = cage.text(), cage.number()
    path = tmp_path / "file"
    if hidden == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inner", token * 100)
    elif hidden == "sqlite":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE t (x BLOB)")
        connection.execute("INSERT INTO t VALUES (?)", (token.encode("utf-32-le"),))
        connection.commit()
        connection.close()
    elif hidden == "parquet":
        pyarrow.parquet.write_table(
            pyarrow.table({"x": [token] * 50}), path, compression="zstd"
        )
    elif hidden == "wide":
        path.write_bytes(np.array([token]).tobytes())
    elif hidden == "base64":
        path.write_bytes(
            base64.b64encode(b"x" * (number % 3) + token.encode() + b"yyy")
        )
    else:
        path.write_bytes(
            np.array(
                [1, number], np.int64 if hidden == "integer" else np.float64
            ).tobytes()
        )
    assert scan(cage, tmp_path) != {}
