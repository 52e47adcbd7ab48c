"""The signals that ask a process to stop. Commands clean up after them, and a charge
to the ledger delays them.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

SignalHandler = Callable[[int, FrameType | None], object] | int
"""What handles a signal: a function, or the system's own default."""

_STOP_SIGNAL_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")

STOP_SIGNALS = tuple(
    signal.Signals[name]
    for name in _STOP_SIGNAL_NAMES
    if name in signal.Signals.__members__
)
"""Ctrl-C, kill, a closed terminal and Ctrl-\\; Windows has the first two."""


def find_heeded_signals() -> dict[signal.Signals, SignalHandler]:
    """The stop signals that this process does not ignore, with their handlers.

    Signals that were ignored at the start stay ignored: nohup ignores the closing of
    the terminal, and a shell ignores Ctrl-C for its background jobs.
    """
    heeded: dict[signal.Signals, SignalHandler] = {}
    for number in STOP_SIGNALS:
        handler = signal.getsignal(number)
        # None means that the handler was not set from Python, so it is not ours.
        if callable(handler) or handler is signal.SIG_DFL:
            heeded[number] = handler
    return heeded
