"""`understudy analyst`: who may ask a server, and how much."""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.commands.ledger import check_ledger_exists
from understudy.cli.terminal.layout import report, report_json
from understudy.errors import Refused

_ledger = click.argument("ledger", type=options.PATH_TYPE)
_name = click.argument("name")
_delta = click.option("--delta", metavar="D", help="δ of the limit. Default: 1e-9.")


@click.group(
    cls=options.OrderedGroup,
    short_help="Analysts of `serve`: tokens and limits.",
)
def analyst() -> None:
    """Who may ask the questions that `understudy serve` answers: tokens, and limits in
    the ledger.
    """


@analyst.command(short_help="A limit and a token for an analyst.")
@_ledger
@_name
@click.option(
    "--epsilon",
    metavar="E",
    help="ε to add to the limit; not needed for another token of the same analyst.",
)
@_delta
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=90,
    show_default=True,
    help="Days until the token expires.",
)
@options.as_json
def add(
    ledger: Path,
    name: str,
    epsilon: str | None,
    delta: str | None,
    days: int,
    as_json: bool,
) -> None:
    """Let NAME ask: add to their limit in LEDGER, and print a token. It is shown once;
    only its digest is kept.
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.accounting.budget import Budget
    from understudy.accounting.ledger import Ledger
    from understudy.server.tokens import TokenFile, check_analyst_name

    check_ledger_exists(ledger)
    check_analyst_name(name)
    more = None if epsilon is None else Budget.of(epsilon, delta)
    with Ledger.open(ledger) as account:
        # The limit first: a token without one must never be out there.
        if more is not None:
            account.grant(more, analyst=name)
        limit = account.limits().get(name)
    if limit is None:
        raise Refused(
            f"{name} has no limit in {ledger.name} yet: say --epsilon. Nothing was done"
        )
    token = TokenFile(ledger).add(name, days=days)
    if as_json:
        report_json({"analyst": name, "token": token, "days": days})
        return
    report([f"{name} may be answered {limit} in all, for {days} days, with", token])


@analyst.command(short_help="Raise the limit of an analyst.")
@_ledger
@_name
@click.option("--epsilon", required=True, metavar="E", help="ε to add to the limit.")
@_delta
@options.as_json
def limit(
    ledger: Path, name: str, epsilon: str, delta: str | None, as_json: bool
) -> None:
    """Raise the limit of NAME in LEDGER. What was spent is never reset."""
    from understudy.accounting.budget import Budget
    from understudy.accounting.ledger import Ledger
    from understudy.server.tokens import check_analyst_name

    check_ledger_exists(ledger)
    check_analyst_name(name)
    with Ledger.open(ledger) as account:
        raised = account.grant(Budget.of(epsilon, delta), analyst=name)
    if as_json:
        facts = {"epsilon": raised.epsilon, "delta": raised.delta}
        report_json({"analyst": name, "limit": facts})
        return
    report([f"{name} may be answered {raised} in all."])


@analyst.command(short_help="End the tokens of an analyst.")
@_ledger
@_name
@options.as_json
def revoke(ledger: Path, name: str, as_json: bool) -> None:
    """End all tokens of NAME, from the next request on. What they were answered stays
    charged.
    """
    from understudy.server.tokens import TokenFile

    check_ledger_exists(ledger)
    tokens = TokenFile(ledger)
    ended = tokens.revoke(name) if tokens.path.exists() else 0
    if not ended:
        raise Refused(f"{name} has no token that is in force. Nothing was done")
    if as_json:
        report_json({"analyst": name, "revoked": ended})
        return
    report([f"{name}: {ended} revoked."])


@analyst.command("list", short_help="Analysts, their limits and tokens.")
@_ledger
@options.as_json
def list_analysts(ledger: Path, as_json: bool) -> None:
    """Who may ask: limit, what was spent of it, and until when tokens hold."""
    from understudy.accounting.ledger import Ledger

    check_ledger_exists(ledger)
    with Ledger.open(ledger) as account:
        statements = [one for one in account.statements() if one.analyst]
    until = _list_token_ends(ledger)
    if as_json:
        report_json(
            [
                {**one.to_dict(), "token_until": until.get(one.analyst)}
                for one in statements
            ]
        )
        return
    lines = [
        f"{one.analyst}: limit {one.limit or 'none'}, answered ε ="
        f" {float(one.epsilon):.3g}, token"
        f" {'until ' + until[one.analyst] if one.analyst in until else 'none'}"
        for one in statements
    ]
    report(lines or ["No analyst has a limit yet."])


def _list_token_ends(ledger: Path) -> dict[str, str]:
    """The last day on which a token of each analyst holds."""
    from understudy.server.tokens import TokenFile, read_clock

    now = read_clock()
    until: dict[str, str] = {}
    for record in TokenFile(ledger).list_tokens():
        # Those that expire last come last.
        if record.is_valid_at(now):
            until[record.analyst] = record.expires.date().isoformat()
    return until
