"""`understudy ledger`: open the account of a dataset, show it, verify it, back it up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json
from understudy.errors import Refused
from understudy.text import align_columns

if TYPE_CHECKING:
    from understudy.accounting.chain import LedgerEntry
    from understudy.accounting.ledger import Ledger
    from understudy.accounting.spending import ReservedRun

DEFAULT_CAP_DELTA = "1e-6"
"""δ of an account when none is given: a thousand runs at the default δ of a run."""


def check_ledger_exists(path: Path | None) -> None:
    """A ledger that is named on the command line is there.

    A program that names a new ledger means it. Somebody who types a name expects the
    account, and the cap, that they opened under it: made silently from a mistyped name,
    a ledger without a cap would let the run through that the cap was meant to stop.
    """
    if path is not None and not path.exists():
        raise Refused(
            f"{path}: there is no such ledger. Check its name, or open it first:"
            f" understudy ledger init {path} --epsilon E. Nothing was spent."
        )


def mention_other_ledgers(book: Path) -> tuple[str, ...]:
    """A warning before a ledger without a cap is made for a file beside which another
    ledger lies: the cap that is meant may be in that one.
    """
    from understudy.accounting.ledgerdisk import find_ledgers_beside

    paths = [str(path) for path in find_ledgers_beside(book)]
    if not paths:
        return ()
    warning = (
        f"Another ledger lies beside this file: {', '.join(paths)} (--ledger"
        f" {paths[0]} spends from it)."
    )
    return (warning,)


@click.group(
    cls=options.OrderedGroup,
    short_help="Privacy budget of a dataset: open, show, verify, back up.",
)
def ledger() -> None:
    """The privacy budget of a dataset: how much of it was spent, by which runs."""


@ledger.command(short_help="Open an account with a cap.")
@click.argument("path", type=options.PATH_TYPE)
@click.option(
    "--epsilon",
    required=True,
    metavar="E",
    help="Cap on the ε spent on this dataset in all.",
)
@click.option(
    "--delta", metavar="D", help="Cap on the δ spent on it in all. Default: 1e-6."
)
@click.option(
    "--dataset",
    metavar="NAME",
    help="Name of the dataset. Default: that of the file.",
)
@options.neighbours
@click.option(
    "--unit",
    default="row",
    show_default=True,
    help="Privacy unit that the guarantee protects, as runs state it.",
)
@options.as_json
def init(
    path: Path,
    epsilon: str,
    delta: str | None,
    dataset: str | None,
    neighbours: str,
    unit: str,
    as_json: bool,
) -> None:
    """Open a ledger with a cap at PATH. A run that would exceed the cap is refused
    before anything is spent.
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.accounting.budget import Budget
    from understudy.accounting.ledger import Ledger
    from understudy.accounting.neighbours import Neighbours

    cap = Budget.of(epsilon, DEFAULT_CAP_DELTA if delta is None else delta)
    with Ledger.create(
        path,
        dataset=dataset or path.stem,
        cap=cap,
        neighbours=Neighbours(neighbours),
        unit=unit,
    ) as made:
        facts = _ledger_facts(made)
    if as_json:
        report_json(facts)
    else:
        report(
            [
                f"{path}: an account for {made.dataset} that may spend {cap} in all,"
                f" per {unit}."
            ]
        )


@ledger.command(short_help="What was spent, run by run, and what is left.")
@click.argument("path", type=options.PATH_TYPE)
@options.as_json
def show(path: Path, as_json: bool) -> None:
    """What was spent on a dataset, run by run, and what is left."""
    from understudy.accounting.ledger import Ledger

    with Ledger.open(path) as account:
        facts, lines = _ledger_facts(account), _ledger_lines(account)
    if as_json:
        report_json(facts)
    else:
        report(lines)


@ledger.command(short_help="Check every digest, total and stored answer.")
@click.argument("path", type=options.PATH_TYPE)
@click.option(
    "--anchor",
    metavar="HASH",
    help="Last digest that was noted earlier; the ledger must still contain it.",
)
@options.as_json
def verify(path: Path, anchor: str | None, as_json: bool) -> None:
    """Check every digest, total and stored answer. With --anchor, also that the file
    was not put back to an older state.
    """
    from understudy.accounting.ledger import Ledger

    with Ledger.open(path, anchor=anchor) as account:
        totals, head = account.totals(), account.head
    if as_json:
        report_json(
            {"sound": True, "entries": totals.entries, "head": head, "anchor": anchor}
        )
        return
    held = f", and {anchor[:16]} is one of them" if anchor else ""
    report([f"{path}: {totals.entries} entries add up{held}.", f"last digest {head}"])
    # A chain proves that entries follow, not that none was cut off its end.
    if not anchor:
        report(
            [
                "Keep it elsewhere: with --anchor it shows that the file was not put"
                " back to an older state."
            ]
        )


@ledger.command(short_help="Write a backup, also while the account is in use.")
@click.argument("path", type=options.PATH_TYPE)
@click.argument("copy", type=options.PATH_TYPE)
@options.as_json
def backup(path: Path, copy: Path, as_json: bool) -> None:
    """Write a backup of the account at PATH to a new file COPY, also while it is in
    use. Nothing can be spent from a backup.
    """
    from understudy.accounting.ledger import Ledger

    with Ledger.open(path) as account:
        account.backup(copy)
    # Opened again: a backup that does not verify is no backup.
    with Ledger.open(copy) as kept:
        totals, head = kept.totals(), kept.head
    if as_json:
        report_json(
            {"path": path, "backup": copy, "entries": totals.entries, "head": head}
        )
        return
    report(
        [
            f"{copy}: a backup of {path} with {totals.entries} entries, checked.",
            f"last digest {head}",
        ]
    )


@ledger.command(short_help="Make a backup the account again.")
@click.argument("copy", type=options.PATH_TYPE)
@click.argument("path", type=options.PATH_TYPE)
@click.option(
    "--anchor",
    metavar="HASH",
    help="Newest digest that you have of the ledger; the backup must contain it.",
)
@options.as_json
def restore(copy: Path, path: Path, anchor: str | None, as_json: bool) -> None:
    """Make the backup COPY the account at PATH, where nothing is yet. What was spent
    since the backup is not in it: see --anchor.
    """
    from understudy.accounting.ledger import Ledger
    from understudy.accounting.spending import format_spending

    with Ledger.restore(copy, path, anchor=anchor) as account:
        facts, totals = _ledger_facts(account), account.totals()
    if as_json:
        report_json(facts)
        return
    report(
        [
            f"{path}: the account again, with what was spent when {copy} was made: ε ="
            f" {format_spending(totals)}."
        ]
    )
    # A backup knows nothing of what was spent after it was made.
    if not anchor:
        report(
            [
                "What was spent since is not in it: compare with the digest on the"
                " newest release (--anchor)."
            ]
        )


def _ledger_facts(account: Ledger) -> dict[str, object]:
    """An account with its runs and notes, for a program."""
    from understudy.accounting.spending import account_facts, list_runs

    notes = [
        {"time": entry.time, "event": entry.event, "text": entry.facts.get("text", "")}
        for entry in _find_notes(account)
    ]
    return {
        **account_facts(account),
        "runs": [run.to_dict() for run in list_runs(account.entries())],
        "notes": notes,
    }


def _ledger_lines(account: Ledger) -> list[str]:
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
        f"{_to_minute(entry.time)}  {entry.event}: {entry.facts.get('text', '')}"
        for entry in _find_notes(account)
    ]
    if notes:
        lines += ["", *notes]
    return [*lines, "", f"last digest {account.head}"]


def _run_cells(run: ReservedRun) -> list[str]:
    """A run's line in the table: the last cell says what became of it."""
    from understudy.accounting.aftermath import UNANSWERED_RUN_EXPLANATION
    from understudy.accounting.budget import spell_value

    state = ""
    if not run.is_finished:
        remedy = "--resume takes it up at no new cost"
        if not run.is_resumable:
            remedy = UNANSWERED_RUN_EXPLANATION
        state = f"not finished: {remedy}"
    return [
        run.run,
        _to_minute(run.time),
        spell_value(run.epsilon),
        spell_value(run.delta),
        run.event,
        state,
    ]


def _find_notes(account: Ledger) -> list[LedgerEntry]:
    """Comparisons and audits that read real rows, and restored backups."""
    return [entry for entry in account.entries() if entry.kind in ("note", "restore")]


def _to_minute(time: str) -> str:
    # ISO 8601 to the minute: a table has no room for more.
    return time[:16].replace("T", " ")
