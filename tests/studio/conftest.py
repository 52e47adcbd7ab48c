"""A studio that runs as a person runs it: its own process, its own folder, its own
port.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from kit.studio.server import Place, enter, opened, people


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("studio")
    people(folder / "people.csv")
    process, port, token = opened(folder, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    session, change = enter(port, token)
    yield Place(folder, port, session, change, token, process.stdout)
    process.terminate()
    process.stdout.close()
    process.wait(
        timeout=120
    )  # a plan on its way is finished first, which a loaded machine takes its time for
