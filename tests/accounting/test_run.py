"""Charge, store, replay: what a run may do, before and after a crash."""

import sqlite3
from fractions import Fraction

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.chain import digest_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.errors import BudgetExceeded, InvalidBudget, LedgerError, LedgerTampered

AGE, SEX = digest_of({"measure": "age"}), digest_of({"measure": "sex"})


def pure(amount, delta=0):
    return Cost(Accounting.PURE, Fraction(amount), Fraction(delta))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(path):
    with Ledger.create(path, dataset="people", cap=Budget.of(2)) as ledger:
        yield ledger


@pytest.fixture
def run(ledger):
    return ledger.reserve(
        Budget.of(1, 0), event="synthesize", analyst="Ada", scope="all"
    )


def test_a_step_that_was_answered_is_replayed_at_no_cost(ledger, run):
    run.charge(0, pure("0.5"), AGE)
    run.store(0, AGE, b"noisy")
    before = (ledger.head, ledger.totals())
    again = ledger.resume(run.id)
    assert again.answer(0, AGE) == b"noisy"
    assert again.filter.amount_left == Fraction(1, 2)
    assert (ledger.head, ledger.totals()) == before


def test_another_question_gets_no_stored_answer(run):
    run.charge(0, pure("0.5"), AGE)
    run.store(0, AGE, b"noisy")
    with pytest.raises(
        LedgerError, match=r"was another question.*Nothing was returned"
    ):
        run.answer(0, SEX)


def test_a_new_run_always_pays(ledger, run):
    run.charge(0, pure("0.5"), AGE)
    run.store(0, AGE, b"noisy")
    other = ledger.reserve(Budget.of("0.5", 0), event="synthesize")
    assert other.answer(0, AGE) is None
    assert ledger.totals().epsilon == Fraction("1.5")


def test_spent_without_an_answer_stays_spent(ledger, run):
    """A lost draw is paid for again from the run's own filter, or not repeated."""
    run.charge(0, pure("0.4"), AGE)
    again = ledger.resume(run.id)
    assert again.answer(0, AGE) is None
    assert again.filter.amount_left == Fraction("0.6")
    again.charge(0, pure("0.4"), AGE)
    assert again.filter.amount_left == Fraction("0.2")
    third = ledger.resume(run.id)
    with pytest.raises(
        BudgetExceeded,
        match=r"Step 0 was paid for and its answer was lost.*only 0\.20 of 1\.00 is left",
    ):
        third.charge(0, pure("0.4"), AGE)
    third.store(0, AGE, b"noisy")
    assert third.answer(0, AGE) == b"noisy"
    ledger.verify()


def test_the_filter_of_a_run_holds_across_processes_that_resume_it(path, ledger, run):
    """Two holders of one run share one filter: what the other spent counts."""
    with Ledger.open(path) as elsewhere:
        twin = elsewhere.resume(run.id)
        run.charge(0, pure("0.6"), AGE)
        with pytest.raises(BudgetExceeded):
            twin.charge(1, pure("0.6"), SEX)
        twin.charge(1, pure("0.4"), SEX)
        twin.store(1, SEX, b"theirs")
        with pytest.raises(LedgerError, match="has its answer already"):
            run.charge(1, pure("0"), SEX)
    assert run.filter.amount_left == 0


def test_of_two_draws_for_one_step_only_the_first_stored_is_an_answer(path, run):
    with Ledger.open(path) as elsewhere:
        twin = elsewhere.resume(run.id)
        run.charge(0, pure("0.3"), AGE)
        twin.charge(0, pure("0.3"), AGE)
        run.store(0, AGE, b"mine")
        with pytest.raises(LedgerError, match="has its answer already"):
            twin.store(0, AGE, b"theirs")
        assert twin.answer(0, AGE) == b"mine"


def test_nothing_is_stored_that_was_not_charged(run):
    with pytest.raises(LedgerError, match="was not charged"):
        run.store(0, AGE, b"free")
    run.charge(0, pure("0.1"), AGE)
    with pytest.raises(LedgerError, match="was not charged for this question"):
        run.store(0, SEX, b"free")
    assert run.answer(0, AGE) is None


def test_a_step_beyond_the_filter_is_refused_and_leaves_no_trace(ledger, run):
    run.charge(0, pure("0.9"), AGE)
    head = ledger.head
    with pytest.raises(
        BudgetExceeded,
        match=r"cost ε = 0\.20 and only 0\.10 of 1\.00 is left in this run",
    ):
        run.charge(1, pure("0.2"), SEX)
    with pytest.raises(BudgetExceeded, match="δ"):
        run.charge(1, pure("0.1", "1e-9"), SEX)
    with pytest.raises(InvalidBudget, match="priced in μ²"):
        run.charge(1, Cost(Accounting.GDP, Fraction(1, 100)), SEX)
    assert ledger.head == head


def test_steps_cost_the_account_nothing_beyond_the_reservation(ledger, run):
    before = ledger.totals().epsilon
    run.charge(0, pure("1"), AGE)
    run.store(0, AGE, b"x")
    assert ledger.totals().epsilon == before


def test_a_finished_run_replays_and_takes_no_more_questions(ledger, run):
    run.charge(0, pure("0.5"), AGE)
    run.store(0, AGE, b"noisy")
    run.finish()
    run.finish()
    again = ledger.resume(run.id)
    assert again.is_finished
    assert again.answer(0, AGE) == b"noisy"
    with pytest.raises(LedgerError, match="is finished"):
        again.charge(1, pure("0.1"), SEX)
    assert [entry.kind for entry in ledger.entries()] == [
        "open",
        "reserve",
        "charge",
        "answer",
        "finish",
    ]
    assert ledger.totals().epsilon == 1


def test_entries_say_who_and_what(ledger, run):
    run.charge(3, pure("1/3", 0), AGE)
    entry = ledger.entries()[-1]
    assert (entry.run, entry.step, entry.event, entry.analyst, entry.scope) == (
        run.id,
        3,
        "synthesize",
        "Ada",
        "all",
    )
    assert entry.facts["amount"] == "1/3"
    assert entry.facts["request"] == AGE


def test_a_resumed_run_has_the_filter_it_was_given(ledger):
    budget = Budget.of("0.5", "1e-9")
    filter = Filter.of(budget, threshold_delta=Fraction(1, 10**10))
    run = ledger.resume(ledger.reserve(budget, event="x", filter=filter).id)
    assert run.filter == filter
    assert run.budget == budget
    run.charge(0, Cost(Accounting.GDP, filter.total / 3, Fraction(1, 10**10)), AGE)
    assert ledger.resume(run.id).filter.amount_left == filter.total * Fraction(2, 3)
    assert ledger.resume(run.id).filter.delta_left == 0


def test_a_long_run_of_unlike_prices_is_kept_in_few_digits(ledger):
    run = ledger.reserve(Budget.of(1), event="x")
    for step in range(60):
        run.charge(
            step,
            Cost(Accounting.GDP, Fraction(2**20, (2**20 + 2 * step + 1) ** 2) / 2**10),
            digest_of(step),
        )
    assert len(ledger.entries()[-1].detail) < 1500
    ledger.verify()


def test_a_run_nobody_began_is_not_resumed(ledger):
    with pytest.raises(LedgerError, match="has no run 'tuesday'"):
        ledger.resume("tuesday")


def test_an_answer_that_was_changed_is_not_replayed(path, ledger, run):
    run.charge(0, pure("0.5"), AGE)
    run.store(0, AGE, b"noisy")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE answer SET payload = ?", (b"exact",))
    file.close()
    with pytest.raises(LedgerTampered, match="answer to step 0"):
        run.answer(0, AGE)
