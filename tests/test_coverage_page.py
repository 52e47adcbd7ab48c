"""docs/coverage.md: its commands exist, those that take a second run, and so do the tests
and benchmarks that it names. Its links are checked with those of every page.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from understudy.cli.root import run, understudy
from understudy.cli.terminal.screen import Screen

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (\[.+?\)) \| `(.+?)` \|$", PAGE, re.MULTILINE)


COMMANDS = sorted({row[2] for row in ROWS})
LONG_COMMANDS = tuple(
    f"understudy {word}" for word in ("audit", "attack", "evaluate real", "mask")
)
"""Tested where they live: they take seconds."""

QUICK_COMMANDS = [
    command
    for command in COMMANDS
    if command.startswith("understudy")
    and "--help" not in command
    and not command.startswith(LONG_COMMANDS)
]

PEOPLE = """
columns:
  age: {type: integer, min: 18, max: 90}
  sex: {type: categorical, values: [F, M]}
  smoker: {type: boolean}
  visits: {type: integer, min: 0, max: 20}
"""
FRIENDS = """
columns:
  one: {type: integer, min: 1, max: 9}
  other: {type: integer, min: 1, max: 9}
"""


def find_problem(command: str) -> str | None:
    """What is wrong with a command, or None."""
    words = shlex.split(command)
    if words[0] == "pytest":
        return find_missing_test(words[-1], slow=words[1:-1] == ["-m", "slow"])
    if words[0] == "python":
        return None if (ROOT / words[1]).is_file() else "no such program"
    return find_missing_option(words)


def find_missing_test(name: str, *, slow: bool) -> str | None:
    path, _, function = name.partition("::")
    if not (ROOT / path).is_file():
        return "no such file"
    defined = {
        node.name: "slow" in "".join(map(ast.unparse, node.decorator_list))
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    if not function:
        return None
    if function not in defined:
        return "no such test"
    # Left out by pytest otherwise: the command would run nothing.
    return None if defined[function] == slow else "slow: say -m slow, and only then"


def find_missing_option(words: list[str]) -> str | None:
    """Parsed as if it were run: required options are missed, unknown ones noticed."""
    command: click.Command = understudy
    rest = words[1:]
    while rest and isinstance(command, click.Group):
        if rest[0] not in command.commands:
            return f"no command {rest[0]}"
        command = command.commands[rest.pop(0)]
    if rest == ["--help"]:
        return None
    try:
        command.make_context(words[1], rest, obj=Screen.plain())
    except click.UsageError as error:
        return error.format_message()
    return None


def test_there_is_a_row_for_every_item() -> None:
    lines = re.findall(
        r"^\| .* \| .* \| `(?:pytest|python|understudy) .*$", PAGE, re.MULTILINE
    )
    assert len(ROWS) == len(lines) >= 173


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_exists(command: str) -> None:
    assert find_problem(command) is None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the page's commands name."""
    monkeypatch.chdir(tmp_path)
    people = [f"{18 + i % 73},{'FM'[i % 2]},{i % 3 == 0},{i % 21}" for i in range(900)]
    edges = [f"{i},{j}" for i in range(1, 10) for j in range(1, i)]
    for name, header, rows in (
        ("people", "age,sex,smoker,visits", people),
        ("friends", "one,other", edges),
    ):
        Path(f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
    Path("people.yaml").write_text(PEOPLE)
    Path("friends.yaml").write_text(FRIENDS)
    return tmp_path


@pytest.mark.parametrize("command", QUICK_COMMANDS)
def test_every_quick_command_runs(command: str, folder: Path) -> None:
    assert run(shlex.split(command)[1:]) == 0, folder


def test_a_command_that_fails_is_noticed(folder: Path) -> None:
    # Without --budget there is no run of questions to charge.
    words = "toolbox median people.csv age --schema people.yaml --epsilon 1"
    assert run(words.split()) == 1, folder


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/test_nothing.py",
        "pytest tests/test_coverage_page.py::test_nothing",
        "pytest -m slow tests/test_coverage_page.py::test_every_command_exists",
        "pytest tests/local/test_sketches.py::test_the_variance_is_within_two_percent",
        "python benchmarks/nothing.py",
        "understudy nothing",
        "understudy plan --nothing",
        "understudy local nothing",
        "understudy price people.yaml",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(command: str) -> None:
    assert find_problem(command) is not None
