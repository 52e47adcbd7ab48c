"""The workspace: what is received appears whole, and what a killed studio left of it
does not stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from kit.scratch import orphan
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
