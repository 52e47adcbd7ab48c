"""How commands end: exit codes, one line, nothing of a cell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import understudy
from kit.cli import CANARY, Shell
from understudy.cli import root

COMMANDS = [
    "describe",
    "plan",
    "synthesize",
    "sample",
    "signoff",
    "ledger",
    "synthesizers",
    "attack",
    "audit",
    "demo",
]


def test_version(shell: Shell) -> None:
    assert shell("--version").out == f"understudy {understudy.__version__}\n"


def test_the_package_runs_as_the_command_does() -> None:
    command = [sys.executable, "-m", "understudy", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == f"understudy {understudy.__version__}\n"


def test_help_lists_the_commands_in_order_and_the_exit_codes(shell: Shell) -> None:
    text = shell("--help").out
    places = [text.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)
    assert "130 interrupted" in text


@pytest.mark.parametrize(
    "command",
    [*COMMANDS, "ledger init", "ledger show", "ledger grant", "ledger verify"],
)
def test_every_command_has_help(shell: Shell, command: str) -> None:
    done = shell(*command.split(), "--help")
    assert done.code == 0
    assert "Usage: understudy" in done.out


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["synthesize"],
        ["plan", "x.yaml"],
        ["synthesize", "a.csv", "--frobnicate"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(shell: Shell, words: list[str]) -> None:
    done = shell(*words)
    assert done.code == 2
    assert done.err.startswith("understudy: ")
    assert "--help" in done.err


@pytest.mark.parametrize("words", [[], ["ledger"], ["schema"]])
def test_a_group_alone_lists_its_commands_line_by_line(
    shell: Shell, words: list[str]
) -> None:
    done = shell(*words)
    assert done.code == 2
    assert done.err == ""
    assert done.out == shell(*words, "--help").out


def test_ledger_commands_stand_in_the_order_in_which_they_are_needed(
    shell: Shell,
) -> None:
    text = shell("ledger").out
    names = ["init", "show", "grant", "verify", "backup", "restore"]
    places = [text.index(f"\n  {name} ") for name in names]
    assert places == sorted(places)


def test_quiet_and_verbose_exclude_each_other(shell: Shell, people: Path) -> None:
    done = shell("describe", people, "-o", "p.yaml", "-q", "-v")
    assert done.code == 2
    assert "--quiet and --verbose exclude each other" in done.err


def test_help_loads_nothing_heavy() -> None:
    """numpy, scipy and DuckDB are loaded when there is something to do."""
    code = (
        "import sys; from understudy.cli.root import run; run(['--help']);"
        "print([m for m in ('numpy', 'scipy', 'duckdb', 'opendp', 'rich', 'yaml') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_an_unforeseen_error_shows_no_value(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, people: Path
) -> None:
    def broken(*_: object) -> None:
        raise ValueError(f"could not convert string to float: {CANARY!r}")

    monkeypatch.setattr("understudy.cli.commands.synthesize.check_table_input", broken)
    done = shell("synthesize", people, "--epsilon", 1, "-o", "out.csv")
    assert done.code == 1
    assert "unexpected ValueError" in done.err
    assert "UNDERSTUDY_DEBUG=1" in done.err


def test_debug_raises_it(monkeypatch: pytest.MonkeyPatch, people: Path) -> None:
    def broken(*_: object) -> None:
        raise ValueError("here")

    monkeypatch.setattr("understudy.cli.commands.synthesize.check_table_input", broken)
    monkeypatch.setenv("UNDERSTUDY_DEBUG", "1")
    with pytest.raises(ValueError, match="here"):
        root.run(["synthesize", str(people), "--epsilon", "1", "-o", "out.csv"])


def test_a_shell_can_complete_words() -> None:
    """As the script of docs/cli.md asks, in a process of its own."""

    def complete(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        done = subprocess.run(
            [sys.executable, "-c", "from understudy.cli import main; main()"],
            env={**os.environ, **words, "_UNDERSTUDY_COMPLETE": "bash_complete"},
            capture_output=True,
            text=True,
            check=True,
        )
        return [answer.partition(",")[2] for answer in done.stdout.splitlines()]

    assert complete("understudy led") == ["ledger"]
    assert complete("understudy ledger ve") == ["verify"]
    assert "--neighbours" in complete("understudy synthesize --neigh")
    assert "adaptive" in complete("understudy plan --synthesizer ad")


def test_a_pattern_that_the_shell_wrote_out_names_the_way_that_works(
    shell: Shell, people: Path, tmp_path: Path
) -> None:
    other = tmp_path / "more.csv"
    other.write_bytes(people.read_bytes())
    done = shell("describe", people, other)
    assert done.code == 2
    assert 'by a quoted pattern ("parts/*.csv")' in done.err
