"""`understudy studio`: the whole way in a browser, on this machine alone."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli.terminal.layout import report
from understudy.cli.terminal.stop import explain_interruption
from understudy.errors import UnderstudyError

if TYPE_CHECKING:
    from understudy.studio.redirect import RedirectPage


@click.command(short_help="All steps in a browser, on this machine alone.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port to listen on. Default: a free one.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def studio(folder: Path, port: int, no_browser: bool) -> None:
    """Serve the tables of FOLDER (default: the current one) as web pages, for this
    machine and whoever has the printed address.

    Schemas, ledgers and runs are kept beside the tables. Ctrl-C ends it.
    """
    # Imported late: the studio's web server is an extra that may not be installed.
    from understudy.studio.redirect import RedirectPage
    from understudy.studio.serve import StudioAddress, serve_studio

    page = RedirectPage()

    def announce_address(address: StudioAddress) -> None:
        if not address.first:
            page.remove()
            report(
                [
                    "Opened; that address is used up. For another browser:",
                    f"  {address.url}",
                ]
            )
            return
        report(
            [
                "The studio is open at",
                f"  {address.url}",
                "Ctrl-C ends it. Nothing leaves this machine.",
            ]
        )
        if not no_browser:
            open_browser(page, address.url)

    cut_runs = 0

    def note_cut_runs(runs: int) -> None:
        nonlocal cut_runs
        cut_runs = runs

    def explain() -> str:
        # Ctrl-C is how the studio is closed, so this is its ordinary last line.
        spent = ""
        if cut_runs:
            runs = "1 run was" if cut_runs == 1 else f"{cut_runs} runs were"
            spent = f" {runs} cut off; what the ledger had reserved stays spent."
        where = folder.resolve()
        return f"the studio is closed.{spent} Tables, ledgers and runs are in {where}."

    with explain_interruption(explain), page:
        serve_studio(folder, port=port, ready=announce_address, closed=note_cut_runs)


def open_browser(page: RedirectPage, url: str) -> None:
    """Show the address in a browser, through a page that only its owner can read: the
    address holds a secret, and other users can read command lines.
    """
    try:
        uri = page.write(url)
    except UnderstudyError as error:
        report([str(error)])
        return
    webbrowser.open(uri)
