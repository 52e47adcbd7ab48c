"""Limits of analysts: granted, checked with every charge, raised and never reset."""

import sqlite3
from fractions import Fraction

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.chain import digest_of
from understudy.accounting.conversion import epsilon_of, mu_squared_for, rho_for
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.ledgercap import LedgerCap
from understudy.accounting.questions.analyst import AnalystSpending
from understudy.accounting.questions.question_run import open_questions
from understudy.errors import BudgetExceeded, LedgerError, LedgerTampered

ONE = Budget.of(1)


def gdp(amount):
    return Cost(Accounting.GDP, Fraction(amount))


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(
        tmp_path / "people.ledger", dataset="people", cap=Budget.of(5, "1e-8")
    ) as ledger:
        yield ledger


@pytest.fixture
def run(ledger):
    return open_questions(ledger, Budget.of(3))


def statement_of(ledger, analyst):
    return next(s for s in ledger.statements() if s.analyst == analyst)


def test_a_limit_holds_inside_a_shared_run(ledger, run):
    ledger.grant(ONE, analyst="ada")
    allowed = mu_squared_for(ONE)
    run.charge(gdp(allowed), digest_of(1), analyst="ada")
    before = (ledger.head, run.filter.spent)
    with pytest.raises(
        BudgetExceeded, match=r"left of the limit of 'ada'.*Nothing was spent\."
    ):
        run.charge(gdp(Fraction(1, 10**12)), digest_of(2), analyst="ada")
    assert (ledger.head, run.filter.spent) == before
    # The run has room, and the owner has no limit but that of the run.
    run.charge(gdp(allowed), digest_of(3))
    ledger.verify()


def test_a_grant_adds_to_what_was_there_and_resets_nothing(ledger, run):
    ledger.grant(ONE, analyst="ada")
    run.charge(gdp(mu_squared_for(ONE)), digest_of(1), analyst="ada")
    assert ledger.grant(ONE, analyst="ada") == Budget.of(2, "2e-9")
    left = statement_of(ledger, "ada").amount_left(Accounting.GDP)
    assert left == mu_squared_for(Budget.of(2, "2e-9")) - mu_squared_for(ONE)
    run.charge(gdp(left), digest_of(2), analyst="ada")
    assert statement_of(ledger, "ada").amount_left(Accounting.GDP) == 0
    ledger.verify()


def test_a_name_without_a_limit_is_refused_where_others_have_one(ledger, run):
    run.charge(gdp("0.001"), digest_of(1), analyst="bob")
    ledger.grant(ONE, analyst="ada")
    for spend in (
        lambda: run.charge(gdp("0.001"), digest_of(2), analyst="adaa"),
        lambda: ledger.reserve(Budget.of("0.1", 0), event="x", analyst="adaa"),
        lambda: run.charge(gdp("0.001"), digest_of(2), analyst="bob"),
    ):
        with pytest.raises(BudgetExceeded, match="has none: `understudy ledger grant"):
            spend()
    ledger.verify()


def test_runs_in_their_own_name_count_against_the_limit_too(ledger, run):
    ledger.grant(ONE, analyst="ada")
    own = ledger.reserve(Budget.of("0.5", "5e-10"), event="count", analyst="ada")
    own.charge(0, gdp(own.filter.total), digest_of(0))
    rest = mu_squared_for(Budget.of("0.5", "5e-10"))
    assert statement_of(ledger, "ada").amount_left(Accounting.GDP) == rest
    run.charge(gdp(rest), digest_of(1), analyst="ada")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Budget.of("1e-6", 0), event="count", analyst="ada")
    ledger.verify()


def test_accountings_of_one_analyst_compose():
    """Pure ε adds up plainly, μ² counts as ρ = μ²/2 where both occur; nothing is
    admitted whose (ε, δ) would be above the limit.
    """
    limit = LedgerCap.of(ONE)
    pure = AnalystSpending().add_cost(Cost(Accounting.PURE, Fraction(1, 2)))
    rest = mu_squared_for(Budget.of("0.5"))
    assert pure.amount_left(limit, Accounting.GDP) == rest
    assert pure.add_cost(gdp(rest)).fits_limit(limit)
    assert not pure.add_cost(gdp(rest * Fraction(1001, 1000))).fits_limit(limit)
    both = AnalystSpending().add_cost(gdp("0.01"))
    left = both.amount_left(limit, Accounting.ZCDP)
    assert left == rho_for(ONE) - Fraction("0.005")
    full = both.add_cost(Cost(Accounting.ZCDP, left))
    assert full.fits_limit(limit)
    assert full.amount_left(limit, Accounting.GDP) == 0
    assert not full.add_cost(gdp("1e-9")).fits_limit(limit)
    used = epsilon_of(Accounting.GDP, Fraction("0.01"), ONE.delta)
    assert both.amount_left(limit, Accounting.PURE) == 1 - used


def test_the_delta_of_thresholds_comes_from_the_limit(ledger):
    run = open_questions(ledger, Budget.of(3), threshold_delta=Fraction(1, 10**10))
    ledger.grant(Budget.of(1, "1e-10"), analyst="ada")
    cost = Cost(Accounting.GDP, Fraction(0), Fraction(1, 10**10))
    with pytest.raises(BudgetExceeded):
        run.charge(
            Cost(Accounting.GDP, Fraction("1e-6"), cost.delta),
            digest_of(1),
            analyst="ada",
        )
    run.charge(cost, digest_of(1), analyst="ada")


def test_the_cap_of_the_account_is_raised_by_a_grant(ledger, tmp_path):
    ledger.reserve(Budget.of(5, 0), event="all of it")
    with Ledger.open(ledger.path) as elsewhere:
        assert elsewhere.grant(ONE, reason="second wave") == Budget.of(6, "1.1e-8")
    ledger.reserve(Budget.of(1, 0), event="more")
    assert ledger.cap == Budget.of(6, "1.1e-8")
    assert ledger.entries()[-2].facts["reason"] == "second wave"
    ledger.verify()
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Budget.of("0.1", 0), event="even more")
    with Ledger.create(tmp_path / "free.ledger", dataset="free") as free:
        with pytest.raises(LedgerError, match="has no cap that could be raised"):
            free.grant(ONE)
        assert free.grant(ONE, analyst="ada") == ONE
    with Ledger.open(ledger.path) as again:
        assert again.totals().epsilon == 6


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE account SET cap_epsilon = cap_epsilon * 2", "opened another account"),
        ("DELETE FROM entry WHERE kind = 'grant'", "is not the last one"),
        ("UPDATE entry SET detail = replace(detail, '\"limit_epsilon\":1', '\"limit_epsilon\":9')", "was changed"),
    ],
)  # fmt: skip
def test_a_changed_grant_is_found(ledger, change, named):
    ledger.grant(ONE, analyst="ada")
    ledger.grant(ONE)
    file = sqlite3.connect(ledger.path, isolation_level=None)
    file.execute(change)
    file.close()
    with pytest.raises(LedgerTampered, match=named):
        ledger.verify()


def test_a_statement_says_what_each_analyst_was_answered(ledger, run):
    ledger.grant(ONE, analyst="ada")
    step = run.charge(gdp("0.01"), digest_of(1), analyst="ada", purpose="rent survey")
    run.store(step, digest_of(1), b"17")
    entry = next(e for e in ledger.entries() if e.kind == "charge")
    assert (entry.analyst, entry.facts["purpose"]) == ("ada", "rent survey")
    owner, ada = ledger.statements()
    assert (owner.analyst, owner.runs, owner.epsilon) == ("", 1, 3)
    assert (ada.analyst, ada.limit, ada.questions) == ("ada", ONE, 1)
    assert ada.epsilon == epsilon_of(Accounting.GDP, Fraction("0.01"), ONE.delta)
    assert ada.to_dict()["amounts"] == {"gdp": Fraction("0.01")}


def test_a_limit_that_is_not_checked_would_be_found_later(ledger, run, monkeypatch):
    """The teeth: what a broken version lets through, an honest one refuses to open."""
    ledger.grant(ONE, analyst="ada")
    allowed = mu_squared_for(ONE)
    run.charge(gdp(allowed), digest_of(1), analyst="ada")
    monkeypatch.setattr(AnalystSpending, "fits_limit", lambda *_: True)
    run.charge(gdp(allowed / 100), digest_of(2), analyst="ada")
    ledger.verify()
    monkeypatch.undo()
    with pytest.raises(LedgerTampered, match="beyond the limit of its analyst"):
        ledger.verify()


@pytest.mark.parametrize("refund", [Fraction(1, 2), Fraction(0)])
def test_a_charge_that_pays_something_back_is_found(ledger, run, monkeypatch, refund):
    """The teeth: a version that forgets a part of what an analyst has spent, such as
    when a better answer replaces an earlier one.
    """
    run.charge(gdp("0.01"), digest_of(1), analyst="ada")
    honest = AnalystSpending.add_cost

    def pay_back(self, cost):
        return honest(self, Cost(cost.accounting, cost.amount * refund))

    monkeypatch.setattr(AnalystSpending, "add_cost", pay_back)
    run.charge(gdp("0.02"), digest_of(1), analyst="ada")
    monkeypatch.undo()
    with pytest.raises(LedgerTampered, match="charges its analyst other than it says"):
        ledger.verify()
