"""Opens damaged files one after the other, in a process of its own that may not run
away, and prints one line for each.

A case that computes for more than five seconds ends the process (a timer of the system,
so that native code is ended too); one that takes more memory than it may ends in an
error, or ends the process. Either way the one who waits sees which case it was.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import understudy.tables.sources.open_table
from kit.damage import damage
from understudy.cli.root import run
from understudy.errors import SchemaError, UnderstudyError
from understudy.schema import Schema
from understudy.schema.formats import load_format
from understudy.tables import open_table
from understudy.tables.sql import quoting
from understudy.tables.sql.engine import Engine

SECONDS = 5.0
REFUSAL_SECONDS = 2.0
SPACE = 8 << 30
"""Addresses, most of which are never touched; what is touched is reported."""

MADE = re.compile(r"CREATE (?:OR REPLACE )?(?:TEMP )?(TABLE|VIEW|TYPE) (\w+)")
"""A statement that makes something, what, and its name."""

FRESH = 300
"""Every so many cases, a table is opened by a database of its own."""

WHOLE_PATH = 500
"""Every so many cases, the whole command runs on the file, ledger and all."""


class Reused(Engine):
    """A real engine that opens case after case: making one takes longer than reading a
    small file. Sealed to the room of the cases.
    """

    room = Path()
    last: Reused | None = None

    def __init__(self) -> None:
        self.made: dict[str, str] = {}
        super().__init__()

    @classmethod
    def lend(cls) -> Reused:
        """The engine of the case before, emptied, where it still answers; else a new
        one.
        """
        if cls.last is not None and not cls.last.emptied():
            cls.last.end()
            cls.last = None
        if cls.last is None:
            cls.last = Reused()
            Engine.seal(cls.last, [])
        return cls.last

    def run(self, query: str, *, doing: str) -> list[tuple[Any, ...]]:
        """As ever, but for one setting: the files of all cases may be read. Notes what
        is made.
        """
        if query.startswith("SET allowed_directories"):
            query = f"SET allowed_directories = [{quoting.text_literals((str(self.directory), str(self.room)))}]"
        if (made := MADE.match(query)) is not None:
            self.made[made[2]] = made[1]
        return super().run(query, doing=doing)

    def seal(self, paths: Sequence[Path]) -> None:
        """Done already."""
        assert all(self.room in path.parents for path in paths)

    def emptied(self) -> bool:
        """Forget the relations of a case. Whatever a damaged file did to the database,
        the next case must not feel it.
        """
        try:
            while self.made:
                name, kind = self.made.popitem()
                self.run(f"DROP {kind} IF EXISTS {name}", doing="emptying")
        except UnderstudyError:
            return False
        return True

    def close(self) -> None:
        """Later."""

    def end(self) -> None:
        """Now."""
        super().close()


def opened(path: Path) -> str | None:
    """Open and read every row of a table; what it was refused with."""
    try:
        with open_table(path) as source:
            source.check(source.names)
    except UnderstudyError as error:
        return str(error)
    return None


def reopened(path: Path) -> str | None:
    """The same, in the database of the case before."""
    with mock.patch.object(understudy.tables.sources.open_table, "Engine", Reused.lend):
        return opened(path)


def described(path: Path) -> str | None:
    """Read a schema, ours and as anybody's."""
    said = None
    for read in (Schema.load, load_format):
        try:
            read(path)
        except SchemaError as error:
            said = str(error)
    return said


def released(path: Path) -> str | None:
    """Read a release and take a few rows of it."""
    from understudy.releases.release import load_release

    try:
        load_release(path).sample(3, kind="numpy")
    except UnderstudyError as error:
        return str(error)
    return None


def commanded(path: Path) -> str | None:
    """The whole way; nothing may be left behind by a command that failed."""
    schema, out = path.with_name("s.yaml"), path.with_name("out.csv")
    schema.write_text(damage.SCHEMA)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        words = [
            "synthesize",
            path,
            "--schema",
            schema,
            "--epsilon",
            1,
            "--synthesizer",
            "independent",
            "-o",
            out,
        ]
        code = run([str(word) for word in words])
    if code == 0:
        return None
    left = sorted(p.name for p in path.parent.iterdir())
    assert left == sorted([path.name, "s.yaml"]), f"left behind: {left}"
    text = said.getvalue()
    assert "unexpected" not in text, text
    return text.removesuffix("\n")


def case(kind: str, number: int, folder: Path) -> dict[str, object]:
    maker = {
        "csv": damage.csv,
        "parquet": damage.parquet_file,
        "schema": damage.schema_file,
    }
    name, data = (
        maker[kind](number)
        if kind in maker
        else damage.release_file(number, str(folder))
    )
    path = (
        folder / f"{number}-{name}"
    )  # a database may remember what it read of a file by its name
    path.write_bytes(data)
    fresh = number % FRESH == 0
    table = opened if fresh else reopened
    reader = {"csv": table, "parquet": table, "schema": described, "release": released}[
        kind
    ]
    said = [reader(path)]
    if kind in ("csv", "parquet") and number % WHOLE_PATH == 0:
        with tempfile.TemporaryDirectory(dir=folder) as alone:
            said.append(commanded(Path(shutil.copy(path, alone))))
    for text in filter(None, said):
        assert "\n" not in text, "more than one line"
        assert damage.CANARY not in text, "a cell's value"
        assert path.name in text, f"no file in: {text}"
    path.unlink()
    return {"case": number, "refused": any(said)}


def main(kind: str, first: int, last: int, step: int) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    with tempfile.TemporaryDirectory() as room:
        os.environ["TMPDIR"] = room
        tempfile.tempdir = room
        folder = Path(room, "case")
        folder.mkdir()
        Reused.room = folder.resolve()
        os.chdir(folder)
        for number in range(first, last, step):
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                facts = case(kind, number, folder)
            except BaseException as error:
                facts = {
                    "case": number,
                    "wrong": f"{type(error).__name__}: {error}"[:500],
                }
            print(damage.described(facts), flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)
    print(damage.described({"peak": peak()}), flush=True)


def peak() -> int:
    """The most kilobytes that this process had in memory. The system's other count
    begins with what its parent held.
    """
    status = Path("/proc/self/status").read_text()
    return int(
        next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[
            1
        ]
    )


def blast(paths: list[str]) -> None:
    """Open files that would go off, each within the seconds that a refusal may take."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    for path in paths:
        signal.setitimer(signal.ITIMER_PROF, REFUSAL_SECONDS)
        print(
            damage.described({"case": Path(path).name, "said": opened(Path(path))}),
            flush=True,
        )
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(damage.described({"case": "peak", "peak": peak()}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "bombs":
        blast(sys.argv[2:])
    else:
        main(sys.argv[1], *map(int, sys.argv[2:5]))
