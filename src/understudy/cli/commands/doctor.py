"""`understudy doctor`: which engines and optional dependencies are ready here."""

from __future__ import annotations

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json
from understudy.text import align_columns


@click.command(short_help="Which engines and extras are ready on this machine.")
@options.as_json
def doctor(as_json: bool) -> None:
    """Which engines and optional dependencies are ready on this machine, and what to do
    about those that are not. Reads no table.
    """
    # Imported late, as everywhere: --help must be fast.
    from understudy.workflow.readiness import check_readiness

    checked = check_readiness()
    if as_json:
        report_json([each.to_dict() for each in checked])
        return
    rows = [
        [each.use, "ready" if each.ready else "missing", each.detail]
        for each in checked
    ]
    report(align_columns(rows))
