"""What the entry of a reservation says, and the name of a run's first count."""

from __future__ import annotations

from collections.abc import Mapping

from understudy.accounting.budget import Budget
from understudy.accounting.filter import Filter


def describe_reservation(
    budget: Budget,
    filter: Filter,
    *,
    table: Mapping[str, str] | None = None,
    purpose: str = "",
) -> dict[str, object]:
    """What the entry of a reservation says, and `LedgerRun` reads."""
    # "currency" is what the file format calls the accounting.
    detail: dict[str, object] = {
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        "currency": str(filter.accounting),
        "total": str(filter.total),
        "total_delta": str(filter.delta),
    }
    if table:
        detail["table"] = dict(table)
    if purpose:
        detail["purpose"] = purpose
    return detail


ROW_COUNT_SUFFIX = "-rows"
"""What the name of a run's first count of the rows has after the name of the run."""


def row_count_run(run: str) -> str:
    """The name under which a ledger keeps the first count of a run: it is reserved
    apart, so that a run which stops there takes no more.

    >>> row_count_run("3b7b")
    '3b7b-rows'
    """
    return run + ROW_COUNT_SUFFIX
