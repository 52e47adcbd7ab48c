"""Resuming a run: what is checked of the table it is resumed on, and what cannot be.

A run that is resumed replays the answers it has stored and asks the rest of the rows it
is given now. That costs nothing new whatever the rows are: every answer was charged,
and the noise on it was drawn for the rows it was asked of. But answers about two tables
make a release of neither. What is public about a table (its name, its kind, the names
of its columns) is written beside the reservation and compared. Whether the rows are the
same is not: a digest of rows would be an exact fact about them, in a file that holds
none.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.chain import digest_of
from understudy.accounting.cost import Accounting
from understudy.accounting.ledger import Ledger
from understudy.accounting.run import LedgerRun
from understudy.errors import Refused
from understudy.notices import Notice, NoticeKind
from understudy.tables import TableSource
from understudy.workflow.preflight import CheckedRun, RunDesign
from understudy.workflow.small_tables import find_row_count

RESUMED_NOTICE = Notice(
    NoticeKind.RESUMED,
    "Taken up again: answers it had stored are used again, the rest is asked of the"
    " rows as they are now. The table has the name, kind and columns of before; that"
    " its rows are the same is for you to know, no digest of them is kept.",
)
"""Posted whenever a run is resumed."""


def describe_table(source: TableSource) -> dict[str, str]:
    """What is public about a table, as a reservation keeps it; of its columns a digest
    of their names.
    """
    return {
        "name": source.title,
        "kind": source.kind,
        "columns": digest_of(list(source.names)),
    }


def resume_run(
    ledger: Ledger,
    name: str,
    source: TableSource,
    *,
    budget: Budget,
    is_delta_given: bool,
    accounting: Accounting | None,
) -> LedgerRun:
    """The run of that name, refused where it was begun with another budget or
    accounting, or on a table that is visibly another one.
    """
    run = ledger.resume(name)
    # A δ that is left out is that of the run, not the default of a new one.
    delta = budget.delta if is_delta_given else run.budget.delta
    if run.budget != Budget(budget.epsilon, delta):
        raise Refused(
            f"Run {name} was begun with {run.budget}: take it up with these. Nothing"
            " was spent."
        )
    if accounting not in (None, run.filter.accounting):
        raise Refused(
            f"Run {name} uses {run.filter.accounting.value} accounting: resume it"
            " without --accounting, or with this one. Nothing was spent."
        )
    # Ledgers of earlier versions hold no facts about the table.
    now, before = describe_table(source), run.table or {}
    changed = [fact for fact in now if fact in before and now[fact] != before[fact]]
    if changed:
        what = "other columns" if changed[0] == "columns" else f"another {changed[0]}"
        raise Refused(
            f"Run {name} was begun on a table with {what}: take it up on that one, as"
            " it was. Nothing was spent."
        )
    return run


def take_up_run(
    account: Ledger, name: str, checked: CheckedRun, is_delta_given: bool
) -> tuple[RunDesign, LedgerRun | None]:
    """A run that was cut off, and the design with its budget; the run is None where it
    had counted the rows and no more.
    """
    design = checked.design
    count = find_row_count(account, name)
    # Runs of earlier versions, and those that went on anyway, counted nothing first.
    design = design.with_row_count(None if count is None else count.budget)
    if count is not None and not _has_run(account, name):
        return design, None
    run = resume_run(
        account,
        name,
        checked.source,
        budget=design.main_budget,
        is_delta_given=is_delta_given,
        accounting=design.accounting,
    )
    return _adopt_budget(design, run), run


def _adopt_budget(design: RunDesign, run: LedgerRun) -> RunDesign:
    """The design with the budget of a run that is taken up."""
    # Replayed answers pass the filter again, which therefore starts at zero; the
    # ledger charges them no second time.
    unspent = replace(run.filter, spent=Fraction(0), spent_delta=Fraction(0))
    budget = replace(design.budget, delta=run.budget.delta)
    return replace(design, budget=budget, filter=unspent)


def _has_run(account: Ledger, run: str) -> bool:
    """Whether the ledger has the run itself."""
    return any(reserved.id == run for reserved in account.runs())
