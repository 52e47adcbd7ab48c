"""One long run for questions: taken up by its name, answered once, paid once."""

import sqlite3
from fractions import Fraction

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.chain import digest_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.questions.composition import composition_saving
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.questions.question_run import (
    QuestionCharge,
    open_questions,
)
from understudy.errors import BudgetExceeded, LedgerError, LedgerTampered

AGE, SEX = digest_of("age"), digest_of("sex")
COST = Cost(Accounting.GDP, Fraction(1, 100))


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(
        tmp_path / "people.ledger", dataset="people", cap=Budget.of(3, "1e-8")
    ) as ledger:
        yield ledger


def ask(run, digest, payload, **who):
    step = run.charge(COST, digest, **who)
    run.store(step, digest, payload)
    return step


def test_it_is_opened_once_and_taken_up_by_its_name(ledger):
    first = open_questions(ledger, Budget.of(2))
    assert ask(first, AGE, b"1") == 0
    with Ledger.open(ledger.path) as elsewhere:
        again = open_questions(elsewhere, Budget.of(2))
        assert ask(again, SEX, b"2") == 1
        assert again.filter.spent == 2 * COST.amount
        assert again.budget == Budget.of(2)
    assert ledger.totals().epsilon == 2
    ledger.verify()


def test_a_run_of_questions_needs_a_budget_and_a_name_of_its_own(ledger):
    with pytest.raises(LedgerError, match="give its budget to open one"):
        open_questions(ledger)
    ledger.reserve(Budget.of("0.1"), event="synthesize", run_id="monday")
    with pytest.raises(LedgerError, match="is for synthesize, not for questions"):
        open_questions(ledger, Budget.of(1), name="monday")
    with pytest.raises(BudgetExceeded):
        open_questions(ledger, Budget.of(4))


def test_a_released_answer_is_recalled_at_no_cost(ledger):
    run = open_questions(ledger, Budget.of(1))
    assert run.recall(AGE) == ()
    ask(run, AGE, b"17")
    run.charge(COST, SEX)  # lost in a crash: no answer, so nothing to recall
    before = ledger.head
    (answer,) = run.recall(AGE)
    assert (answer.payload, answer.cost, answer.step) == (b"17", COST, 0)
    assert run.recall(SEX) == ()
    assert ledger.head == before


def test_answers_of_an_earlier_run_of_questions_are_recalled_and_others_are_not(ledger):
    other = ledger.reserve(Budget.of("0.7"), event="synthesize")
    other.charge(0, COST, AGE)
    other.store(0, AGE, b"a synthesizer's own")
    ask(open_questions(ledger, Budget.of(1)), AGE, b"17")
    second = open_questions(ledger, Budget.of("0.7"), name="second")
    assert [answer.payload for answer in second.recall(AGE)] == [b"17"]


def test_a_refined_answer_is_recalled_with_the_first(ledger):
    run = open_questions(ledger, Budget.of(1))
    ask(run, AGE, b"first")
    ask(run, AGE, b"second")
    assert [answer.payload for answer in run.recall(AGE)] == [b"first", b"second"]


def test_two_analysts_one_question(ledger):
    """Free for the run, counted once on the limit of each."""
    run = open_questions(ledger, Budget.of(1))
    ledger.grant(Budget.of(1), analyst="ada")
    ledger.grant(Budget.of("0.7"), analyst="bob")
    ledger.grant(Budget.of("0.01"), analyst="eve")
    ask(run, AGE, b"17", analyst="ada")
    spent = run.filter.spent
    for _ in range(2):
        assert run.recall(AGE, analyst="ada")[0].payload == b"17"
        assert run.recall(AGE, analyst="bob")[0].payload == b"17"
    with pytest.raises(BudgetExceeded, match="limit of 'eve'"):
        run.recall(AGE, analyst="eve")
    assert run.filter.spent == spent
    statements = {s.analyst: s for s in ledger.statements()}
    for name, replays in (("ada", 0), ("bob", 1), ("eve", 0)):
        assert statements[name].replays == replays
    assert (
        statements["ada"].spending.amounts
        == statements["bob"].spending.amounts
        == {Accounting.GDP: COST.amount}
    )
    ledger.verify()


def test_all_charges_of_a_question_are_written_or_none(ledger):
    """The second charge has no room: neither the first nor the stored answer stays."""
    run = open_questions(ledger, Budget.of(2))
    ledger.grant(Budget.of(1), analyst="bob")
    ask(run, AGE, b"17")
    before, spent = ledger.head, run.filter.spent
    charges = [
        QuestionCharge(COST, SEX),
        QuestionCharge(Cost(Accounting.GDP, Fraction(1)), digest_of("both")),
    ]
    with pytest.raises(BudgetExceeded):
        run.charge_together(charges, recalled=[AGE], analyst="bob")
    assert (ledger.head, run.filter.spent) == (before, spent)
    steps = run.charge_together(charges[:1] * 2, recalled=[AGE, AGE], analyst="bob")
    assert steps == (1, 2)
    assert [entry.kind for entry in ledger.entries()][-3:] == [
        "replay",
        "charge",
        "charge",
    ]
    ledger.verify()


def test_a_changed_answer_is_not_recalled(ledger):
    run = open_questions(ledger, Budget.of(1))
    ask(run, AGE, b"17")
    file = sqlite3.connect(ledger.path, isolation_level=None)
    file.execute("UPDATE answer SET payload = x'00'")
    file.close()
    with pytest.raises(LedgerTampered, match=r"was changed\. Nothing was returned"):
        run.recall(AGE)


def test_an_earlier_version_would_refuse_what_it_cannot_check(ledger):
    def version():
        file = sqlite3.connect(ledger.path)
        found = file.execute("PRAGMA user_version").fetchone()[0]
        file.close()
        return found

    run = open_questions(ledger, Budget.of(1))
    ask(run, AGE, b"17")
    assert version() == 1
    run.charge(COST, SEX, analyst="ada")
    assert version() == 2


def test_ten_runs_answer_a_ninth_of_what_one_does():
    assert 8.85 < composition_saving(Budget.of(5), 10) < 8.95
    assert composition_saving(Budget.of(5), 1) == 1


def test_what_has_no_room_is_known_before_the_first_charge(ledger):
    """By the run, by the limit of the analyst and by the scope; nothing is written."""
    run = open_questions(ledger, Budget.of(1))
    ledger.grant(Budget.of("0.5"), analyst="ada")
    whole = Cost(Accounting.GDP, run.filter.total)
    north = PartitionScope("region", "d", 2, frozenset({0}))
    south = PartitionScope("region", "d", 2, frozenset({1}))
    run.charge(whole, AGE, scope=north)
    before = ledger.head
    run.refuse_unaffordable(whole, scope=south)
    for cost, who, scope in (
        (COST, "", None),
        (COST, "", north),
        (COST, "eve", south),
        (whole, "ada", south),
    ):
        with pytest.raises(BudgetExceeded, match="Nothing was spent"):
            run.refuse_unaffordable(cost, analyst=who, scope=scope)
    assert ledger.head == before
