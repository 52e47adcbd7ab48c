"""`understudy studio`: the whole way in a browser, on this machine alone."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from understudy.cli.layout import report


@click.command(short_help="The whole way in a browser, on this machine alone.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Where to listen. Default: a free port."
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def studio(folder: Path, port: int, no_browser: bool) -> None:
    """Serve the tables of FOLDER (default: the current one) as web pages, for this machine and whoever has the printed address.

    Schemas, ledgers and runs are kept beside the tables. Ctrl-C ends it.
    """
    from understudy.studio.serve import Address, serve

    def ready(address: Address) -> None:
        if not address.first:
            report(["Opened; that address is used up. For another browser:", f"  {address.url}"])
            return
        report(["The studio is open at", f"  {address.url}", "Ctrl-C ends it. Nothing leaves this machine."])
        if not no_browser:
            webbrowser.open(address.url)

    serve(folder, port=port, ready=ready)
