"""How a command ends: exit codes, signals, and the one line that says so."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType

from understudy.cli.terminal.printer import write_line
from understudy.signals import SignalHandler, find_heeded_signals

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130

SECOND_SIGNAL_SECONDS = 2.0
"""Seconds in which a second signal does not disturb the tidying up after the first."""


class CommandStopped(BaseException):
    """A command that was interrupted and knows what was and was not spent and written."""


class SignalInterrupt(BaseException):
    """A signal arrived. Not a KeyboardInterrupt, because libraries answer that one in
    ways of their own.
    """


class CommandSignals:
    """Ctrl-C, a terminating signal and a closed terminal raise SignalInterrupt, and are
    remembered; what the process ignores stays ignored.

    Remembered, because a library may answer a signal with an exception of its own;
    whatever ends the command then is an interruption.
    """

    def __init__(self) -> None:
        self.caught: int | None = None
        self._when = -SECOND_SIGNAL_SECONDS
        self._before: dict[signal.Signals, SignalHandler] = {}

    @property
    def code(self) -> int:
        """Exit code of an interrupted command."""
        return 128 + self.caught if self.caught else EXIT_INTERRUPTED

    def __enter__(self) -> CommandSignals:
        # Python sets signal handlers in the main thread alone, and a program may run a
        # command in another.
        if threading.current_thread() is threading.main_thread():
            for number, handler in find_heeded_signals().items():
                self._before[number] = handler
                signal.signal(number, self._catch_signal)
        _active_signals.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _active_signals.remove(self)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        # The first signal unwinds the command; a second one must not cut that short.
        impatient = time.monotonic() - self._when < SECOND_SIGNAL_SECONDS
        self.caught, self._when = number, time.monotonic()
        if not impatient:
            raise SignalInterrupt


_active_signals: list[CommandSignals] = []


def is_interruption(error: BaseException) -> bool:
    """Whether this exception is, or came of, an interruption."""
    return isinstance(error, SignalInterrupt | KeyboardInterrupt) or any(
        s.caught for s in _active_signals
    )


@contextmanager
def explain_interruption(explain: Callable[[], str]) -> Iterator[None]:
    """Whatever interrupts this block ends the command with what `explain` says: what was
    and was not spent and written. It is asked afterwards, when that is known.
    """
    try:
        yield
    except BaseException as error:
        if is_interruption(error):
            raise CommandStopped(explain()) from None
        raise


def raise_if_interrupted() -> None:
    """Raise SignalInterrupt if a signal arrived that a library swallowed, as a database now
    and then does while it reads.
    """
    if any(signals.caught for signals in _active_signals):
        raise SignalInterrupt


def write_last_line(text: str) -> None:
    """One line on stderr; none where the terminal is gone."""
    # A closed terminal is one reason to be here.
    with suppress(OSError):
        write_line(f"understudy: {' '.join(text.split())}", err=True)
