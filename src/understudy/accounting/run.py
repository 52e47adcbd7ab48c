"""One run on a ledger: charge, then draw, then store, then answer.

The whole (ε, δ) of a run is on the account before its first question. Inside it, every
step is charged against the run's filter in a committed entry before noise is drawn, and
its answer is stored before it is returned. So after a crash at any point there are
three cases:

  * no charge: nothing was drawn;
  * a charge and a stored answer: resuming the run returns the stored answer at no new
    cost, if the same question is asked;
  * a charge and no answer: it stays spent. Asking again takes a second charge from the
    same filter, and is refused when there is no room.

The last rule is the cautious one. No answer left the process, but a failure that
depends on what was drawn would make the next draw a biased one, so a lost draw is never
repeated for free.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from understudy.accounting.budget import Budget
from understudy.accounting.chain import LedgerEntry, read_amount
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.ledger_files.database import LedgerFile
from understudy.accounting.ledger_files.tables import (
    append_entry,
    read_last_entry,
    require_shared_format,
)
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.analyst import (
    OWNER_NAME,
    read_analyst_spending,
    refuse_beyond_limit,
)
from understudy.accounting.questions.partition import (
    PartitionScope,
    ScopedSpending,
    charge_scope,
    read_scoped_spending,
)
from understudy.errors import BudgetExceeded, LedgerError, LedgerTampered

_CHARGES_OF_RUN_SQL = "WHERE run = ? AND kind = 'charge'"
_CHARGE_OF_STEP_SQL = "WHERE run = ? AND kind = 'charge' AND step = ?"
_FINISH_OF_RUN_SQL = "WHERE run = ? AND kind = 'finish'"


class LedgerRun:
    """What one run reserved, and the steps it has taken. Made by `Ledger.reserve` and
    `Ledger.resume`.
    """

    def __init__(self, file: LedgerFile, reserved: LedgerEntry) -> None:
        facts = reserved.facts
        self._file = file
        self._reserved = reserved
        self.id = reserved.run
        self.event = reserved.event
        self.budget = Budget(read_amount(facts["epsilon"]), read_amount(facts["delta"]))
        # Runs of earlier versions have no scope: they are about every unit.
        part = facts.get("run_scope")
        self.scope = None if part is None else PartitionScope.of_facts(part)

    @property
    def table(self) -> dict[str, str] | None:
        """What was said about the table when the run was reserved; None where nothing
        was, as earlier versions did.
        """
        said = self._reserved.facts.get("table")
        return said if isinstance(said, dict) else None

    @property
    def filter(self) -> Filter:
        """The run's filter as the ledger has it now: a copy, for looking at."""
        with self._file.read_transaction() as connection:
            return self._filter(
                read_last_entry(connection, _CHARGES_OF_RUN_SQL, (self.id,))
            )

    @property
    def is_finished(self) -> bool:
        """Whether the run was finished; a finished run still replays what it stored."""
        with self._file.read_transaction() as connection:
            last = read_last_entry(connection, _FINISH_OF_RUN_SQL, (self.id,))
        return last is not None

    def answer(self, step: int, digest: str) -> bytes | None:
        """The stored answer of this step, if there is one and it was given to the same
        request.
        """
        with self._file.read_transaction() as connection:
            row = connection.execute(
                "SELECT request, payload FROM answer WHERE run = ? AND step = ?",
                (self.id, step),
            ).fetchone()
            kept = read_last_entry(
                connection,
                "WHERE run = ? AND kind = 'answer' AND step = ?",
                (self.id, step),
            )
        if row is None:
            return None
        request, payload = row
        # The chain seals a digest of the answer, not the answer itself.
        digest_now = hashlib.sha256(payload).hexdigest()
        if kept is None or kept.facts.get("payload") != digest_now:
            raise LedgerTampered(
                f"{self._file.path.name}: the answer to step {step} of run {self.id}"
                " was changed. Nothing was returned."
            )
        # A replayed answer to another question would be an answer nobody paid for.
        if request != digest:
            raise LedgerError(
                f"Step {step} of run {self.id} was another question when it was"
                " answered: take the run up as it was begun, with the same schema,"
                " workload, synthesizer and options, or start a new one. Nothing was"
                " returned."
            )
        return bytes(payload)

    def is_lost(self, step: int) -> bool:
        """Whether a step was paid for and its answer never stored."""
        with self._file.read_transaction() as connection:
            charge = read_last_entry(connection, _CHARGE_OF_STEP_SQL, (self.id, step))
            return charge is not None and not self._has_answer(connection, step)

    def charge(
        self,
        step: int,
        cost: Cost,
        digest: str,
        *,
        analyst: str | None = None,
        purpose: str = "",
        scope: PartitionScope | None = None,
    ) -> None:
        """Pay for a step, durably, before anything is drawn; BudgetExceeded leaves
        everything as it was.

        `analyst` is who asks, by default the one in whose name the run was reserved;
        another one pays from their own limit too. A `scope` says which units the answer
        can depend on: what others paid does not add up with it.
        """
        with self._file.write_transaction() as connection:
            self.charge_within(
                connection,
                step,
                cost,
                digest,
                analyst=analyst,
                purpose=purpose,
                scope=scope,
            )

    def charge_within(
        self,
        connection: sqlite3.Connection,
        step: int,
        cost: Cost,
        digest: str,
        *,
        analyst: str | None = None,
        purpose: str = "",
        scope: PartitionScope | None = None,
    ) -> None:
        """`charge` inside a writing transaction."""
        self._refuse_closed_step(connection, step)
        asker = self._reserved.analyst if analyst is None else analyst
        # Parallel composition may make the marginal cost less than the cost itself.
        filter, spending, marginal = self._weigh_charge(connection, cost, scope)
        self._admit_step(connection, filter, step, marginal)
        detail = _charge_facts(digest, cost, filter)
        if purpose:
            detail["purpose"] = purpose
        if spending.tallies:
            detail["partitions"] = spending.to_facts()
        if scope is not None:
            detail["scope"] = scope.to_facts()
        # The limit is charged in the same transaction: no crash can come between the
        # two.
        detail.update(self.charge_analyst(connection, asker, cost))
        # A version that does not know these fields would let the limits be exceeded.
        if not detail.keys().isdisjoint(("partitions", "analyst_spent")):
            require_shared_format(connection)
        append_entry(
            connection,
            kind="charge",
            event=self.event,
            run=self.id,
            step=step,
            analyst=asker,
            scope=self._reserved.scope if scope is None else scope.column,
            detail=detail,
        )

    def refuse_unaffordable(
        self,
        cost: Cost,
        *,
        analyst: str | None = None,
        scope: PartitionScope | None = None,
        recalled: Sequence[Cost] = (),
    ) -> None:
        """Raise BudgetExceeded where the run or the limit of the analyst has no room for
        a question of this cost now, and the limit for stored answers of the costs
        `recalled` besides. Nothing is written, so `charge` may still refuse it.
        """
        asker = self._reserved.analyst if analyst is None else analyst
        with self._file.read_transaction() as connection:
            filter, _, marginal = self._weigh_charge(connection, cost, scope)
            filter.admit(marginal)
            self.charge_analyst(connection, asker, cost, *recalled)

    def _weigh_charge(
        self, connection: sqlite3.Connection, cost: Cost, scope: PartitionScope | None
    ) -> tuple[Filter, ScopedSpending, Cost]:
        """The filter before a charge, what scopes have paid after it, and what it adds
        to the cost of the run.
        """
        self._refuse_outside_scope(scope)
        # Read anew in each transaction: another process may have resumed the run.
        last = read_last_entry(connection, _CHARGES_OF_RUN_SQL, (self.id,))
        spending = read_scoped_spending({} if last is None else last.facts)
        neighbours, unit = _read_relation(connection)
        marginal = charge_scope(spending, cost, scope, neighbours=neighbours, unit=unit)
        return self._filter(last), spending, marginal

    def _refuse_outside_scope(self, scope: PartitionScope | None) -> None:
        """Refuse a question that can depend on units that this run was not paid for."""
        if self.scope is None or (scope is not None and scope.is_within(self.scope)):
            return
        raise LedgerError(
            f"Run {self.id} is for a part of {self.scope.column}, and this question is"
            " not confined to it: ask about that part, or in another run. Nothing was"
            " spent."
        )

    def charge_analyst(
        self, connection: sqlite3.Connection, analyst: str, *costs: Cost
    ) -> dict[str, object]:
        """What an analyst has spent after questions in this run, for the entry that
        charges it; BudgetExceeded beyond their limit. Empty for the owner, and for
        whoever reserved the whole run.
        """
        # The budget of the run is already theirs; to count it twice would halve it.
        if analyst in (OWNER_NAME, self._reserved.analyst):
            return {}
        spent = read_analyst_spending(connection, analyst)
        for cost in costs:
            spent = spent.add_cost(cost)
        refuse_beyond_limit(connection, analyst, spent, self._file.path.name)
        return {"analyst_spent": spent.to_facts()}

    def store(self, step: int, digest: str, payload: bytes) -> None:
        """Keep the answer of a step that was charged for this very request; after this
        it may be returned.
        """
        with self._file.write_transaction() as connection:
            charge = read_last_entry(connection, _CHARGE_OF_STEP_SQL, (self.id, step))
            # Charge first, then draw: an answer without its charge was drawn too early.
            if charge is None or charge.facts["request"] != digest:
                raise LedgerError(
                    f"Step {step} of run {self.id} was not charged for this question:"
                    " charge it first. Nothing was stored."
                )
            if self._has_answer(connection, step):
                raise LedgerError(
                    f"Step {step} of run {self.id} has its answer already: replay it."
                    " Nothing was stored."
                )
            connection.execute(
                "INSERT INTO answer VALUES (?, ?, ?, ?)",
                (self.id, step, digest, bytes(payload)),
            )
            append_entry(
                connection,
                kind="answer",
                event=self.event,
                run=self.id,
                step=step,
                analyst=charge.analyst,
                scope=charge.scope,
                detail={
                    "request": digest,
                    "payload": hashlib.sha256(payload).hexdigest(),
                    "bytes": len(payload),
                },
            )

    def finish(self) -> None:
        """No more questions. What was not used stays spent."""
        if self.is_finished:
            return
        with self._file.write_transaction() as connection:
            append_entry(
                connection,
                kind="finish",
                event=self.event,
                run=self.id,
                analyst=self._reserved.analyst,
                scope=self._reserved.scope,
                detail={},
            )

    def _refuse_closed_step(self, connection: sqlite3.Connection, step: int) -> None:
        """Refuse a step of a finished run, and one that has its answer."""
        if read_last_entry(connection, _FINISH_OF_RUN_SQL, (self.id,)) is not None:
            raise LedgerError(
                f"Run {self.id} is finished and takes no more questions: start a new"
                " run. Nothing was spent."
            )
        if self._has_answer(connection, step):
            raise LedgerError(
                f"Step {step} of run {self.id} has its answer already: replay it."
                " Nothing was spent."
            )

    def _admit_step(
        self, connection: sqlite3.Connection, filter: Filter, step: int, cost: Cost
    ) -> None:
        try:
            filter.admit(cost)
        except BudgetExceeded as error:
            before = read_last_entry(connection, _CHARGE_OF_STEP_SQL, (self.id, step))
            if before is None:
                raise
            raise BudgetExceeded(
                f"Step {step} was paid for and its answer was lost in a crash; paying"
                f" again: {error}"
            ) from None

    def _has_answer(self, connection: sqlite3.Connection, step: int) -> bool:
        query = "SELECT 1 FROM answer WHERE run = ? AND step = ?"
        return connection.execute(query, (self.id, step)).fetchone() is not None

    def _filter(self, charge: LedgerEntry | None) -> Filter:
        """The filter after the last charge."""
        facts = self._reserved.facts
        filter = Filter(
            Accounting(str(facts["currency"])),
            read_amount(facts["total"]),
            read_amount(facts["total_delta"]),
        )
        if charge is not None:
            filter.spent = read_amount(charge.facts["run_spent"])
            filter.spent_delta = read_amount(charge.facts["run_spent_delta"])
        return filter


def _read_relation(connection: sqlite3.Connection) -> tuple[Neighbours, str]:
    """The neighbour relation and the unit of the account."""
    row = connection.execute("SELECT neighbours, unit FROM account").fetchone()
    return Neighbours(row[0]), str(row[1])


def _charge_facts(digest: str, cost: Cost, filter: Filter) -> dict[str, object]:
    """What a charge was for, and what its run has spent after it."""
    return {
        "request": digest,
        "amount": str(cost.amount),
        "delta": str(cost.delta),
        "currency": str(cost.accounting),
        "run_spent": str(filter.spent),
        "run_spent_delta": str(filter.spent_delta),
    }
