"""The workspace: what is received appears whole, and what a killed studio left of it
does not stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kit.scratch import orphan
from understudy.accounting.budget import Budget
from understudy.scratch import HIDDEN_SCRATCH_PREFIX
from understudy.studio.workspace import Workspace


def test_an_upload_waits_in_a_private_directory_and_sweeps_those_that_were_cut_off(
    tmp_path: Path,
) -> None:
    left = orphan(tmp_path, HIDDEN_SCRATCH_PREFIX)
    seen: list[Path] = []

    async def send() -> AsyncIterator[bytes]:
        yield b"age\n"
        seen.extend(tmp_path.iterdir())
        assert [path.stat().st_mode & 0o777 for path in seen] == [0o700]
        yield b"34\n"

    assert asyncio.run(Workspace(tmp_path).add("people.csv", send())) == "people.csv"
    (waited,) = seen
    assert waited != left
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    assert (tmp_path / "people.csv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "sent",
    ["人" * 100 + ".csv", "é" * 300 + ".csv", "(1) people.csv", "+.csv", "-x.csv"],
)
def test_whatever_an_upload_is_called_it_is_found_again(
    tmp_path: Path, sent: str
) -> None:
    """The name is short enough for the file system, with the longer ones of the ledger
    and the runs, and is one that the folder lists.
    """

    async def send() -> AsyncIterator[bytes]:
        yield b"age\n34\n"

    workspace = Workspace(tmp_path)
    name = asyncio.run(workspace.add(sent, send()))
    assert workspace.tables() == [name]
    workspace.open_account(name, Budget.of(1))
    assert workspace.run_folder(name).is_dir()


def test_a_second_upload_of_a_packed_table_keeps_both_endings(tmp_path: Path) -> None:
    """people.csv (2).gz would be no table."""
    workspace = Workspace(tmp_path)
    for free in ("people.csv.gz", "people (2).csv.gz"):
        assert asyncio.run(workspace.add("people.csv.gz", _send_rows())) == free
    assert workspace.tables() == ["people (2).csv.gz", "people.csv.gz"]


def test_tables_whose_names_are_not_taken_are_named(tmp_path: Path) -> None:
    for name in ("a, b.csv", "notes.txt", "plain.xlsx"):
        (tmp_path / name).write_text("age\n34\n")
    workspace = Workspace(tmp_path)
    assert workspace.tables() == ["plain.xlsx"]
    assert workspace.misnamed_tables() == ["a, b.csv"]


async def _send_rows() -> AsyncIterator[bytes]:
    yield b"age\n34\n"
