"""How a run is kept in the ledger and watched: what most runs leave as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from understudy.notices import NoticeSink, ignore_notice

SpendingProgress = Callable[[float], None]
"""Called with the part of a run's budget that was charged so far, from 0 to 1."""


def ignore_spending(share: float) -> None:
    """A listener that does nothing."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The names under which the ledger keeps a run, and who listens while it lasts.

    `dataset` is what the owner calls the table, `analyst` who asked for the run and
    `purpose` what for, as the ledger writes them down; `run_id` is the name by which
    `resume` finds it, drawn at random by default. While the run spends, `spending` is
    called before every step of `progress` with the part of the budget that is charged;
    `notify` is called with every notice as soon as there is one.

    >>> RunOptions(dataset="survey 2026", analyst="ada").dataset
    'survey 2026'
    """

    dataset: str | None = None
    analyst: str = ""
    purpose: str = ""
    run_id: str | None = None
    spending: SpendingProgress = ignore_spending
    notify: NoticeSink = ignore_notice


DEFAULT_RUN_OPTIONS = RunOptions()
"""No name of a dataset or analyst, no purpose, a random name of the run, no listeners."""
