"""An account as `understudy ledger` prints it: run by run or analyst by analyst, and for
a program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.text import align_columns

if TYPE_CHECKING:
    from understudy.accounting.chain import LedgerEntry
    from understudy.accounting.ledger import Ledger
    from understudy.accounting.spending import ReservedRun


def account_with_runs(account: Ledger) -> dict[str, object]:
    """An account with its runs and notes, for a program."""
    from understudy.accounting.spending import account_facts, list_runs

    notes = [
        {"time": entry.time, "event": entry.event, "text": _note_text(entry)}
        for entry in _find_notes(account)
    ]
    return {
        **account_facts(account),
        "runs": [run.to_dict() for run in list_runs(account.entries())],
        "analysts": [one.to_dict() for one in account.statements()],
        "notes": notes,
    }


def list_analyst_lines(account: Ledger) -> list[str]:
    """An account analyst by analyst, for a person; the first line is the owner's."""
    from understudy.accounting.budget import spell_value

    header = [
        "analyst",
        "ε answered",
        "limit ε",
        "limit δ",
        "runs",
        "questions",
        "again",
    ]
    rows = [header]
    for statement in account.statements():
        limit = statement.limit
        rows.append(
            [
                statement.analyst or "(owner)",
                spell_value(statement.epsilon),
                "none" if limit is None else spell_value(limit.epsilon),
                "none" if limit is None else spell_value(limit.delta),
                str(statement.runs),
                str(statement.questions),
                str(statement.replays),
            ]
        )
    title = f"{account.dataset}, for {account.neighbours.phrase(account.unit)}"
    return [title, "", *align_columns(rows, right=[1, 2, 3, 4, 5, 6])]


def list_account_lines(account: Ledger) -> list[str]:
    """An account with its runs and notes, for a person."""
    from understudy.accounting.budget import spell_value
    from understudy.accounting.spending import format_spending, list_runs

    totals = account.totals()
    delta = spell_value(totals.delta)
    if totals.cap_delta is not None:
        delta += f" of {spell_value(totals.cap_delta)}"
    lines = [
        f"{account.dataset}, for {account.neighbours.phrase(account.unit)}",
        f"spent: ε = {format_spending(totals)}; δ = {delta}",
    ]
    if account.is_backup:
        lines.append(
            "a backup: nothing can be spent from it, and what was spent since is not"
            " in it"
        )
    rows = [_run_cells(run) for run in list_runs(account.entries())]
    if rows:
        header = ["run", "begun", "ε", "δ", "for", ""]
        lines += ["", *align_columns([header, *rows], right=[2, 3])]
    notes = [
        f"{_to_minute(entry.time)}  {entry.event}: {_note_text(entry)}"
        for entry in _find_notes(account)
    ]
    if notes:
        lines += ["", *notes]
    return [*lines, "", f"last digest {account.head}"]


def _run_cells(run: ReservedRun) -> list[str]:
    """A run's line in the table: the last cell says what became of it."""
    from understudy.accounting.aftermath import UNANSWERED_RUN_EXPLANATION
    from understudy.accounting.budget import spell_value

    state = "open for questions" if run.is_open else ""
    if not run.is_finished and not run.is_open:
        remedy = "--resume takes it up at no new cost"
        if not run.is_resumable:
            remedy = UNANSWERED_RUN_EXPLANATION
        state = f"not finished: {remedy}"
    return [
        run.run,
        _to_minute(run.time),
        spell_value(run.epsilon),
        spell_value(run.delta),
        _describe_use(run),
        state,
    ]


def _describe_use(run: ReservedRun) -> str:
    """What a run was, for whom and what for, as far as the ledger knows."""
    words = run.event
    if run.analyst:
        words += f" for {run.analyst}"
    return f"{words}: {run.purpose}" if run.purpose else words


def _find_notes(account: Ledger) -> list[LedgerEntry]:
    """Comparisons and audits that read real rows, restored backups and grants."""
    kinds = ("note", "restore", "grant")
    return [entry for entry in account.entries() if entry.kind in kinds]


def _note_text(entry: LedgerEntry) -> str:
    from understudy.accounting.questions.grants import describe_grant

    if entry.kind == "grant":
        return describe_grant(entry)
    return str(entry.facts.get("text", ""))


def _to_minute(time: str) -> str:
    # ISO 8601 to the minute: a table has no room for more.
    return time[:16].replace("T", " ")
