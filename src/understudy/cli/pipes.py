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
from understudy.errors import Refused
from understudy.scratch import Scratch

PIPE_NAME = "-"


def takes_piped_table(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose `file` may be `-`: a CSV file on stdin."""

    @wraps(command)
    def run(*arguments: Any, file: Path, **keywords: Any) -> Any:
        with _spool_stdin(file) as table:
            return command(*arguments, file=table, **keywords)

    return run


def gives_piped_rows(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose `output` may be `-`, and that needs a named ledger for a `file`
    from a pipe.
    """

    @wraps(command)
    def run(
        *arguments: Any, file: Path, ledger: Path | None, output: Path, **keywords: Any
    ) -> Any:
        if str(file) == PIPE_NAME and ledger is None:
            raise Refused(
                "rows from a pipe have no file beside which their account could be."
                " Open one (understudy ledger init people.ledger --epsilon E) and name"
                " it (--ledger people.ledger). Nothing was spent."
            )
        if str(output) == PIPE_NAME and keywords.get("as_json"):
            raise click.UsageError("--json and -o - would both go to stdout")
        with _collect_rows(output) as rows:
            return command(
                *arguments, file=file, ledger=ledger, output=rows, **keywords
            )

    return run


@contextmanager
def _spool_stdin(file: Path) -> Iterator[Path]:
    """The file, or a private copy of what comes on stdin."""
    if str(file) != PIPE_NAME:
        yield file
        return
    stdin = sys.stdin.buffer
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
def _collect_rows(output: Path) -> Iterator[Path]:
    """The file, or a private one that goes to stdout if all went well."""
    if str(output) != PIPE_NAME:
        yield output
        return
    with _private_folder() as folder:
        rows = folder / "stdout.csv"
        yield rows
        stdout = sys.stdout.buffer
        with rows.open("rb") as written:
            shutil.copyfileobj(written, stdout)
        stdout.flush()


@contextmanager
def _private_folder() -> Iterator[Path]:
    scratch = Scratch(Path(tempfile.gettempdir()))
    try:
        scratch.make()
        yield scratch.rows
    finally:
        scratch.remove()
