"""Runs of the studio that no browser asked for."""

from __future__ import annotations

from pathlib import Path

from kit.studio.server import people
from understudy.studio.job import Job


def job_of(folder: Path, kind: type[Job] = Job, **changes: object) -> Job:
    """A run on a small table in this folder, not begun."""
    (folder / "run").mkdir()
    source = people(folder / "people.csv")
    settings: dict[str, object] = {
        "table": "people.csv",
        "source": source,
        "folder": folder / "run",
        "schema": None,
        "ledger": folder / "people.csv.ledger",
        "epsilon": "1",
        "delta": None,
        "synthesizer": "independent",
        "anyway": True,
    }
    return kind(**(settings | changes))  # type: ignore[arg-type]
