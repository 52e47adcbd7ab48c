"""Progress in a notebook: one line below the cell, updated in place.

Where no kernel runs the code, nothing is shown unless a caller listens. IPython is not
imported for this: in a notebook it is there already.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from understudy import findings
from understudy.synthesizers import Progress, ignore_progress

MIN_UPDATE_SECONDS = 0.1
"""Seconds between two updates of the line within a stage: more would flood the page."""


class NotebookProgress:
    """A listener that shows the stage of a run and how far it is."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None
        self._stage = ""
        self._shown_at = 0.0

    def __call__(self, stage: str, done: float) -> None:
        now = time.monotonic()
        is_due = now - self._shown_at >= MIN_UPDATE_SECONDS
        if stage == self._stage and not is_due and done < 1:
            return
        self._stage = stage
        self._shown_at = now
        line = {"text/plain": f"{stage} {done:.0%}".replace("%", " %")}
        if self._handle is None:
            self._handle = self._display(line, raw=True, display_id=True)
        else:
            self._handle.update(line, raw=True)


def choose_progress(progress: Progress) -> Progress:
    """The listener that was given; without one, a line below the cell of a notebook."""
    if progress not in (ignore_progress, findings.ignore_progress):
        return progress
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    # A terminal of IPython has no kernel: a line there could not be updated in place.
    if shell is None or not hasattr(shell, "kernel"):
        return progress
    return NotebookProgress(sys.modules["IPython.display"].display)
