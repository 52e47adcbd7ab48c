"""`understudy serve`: answer the questions of analysts over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.commands.ledger import check_ledger_exists
from understudy.cli.terminal.layout import report
from understudy.cli.terminal.printer import write_line
from understudy.cli.terminal.stop import explain_interruption


@click.command(short_help="Answer analysts' questions over HTTP, within their limits.")
@click.argument("file", type=options.TABLE_TYPE)
@options.schema_option("Schema of the table.", required=True)
@options.ledger_option(
    "Ledger to charge. Its grants are the limits of analysts.", required=True
)
@options.answering_release
@options.questions_budget
@options.delta
@options.accounting
@options.private_keys
@options.public_tables
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8470,
    show_default=True,
    help="Port to listen on; 0 for a free one.",
)
@click.option(
    "--socket",
    "socket_path",
    type=options.PATH_TYPE,
    help="Listen on a socket file that only you may open, instead of a port.",
)
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Listen on a host that other machines reach. Tokens need TLS: use a proxy.",
)
@click.option(
    "--anchor",
    metavar="HASH",
    help="Last digest that was noted of the ledger; it must still contain it.",
)
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    default=120,
    show_default=True,
    metavar="N",
    help="Requests that an analyst may send in a minute.",
)
def serve(
    file: Path,
    schema: Path,
    ledger: Path,
    release: Path | None,
    budget: str | None,
    delta: str | None,
    accounting: str | None,
    private_keys: bool,
    public: tuple[Path, ...],
    host: str,
    port: int,
    socket_path: Path | None,
    allow_remote: bool,
    anchor: str | None,
    rate: int,
) -> None:
    """Answer questions about FILE over HTTP, each charged to LEDGER and to the limit of
    the analyst who asks (`understudy analyst add`).

    The rows are read once, at the start. Ctrl-C ends it. Each question is a line on
    stderr: who, digest of the question, privacy cost, how it ended.
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.queries.lookups import PublicTable
    from understudy.releases.release import load_release
    from understudy.server.addresses import ServerAddress
    from understudy.server.serve import serve_questions

    check_ledger_exists(ledger)
    address = ServerAddress(
        host=host, port=port, socket_path=socket_path, allow_remote=allow_remote
    )

    def announce_address(url: str) -> None:
        report([f"Questions are answered at {url}", "Ctrl-C ends it."])

    def explain() -> str:
        return f"the server is closed. What was answered is in {ledger}."

    with explain_interruption(explain):
        serve_questions(
            file,
            schema,
            ledger=ledger,
            address=address,
            ready=announce_address,
            write_log=_write_log_line,
            release=None if release is None else load_release(release),
            budget=budget,
            delta=delta,
            accounting=accounting,
            private_keys=private_keys,
            public=[PublicTable.load(file) for file in public],
            anchor=anchor,
            requests_per_minute=rate,
        )


def _write_log_line(line: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    write_line(f"{now} {line}", err=True)
