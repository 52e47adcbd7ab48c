"""`understudy ledger`: open the account of a dataset, show it, raise its limits, verify
it, back it up.
"""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.terminal.account_lines import (
    account_with_runs,
    list_account_lines,
    list_analyst_lines,
)
from understudy.cli.terminal.layout import report, report_json
from understudy.errors import Refused

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
    from understudy.accounting.ledger_files.disk import find_ledgers_beside

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
        facts = account_with_runs(made)
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
@click.option(
    "--by",
    type=click.Choice(["run", "analyst"]),
    default="run",
    show_default=True,
    help="One line for each run, or for each analyst with their limit.",
)
@options.as_json
def show(path: Path, by: str, as_json: bool) -> None:
    """What was spent on a dataset, run by run or analyst by analyst, and what is left."""
    from understudy.accounting.ledger import Ledger

    with Ledger.open(path) as account:
        facts = account_with_runs(account)
        lines = (
            list_analyst_lines(account)
            if by == "analyst"
            else list_account_lines(account)
        )
    if as_json:
        report_json(facts)
    else:
        report(lines)


@ledger.command(short_help="Raise the cap, or the limit of an analyst.")
@click.argument("path", type=options.PATH_TYPE)
@click.option("--epsilon", required=True, metavar="E", help="ε to add to the limit.")
@click.option("--delta", metavar="D", help="δ to add to the limit. Default: 1e-9.")
@click.option(
    "--analyst",
    default="",
    metavar="NAME",
    help="Whose limit. Without it, the cap of the whole account.",
)
@click.option("--reason", default="", metavar="TEXT", help="Kept with the grant.")
@options.as_json
def grant(
    path: Path,
    epsilon: str,
    delta: str | None,
    analyst: str,
    reason: str,
    as_json: bool,
) -> None:
    """Raise the limit of an analyst, or the cap of the account at PATH. A first grant
    sets the limit of an analyst; what was spent is never reset.
    """
    from understudy.accounting.budget import Budget
    from understudy.accounting.ledger import Ledger

    more = Budget.of(epsilon, delta)
    with Ledger.open(path) as account:
        limit = account.grant(more, analyst=analyst, reason=reason)
        facts = account_with_runs(account)
    if as_json:
        report_json(facts)
        return
    whose = f"{analyst} may be answered" if analyst else "the account may spend"
    report([f"{path}: {whose} {limit} in all."])


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
        facts, totals = account_with_runs(account), account.totals()
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
