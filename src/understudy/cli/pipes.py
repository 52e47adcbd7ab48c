"""Pipes: `-` for a CSV file on stdin or stdout.

A table is read several times, so what comes through a pipe waits in a private
directory; rows go to stdout once all of them are written.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from understudy.atomic import write_file_atomically
from understudy.databases.address import DatabaseAddress
from understudy.errors import Refused
from understudy.scratch import Scratch

PIPE_NAME = "-"

PIPED_STEM = "stdout"
"""The private file whose bytes go to stdout."""

Command = Callable[..., Any]
"""A command's function."""


def takes_piped_table(name: str) -> Callable[[Command], Command]:
    """A command whose argument of this name may be `-`: a CSV file on stdin."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(*arguments: Any, **keywords: Any) -> Any:
            # Rows are read several times, and a pipe gives them once.
            with _spool_stdin(keywords[name]) as table:
                return command(*arguments, **keywords | {name: table})

        return run

    return decorate


def needs_ledger_of_pipe(command: Command) -> Command:
    """A command that needs a named ledger for a `file` from a pipe. It goes above the
    one that copies stdin, which gives the file another name.
    """

    @wraps(command)
    def run(*arguments: Any, **keywords: Any) -> Any:
        if str(keywords["file"]) == PIPE_NAME and keywords["ledger"] is None:
            raise Refused(
                "rows from a pipe have no file beside which their account could be."
                " Open one (understudy ledger init people.ledger --epsilon E) and name"
                " it (--ledger people.ledger). Nothing was spent."
            )
        return command(*arguments, **keywords)

    return run


def needs_output_of_pipe(command: Command) -> Command:
    """A command that needs a named output for a `file` from a pipe, which has no name
    to call one after. It goes above the one that copies stdin.
    """

    @wraps(command)
    def run(*arguments: Any, **keywords: Any) -> Any:
        if str(keywords["file"]) == PIPE_NAME and keywords["output"] is None:
            raise click.UsageError("name a file for what is made of a pipe with -o")
        return command(*arguments, **keywords)

    return run


def gives_piped_output(suffix: str) -> Callable[[Command], Command]:
    """A command whose `output`, a file called so, may be `-`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(*arguments: Any, output: Path | None, **keywords: Any) -> Any:
            if str(output) == PIPE_NAME and keywords.get("as_json"):
                raise click.UsageError("--json and -o - would both go to stdout")
            if str(output) == PIPE_NAME and keywords.get("partition_rows"):
                raise click.UsageError("stdout takes no parts: name a folder with -o")
            with _collect_output(output, suffix) as written:
                return command(*arguments, output=written, **keywords)

        return run

    return decorate


def name_output(output: Path | DatabaseAddress) -> str:
    """An output as a terminal shows it.

    >>> name_output(Path("out.csv"))
    'out.csv'
    """
    if isinstance(output, Path) and output.stem == PIPED_STEM:
        return PIPED_STEM if output.parent.name == "rows" else str(output)
    return str(output)


@contextmanager
def _spool_stdin(file: Path | None) -> Iterator[Path | None]:
    """The file, or a private copy of what comes on stdin."""
    if str(file) != PIPE_NAME:
        yield file
        return
    stdin = sys.stdin.buffer
    # Otherwise the command would wait for a person to type a table.
    if stdin.isatty():
        raise Refused(
            "nothing is piped in: cat people.csv | understudy … -. Nothing was spent."
        )
    with _private_folder() as folder:
        table = folder / "stdin.csv"
        with (
            write_file_atomically(table, private=True) as draft,
            draft.open("wb") as copy,
        ):
            shutil.copyfileobj(stdin, copy)
        yield table


@contextmanager
def _collect_output(output: Path | None, suffix: str) -> Iterator[Path | None]:
    """The file, or a private one that goes to stdout if all went well."""
    if str(output) != PIPE_NAME:
        yield output
        return
    with _private_folder() as folder:
        written = folder / f"{PIPED_STEM}{suffix}"
        # Nothing goes out before the command has succeeded: no half of a table is piped
        # on.
        yield written
        stdout = sys.stdout.buffer
        with written.open("rb") as copy:
            shutil.copyfileobj(copy, stdout)
        stdout.flush()


@contextmanager
def _private_folder() -> Iterator[Path]:
    scratch = Scratch(Path(tempfile.gettempdir()))
    try:
        scratch.make()
        yield scratch.rows
    finally:
        scratch.remove()
