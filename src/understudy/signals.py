"""The signals that ask a process to stop: what a command tidies up after, and what a
charge holds back.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

SignalHandler = Callable[[int, FrameType | None], object] | int
"""What answers a signal: a function, or the system's own default."""

_STOP_SIGNAL_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")

STOP_SIGNALS = tuple(
    signal.Signals[name]
    for name in _STOP_SIGNAL_NAMES
    if name in signal.Signals.__members__
)
"""Ctrl-C, a polite kill, a terminal that is closed, Ctrl-\\; Windows has the first two.
"""


def find_heeded_signals() -> dict[signal.Signals, SignalHandler]:
    """The stop signals that this process does not ignore, with what answers them.

    What was ignored at the start stays ignored: nohup means that a closed terminal is
    no reason to stop, and a shell means by it that Ctrl-C is not for its background
    jobs.
    """
    heeded: dict[signal.Signals, SignalHandler] = {}
    for number in STOP_SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler) or handler is signal.SIG_DFL:
            heeded[number] = handler
    return heeded
