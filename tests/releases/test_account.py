"""The statement of account."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

import pytest

from kit.releases.builders import statement
from understudy.accounting.cost import Accounting, Cost
from understudy.errors import ReleaseError
from understudy.releases import BudgetStatement, BudgetStep


def test_steps_add_up():
    spent = statement().total_cost
    assert spent == Cost(Accounting.GDP, Fraction(4, 1000), Fraction(1, 10**10))
    assert BudgetStatement().total_cost is None


def test_it_reads_as_an_account():
    assert str(statement()).splitlines() == [
        "people, 2025-03-01: ε = 1, δ = 1e-9 reserved",
        "  90.0% marginals: μ² = 0.003",
        "  10.0% cells above zero: μ² = 0.001, δ = 1e-10",
        "  ledger 5f5f5f5f5f5f5f5f, run 1",
    ]


def test_a_time_finer_than_a_day_has_no_place():
    with pytest.raises(ReleaseError, match="a day"):
        BudgetStatement(day=datetime(2025, 3, 1, 12, 30))
    assert BudgetStatement(day=date(2025, 3, 1)).day == date(2025, 3, 1)


def test_two_accountings_do_not_add_up():
    steps = tuple(
        BudgetStep(asked="x", cost=Cost(c, Fraction(1)))
        for c in (Accounting.PURE, Accounting.GDP)
    )
    with pytest.raises(ReleaseError, match="one accounting"):
        BudgetStatement(steps=steps)


@pytest.mark.parametrize("share", [Fraction(-1, 2), Fraction(3, 2)])
def test_a_share_lies_between_none_and_all(share):
    with pytest.raises(ReleaseError, match="share"):
        BudgetStep(asked="x", cost=Cost(Accounting.PURE, Fraction(1)), share=share)


def test_what_was_reserved_is_not_negative():
    with pytest.raises(ReleaseError, match="negative"):
        BudgetStatement(epsilon=Fraction(-1))
