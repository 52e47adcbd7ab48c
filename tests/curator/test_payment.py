"""Charge, draw, store, answer: in that order, whatever goes wrong."""

from __future__ import annotations

import logging
import signal
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.curator import Payments
from understudy.errors import BudgetExceeded, LedgerError
from understudy.signals import STOP_SIGNALS

QUESTION = {"mechanism": "test", "what": 1}
HALF = Cost(Accounting.PURE, Fraction(1, 2))


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger.create(
        tmp_path / "people.ledger", dataset="people", cap=Budget.of(3)
    ) as book:
        yield book


def till_of(run) -> Payments:
    from dataclasses import replace

    return Payments(
        run, replace(run.filter, spent=Fraction(0), spent_delta=Fraction(0))
    )


def nothing() -> None:
    """There is nothing to count."""


def test_the_charge_is_on_disk_before_the_draw(ledger: Ledger):
    run = ledger.reserve(Budget.of(1, 0), event="test")
    seen = []

    def draw(exact):
        with Ledger.open(ledger.path) as other:  # another process would see the same
            seen.extend(e.kind for e in other.entries())
        return {"x": np.array([1])}

    till_of(run).pay(QUESTION, HALF, nothing, draw)
    assert seen == ["open", "reserve", "charge"]
    assert [e.kind for e in ledger.entries()] == ["open", "reserve", "charge", "answer"]


def test_a_refused_question_draws_nothing_and_costs_nothing(ledger: Ledger):
    run = ledger.reserve(Budget.of(1, 0), event="test")
    payments = till_of(run)
    drawn = []
    with pytest.raises(BudgetExceeded):
        payments.pay(
            QUESTION,
            Cost(Accounting.PURE, Fraction(2)),
            nothing,
            lambda exact: drawn.append(1) or {},
        )
    assert drawn == []
    assert payments.amount_left == 1
    assert [e.kind for e in ledger.entries()] == ["open", "reserve"]


def test_only_resuming_the_same_run_replays_an_answer(ledger: Ledger):
    run = ledger.reserve(Budget.of(1, 0), event="test")
    first = till_of(run).pay(
        QUESTION, HALF, nothing, lambda exact: {"x": np.array([41])}
    )
    again = till_of(ledger.resume(run.id)).pay(
        QUESTION, HALF, nothing, lambda exact: {"x": np.array([42])}
    )
    assert first["x"] == again["x"] == 41
    new = till_of(ledger.reserve(Budget.of(1, 0), event="test")).pay(
        QUESTION, HALF, nothing, lambda exact: {"x": np.array([43])}
    )
    assert new["x"] == 43


def test_another_question_at_the_same_step_is_refused(ledger: Ledger):
    run = ledger.reserve(Budget.of(1, 0), event="test")
    till_of(run).pay(QUESTION, HALF, nothing, lambda exact: {"x": np.array([41])})
    with pytest.raises(LedgerError):
        till_of(ledger.resume(run.id)).pay(
            {"mechanism": "test", "what": 2},
            HALF,
            nothing,
            lambda exact: {"x": np.array([42])},
        )


def test_a_draw_that_fails_stays_spent(ledger: Ledger):
    run = ledger.reserve(Budget.of(1, 0), event="test")

    def broken(exact):
        raise OSError("disk gone")

    with pytest.raises(OSError):
        till_of(run).pay(
            QUESTION, Cost(Accounting.PURE, Fraction(3, 4)), nothing, broken
        )
    assert ledger.resume(run.id).filter.amount_left == Fraction(1, 4)
    with pytest.raises(BudgetExceeded):
        till_of(ledger.resume(run.id)).pay(
            QUESTION,
            Cost(Accounting.PURE, Fraction(3, 4)),
            nothing,
            lambda exact: {"x": np.array([1])},
        )


def test_counting_that_fails_costs_nothing_and_can_be_asked_again(ledger: Ledger):
    run = ledger.reserve(Budget.of(1, 0), event="test")
    whole = Cost(Accounting.PURE, Fraction(1))

    def broken():
        raise OSError("disk gone")

    with pytest.raises(OSError):
        till_of(run).pay(QUESTION, whole, broken, lambda exact: {"x": np.array([1])})
    assert ledger.resume(run.id).filter.amount_left == 1
    assert (
        till_of(ledger.resume(run.id)).pay(
            QUESTION, whole, nothing, lambda exact: {"x": np.array([2])}
        )["x"]
        == 2
    )


@pytest.fixture
def ctrl_c():
    """Ctrl-C as a terminal has it, also where these tests run in the background of a
    shell that ignores it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_after_the_charge_waits_for_the_answer(
    ledger: Ledger, caplog: pytest.LogCaptureFixture, times: int
):
    run = ledger.reserve(Budget.of(1, 0), event="test")

    def pressed(exact):
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        return {"x": np.array([41])}

    with caplog.at_level(logging.WARNING), pytest.raises(KeyboardInterrupt):
        till_of(run).pay(QUESTION, HALF, nothing, pressed)
    assert len(caplog.records) == (times > 1), (
        "who presses again is told once what the wait is for"
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = till_of(ledger.resume(run.id)).pay(
        QUESTION, HALF, nothing, lambda exact: {"x": np.array([42])}
    )
    assert again["x"] == 41


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_counting_is_answered_at_once_and_nothing_is_charged(
    ledger: Ledger,
):
    run = ledger.reserve(Budget.of(1, 0), event="test")
    with pytest.raises(KeyboardInterrupt):
        till_of(run).pay(
            QUESTION, HALF, lambda: signal.raise_signal(signal.SIGINT), lambda exact: {}
        )
    assert ledger.resume(run.id).filter.amount_left == 1


class Stopped(Exception):
    """What the handler of a stop signal raises."""


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_every_signal_that_stops_a_process_waits_for_the_answer(
    ledger: Ledger, number: signal.Signals
):
    def stop(*_):
        raise Stopped

    def pressed(exact):
        signal.raise_signal(number)
        return {"x": np.array([41])}

    run, before = (
        ledger.reserve(Budget.of(1, 0), event="test"),
        signal.signal(number, stop),
    )
    try:
        with pytest.raises(Stopped):
            till_of(run).pay(QUESTION, HALF, nothing, pressed)
    finally:
        signal.signal(number, before)
    again = till_of(ledger.resume(run.id)).pay(
        QUESTION, HALF, nothing, lambda exact: {"x": np.array([42])}
    )
    assert again["x"] == 41


def test_a_signal_that_is_ignored_stays_ignored(ledger: Ledger):
    run, before = (
        ledger.reserve(Budget.of(1, 0), event="test"),
        signal.signal(signal.SIGTERM, signal.SIG_IGN),
    )

    def pressed(exact):
        signal.raise_signal(signal.SIGTERM)
        return {"x": np.array([41])}

    try:
        assert till_of(run).pay(QUESTION, HALF, nothing, pressed)["x"] == 41
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_pay_as_before(ledger: Ledger):
    run, seen = ledger.reserve(Budget.of(1, 0), event="test"), []

    def ask():
        seen.append(
            till_of(run).pay(
                QUESTION, HALF, nothing, lambda exact: {"x": np.array([41])}
            )["x"]
        )

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert seen == [41]
