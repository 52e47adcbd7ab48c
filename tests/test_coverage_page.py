"""docs/coverage.md: its commands exist, and so do the tests and benchmarks that it
names. Its links are checked with those of every page.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from understudy.cli.root import understudy
from understudy.cli.terminal.screen import Screen

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (\[.+?\)) \| `(.+?)` \|$", PAGE, re.MULTILINE)


def find_problem(command: str) -> str | None:
    """What is wrong with a command, or None."""
    words = shlex.split(command)
    if words[0] == "pytest":
        return find_missing_test(words[1])
    if words[0] == "python":
        return None if (ROOT / words[1]).is_file() else "no such program"
    return find_missing_option(words)


def find_missing_test(name: str) -> str | None:
    path, _, function = name.partition("::")
    if not (ROOT / path).is_file():
        return "no such file"
    defined = {
        node.name
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    return None if not function or function in defined else "no such test"


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


@pytest.mark.parametrize("command", sorted({row[2] for row in ROWS}))
def test_every_command_exists(command: str) -> None:
    assert find_problem(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/test_nothing.py",
        "pytest tests/test_coverage_page.py::test_nothing",
        "python benchmarks/nothing.py",
        "understudy nothing",
        "understudy plan --nothing",
        "understudy local nothing",
        "understudy describe people.csv",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(command: str) -> None:
    assert find_problem(command) is not None
