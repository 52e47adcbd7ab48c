"""Pipes: rows in on stdin, rows out on stdout, and nothing left behind."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import pytest

from kit.cli import CANARY, Shell, spent
from understudy.schema import Schema


@pytest.fixture
def piped(people: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The table on stdin, and the folder in which private copies would be."""
    stdin = io.TextIOWrapper(io.BytesIO(people.read_bytes()))
    monkeypatch.setattr("sys.stdin", stdin)
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    return private


def test_rows_go_in_and_out(
    shell: Shell, schema: Path, piped: Path, tmp_path: Path
) -> None:
    assert shell("ledger", "init", "p.ledger", "--epsilon", 3).code == 0
    words = ("--schema", schema, "--epsilon", 1, "--rows", 20, "--ledger", "p.ledger")
    done = shell("synthesize", "-", *words, "-o", "-")
    assert done.code == 0, done.err
    header, *rows = done.out.splitlines()
    assert (header, len(rows)) == ("age,sex,smoker", 20)
    assert CANARY not in done.out
    assert spent(tmp_path / "p.ledger") == 1
    assert not list(piped.iterdir())


def test_rows_of_a_release_go_out(shell: Shell, release: Path, piped: Path) -> None:
    done = shell("sample", release, "-n", 5, "-o", "-")
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 6
    assert not list(piped.iterdir())
    done = shell("sample", release, "-o", "-", "--partition-rows", 5)
    assert (done.code, done.out) == (2, "")
    assert "stdout takes no parts" in done.err


def test_an_account_has_to_be_named(shell: Shell, piped: Path, tmp_path: Path) -> None:
    done = shell("synthesize", "-", "--epsilon", 1, "-o", "out.csv")
    assert done.code == 1
    assert "Open one (understudy ledger init people.ledger" in done.err
    assert not list(tmp_path.rglob("*.ledger"))


def test_json_and_rows_do_not_share_stdout(shell: Shell, people: Path) -> None:
    done = shell("synthesize", people, "--epsilon", 1, "-o", "-", "--json")
    assert (done.code, done.out) == (2, "")
    assert "would both go to stdout" in done.err


def test_a_refused_run_writes_nothing(shell: Shell, people: Path, piped: Path) -> None:
    done = shell("synthesize", people, "--epsilon", 0, "-o", "-")
    assert (done.code, done.out) == (1, "")
    assert not list(piped.iterdir())


def test_a_piped_table_is_described(shell: Shell, piped: Path, tmp_path: Path) -> None:
    assert shell("describe", "-", "-o", "draft.yaml").code == 0
    assert list(Schema.load(tmp_path / "draft.yaml"))[:2] == ["age", "sex"]
    assert not list(piped.iterdir())


def test_a_draft_goes_out(shell: Shell, piped: Path, tmp_path: Path) -> None:
    done = shell("describe", "-", "-o", "-")
    assert done.code == 0, done.err
    (tmp_path / "draft.yaml").write_text(done.out)
    assert list(Schema.load(tmp_path / "draft.yaml"))[:2] == ["age", "sex"]
    assert not (tmp_path / "-").exists()
    assert not list(piped.iterdir())


@pytest.mark.parametrize(
    "command", [("describe",), ("synthesize", "--epsilon", 1, "--ledger", "p.ledger")]
)
def test_what_is_made_of_a_pipe_needs_a_name(
    shell: Shell, piped: Path, command: tuple[object, ...]
) -> None:
    verb, *words = command
    done = shell(verb, "-", *words)
    assert done.code == 2
    assert "name a file for what is made of a pipe with -o" in done.err
    assert not list(piped.iterdir())


def test_a_piped_table_is_compared(
    shell: Shell,
    people: Path,
    schema: Path,
    piped: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fewer = "".join(people.read_text().splitlines(keepends=True)[:200])
    people.write_text(fewer)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(fewer.encode())))
    done = shell("evaluate", "-", people, "--schema", schema, "--no-risk")
    assert done.code == 0, done.err
    assert "Internal: reads real data" in done.out
    assert not list(piped.iterdir())


def test_an_audit_of_piped_rows_needs_an_account(
    shell: Shell, schema: Path, piped: Path, tmp_path: Path
) -> None:
    words = ("--schema", schema, "--epsilon", 1, "--synthesizer", "independent")
    less = ("--runs", 100, "--canaries", 20)
    done = shell("audit", "-", *words, *less)
    assert done.code == 1
    assert "name it (--ledger people.ledger)" in done.err
    assert shell("ledger", "init", "p.ledger", "--epsilon", 3).code == 0
    done = shell("audit", "-", *words, *less, "--ledger", "p.ledger")
    assert done.code == 0, done.err
    assert spent(tmp_path / "p.ledger") == 0
    assert not list(piped.iterdir())
