"""`understudy evaluate`: utility and disclosure risk of a release, on one page. Reads
real rows, except with `--without-real`.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, pipes
from understudy.cli.formulas import parse_formulas, parse_radii
from understudy.cli.paths import check_outputs
from understudy.cli.terminal.layout import report, report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import explain_interruption
from understudy.text import align_columns

if TYPE_CHECKING:
    from understudy.reports.report import Report
    from understudy.schema import Schema
    from understudy.tables import TableSource

MAX_TITLES_PER_REASON = 8
"""Titles listed with a reason; of the others only the number."""


@click.command(short_help="Utility and disclosure risk of a release, on one page.")
@click.argument("real", type=options.PATH_TYPE, required=False)
@click.argument("synthetic", type=options.PATH_TYPE, nargs=-1)
@click.option(
    "--release",
    type=options.PATH_TYPE,
    metavar="R",
    help=(
        "Release that the table was sampled from: adds guarantee, budget statement,"
        " card and more attacks."
    ),
)
@options.schema_option("Schema file of the columns, where there is no release.")
@click.option(
    "--holdout",
    type=options.PATH_TYPE,
    metavar="FILE",
    help="Real rows that the release was not made from: control group of the attacks.",
)
@click.option(
    "--target",
    multiple=True,
    metavar="COLUMN",
    help="Column that classifiers predict; may be repeated.",
)
@click.option(
    "--formula",
    multiple=True,
    metavar="Y~X",
    help=(
        "Regression (a statsmodels formula) fitted to both tables: least squares, or"
        " logit:Y~X, probit:Y~X, poisson:Y~X. May be repeated."
    ),
)
@click.option(
    "--group",
    metavar="COLUMN",
    help=(
        "Score the table and each group of this column as NIST's SDNist does: PUMA in"
        " its census excerpts."
    ),
)
@click.option(
    "--quasi",
    multiple=True,
    metavar="COLUMN",
    help="Quasi-identifier: a column that an intruder knows; may be repeated.",
)
@click.option(
    "--sensitive",
    multiple=True,
    metavar="COLUMN",
    help="Sensitive column that an intruder wants to learn; may be repeated.",
)
@click.option(
    "--radius",
    multiple=True,
    metavar="COLUMN=N",
    help="Distance within which numbers match; may be repeated.",
)
@click.option(
    "--named",
    type=options.PATH_TYPE,
    metavar="FILE",
    help="Table with names that an intruder links with.",
)
@click.option(
    "--key",
    metavar="COLUMN",
    help="Column that identifies a person, in every file that has it.",
)
@click.option(
    "--copy",
    "copies",
    type=options.PATH_TYPE,
    multiple=True,
    metavar="FILE",
    help="Another copy of the same release.",
)
@click.option(
    "--shadows",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help=(
        "Membership attack by shadow models: N releases with one person and N without"
        " (at least 8). Spends nothing."
    ),
)
@click.option(
    "--without-real",
    is_flag=True,
    help="Only what may be published, from the release alone.",
)
@click.option("--no-risk", is_flag=True, help="Leave the attacks out.")
@options.ledger_option("Ledger that records that the real rows were read.")
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    metavar="OUT",
    help="Report to write (.html); the same as .json goes beside it.",
)
@options.csv_options
@options.as_json
@options.verbosity
@click.pass_obj
@pipes.takes_piped_table("real")
def evaluate(
    screen: Screen,
    real: Path | None,
    synthetic: tuple[Path, ...],
    release: Path | None,
    schema: Path | None,
    holdout: Path | None,
    target: tuple[str, ...],
    formula: tuple[str, ...],
    group: str | None,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    radius: tuple[str, ...],
    named: Path | None,
    key: str | None,
    copies: tuple[Path, ...],
    shadows: int,
    without_real: bool,
    no_risk: bool,
    ledger: Path | None,
    output: Path | None,
    csv: options.CsvOptions,
    as_json: bool,
) -> None:
    """Compare REAL with one or more SYNTHETIC tables: utility, disclosure risk and
    attacks, on one page without external content.

    The page is internal: it was computed from the real rows without noise.
    `--without-real` makes the part that may be published. `--delimiter`, `--encoding`,
    `--multiline`, `--decimal` and `--thousands` say how REAL is read, and the holdout if
    it is a CSV file too.
    """
    if output is not None:
        inputs = [real, release, holdout, named, *synthetic, *copies]
        # Checked before hours of attacks, not after.
        check_outputs([output, output.with_suffix(".json")], inputs=inputs)
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.evaluation.risk import Intruder
    from understudy.releases import load_release
    from understudy.reports.evaluate import evaluate as compare
    from understudy.reports.evaluate import publishable_report
    from understudy.workflow.open import open_source

    def find_description() -> Path | Schema | None:
        # Of JSON lines a schema says which keys are columns.
        if schema is not None or release is None:
            return schema
        return load_release(release).schema

    def open_csv(path: Path, *, only_csv: bool = True) -> TableSource:
        return open_source(
            path, only_csv=only_csv, schema=find_description(), **csv.to_dict()
        )

    with explain_interruption(lambda: "interrupted. No report was written."):
        if without_real:
            made = publishable_report(release)
        elif real is None or (not synthetic and release is None):
            raise click.UsageError(
                # Click cannot require an argument that depends on an option.
                "say which real table, and which synthetic one or --release"
            )
        else:
            intruder = Intruder(
                quasi=quasi or None,
                sensitive=sensitive or None,
                radius=parse_radii(radius),
                named=named,
                key=key,
                shadows=shadows,
            )
            with screen.progress(), ExitStack() as files:
                control = None
                if holdout is not None:
                    # It may be a Parquet file, of which the CSV options say nothing.
                    control = files.enter_context(open_csv(holdout, only_csv=False))
                made = compare(
                    files.enter_context(open_csv(real)),
                    # Without a table the release is sampled.
                    synthetic[0] if synthetic else None,
                    others=synthetic[1:],
                    release=release,
                    schema=schema,
                    holdout=control,
                    targets=target or None,
                    formulas=parse_formulas(formula),
                    group=group,
                    copies=copies,
                    intruder=intruder,
                    risk=not no_risk,
                    ledger=ledger,
                    progress=screen.step,
                )
        if output is not None:
            made.save(output)
    _show_report(made, output, as_json=as_json)


def _show_report(made: Report, output: Path | None, *, as_json: bool) -> None:
    """The report on stdout, and where its page is."""
    if as_json:
        report_json(made.to_dict())
        return
    lines = report_lines(made)
    if output is not None:
        lines.append(f"page: {output}")
    report(lines)


def report_lines(made: Report) -> list[str]:
    """A report for a terminal: every number, and below them what has none and why."""
    from understudy.reports.groups import groups_of

    lines = _value_lines(made)
    groups = groups_of(made.risk)
    if groups is not None:
        lines += [groups.sentence(), ""]
    lines += [*_trade_off_lines(made), *_reason_lines(made)]
    if made.internal:
        lines.append("Internal: reads real data. Not private.")
    else:
        lines.append("From the release alone; it may be published.")
    return lines


def _value_lines(made: Report) -> list[str]:
    """Every number with its title and, where the guarantee bounds it, the bound."""
    rows = []
    for assessment in made.assessments:
        for finding in assessment:
            if finding.value is not None:
                bound = finding.facts.get("bound")
                said = ""
                if isinstance(bound, int | float):
                    said = f"the guarantee allows at most {bound:.4g}"
                if finding.is_above_by_chance:
                    said += ", within the error of this estimate"
                rows.append([finding.title, f"{finding.value:.4g}", said])
    return [*align_columns(rows, right=[1]), ""] if rows else []


def _trade_off_lines(made: Report) -> list[str]:
    """Risk against utility, where several tables were compared."""
    from understudy.workflow.evaluation import CHOICE_WARNING

    if not made.trade:
        return []
    table = [["risk against utility", "error", "match risk"]]
    for name, error, risk in made.trade:
        table.append([name, f"{error:.4g}", f"{risk:.4g}"])
    return [*align_columns(table, right=[1, 2]), CHOICE_WARNING, ""]


def _reason_lines(made: Report) -> list[str]:
    """What has no number, by the reason."""
    # One line for each reason: without a holdout, a dozen attacks share one.
    titles_by_reason: dict[str, list[str]] = {}
    for title, reason in made.not_computed:
        titles_by_reason.setdefault(reason, []).append(title)
    if not titles_by_reason:
        return []
    lines = ["Not computed:"]
    for reason, titles in titles_by_reason.items():
        shown = ", ".join(titles[:MAX_TITLES_PER_REASON])
        if len(titles) > MAX_TITLES_PER_REASON:
            shown += f" and {len(titles) - MAX_TITLES_PER_REASON} more"
        lines.append(f"  {shown}: {reason}")
    return [*lines, ""]
