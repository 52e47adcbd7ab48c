"""Private directories of another process: one that is still at work, and one that was
killed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.scratch import SCRATCH_PREFIX

KEEPER = """
import sys
from pathlib import Path
from understudy.scratch import Scratch

scratch = Scratch(Path(sys.argv[1]), prefix=sys.argv[2])
scratch.make()
(scratch.rows / "spill").mkdir()
(scratch.rows / "spill" / "cells").write_text("34,F,no")
print(scratch.home, flush=True)
sys.stdin.readline()
"""
"""Another process, with rows in a private directory, until it is killed."""


@contextmanager
def keeper(
    parent: Path, prefix: str = SCRATCH_PREFIX
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process at work, and its private directory."""
    with subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(parent), prefix],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=parent,  # where a core might be dumped
    ) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def orphan(parent: Path, prefix: str = SCRATCH_PREFIX) -> Path:
    """A directory as kill -9 leaves it."""
    with keeper(parent, prefix) as (process, home):
        process.kill()
        process.wait()
    assert (home / "rows" / "spill" / "cells").is_file()
    return home
