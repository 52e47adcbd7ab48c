"""Which signals stop a process: all that ask for it, but for those it was told to
ignore.
"""

from __future__ import annotations

import signal

import pytest

from understudy.signals import STOP_SIGNALS, find_heeded_signals


def test_a_closed_terminal_and_a_quit_are_among_them() -> None:
    assert set(STOP_SIGNALS) == {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
    }
    assert set(find_heeded_signals()) == set(STOP_SIGNALS)


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_what_is_ignored_is_not_heeded(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert set(find_heeded_signals()) == set(STOP_SIGNALS) - {number}
    finally:
        signal.signal(number, before)
