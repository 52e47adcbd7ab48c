"""`understudy synthesize`: a differentially private synthetic table, from rows to
files.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, pipes, settings
from understudy.cli.commands.ledger import (
    check_ledger_exists,
    mention_other_ledgers,
)
from understudy.cli.paths import (
    check_cases,
    check_outputs,
    check_table_input,
    name_output,
)
from understudy.cli.terminal.layout import report, report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import explain_interruption
from understudy.errors import Refused
from understudy.text import format_count, format_percent

if TYPE_CHECKING:
    from understudy.databases.address import DatabaseAddress
    from understudy.releases import Release
    from understudy.schema import Schema


@click.command(short_help="A differentially private synthetic table.")
@click.argument("file", type=options.TABLE_TYPE)
@click.option(
    "--schema",
    type=options.PATH_TYPE,
    metavar="S",
    help=(
        "Schema file: what is public about FILE (see `understudy describe`). Without"
        " it, types, values and bounds are learned inside the budget."
    ),
)
@settings.synthesizer
@settings.setting
@settings.workload
@click.option(
    "--public",
    type=options.PATH_TYPE,
    metavar="P",
    help=(
        "Public table with the same columns (other individuals), used as a prior."
        " Listed in the guarantee as public."
    ),
)
@options.epsilon
@options.delta
@click.option(
    "--ledger",
    type=options.PATH_TYPE,
    metavar="L",
    help=(
        "Ledger to charge, opened by `understudy ledger init`. Default: FILE.ledger,"
        " without a cap."
    ),
)
@click.option(
    "--dataset",
    metavar="NAME",
    help="Name of the dataset in the ledger.",
)
@options.analyst
@options.purpose
@options.neighbours
@options.accounting
@options.csv_options
@click.option(
    "--resume",
    metavar="RUN",
    help="Resume a run that was interrupted, at no new privacy cost.",
)
@click.option(
    "--anyway",
    is_flag=True,
    help=(
        "Go on where the table is too small to learn what the schema leaves open."
        " Without it, such a run stops once it has counted the rows."
    ),
)
@options.seed
@click.option(
    "-o",
    "--output",
    type=options.TABLE_TYPE,
    metavar="OUT",
    help=(
        "File for the synthetic rows: .csv or .parquet, or - for CSV on stdout; or a"
        " new table of a database. Default: people-synthetic.csv for people.csv, and"
        " the release in people.understudy."
    ),
)
@click.option(
    "--release",
    type=options.PATH_TYPE,
    metavar="R",
    help="Also save the release: measurements, model, guarantee and budget statement.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help="Number of synthetic rows. Default: the noisy estimate of the table's.",
)
@options.keep_formulas
@click.option(
    "--explain",
    "is_explained",
    is_flag=True,
    help=(
        "Print why each marginal was measured, or was not; with --json as"
        " `explanation`."
    ),
)
@options.as_json
@options.verbosity
@click.pass_obj
@pipes.needs_ledger_of_pipe
@pipes.needs_output_of_pipe
@pipes.gives_piped_output(".csv")
@pipes.takes_piped_table("file")
def synthesize(
    screen: Screen,
    file: Path | DatabaseAddress,
    schema: Path | None,
    synthesizer: str,
    set_options: tuple[str, ...],
    workload: tuple[str, ...],
    public: Path | None,
    epsilon: str,
    delta: str | None,
    ledger: Path | None,
    dataset: str | None,
    analyst: str,
    purpose: str,
    neighbours: str,
    accounting: str | None,
    csv: options.CsvOptions,
    resume: str | None,
    anyway: bool,
    seed: int | None,
    output: Path | DatabaseAddress | None,
    release: Path | None,
    rows: int | None,
    keep_formulas: bool,
    is_explained: bool,
    as_json: bool,
) -> None:
    """Write a differentially private synthetic table for FILE: a CSV, Parquet or Excel
    file, or a table of a database (postgresql://host/database?table=NAME)."""
    # From cheap to dear: arguments, names of files, then the table itself.
    check_budget(epsilon, delta)
    method = settings.choose_synthesizer(synthesizer, set_options)
    check_table_input(file)
    if public is not None:
        check_table_input(public)
    check_ledger_exists(ledger)
    if output is None:
        output, release = _name_outputs(file, release)
    check_outputs([output, release], inputs=[file, schema, ledger, public], rows=output)
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.accounting.aftermath import account_for_failure, describe_spending
    from understudy.releases.sampling import check_rows
    from understudy.workflow.open import open_source
    from understudy.workflow.run_options import RunOptions
    from understudy.workflow.synthesize import synthesize as make_release

    check_rows(rows)
    source = open_source(file, schema=schema, **csv.to_dict())
    others = None
    if public is not None:
        # It may be a Parquet file, of which the CSV options say nothing.
        others = open_source(public, only_csv=False, schema=schema, **csv.to_dict())
    account = ledger if ledger is not None else source.ledger_path
    # Chosen here and not in the run, so that an interruption can name it.
    run = resume or secrets.token_hex(8)

    def explain() -> str:
        spent = describe_spending(account, run)
        return f"interrupted. {spent} {output} was not written."

    with source, others or nullcontext(), explain_interruption(explain):
        if ledger is None and method.reads_rows:
            screen.warn(mention_other_ledgers(account))
        declared = _load_declared(schema, rows)
        check_cases(output, source.names, declared)
        with screen.progress():
            made = make_release(
                source,
                declared,
                epsilon=epsilon,
                delta=delta,
                synthesizer=method,
                ledger=ledger,
                neighbours=neighbours,
                accounting=accounting,
                workload=workload,
                public=others,
                resume=resume,
                anyway=anyway,
                seed=seed,
                progress=screen.step,
                run=RunOptions(
                    dataset=dataset,
                    analyst=analyst,
                    purpose=purpose,
                    run_id=run,
                    spending=screen.note_spending,
                    notify=screen.keep_notice,
                ),
            )
            with account_for_failure(account, made.statement.run):
                screen.step("writing", 0.0)
                if release is not None:
                    # First the release: rows can be sampled from it again, at no cost.
                    made.save(release)
                # Without --rows the noisy estimate, however large: its owner has a
                # table of that size on the disk already.
                written = made.write(
                    output,
                    made.rows if rows is None else rows,
                    seed=seed,
                    guard_formulas=not keep_formulas,
                    progress=screen.step,
                )
    files = WrittenFiles(output=output, rows=written, release=release, ledger=account)
    if as_json:
        _report_facts(screen, made, files, is_explained=is_explained)
        return
    show_run(screen, made, files)
    if is_explained:
        report(made.explanation.lines())


def _name_outputs(
    file: Path | DatabaseAddress, release: Path | None
) -> tuple[Path, Path]:
    """The rows and the release of a run that names no output, beside its file. Nobody
    named these files, so none that is there is written over.
    """
    rows = name_output(file, "-synthetic.csv")
    unnamed = [rows]
    if release is None:
        release = name_output(file, ".understudy")
        unnamed.append(release)
    for path in unnamed:
        if path.exists():
            raise Refused(
                f"{path}: exists already. Name another file with -o. Nothing was spent."
            )
    return rows, release


def _report_facts(
    screen: Screen, made: Release, files: WrittenFiles, *, is_explained: bool
) -> None:
    """What a run did as JSON, why it measured what it did too if that is asked for."""
    facts = run_facts(made, files, early_warnings=screen.early_warnings)
    facts["left_out"] = screen.notes
    if is_explained:
        facts["explanation"] = made.explanation.to_dict()
    report_json(facts)


def _load_declared(schema: Path | None, rows: int | None) -> Schema | None:
    """The schema, refused where it declares more rows than are sampled unasked."""
    if schema is None:
        return None
    from understudy.releases.sampling import refuse_unasked_rows
    from understudy.schema import Schema

    declared = Schema.load(schema)
    if rows is None and declared.rows is not None:
        refuse_unasked_rows(declared.rows, len(declared))
    return declared


def check_budget(epsilon: str, delta: str | None) -> None:
    """Refuse what is no budget before a file is opened."""
    from understudy.accounting.budget import Budget

    Budget.of(epsilon, delta)


@dataclass(frozen=True, kw_only=True)
class WrittenFiles:
    """Where the rows, the release and the account of a run are."""

    output: Path | DatabaseAddress
    rows: int
    release: Path | None
    ledger: Path


def run_facts(
    made: Release, files: WrittenFiles, *, early_warnings: Sequence[str] = ()
) -> dict[str, object]:
    """What a run did, for a program."""
    from understudy.releases.summary import RunSummary

    summary = RunSummary.of(made, ledger=files.ledger)
    return {
        "output": str(files.output),
        "rows": files.rows,
        "release": files.release,
        **summary.to_dict(),
        "warnings": [*early_warnings, *summary.warnings],
    }


def show_run(screen: Screen, made: Release, files: WrittenFiles) -> None:
    """What a run did, for a person at a terminal."""
    # A summary computes the card, which takes a while on wide tables.
    if not screen.is_watched:
        return
    from understudy.releases.summary import RunSummary

    summary = RunSummary.of(made, ledger=files.ledger)
    for stage in summary.stages:
        screen.stage(stage.name, stage.text, format_percent(stage.share))
    screen.stage(
        "writing",
        f"{format_count(files.rows, 'row')} → {pipes.name_output(files.output)}",
    )
    if files.release is not None:
        screen.stage("", f"release → {files.release}")
    screen.line()
    guarantee, *others = summary.closing_lines(release_file=files.release)
    screen.line(guarantee, style="bold")
    for line in (*others, *screen.notes):
        screen.line(line)
    for line in summary.warnings:
        screen.line(line, style="yellow")
