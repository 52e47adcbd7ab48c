"""The hold: Ctrl-C, a polite kill and a closed terminal wait while an answer is on its
way from its charge to the ledger.

An answer that is cut off there is paid for and lost, and with it the whole run. Nobody
means that by Ctrl-C, and the stretch takes a fraction of a second: rows are counted
before it. What cannot wait (a power cut, kill -9) leaves what till.py says.
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
    """While this lasts signals wait; the first one then does what it would have done.
    Other threads than the main one get none to hold.
    """
    held: list[int] = []

    def defer_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        held.append(number)
        if len(held) == 2:
            logging.getLogger("understudy").warning(
                "understudy: stopping as soon as what is paid for is written down."
            )

    before: dict[signal.Signals, SignalHandler] = {}
    try:
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
