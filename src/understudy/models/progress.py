"""Who watches while a model is fitted.

A fit may take minutes deep inside a synthesizer, whose `estimate` is a pure function of
measurements. So whoever waits for it says so around the call, and the fit tells how far
it has come; what comes out does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[str, float], None]
"""Called with a stage and how much of it is done, from 0 to 1."""

_FIT_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)

# How much more must be done before progress is reported again.
MIN_PROGRESS_STEP = 0.01


@contextmanager
def watch_fits(progress: Progress) -> Iterator[None]:
    """While this lasts, every fit reports to `progress`.

    >>> reports = []
    >>> with watch_fits(lambda stage, done: reports.append((stage, done))):
    ...     report_round = progress_reporter(None)
    ...     report_round(3, 0.5)
    >>> reports
    [('fitting round 3', 0.5)]
    """
    token = _FIT_WATCHER.set(progress)
    try:
        yield
    finally:
        _FIT_WATCHER.reset(token)


def progress_reporter(progress: Progress | None) -> Callable[[int, float], None]:
    """A function by which a fit reports its round and the share done: to `progress`,
    else to the watcher of all fits, else to nobody.

    The share never falls, and rounds that change it little are not reported.
    """
    listener = progress if progress is not None else _FIT_WATCHER.get()
    reached = -MIN_PROGRESS_STEP

    def report_round(round_: int, done: float) -> None:
        nonlocal reached
        if listener is not None and (
            done >= reached + MIN_PROGRESS_STEP or (done >= 1 > reached)
        ):
            reached = done
            listener(f"fitting round {round_}", done)

    return report_round
