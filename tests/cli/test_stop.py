"""Signals: raised once, remembered, and given back."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from understudy.cli.screen import Screen
from understudy.cli.stop import Interrupt, Signals, interrupted, say


def test_a_signal_becomes_an_interrupt_and_is_remembered() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as signals:
        with pytest.raises(Interrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert signals.code == 143
        assert interrupted(RuntimeError("a library's own answer"))
    assert signal.getsignal(signal.SIGTERM) is before
    assert not interrupted(RuntimeError())


def test_a_second_signal_does_not_disturb_the_tidying_up() -> None:
    with Signals():
        with pytest.raises(Interrupt):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)


def test_one_line_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    say("two\n  lines")
    assert capfd.readouterr().err == "understudy: two lines\n"


def test_a_signal_that_a_library_swallowed_is_heeded_at_the_next_step() -> None:
    with Signals():
        with contextlib.suppress(Interrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupt):
            Screen(None).step("measuring", 0.5)
    Screen(None).step("measuring", 0.5)
