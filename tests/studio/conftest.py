"""A studio that runs as a person runs it: its own process, its own folder, its own port."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Place:
    """A running studio."""

    folder: Path
    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def people(path: Path, rows: int = 400) -> Path:
    """A small table with a dependence in it."""
    lines = ["age,sex,town,smoker"]
    for i in range(rows):
        lines.append(
            f"{20 + (7 * i) % 60},{'F' if i % 2 else 'M'},{'xyz'[(i // 2) % 3]},{'yes' if i % 4 == 0 else 'no'}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("studio")
    people(folder / "people.csv")
    process = subprocess.Popen(
        [sys.executable, "-c", "from understudy.cli import main; main()", "studio", str(folder), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = ""
    while "token=" not in said:
        line = process.stdout.readline()
        assert line, f"the studio did not start: {said}"
        said += line
    found = re.search(r":(\d+)/\?token=(\S+)", said)
    assert found is not None
    yield Place(folder, int(found[1]), found[2])
    process.terminate()
    process.stdout.close()
    process.wait(timeout=20)
