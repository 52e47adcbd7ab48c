"""What an account has spent, as a program reads it and as a person does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.aftermath import find_unanswered
from understudy.accounting.budget import spell_value
from understudy.accounting.chain import LedgerEntry
from understudy.accounting.ledger import Ledger
from understudy.accounting.ledgercap import LedgerTotals
from understudy.accounting.questions.question_run import QUESTIONS_EVENT


def format_spending(totals: LedgerTotals) -> str:
    """The ε that was spent, of the ε that may be.

    >>> from fractions import Fraction
    >>> spent = {"epsilon": Fraction(1), "delta": Fraction(0)}
    >>> cap = {"cap_epsilon": Fraction(3), "cap_delta": None}
    >>> format_spending(LedgerTotals(**spent, **cap, runs=1, entries=2))
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


@dataclass(frozen=True)
class ReservedRun:
    """One run of a ledger: what it reserved, and whether it can be taken up."""

    run: str
    time: str
    event: str
    analyst: str
    purpose: str
    epsilon: Fraction
    delta: Fraction
    is_finished: bool
    is_resumable: bool
    is_open: bool = False
    """Whether it takes further questions, as a run of questions does until it is
    finished.
    """

    def to_dict(self) -> dict[str, object]:
        """For a program."""
        return {
            "run": self.run,
            "time": self.time,
            "event": self.event,
            "analyst": self.analyst,
            "purpose": self.purpose,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "finished": self.is_finished,
            "resumable": self.is_resumable,
            "open": self.is_open,
        }


def list_runs(chain: Sequence[LedgerEntry]) -> list[ReservedRun]:
    """Every run of a ledger, in the order in which they reserved their budgets."""
    finished = {entry.run for entry in chain if entry.kind == "finish"}
    # Between a charge and its stored answer a crash loses what was paid.
    lost = find_unanswered(chain)
    runs = []
    for entry in chain:
        if entry.kind == "reserve":
            epsilon, delta = entry.cost
            is_finished = entry.run in finished
            runs.append(
                ReservedRun(
                    run=entry.run,
                    time=entry.time,
                    event=entry.event,
                    analyst=entry.analyst,
                    purpose=str(entry.facts.get("purpose", "")),
                    epsilon=epsilon,
                    delta=delta,
                    is_finished=is_finished,
                    is_resumable=entry.run not in lost,
                    is_open=entry.event == QUESTIONS_EVENT and not is_finished,
                )
            )
    return runs
