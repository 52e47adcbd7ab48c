"""`understudy ledger`: open an account for a dataset, look at it, check that it adds
up.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.layout import report, report_json
from understudy.errors import Refused
from understudy.text import align_columns

if TYPE_CHECKING:
    from understudy.accounting.chain import LedgerEntry
    from understudy.accounting.ledger import Ledger


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
    """What is said before an account without a cap is made for a file beside which
    another ledger lies.
    """
    from understudy.accounting.ledgerdisk import find_ledgers_beside

    found = [str(path) for path in find_ledgers_beside(book)]
    if not found:
        return ()
    return (
        (
            f"Another ledger lies beside this file: {', '.join(found)} (--ledger"
            f" {found[0]} spends from it)."
        ),
    )


@click.group(short_help="Privacy budget of a dataset: open, show, verify, back up.")
def ledger() -> None:
    """The privacy budget of a dataset: how much of it was spent, by which runs."""


@ledger.command()
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
    """Open a capped account at PATH. A run that would exceed the cap is refused before
    anything is spent.
    """
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


DEFAULT_CAP_DELTA = "1e-6"
"""δ of an account when none is given: a thousand runs at the default δ of a run."""


@ledger.command()
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


@ledger.command()
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
    if not anchor:
        report(
            [
                "Keep it elsewhere: with --anchor it shows that the file was not put"
                " back to an older state."
            ]
        )


@ledger.command()
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


@ledger.command()
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
    if not anchor:
        report(
            [
                "What was spent since is not in it: compare with the digest on the"
                " newest release (--anchor)."
            ]
        )


def _ledger_facts(account: Ledger) -> dict[str, object]:
    from understudy.accounting.aftermath import find_unanswered
    from understudy.accounting.spending import account_facts

    chain = account.entries()
    finished, lost = _find_finished_runs(chain), find_unanswered(chain)
    return {
        **account_facts(account),
        "runs": [
            {
                "run": entry.run,
                "time": entry.time,
                "event": entry.event,
                "analyst": entry.analyst,
                "epsilon": entry.cost[0],
                "delta": entry.cost[1],
                "finished": entry.run in finished,
                "resumable": entry.run not in lost,
            }
            for entry in chain
            if entry.kind == "reserve"
        ],
        "notes": [
            {
                "time": entry.time,
                "event": entry.event,
                "text": entry.facts.get("text", ""),
            }
            for entry in chain
            if entry.kind in ("note", "restore")
        ],
    }


def _ledger_lines(account: Ledger) -> list[str]:
    from understudy.accounting.aftermath import (
        UNANSWERED_RUN_EXPLANATION,
        find_unanswered,
    )
    from understudy.accounting.budget import spell_value
    from understudy.accounting.spending import format_spending

    totals, chain = account.totals(), account.entries()
    finished, lost = _find_finished_runs(chain), find_unanswered(chain)
    risk = spell_value(totals.delta) + (
        "" if totals.cap_delta is None else f" of {spell_value(totals.cap_delta)}"
    )
    lines = [
        f"{account.dataset}, for {account.neighbours.phrase(account.unit)}",
        f"spent: ε = {format_spending(totals)}; δ = {risk}",
    ]
    if account.is_backup:
        lines.append(
            "a backup: nothing can be spent from it, and what was spent since is not"
            " in it"
        )
    rows = [["run", "begun", "ε", "δ", "for", ""]]
    for entry in chain:
        if entry.kind == "reserve":
            epsilon, delta = entry.cost
            outlook = (
                UNANSWERED_RUN_EXPLANATION
                if entry.run in lost
                else "--resume takes it up at no new cost"
            )
            state = "" if entry.run in finished else f"not finished: {outlook}"
            rows.append(
                [
                    entry.run,
                    _to_minute(entry.time),
                    spell_value(epsilon),
                    spell_value(delta),
                    entry.event,
                    state,
                ]
            )
    if len(rows) > 1:
        lines += ["", *align_columns(rows, right=[2, 3])]
    notes = [
        f"{_to_minute(e.time)}  {e.event}: {e.facts.get('text', '')}"
        for e in chain
        if e.kind in ("note", "restore")
    ]
    if notes:
        lines += ["", *notes]
    return [*lines, "", f"last digest {account.head}"]


def _find_finished_runs(chain: Sequence[LedgerEntry]) -> set[str]:
    return {entry.run for entry in chain if entry.kind == "finish"}


def _to_minute(time: str) -> str:
    return time[:16].replace("T", " ")
