"""Delayed interrupts: Ctrl-C, a polite kill and a closed terminal wait while an answer
is on its way from its charge to the ledger.

An answer that is cut off there is paid for and lost, and with it the whole run. That is
not what Ctrl-C is meant for, and the wait takes a fraction of a second: rows are counted
before it. payment.py says what a power cut or kill -9, which cannot wait, leaves.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from understudy.signals import SignalHandler, find_heeded_signals


@contextmanager
def hold_signals() -> Iterator[None]:
    """While this lasts signals wait; the first one then does what it would have done."""
    held: list[int] = []

    def defer_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        held.append(number)
        # Whoever asks twice is told that the first one was noticed.
        if len(held) == 2:
            logging.getLogger("understudy").warning(
                "understudy: stopping as soon as what is paid for is written down."
            )

    before: dict[signal.Signals, SignalHandler] = {}
    try:
        # Python delivers signals to the main thread, and lets it alone set handlers.
        if threading.current_thread() is threading.main_thread():
            for number, handler in find_heeded_signals().items():
                before[number] = handler
                signal.signal(number, defer_signal)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])
