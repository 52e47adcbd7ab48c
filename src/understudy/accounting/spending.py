"""What an account has spent, as a program reads it and as a person does."""

from __future__ import annotations

from understudy.accounting.budget import spell_value
from understudy.accounting.ledger import Ledger, LedgerTotals


def format_spending(totals: LedgerTotals) -> str:
    """The ε that was spent, of the ε that may be.

    >>> from fractions import Fraction
    >>> format_spending(LedgerTotals(epsilon=Fraction(1), delta=Fraction(0), cap_epsilon=Fraction(3), cap_delta=None, runs=1, entries=2))
    '1.00 of 3.00'
    """
    spent = spell_value(totals.epsilon)
    if totals.cap_epsilon is None:
        return f"{spent}, no cap"
    return f"{spent} of {spell_value(totals.cap_epsilon)}"


def account_facts(account: Ledger) -> dict[str, object]:
    """Whose account it is and what was spent, for a program."""
    totals = account.totals()
    cap = None
    if totals.cap_epsilon is not None:
        cap = {"epsilon": totals.cap_epsilon, "delta": totals.cap_delta}
    return {
        "path": account.path,
        "dataset": account.dataset,
        "neighbours": str(account.neighbours),
        "unit": account.unit,
        "spent": {"epsilon": totals.epsilon, "delta": totals.delta},
        "cap": cap,
        "entries": totals.entries,
        "head": account.head,
        "backup": account.is_backup,
    }
