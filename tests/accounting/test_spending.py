"""Spending in words and as facts, with a cap and without."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.accounting.spending import account_facts, format_spending


@pytest.mark.parametrize(
    ("cap", "said"),
    [(None, "0.50, no cap"), (Budget.of(3, "1e-6"), "0.50 of 3.00")],
)
def test_spending_is_what_the_ledger_says(
    tmp_path: Path, cap: Budget | None, said: str
) -> None:
    path = tmp_path / "people.ledger"
    with Ledger.create(path, dataset="people", cap=cap) as ledger:
        ledger.reserve(Budget.of("0.5", "1e-9"), event="synthesize")
        assert format_spending(ledger.totals()) == said
        facts = account_facts(ledger)
    assert facts["spent"] == {
        "epsilon": Fraction(1, 2),
        "delta": Fraction(1, 10**9),
    }
    assert facts["cap"] == (
        None if cap is None else {"epsilon": cap.epsilon, "delta": cap.delta}
    )
    assert facts["backup"] is False
