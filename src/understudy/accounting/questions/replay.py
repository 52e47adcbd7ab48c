"""What a chain of entries adds up to, entry by entry: what each run, each analyst and
each cell has spent, and which limits were in force.

A charge states what its run has spent after it. Following the chain computes the same
from the entries before, so that a charge which states less is found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.chain import LedgerEntry, read_amount
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger_files.tables import LEDGER_FORMAT_VERSION
from understudy.accounting.ledgercap import LedgerCap, count_run_units
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.analyst import (
    OWNER_NAME,
    AnalystSpending,
    read_spending_facts,
)
from understudy.accounting.questions.grants import follow_grant
from understudy.accounting.questions.partition import (
    PartitionScope,
    ScopedSpending,
    charge_scope,
)
from understudy.accounting.questions.scoped_runs import add_scoped_run

_ACCOUNT_FACTS = ("dataset", "neighbours", "unit", "cap_epsilon", "cap_delta")


@dataclass
class _ReplayedRun:
    """One run as its entries have it so far."""

    analyst: str
    total: Fraction
    scope: PartitionScope | None = None
    spent: Fraction = Fraction(0)
    scoped: ScopedSpending = field(default_factory=ScopedSpending)


class ChainReplay:
    """Follows a chain from its first entry on; `follow` says what is wrong with an
    entry, or nothing.
    """

    def __init__(self, first: LedgerEntry) -> None:
        self._opening = dict(first.facts) if first.kind == "open" else {}
        cap = (self._opening.get("cap_epsilon"), self._opening.get("cap_delta"))
        self._limits = {OWNER_NAME: LedgerCap(*map(_read_units, cap))}
        self._runs: dict[str, _ReplayedRun] = {}
        self._scoped_runs = ScopedSpending()
        self._analysts: dict[str, AnalystSpending] = {}

    def opens(self, account: dict[str, object]) -> bool:
        """Whether the first entry and the grants after it made this account, whose
        header no other entry seals.
        """
        cap = self._limits[OWNER_NAME]
        header = {name: account[name] for name in _ACCOUNT_FACTS}
        raised = {"cap_epsilon": cap.epsilon, "cap_delta": cap.delta}
        expected = {**self._opening, **raised}
        return expected == {**header, "format": LEDGER_FORMAT_VERSION}

    def follow(self, entry: LedgerEntry) -> str:
        """Add one entry. What is wrong with it, in words; empty where nothing is."""
        match entry.kind:
            case "reserve":
                return self._follow_reserve(entry)
            case "charge":
                return self._follow_charge(entry) or self._follow_analyst(entry)
            case "replay":
                return self._follow_analyst(entry)
            case "grant":
                before = self._limits.get(entry.analyst, LedgerCap(0, 0))
                self._limits[entry.analyst] = follow_grant(before, entry)
        return ""

    def _follow_reserve(self, entry: LedgerEntry) -> str:
        facts = entry.facts
        # All are read, so that none is damaged.
        for name in ("epsilon", "delta", "total_delta"):
            read_amount(facts[name])
        self._runs[entry.run] = _ReplayedRun(entry.analyst, read_amount(facts["total"]))
        if facts.get("run_scope") is not None and not self._follow_scoped_run(entry):
            return "reserves for the cells of its scope other than it says"
        spent = self._analysts.get(entry.analyst, AnalystSpending())
        return self._spend(entry.analyst, spent.add_run(entry.epsilon, entry.delta))

    def _follow_scoped_run(self, entry: LedgerEntry) -> bool:
        """Whether a run with a scope takes from the account what its cells cost more."""
        facts = entry.facts
        whole = Budget(read_amount(facts["epsilon"]), read_amount(facts["delta"]))
        added = add_scoped_run(
            self._scoped_runs,
            count_run_units(whole),
            PartitionScope.of_facts(facts["run_scope"]),
            Neighbours(str(self._opening["neighbours"])),
            str(self._opening["unit"]),
        )
        stated = facts.get("account_partitions")
        return added == (entry.epsilon, entry.delta) and (
            stated == self._scoped_runs.to_facts() and entry.analyst == OWNER_NAME
        )

    def _follow_charge(self, entry: LedgerEntry) -> str:
        run, facts = self._runs[entry.run], entry.facts
        cost = _read_cost(facts)
        scope = None
        if facts.get("scope") is not None:
            scope = PartitionScope.of_facts(facts["scope"])
        if run.scope is not None and not (scope and scope.is_within(run.scope)):
            return "charges a question outside the scope of its run"
        marginal = charge_scope(
            run.scoped,
            cost,
            scope,
            neighbours=Neighbours(str(self._opening["neighbours"])),
            unit=str(self._opening["unit"]),
        )
        stated = read_amount(facts["run_spent"])
        # At most: a long sum is rounded up when it is stated.
        if not run.spent + marginal.amount <= stated <= run.total:
            return "charges its run other than it says"
        if facts.get("partitions", {}) != run.scoped.to_facts():
            return "charges the cells of its scope other than it says"
        run.spent = stated
        return ""

    def _follow_analyst(self, entry: LedgerEntry) -> str:
        if entry.analyst in (OWNER_NAME, self._runs[entry.run].analyst):
            return ""
        spent = self._analysts.get(entry.analyst, AnalystSpending())
        spent = spent.add_cost(_read_cost(entry.facts))
        stated = read_spending_facts(entry.facts["analyst_spent"])
        # Computed again from the first entry on: what an entry states is not believed.
        if (stated.amounts, stated.delta) != (spent.amounts, spent.delta):
            return "charges its analyst other than it says"
        return self._spend(entry.analyst, spent)

    def _spend(self, analyst: str, spent: AnalystSpending) -> str:
        self._analysts[analyst] = spent
        limited = self._limits.keys() - {OWNER_NAME}
        # Without a single limit, analysts are names in the record and nothing more.
        if analyst == OWNER_NAME or not limited:
            return ""
        limit = self._limits.get(analyst)
        if limit is None or not spent.fits_limit(limit):
            return "goes beyond the limit of its analyst"
        return ""


def _read_cost(facts: dict[str, object]) -> Cost:
    return Cost(
        Accounting(str(facts["currency"])),
        read_amount(facts["amount"]),
        read_amount(facts["delta"]),
    )


def _read_units(units: object) -> int | None:
    if units is not None and not isinstance(units, int):
        raise ValueError("a cap is whole units")
    return units
