"""Signals: raised once, remembered, and given back."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import (
    CommandSignals,
    SignalInterrupt,
    is_interruption,
    write_last_line,
)


def test_a_signal_becomes_an_interrupt_and_is_remembered() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with CommandSignals() as signals:
        with pytest.raises(SignalInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert signals.code == 143
        assert is_interruption(RuntimeError("a library's own answer"))
    assert signal.getsignal(signal.SIGTERM) is before
    assert not is_interruption(RuntimeError())


def test_a_second_signal_does_not_disturb_the_tidying_up() -> None:
    with CommandSignals():
        with pytest.raises(SignalInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)


def test_one_line_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    write_last_line("two\n  lines")
    assert capfd.readouterr().err == "understudy: two lines\n"


def test_a_signal_that_a_library_swallowed_is_heeded_at_the_next_step() -> None:
    with CommandSignals():
        with contextlib.suppress(SignalInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(SignalInterrupt):
            Screen(None).step("measuring", 0.5)
    Screen(None).step("measuring", 0.5)


WAITING = """
import sys
from understudy.cli.root import run
from understudy.tables.sql.engine import Engine

seal = Engine.seal

def wait(engine, paths):
    seal(engine, paths)
    (engine.directory / "copy-0.csv").write_text("34,F,no")
    print("open", flush=True)
    sys.stdin.readline()

Engine.seal = wait
sys.exit(run())
"""
"""The command, with a word when the table is open and a wait for one before it is read.
"""


def start_describe(
    people: Path, *, shell_trap: str = "", **streams: Any
) -> subprocess.Popen[str]:
    """`describe` in a process of its own, stopped where rows wait on disk."""
    scratch = people.parent / "scratch"
    scratch.mkdir()
    words = [
        sys.executable,
        "-c",
        WAITING,
        "describe",
        people.name,
        "-o",
        "people.yaml",
    ]
    if shell_trap:
        words = ["sh", "-c", f'{shell_trap}; exec "$@"', "sh", *words]
    process = subprocess.Popen(
        words,
        cwd=people.parent,
        env={**os.environ, "TMPDIR": str(scratch)},
        text=True,
        **{
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **streams,
        },
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    assert len(list(scratch.rglob("copy-0.csv"))) == 1
    return process


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT])
def test_a_closed_terminal_and_a_quit_take_rows_off_the_disk(
    people: Path, number: signal.Signals
) -> None:
    """Ctrl-C and a polite kill do so in test_synthesize.py."""
    process = start_describe(people)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert (
        err
        == "understudy: interrupted. people.yaml was not written; describing spends nothing.\n"
    )
    assert list((people.parent / "scratch").iterdir()) == []


def test_a_terminal_that_is_gone_does_not_keep_rows_on_the_disk(people: Path) -> None:
    """Nothing can be said any more, not even that it was interrupted."""
    ours, theirs = pty.openpty()
    process = start_describe(people, stderr=theirs)
    os.close(theirs)
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGHUP
    assert list((people.parent / "scratch").iterdir()) == []


def test_what_nohup_or_a_shell_ignores_stays_ignored(people: Path) -> None:
    process = start_describe(people, shell_trap="trap '' HUP INT")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate("\n", timeout=60)
    assert (process.returncode, err) == (0, "")
    assert (people.parent / "people.yaml").exists()
    assert list((people.parent / "scratch").iterdir()) == []
