"""`understudy synthesize`: a differentially private synthetic table, from rows to
files.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, settings
from understudy.cli.layout import report_json
from understudy.cli.ledger import (
    check_ledger_exists,
    mention_other_ledgers,
)
from understudy.cli.paths import check_cases, check_input, check_outputs
from understudy.cli.screen import Screen
from understudy.cli.stop import CommandStopped, is_interruption
from understudy.text import format_count, format_percent

if TYPE_CHECKING:
    from understudy.releases import Release
    from understudy.tables.sources.source import TableSource


@click.command(short_help="A differentially private synthetic table.")
@click.argument("file", type=options.PATH_TYPE)
@click.option(
    "--schema",
    type=options.PATH_TYPE,
    metavar="S",
    help=(
        "What is public about FILE; see `describe`. Without it types, values and bounds"
        " are learned."
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
        "A table of other people with the same columns that everybody may see: a prior."
        " Declared as public in the guarantee."
    ),
)
@options.epsilon
@options.delta
@click.option(
    "--ledger",
    type=options.PATH_TYPE,
    metavar="L",
    help=(
        "The account to charge, opened by `ledger init`. Default: FILE.ledger,"
        " uncapped."
    ),
)
@click.option(
    "--dataset",
    metavar="NAME",
    help="The dataset's name in the ledger, as its owner calls it.",
)
@options.neighbours
@options.accounting
@options.csv_options
@click.option(
    "--resume", metavar="RUN", help="Take up a run that was cut off, at no new cost."
)
@options.seed
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    required=True,
    metavar="OUT",
    help="A .csv or .parquet file for the synthetic rows.",
)
@click.option(
    "--release",
    type=options.PATH_TYPE,
    metavar="R",
    help="Also keep the release: measurements, model, guarantee, account.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many synthetic rows. Default: the noisy estimate.",
)
@options.keep_formulas
@options.as_json
@click.pass_obj
def synthesize(
    screen: Screen,
    file: Path,
    schema: Path | None,
    synthesizer: str,
    set_options: tuple[str, ...],
    workload: tuple[str, ...],
    public: Path | None,
    epsilon: str,
    delta: str | None,
    ledger: Path | None,
    dataset: str | None,
    neighbours: str,
    accounting: str | None,
    delimiter: str | None,
    encoding: str | None,
    multiline: bool,
    resume: str | None,
    seed: int | None,
    output: Path,
    release: Path | None,
    rows: int | None,
    keep_formulas: bool,
    as_json: bool,
) -> None:
    """Write a differentially private synthetic table for FILE, a CSV or Parquet file."""
    check_budget(epsilon, delta)
    method = settings.choose_synthesizer(synthesizer, set_options)
    check_input(file)
    if public is not None:
        check_input(public)
    check_ledger_exists(ledger)
    check_outputs([output, release], inputs=[file, schema, ledger, public], rows=output)
    from understudy.accounting.aftermath import account_for_failure, describe_spending
    from understudy.releases.sampling import check_rows, refuse_unasked_rows
    from understudy.schema import Schema
    from understudy.workflow.open import open_source
    from understudy.workflow.synthesize import synthesize as make_release

    check_rows(rows)
    source = open_source(
        file, delimiter=delimiter, encoding=encoding, multiline=multiline
    )
    book = ledger if ledger is not None else source.ledger_path
    run = resume or secrets.token_hex(8)
    early: tuple[str, ...] = ()
    try:
        if ledger is None and method.reads_rows:
            early = (*_announce_new_account(source), *mention_other_ledgers(book))
        for line in early:
            screen.line(line, style="yellow")
        if schema is None:
            source.check_header()
        declared = None if schema is None else Schema.load(schema)
        check_cases(output, source.names if declared is None else declared)
        if rows is None and declared is not None and declared.rows is not None:
            refuse_unasked_rows(declared.rows, len(declared))
        with screen.progress():
            made = make_release(
                source,
                schema,
                epsilon=epsilon,
                delta=delta,
                synthesizer=method,
                ledger=ledger,
                dataset=dataset,
                neighbours=neighbours,
                accounting=accounting,
                workload=workload,
                public=public,
                resume=resume,
                run_id=None if resume else run,
                seed=seed,
                progress=screen.step,
                spending=screen.note_spending,
            )
            with account_for_failure(book, made.statement.run):
                screen.step("writing", 0.0)
                if release is not None:
                    made.save(release)
                # The estimate is of a table that its owner has on the disk: as many
                # rows fit there again.
                wanted, guard = made.rows if rows is None else rows, not keep_formulas
                written = made.write(
                    output,
                    wanted,
                    seed=seed,
                    guard_formulas=guard,
                    progress=screen.step,
                )
    except BaseException as error:
        if is_interruption(error):
            raise CommandStopped(
                f"interrupted. {describe_spending(book, run)} {output} was not written."
            ) from None
        raise
    finally:
        source.close()
    if as_json:
        facts = run_facts(
            made,
            book=book,
            output=output,
            release=release,
            rows=written,
            early_warnings=early,
        )
        report_json({**facts, "left_out": screen.notes})
    else:
        show_run(screen, made, book=book, output=output, release=release, rows=written)


def check_budget(epsilon: str, delta: str | None) -> None:
    """Refuse what is no budget before a file is opened."""
    from understudy.accounting.budget import Budget

    Budget.of(epsilon, delta)


def run_facts(
    made: Release,
    *,
    book: Path,
    output: Path,
    release: Path | None,
    rows: int,
    early_warnings: Sequence[str] = (),
) -> dict[str, object]:
    """What a run did, for a program."""
    from understudy.releases.summary import RunSummary

    summary = RunSummary.of(made, ledger=book)
    return {
        "output": output,
        "rows": rows,
        "release": release,
        **summary.to_dict(),
        "warnings": [*early_warnings, *summary.warnings],
    }


def show_run(
    screen: Screen,
    made: Release,
    *,
    book: Path,
    output: Path,
    release: Path | None,
    rows: int,
) -> None:
    """What a run did, for a person at a terminal."""
    if not screen.is_watched:
        return
    from understudy.releases.summary import RunSummary

    summary = RunSummary.of(made, ledger=book)
    for stage in summary.stages:
        screen.stage(stage.name, stage.text, format_percent(stage.share))
    screen.stage("writing", f"{format_count(rows, 'row')} → {output}")
    if release is not None:
        screen.stage("", f"release → {release}")
    screen.line()
    guarantee, *others = summary.closing_lines(release_file=release)
    screen.line(guarantee, style="bold")
    for line in (*others, *screen.notes):
        screen.line(line)
    for line in summary.warnings:
        screen.line(line, style="yellow")


def _announce_new_account(source: TableSource) -> tuple[str, ...]:
    """What is said before a new account is made."""
    from understudy.workflow.account import announce_account

    news = announce_account(source)
    return () if news is None else (f"{news[:1].upper()}{news[1:]}.",)
