"""Limits of analysts: what each may learn, beside what may be spent in all.

A limit is an (ε, δ): everything that was answered to this analyst is private with it. It
holds runs that were reserved in the analyst's name, which add up plainly, and questions
in runs that several share, which compose in the run's accounting:

    what the limit leaves after plain runs, pure ε and the δ of thresholds, converted,
    is at least Σμ², or Σρ + Σμ²/2 where both occur (μ-GDP is μ²/2-zCDP).

Limits are the sum of `grant` entries. They are raised and never reset, and checked in
the transaction that writes the charge. The empty name is the owner, who has no limit
but the cap. As soon as one analyst has a limit, a name without one is refused, so that
a mistyped name is not a way around it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from understudy.accounting.budget import Budget, spell_value
from understudy.accounting.chain import (
    DELTA_UNITS,
    EPSILON_UNITS,
    LedgerEntry,
    read_amount,
)
from understudy.accounting.conversion import epsilon_of, total_for
from understudy.accounting.cost import Accounting, Cost, round_up_long_amount
from understudy.accounting.ledger_files.tables import read_entries, read_last_entry
from understudy.accounting.ledgercap import LedgerCap
from understudy.errors import BudgetExceeded

OWNER_NAME = ""
"""Name of the owner in entries: no limit but the cap of the account."""

_SHARED_CHARGES_SQL = (
    "WHERE analyst = ? AND kind IN ('charge', 'replay')"
    " AND detail LIKE '%\"analyst_spent\"%'"
)


@dataclass(frozen=True)
class AnalystSpending:
    """What was answered to one analyst: ledger units of the runs in their name, and
    amounts of each accounting in runs they share.
    """

    reserved_epsilon: int = 0
    reserved_delta: int = 0
    amounts: Mapping[Accounting, Fraction] = field(default_factory=dict)
    delta: Fraction = Fraction(0)

    def add_cost(self, cost: Cost) -> AnalystSpending:
        """After one more question in a shared run."""
        before = self.amounts.get(cost.accounting, Fraction(0))
        amount = round_up_long_amount(before + cost.amount)
        return replace(
            self,
            amounts={**self.amounts, cost.accounting: amount},
            delta=round_up_long_amount(self.delta + cost.delta),
        )

    def add_run(self, epsilon: int, delta: int) -> AnalystSpending:
        """After one more run in their own name, in ledger units."""
        return replace(
            self,
            reserved_epsilon=self.reserved_epsilon + epsilon,
            reserved_delta=self.reserved_delta + delta,
        )

    def fits_limit(self, limit: LedgerCap) -> bool:
        """Whether all of this together is within a limit.

        >>> gdp = AnalystSpending(amounts={Accounting.GDP: Fraction(1, 31)})
        >>> gdp.fits_limit(LedgerCap.of(Budget.of(1)))
        True
        >>> gdp.add_run(10**8, 0).fits_limit(LedgerCap.of(Budget.of(1)))
        False
        """
        if limit.epsilon is None or limit.delta is None:
            return True
        epsilon, delta = self._plain_rest(limit)
        if epsilon < 0 or delta < 0:
            return False
        accounting, amount = self._composed_amount()
        if amount == 0:
            return True
        return (
            epsilon > 0 and delta > 0 and amount <= _convert(epsilon, delta, accounting)
        )

    def amount_left(self, limit: LedgerCap, accounting: Accounting) -> Fraction | None:
        """How much of an accounting a limit still allows; None where there is none."""
        if limit.epsilon is None or limit.delta is None:
            return None
        epsilon, delta = self._plain_rest(limit)
        composed, amount = self._composed_amount(accounting)
        if accounting is Accounting.PURE and amount == 0:
            return max(Fraction(0), epsilon)
        if epsilon <= 0 or delta <= 0:
            return Fraction(0)
        if accounting is Accounting.PURE:
            return max(Fraction(0), epsilon - epsilon_of(composed, amount, delta))
        left = max(Fraction(0), _convert(epsilon, delta, composed) - amount)
        # ρ = μ²/2: what is left of ρ allows twice as much μ².
        return left if composed is accounting else 2 * left

    @property
    def epsilon_spent(self) -> Fraction:
        """Plain ε: that of reserved runs and of pure questions."""
        pure = self.amounts.get(Accounting.PURE, Fraction(0))
        return Fraction(self.reserved_epsilon, EPSILON_UNITS) + pure

    def to_facts(self) -> dict[str, object]:
        """What shared runs cost this analyst, for the detail of an entry."""
        amounts = {str(name): str(amount) for name, amount in self.amounts.items()}
        return {**amounts, "delta": str(self.delta)}

    def _plain_rest(self, limit: LedgerCap) -> tuple[Fraction, Fraction]:
        """What a limit leaves after everything that adds up plainly."""
        budget = limit.require_budget()
        reserved = Fraction(self.reserved_delta, DELTA_UNITS)
        return budget.epsilon - self.epsilon_spent, budget.delta - reserved - self.delta

    def _composed_amount(
        self, wanted: Accounting = Accounting.GDP
    ) -> tuple[Accounting, Fraction]:
        """Everything that composes, in one accounting."""
        mu_squared = self.amounts.get(Accounting.GDP, Fraction(0))
        rho = self.amounts.get(Accounting.ZCDP, Fraction(0))
        if rho == 0 and wanted is not Accounting.ZCDP:
            return Accounting.GDP, mu_squared
        # Gaussian privacy implies concentrated privacy, not the other way round.
        return Accounting.ZCDP, rho + mu_squared / 2


@lru_cache(maxsize=4096)
def _convert(epsilon: Fraction, delta: Fraction, accounting: Accounting) -> Fraction:
    return total_for(Budget(epsilon, delta), accounting)


def read_spending_facts(facts: object) -> AnalystSpending:
    """As `AnalystSpending.to_facts` wrote it; errors where it cannot have."""
    if not isinstance(facts, dict):
        raise ValueError("not what an analyst has spent")
    amounts = {
        Accounting(name): read_amount(amount)
        for name, amount in facts.items()
        if name != "delta"
    }
    return AnalystSpending(amounts=amounts, delta=read_amount(facts["delta"]))


def read_analyst_spending(
    connection: sqlite3.Connection, analyst: str
) -> AnalystSpending:
    """What this analyst has spent, as the ledger has it now."""
    last = read_last_entry(connection, _SHARED_CHARGES_SQL, (analyst,))
    shared = AnalystSpending()
    if last is not None:
        shared = read_spending_facts(last.facts["analyst_spent"])
    # A run begins with its reservation, and runs are found by the index: a service has
    # few runs and many entries.
    epsilon, delta = connection.execute(
        "SELECT COALESCE(SUM(epsilon), 0), COALESCE(SUM(delta), 0) FROM entry"
        " WHERE number IN (SELECT MIN(number) FROM entry GROUP BY run)"
        " AND kind = 'reserve' AND analyst = ?",
        (analyst,),
    ).fetchone()
    return shared.add_run(epsilon, delta)


def read_limits(connection: sqlite3.Connection) -> dict[str, LedgerCap]:
    """The limit of every analyst who has one."""
    limits: dict[str, LedgerCap] = {}
    # Grants belong to no run, and entries are indexed by run and kind.
    for entry in read_entries(connection, "WHERE run = '' AND kind = 'grant'"):
        if entry.analyst != OWNER_NAME:
            limits[entry.analyst] = read_granted_limit(entry)
    return limits


def read_granted_limit(entry: LedgerEntry) -> LedgerCap:
    """The limit that a grant led to."""
    facts = entry.facts
    epsilon, delta = facts["limit_epsilon"], facts["limit_delta"]
    if not isinstance(epsilon, int) or not isinstance(delta, int):
        raise ValueError("a limit is whole units")
    return LedgerCap(epsilon, delta)


def refuse_beyond_limit(
    connection: sqlite3.Connection,
    analyst: str,
    spending: AnalystSpending,
    name: str,
) -> None:
    """Raise BudgetExceeded unless what this analyst would have spent is within their
    limit; messages call the ledger `name`.
    """
    if analyst == OWNER_NAME:
        return
    limits = read_limits(connection)
    if not limits:
        return
    remedy = f"`understudy ledger grant {name} --analyst NAME --epsilon E` raises it"
    limit = limits.get(analyst)
    if limit is None:
        raise BudgetExceeded(
            f"Analysts have limits in {name}, and {analyst!r} has none: {remedy}."
            " Nothing was spent."
        )
    if not spending.fits_limit(limit):
        budget = limit.require_budget()
        raise BudgetExceeded(
            f"This is more than is left of the limit of {analyst!r} in {name} (ε ="
            f" {spell_value(budget.epsilon)}, δ = {spell_value(budget.delta)}):"
            f" {remedy}. Nothing was spent."
        )


def refuse_run_beyond_limit(
    connection: sqlite3.Connection, analyst: str, units: tuple[int, int], name: str
) -> None:
    """The same for a run of these ledger units in the analyst's own name."""
    # What an analyst has spent is a sum over all entries: only where a limit needs it.
    if analyst != OWNER_NAME and read_limits(connection):
        spent = read_analyst_spending(connection, analyst).add_run(*units)
        refuse_beyond_limit(connection, analyst, spent, name)


@dataclass(frozen=True, kw_only=True)
class AnalystStatement:
    """What one analyst was answered, and may be: `limit` is None without one."""

    analyst: str
    limit: Budget | None
    spending: AnalystSpending
    runs: int
    questions: int
    replays: int

    @property
    def epsilon(self) -> Fraction:
        """Plain ε, and the ε of what composed at the δ that is left for it."""
        accounting, amount = self.spending._composed_amount()
        if amount == 0:
            return self.spending.epsilon_spent
        delta = self._delta_for_conversion()
        return self.spending.epsilon_spent + epsilon_of(accounting, amount, delta)

    def amount_left(self, accounting: Accounting) -> Fraction | None:
        """How much of an accounting the limit still allows; None without a limit."""
        return self.spending.amount_left(LedgerCap.of(self.limit), accounting)

    def _delta_for_conversion(self) -> Fraction:
        if self.limit is None:
            return Budget.of(1).delta
        reserved = Fraction(self.spending.reserved_delta, DELTA_UNITS)
        return self.limit.delta - reserved - self.spending.delta

    def to_dict(self) -> dict[str, object]:
        """For a program."""
        limit = None
        if self.limit is not None:
            limit = {"epsilon": self.limit.epsilon, "delta": self.limit.delta}
        amounts = {str(name): amount for name, amount in self.spending.amounts.items()}
        return {
            "analyst": self.analyst,
            "limit": limit,
            "epsilon": self.epsilon,
            "amounts": amounts,
            "runs": self.runs,
            "questions": self.questions,
            "replays": self.replays,
        }


def list_statements(connection: sqlite3.Connection) -> Iterator[AnalystStatement]:
    """A statement for every analyst in the ledger, by name; the owner comes first."""
    counts: dict[str, dict[str, int]] = {}
    asked = "SELECT analyst, kind, COUNT(*) FROM entry GROUP BY analyst, kind"
    for analyst, kind, count in connection.execute(asked).fetchall():
        counts.setdefault(analyst, {})[kind] = count
    limits = read_limits(connection)
    for analyst in sorted(counts):
        kinds = counts[analyst]
        yield AnalystStatement(
            analyst=analyst,
            limit=limits.get(analyst, LedgerCap()).to_budget(),
            spending=read_analyst_spending(connection, analyst),
            runs=kinds.get("reserve", 0),
            questions=kinds.get("charge", 0),
            replays=kinds.get("replay", 0),
        )
