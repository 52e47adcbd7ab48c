"""`understudy synthesize`: a differentially private synthetic table, from rows to
files.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, settings
from understudy.cli.layout import report_json
from understudy.cli.ledger import (
    account_facts,
    check_ledger_exists,
    format_spending,
    mention_other_ledgers,
)
from understudy.cli.paths import check_cases, check_input, check_outputs
from understudy.cli.screen import Screen
from understudy.cli.stop import CommandStopped, is_interruption
from understudy.text import format_count, format_percent, join_words

if TYPE_CHECKING:
    from understudy.releases import Release
    from understudy.tables.sources.source import TableSource

DISCOVERY_STEPS = frozenset({"types", "values", "bounds", "bins"})
"""Steps of a statement that paid for what the schema left open."""

SELECTION_STEPS = frozenset({"choice", "errors"})
"""Steps that paid for deciding what to measure."""


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
    from understudy.releases.release import check_rows, refuse_unasked_rows
    from understudy.schema import load_schema
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
        declared = None if schema is None else load_schema(schema)
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
        told = run_facts(made, book=book, output=output, release=release, rows=written)
        report_json(
            {
                **told,
                "left_out": screen.notes,
                "warnings": [*early, *list_warnings(made)],
            }
        )
    else:
        show_run(screen, made, book=book, output=output, release=release, rows=written)


def check_budget(epsilon: str, delta: str | None) -> None:
    """Refuse what is no budget before a file is opened."""
    from understudy.accounting.budget import Budget

    Budget.of(epsilon, delta)


def run_facts(
    made: Release, *, book: Path, output: Path, release: Path | None, rows: int
) -> dict[str, object]:
    """What a run did, for a program."""
    from understudy.releases.card.recoded_columns import rare_rows_by_column

    promise = made.guarantee
    return {
        "output": output,
        "rows": rows,
        "release": release,
        "synthesizer": made.synthesizer,
        "options": dict(made.options),
        "guarantee": {
            "sentence": promise.sentence(),
            "kind": promise.kind.value,
            "epsilon": promise.epsilon,
            "delta": promise.delta,
            "neighbours": str(promise.neighbours),
            "unit": promise.unit,
            "max_rows": promise.max_rows,
        },
        "public": list(promise.public),
        "learned": list(promise.learned),
        "exact": list(promise.invariants),
        "stages": [
            {"stage": name, "what": what, "share": share}
            for name, what, share in list_stages(made)
        ],
        "run": made.statement.run or None,
        "ledger": _read_account(book) if made.statement.run else None,
        "other": rare_rows_by_column(made),
        "card": made.card.sentence() if made.statement.run else None,
        "warnings": list(list_warnings(made)),
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
    for name, what, share in list_stages(made):
        screen.stage(name, what, format_percent(share))
    screen.stage("writing", f"{format_count(rows, 'row')} → {output}")
    if release is not None:
        screen.stage("", f"release → {release}")
    screen.line()
    charged = ""
    if made.statement.run:
        from understudy.accounting.ledger import Ledger

        with Ledger.open(book) as account:
            charged = f" Spent: {format_spending(account.totals())} ({book})."
    screen.line(f"{made.guarantee.sentence()}{charged}", style="bold")
    for line in _summarise_guarantee(made):
        screen.line(line)
    if made.statement.run:
        screen.line(
            f"{made.card.sentence()} See `understudy card`."
            if release is not None
            else made.card.sentence()
        )
    for line in screen.notes:
        screen.line(line)
    for line in list_warnings(made):
        screen.line(line, style="yellow")


def list_stages(made: Release) -> list[tuple[str, str, float]]:
    """What was done in each stage that costs something, and its part of the budget."""
    steps = made.statement.steps
    discovery = sum(
        float(step.share) for step in steps if step.asked in DISCOVERY_STEPS
    )
    selection = [float(step.share) for step in steps if step.asked in SELECTION_STEPS]
    rest = sum(
        float(step.share)
        for step in steps
        if step.asked not in DISCOVERY_STEPS | SELECTION_STEPS
    )
    columns = format_count(len(made.schema), "column")
    found = _count_learned(made)
    described = f"{columns}; {found} learned" if found else f"{columns}, all declared"
    told = [("schema", described, discovery)]
    if selection:
        told.append(
            (
                "selection",
                f"{format_count(len(selection), 'question')} about what to measure",
                sum(selection),
            )
        )
    if steps:
        measured = made.measurements
        cells = sum(m.values.size for m in measured) + sum(
            m.values.size for m in measured.sparse
        )
        told.append(
            (
                "measuring",
                (
                    f"{format_count(len(measured) + len(measured.sparse), 'marginal')},"
                    f" {format_count(cells, 'cell')}"
                ),
                rest,
            )
        )
    return told


def list_warnings(made: Release) -> tuple[str, ...]:
    """Plain words about this budget on this many rows; the number is the noisy one or
    the declared one.
    """
    from understudy.accounting.advice import advise_on_budget
    from understudy.accounting.budget import Budget
    from understudy.releases.card.degenerate_columns import (
        degenerate_column_lines,
        join_first_names,
    )
    from understudy.releases.card.recoded_columns import columns_without_bounds

    promise = made.guarantee
    if not promise.epsilon:
        return ()
    declared = made.schema.rows
    rows = made.rows if declared is None else declared
    told = advise_on_budget(
        Budget(promise.epsilon, promise.delta), rows=rows, noisy=declared is None
    )
    if rows == 0:
        told = (
            *told,
            (
                "The noisy number of rows is not positive, so there are no synthetic"
                " rows. Use --rows, more rows or a larger ε."
            ),
        )
    if gone := columns_without_bounds(made):
        told = (
            *told,
            (
                f"No bounds stood out of the noise in {join_first_names(gone)}: what"
                " was in these columns is lost. Declare their `min` and `max` in a"
                " schema, or use a larger ε."
            ),
        )
    return (*told, *degenerate_column_lines(made.card.degenerate_columns))


def _count_learned(made: Release) -> str:
    """How many types, lists and bounds were bought."""
    kinds = [what for name in made.schema for what in made.schema[name].learned]
    nouns = (
        ("type", "type", "types"),
        ("values", "list of values", "lists of values"),
        ("bounds", "pair of bounds", "pairs of bounds"),
        ("missing codes", "set of missing codes", "sets of missing codes"),
        ("bins", "set of bins", "sets of bins"),
    )
    parts = [
        format_count(kinds.count(kind), one, many)
        for kind, one, many in nouns
        if kind in kinds
    ]
    return join_words(parts)


def _summarise_guarantee(made: Release) -> list[str]:
    """The promise's small print, as few lines as it takes."""
    from understudy.releases.card.recoded_columns import recoding_lines

    promise = made.guarantee
    lines = []
    if promise.public:
        lines.append(
            "Public by your declaration or the table's header:"
            f" {'; '.join(promise.public)}."
        )
    if promise.learned:
        lines.append(
            "Learned from the rows and paid for:"
            f" {'; '.join(_shorten_line(line) for line in promise.learned)}."
        )
    if promise.invariants:
        lines.append(
            f"Not protected, because it holds exactly: {'; '.join(promise.invariants)}."
        )
    return [*lines, *recoding_lines(made)]


def _shorten_line(line: str) -> str:
    """A line about columns with the first few of many; the release names them all."""
    from understudy.releases.card.degenerate_columns import join_first_names

    what, of, names = line.partition(" of ")
    return f"{what}{of}{join_first_names(names.split(', '))}" if of else line


def _announce_new_account(source: TableSource) -> tuple[str, ...]:
    """What is said before a new account is made."""
    from understudy.workflow.account import announce_account

    news = announce_account(source)
    return () if news is None else (f"{news[:1].upper()}{news[1:]}.",)


def _read_account(book: Path) -> dict[str, object]:
    from understudy.accounting.ledger import Ledger

    with Ledger.open(book) as account:
        return account_facts(account)
