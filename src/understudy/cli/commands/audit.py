"""`understudy audit`: the privacy loss that can be proven from outside, beside what is
claimed. Spends nothing.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, pipes, settings
from understudy.cli.paths import check_table_input
from understudy.cli.terminal.layout import report, report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import EXIT_FAILED
from understudy.text import format_count

if TYPE_CHECKING:
    from understudy.workflow.auditing.audit import Audit


@click.command(short_help="Try to refute a synthesizer's guarantee.")
@click.argument("file", type=options.TABLE_TYPE, required=False)
@options.schema_option("Schema file that declares every column of FILE.")
@settings.synthesizer
@settings.setting
@options.epsilon
@options.delta
@options.neighbours
@options.accounting
@click.option(
    "--runs",
    type=click.IntRange(100, 5_000_000),
    default=50_000,
    show_default=True,
    metavar="N",
    help="Answers to each question on either table. More answers prove more.",
)
@click.option(
    "--canaries",
    type=click.IntRange(20, 4_000),
    default=500,
    show_default=True,
    help="Number of canaries: made-up rows added to a copy of FILE.",
)
@options.ledger_option("Ledger that records that FILE was read. Default: FILE.ledger.")
@options.csv_options
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Seed of the canaries and of which are added. Privacy noise has no seed.",
)
@options.as_json
@options.verbosity
@click.pass_obj
@pipes.needs_ledger_of_pipe
@pipes.takes_piped_table("file")
def audit(
    screen: Screen,
    file: Path | None,
    schema: Path | None,
    synthesizer: str,
    set_options: tuple[str, ...],
    epsilon: str,
    delta: str | None,
    neighbours: str,
    accounting: str | None,
    runs: int,
    canaries: int,
    ledger: Path | None,
    csv: options.CsvOptions,
    seed: int | None,
    as_json: bool,
) -> int:
    """Prove a lower bound on the privacy loss of a synthesizer, beside its claim; exit
    code 1 if the claim is refuted.

    White-box, on a made-up table and its worst neighbour; with FILE also by one run on
    a copy of it with canaries. That run is recorded in its ledger and spends nothing:
    its answers are thrown away.
    """
    if file is not None:
        check_table_input(file)
    elif any((schema, ledger, csv)):
        # The made-up table needs none of these: they would be ignored in silence.
        raise click.UsageError(
            "--schema, --ledger and how a CSV file is read (--delimiter and the like)"
            " go with a FILE."
        )
    method = settings.choose_synthesizer(synthesizer, set_options)
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.workflow.auditing.audit import audit as run_audit
    from understudy.workflow.open import open_source

    with screen.progress(), ExitStack() as files:
        table = None
        if file is not None:
            table = files.enter_context(
                open_source(file, schema=schema, **csv.to_dict())
            )
        found = run_audit(
            table,
            schema,
            synthesizer=method,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            accounting=accounting,
            runs=runs,
            canaries=canaries,
            ledger=ledger,
            seed=seed,
            progress=screen.step,
        )
    if as_json:
        report_json(found.to_dict())
    else:
        report(audit_lines(found))
    # A violation fails the command, so that a pipeline stops at it.
    return EXIT_FAILED if found.is_violated else 0


def audit_lines(found: Audit) -> list[str]:
    """An audit for a person."""
    questions = format_count(found.questions, "question")
    lines = [
        f"{found.synthesizer}, {found.budget}, {found.neighbours}: {questions},"
        f" {found.runs:,} answers to each on either of two neighbouring tables.",
        *found.sentences(),
    ]
    if found.canaries is not None:
        lines.append(
            "The one run read real rows: internal, not private, and recorded in the"
            " ledger. Nothing was spent."
        )
    else:
        # The white-box audit alone has seen no real row.
        lines.append("Nothing was read and nothing was spent.")
    if found.is_violated:
        lines.append(
            "The guarantee does not hold. Do not release anything made with this"
            " configuration."
        )
    return lines
