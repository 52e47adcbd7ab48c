"""How a command ends: exit codes, signals, and the one line that says so."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from types import FrameType, TracebackType

from understudy.cli.printer import write_line
from understudy.signals import Handler, find_heeded

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

PATIENCE = 2.0
"""Seconds in which a second signal does not disturb the tidying up after the first."""


class Stopped(BaseException):
    """A command that was interrupted and knows what was and was not spent and written."""


class Interrupt(BaseException):
    """A signal arrived. Not a KeyboardInterrupt, because libraries answer that one in ways of their own."""


class Signals:
    """Ctrl-C, a polite kill and a closed terminal raise Interrupt, and are remembered; what the process ignores stays ignored.

    Remembered, because a library may answer a signal with an exception of its own; whatever ends the command then is an interruption.
    """

    def __init__(self) -> None:
        self.caught: int | None = None
        self._when = -PATIENCE
        self._before: dict[signal.Signals, Handler] = {}

    @property
    def code(self) -> int:
        """Exit code of an interrupted command."""
        return 128 + self.caught if self.caught else INTERRUPTED

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number, handler in find_heeded().items():
                self._before[number] = handler
                signal.signal(number, self._catch)
        _watching.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _watching.remove(self)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        impatient = time.monotonic() - self._when < PATIENCE
        self.caught, self._when = number, time.monotonic()
        if not impatient:
            raise Interrupt


_watching: list[Signals] = []


def interrupted(error: BaseException) -> bool:
    """Whether this exception is, or came of, an interruption."""
    return isinstance(error, Interrupt | KeyboardInterrupt) or any(s.caught for s in _watching)


def heed() -> None:
    """Raise Interrupt if a signal arrived that a library swallowed, as a database now and then does while it reads."""
    if any(signals.caught for signals in _watching):
        raise Interrupt


def say(text: str) -> None:
    """One line on stderr; unsaid where the terminal is gone."""
    with suppress(OSError):
        write_line(f"understudy: {' '.join(text.split())}", err=True)
