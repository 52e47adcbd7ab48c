"""Who watches while a model is fitted.

A fit may take minutes deep inside a synthesizer, whose `estimate` is a pure function of measurements. So whoever waits for it says so
around the call, and the fit tells how far it has come; what comes out does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[str, float], None]
"""Told a stage and how much of it is done, from 0 to 1."""

_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)

STEP = 0.01
"""How much more must be done before it is told again."""


@contextmanager
def watching(progress: Progress) -> Iterator[None]:
    """While this lasts, every fit is told to `progress`.

    >>> told = []
    >>> with watching(lambda stage, done: told.append((stage, done))):
    ...     tell = teller(None)
    ...     tell(3, 0.5)
    >>> told
    [('fitting round 3', 0.5)]
    """
    token = _WATCHER.set(progress)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def teller(progress: Progress | None) -> Callable[[int, float], None]:
    """What a fit tells its rounds and its share done: to `progress`, else to whoever watches, else to nobody.

    The share never falls, and not every round is worth a word.
    """
    heard = progress if progress is not None else _WATCHER.get()
    reached = -STEP

    def tell(round_: int, done: float) -> None:
        nonlocal reached
        if heard is not None and (done >= reached + STEP or (done >= 1 > reached)):
            reached = done
            heard(f"fitting round {round_}", done)

    return tell
