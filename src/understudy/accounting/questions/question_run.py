"""One long run for questions: opened once, taken up by its name, each question a step.

Runs add up plainly, and the questions of one run compose: a service that opens a run
for each visitor pays several times over for the same questions (`composition_saving`).
So questions share one run, and limits for each analyst hold inside it.

The answers in it are public: they were released. `recall` looks for the question among
them before anything is paid. An analyst to whom a stored answer is new pays for it from
their own limit, and the run pays nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.chain import LedgerEntry, read_amount
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.accounting.ledger_files.tables import (
    append_entry,
    read_entries,
    require_shared_format,
)
from understudy.accounting.questions.analyst import OWNER_NAME
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.run import LedgerRun
from understudy.errors import LedgerError, LedgerTampered

QUESTIONS_EVENT = "questions"
"""What a run of questions is called in its entries."""


@dataclass(frozen=True)
class StoredAnswer:
    """An answer that was released: to which question, at what cost, and the noisy
    payload.
    """

    run: str
    step: int
    digest: str
    analyst: str
    cost: Cost
    payload: bytes


@dataclass(frozen=True)
class QuestionCharge:
    """One of the charges of a question."""

    cost: Cost
    digest: str
    scope: PartitionScope | None = None


class QuestionRun:
    """A run that stays open for questions. Made by `open_questions`.

    `charge` comes before counting and drawing, `store` before answering.
    """

    def __init__(self, run: LedgerRun) -> None:
        self._run = run
        self._file = run._file
        self.id = run.id

    @property
    def budget(self) -> Budget:
        """The (ε, δ) of all questions together."""
        return self._run.budget

    @property
    def composed_budget(self) -> Budget:
        """The (ε, δ) in which questions compose: without the δ that is for thresholds,
        which a pure run does not take from it.
        """
        budget, own = self.budget, self.filter
        if own.accounting is Accounting.PURE:
            return budget
        return Budget(budget.epsilon, budget.delta - own.delta)

    @property
    def filter(self) -> Filter:
        """What all questions may spend and have spent: a copy, for looking at."""
        return self._run.filter

    @property
    def table(self) -> dict[str, str] | None:
        """What was said about the table when the run was opened."""
        return self._run.table

    def charge(
        self,
        cost: Cost,
        digest: str,
        *,
        analyst: str = OWNER_NAME,
        purpose: str = "",
        scope: PartitionScope | None = None,
    ) -> int:
        """Pay for a question, durably, and return its step; BudgetExceeded where the
        run or the limit of the analyst has no room, and nothing is spent.
        """
        one = QuestionCharge(cost, digest, scope)
        (step,) = self.charge_together([one], analyst=analyst, purpose=purpose)
        return step

    def charge_together(
        self,
        charges: Sequence[QuestionCharge],
        *,
        recalled: Sequence[str] = (),
        analyst: str = OWNER_NAME,
        purpose: str = "",
    ) -> tuple[int, ...]:
        """Pay for all parts of a question, and for the stored answers of the digests
        `recalled` that are new to the analyst, in one transaction: all of it or, with
        BudgetExceeded, none. The steps of the charges.
        """
        steps = []
        with self._file.write_transaction() as connection:
            # Each once: an answer that is recalled twice is handed out once.
            for digest in dict.fromkeys(recalled):
                self._recall_within(connection, digest, analyst)
            for each in charges:
                # Given out where it is written: two processes never take the same step.
                (step,) = connection.execute(
                    "SELECT COALESCE(MAX(step), -1) + 1 FROM entry WHERE run = ?"
                    " AND kind = 'charge'",
                    (self.id,),
                ).fetchone()
                self._run.charge_within(
                    connection,
                    step,
                    each.cost,
                    each.digest,
                    analyst=analyst,
                    purpose=purpose,
                    scope=each.scope,
                )
                steps.append(int(step))
        return tuple(steps)

    def refuse_unaffordable(
        self,
        cost: Cost,
        *,
        analyst: str = OWNER_NAME,
        scope: PartitionScope | None = None,
        recalled: Sequence[str] = (),
    ) -> None:
        """Raise BudgetExceeded where a question of this cost has no room now; nothing is
        spent. For a question of several charges, all of which are wanted or none, and
        of the stored answers with the digests `recalled`.
        """
        stored = self.price_recall(recalled, analyst=analyst)
        self._run.refuse_unaffordable(
            cost, analyst=analyst, scope=scope, recalled=stored
        )

    def price_recall(
        self, digests: Sequence[str], *, analyst: str = OWNER_NAME
    ) -> tuple[Cost, ...]:
        """What `recall` of these would take from the limit of an analyst: the cost of
        each stored answer that they have not seen. Nothing is spent.
        """
        # The owner has no limit of their own; the run itself paid when it was measured.
        if analyst == OWNER_NAME:
            return ()
        costs = []
        with self._file.read_transaction() as connection:
            # Each once: an answer that is recalled twice is handed out once.
            for digest in dict.fromkeys(digests):
                for answer in _read_stored_answers(
                    connection, digest, self._file.path.name
                ):
                    if not _was_handed_out(connection, answer, analyst):
                        costs.append(answer.cost)
        return tuple(costs)

    def store(self, step: int, digest: str, payload: bytes) -> None:
        """Keep the answer to a question that was charged; after this it may be given."""
        self._run.store(step, digest, payload)

    def find_answers(self, digest: str) -> tuple[StoredAnswer, ...]:
        """Every released answer to this question, first to last, in any run of
        questions of the ledger; for looking at prices. `recall` hands them out.
        """
        with self._file.read_transaction() as connection:
            return _read_stored_answers(connection, digest, self._file.path.name)

    def find_seen_answers(
        self, digest: str, *, analyst: str = OWNER_NAME
    ) -> tuple[StoredAnswer, ...]:
        """Those of the released answers to this question that were handed to an
        analyst; all of them for the owner.
        """
        found = self.find_answers(digest)
        if analyst == OWNER_NAME:
            return found
        with self._file.read_transaction() as connection:
            return tuple(
                answer
                for answer in found
                if _was_handed_out(connection, answer, analyst)
            )

    def recall(
        self, digest: str, *, analyst: str = OWNER_NAME
    ) -> tuple[StoredAnswer, ...]:
        """Every released answer to this question, handed to this analyst.

        The run pays nothing. An analyst pays from their own limit, once, for those that
        somebody else asked; BudgetExceeded where it has no room.
        """
        found = self.find_answers(digest)
        if not found or analyst == OWNER_NAME:
            return found
        with self._file.write_transaction() as connection:
            return self._recall_within(connection, digest, analyst)

    def _recall_within(
        self, connection: sqlite3.Connection, digest: str, analyst: str
    ) -> tuple[StoredAnswer, ...]:
        """`recall` inside a writing transaction."""
        # Read inside the transaction: another process may have handed it out since.
        found = _read_stored_answers(connection, digest, self._file.path.name)
        for answer in found:
            is_owner = analyst == OWNER_NAME
            if not is_owner and not _was_handed_out(connection, answer, analyst):
                self._hand_out(connection, answer, analyst)
        return found

    def finish(self) -> None:
        """No more questions. What was not used stays spent."""
        self._run.finish()

    def _hand_out(
        self, connection: sqlite3.Connection, answer: StoredAnswer, analyst: str
    ) -> None:
        """Write down that a released answer went to one more analyst."""
        detail: dict[str, object] = {
            "request": answer.digest,
            "amount": str(answer.cost.amount),
            "delta": str(answer.cost.delta),
            "currency": str(answer.cost.accounting),
        }
        detail.update(self._run.charge_analyst(connection, analyst, answer.cost))
        require_shared_format(connection)
        append_entry(
            connection,
            kind="replay",
            event=QUESTIONS_EVENT,
            run=answer.run,
            step=answer.step,
            analyst=analyst,
            detail=detail,
        )


def open_questions(
    ledger: Ledger,
    budget: Budget | None = None,
    *,
    name: str = QUESTIONS_EVENT,
    accounting: Accounting | None = None,
    threshold_delta: Fraction = Fraction(0),
    table: Mapping[str, str] | None = None,
    scope: PartitionScope | None = None,
) -> QuestionRun:
    """The run of questions of this name, opened with `budget` if there is none yet.

    A run that is there keeps its budget: opening it again takes nothing from the
    account. With a `scope` it is for questions about those cells alone.
    """
    run = _find_run(ledger, name)
    if run is None:
        if budget is None:
            raise LedgerError(
                f"{ledger.path.name} has no run of questions {name!r}: give its budget"
                " to open one. Nothing was spent."
            )
        try:
            run = ledger.reserve(
                budget,
                event=QUESTIONS_EVENT,
                filter=Filter.of(
                    budget, accounting=accounting, threshold_delta=threshold_delta
                ),
                run_id=name,
                table=table,
                scope="" if scope is None else scope,
            )
        except LedgerError:
            # Otherwise another process opened it first.
            run = _find_run(ledger, name)
            if run is None:
                raise
    if run.event != QUESTIONS_EVENT:
        raise LedgerError(
            f"Run {name!r} of {ledger.path.name} is for {run.event}, not for questions:"
            " take another name. Nothing was spent."
        )
    return QuestionRun(run)


def _find_run(ledger: Ledger, name: str) -> LedgerRun | None:
    return next((run for run in ledger.runs() if run.id == name), None)


def _read_stored_answers(
    connection: sqlite3.Connection, digest: str, name: str
) -> tuple[StoredAnswer, ...]:
    rows = connection.execute(
        "SELECT run, step, payload FROM answer WHERE request = ?", (digest,)
    ).fetchall()
    found = []
    for run, step, payload in rows:
        where = "WHERE run = ? AND kind IN ('charge', 'answer') AND step = ?"
        entries = list(read_entries(connection, where, (run, step)))
        # Answers of other runs, such as those of a synthesizer, are not looked up.
        if entries[0].event != QUESTIONS_EVENT:
            continue
        number = entries[-1].number
        stored = _read_stored_answer(entries, digest, bytes(payload), name)
        found.append((number, stored))
    return tuple(stored for _, stored in sorted(found, key=lambda pair: pair[0]))


def _read_stored_answer(
    entries: list[LedgerEntry], digest: str, payload: bytes, name: str
) -> StoredAnswer:
    """An answer with what was paid for it; the chain seals a digest of it."""
    *charges, kept = entries
    # The payload lies outside the chain of digests, so it is checked by itself.
    if kept.facts.get("payload") != hashlib.sha256(payload).hexdigest():
        raise LedgerTampered(
            f"{name}: the answer to step {kept.step} of run {kept.run} was changed."
            " Nothing was returned."
        )
    paid = charges[-1].facts
    # Exact, as it was written: a float would make the limit drift from what was paid.
    cost = Cost(
        Accounting(str(paid["currency"])),
        read_amount(paid["amount"]),
        read_amount(paid["delta"]),
    )
    return StoredAnswer(
        kept.run, int(kept.step or 0), digest, kept.analyst, cost, payload
    )


def _was_handed_out(
    connection: sqlite3.Connection, answer: StoredAnswer, analyst: str
) -> bool:
    row = connection.execute(
        "SELECT 1 FROM entry WHERE run = ? AND step = ? AND analyst = ?"
        " AND kind IN ('answer', 'replay')",
        (answer.run, answer.step, analyst),
    ).fetchone()
    return row is not None
