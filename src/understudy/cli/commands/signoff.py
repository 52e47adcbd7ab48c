"""`understudy signoff`: the sheet on which a release is signed off. Reads no row and
spends nothing.
"""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.paths import check_input, check_outputs
from understudy.cli.terminal.layout import report, report_json

SHEET_SUFFIXES = (".html", ".htm")


@click.command(
    short_help="One page to sign off a release: guarantee, account, digests."
)
@click.argument("release", type=options.PATH_TYPE)
@click.argument("files", type=options.PATH_TYPE, nargs=-1)
@options.ledger_option(
    "Ledger that the release was charged to: adds what is spent and left."
)
@options.analyst
@options.purpose
@click.option(
    "--until",
    metavar="DAY",
    help="Last day of the use that is signed for, such as 2030-12-31.",
)
@click.option(
    "--approver",
    "approvers",
    multiple=True,
    metavar="ROLE",
    help=(
        "Who signs; may be repeated. Default: data owner, privacy officer, recipient."
    ),
)
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    metavar="OUT",
    help="Page to write (.html, prints on one page of A4); the same as .json beside it.",
)
@options.as_json
def signoff(
    release: Path,
    files: tuple[Path, ...],
    ledger: Path | None,
    analyst: str,
    purpose: str,
    until: str | None,
    approvers: tuple[str, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """One page about RELEASE and the FILES that are handed out with it, for whoever
    answers for them: the guarantee, declared values and bounds, the account, SHA-256
    digests, purpose, analyst, last day, and lines for signatures.
    """
    if output is not None:
        if output.suffix.lower() not in SHEET_SUFFIXES:
            raise click.BadParameter("the page is an .html file", param_hint="-o")
        pages = [output, output.with_suffix(".json")]
        check_outputs(pages, inputs=[release, ledger, *files])
    for path in files:
        check_input(path)
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.reports.signoff import sign_off

    sheet = sign_off(
        release,
        files,
        ledger=ledger,
        analyst=analyst,
        purpose=purpose,
        until=until,
        approvers=approvers,
    )
    if output is not None:
        sheet.save(output)
    if as_json:
        report_json(sheet.to_dict())
        return
    report([sheet.release.guarantee.sentence()])
    if sheet.account is not None:
        report([f"{name}: {amount}" for name, amount in sheet.account.lines()])
    report([f"{file.sha256}  {file.name}" for file in sheet.files])
    if output is not None:
        report([f"page: {output}"])
