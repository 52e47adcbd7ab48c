"""`understudy plan`: what a run would ask, pay and miss by. No data touched, nothing
spent.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, settings
from understudy.cli.terminal.layout import report, report_json
from understudy.cli.terminal.screen import Screen

if TYPE_CHECKING:
    pass


@click.command(short_help="Privacy cost and expected error of a run. Reads no rows.")
@click.argument("schema", type=options.PATH_TYPE)
@click.option(
    "--epsilon", metavar="E", help="How much privacy to spend, such as 1 or 0.5."
)
@click.option(
    "--accuracy",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="A",
    help=(
        "Instead of --epsilon: find the smallest ε at which noise moves measured"
        " columns and pairs by at most this share of the rows, in the median."
    ),
)
@options.delta
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help=(
        "Approximate number of rows, if it may be known: adds expected errors, time and"
        " memory."
    ),
)
@settings.synthesizer
@settings.setting
@settings.workload
@options.neighbours
@options.accounting
@options.as_json
@options.verbosity
@click.pass_obj
def plan(
    screen: Screen,
    schema: Path,
    epsilon: str | None,
    accuracy: float | None,
    delta: str | None,
    rows: int | None,
    synthesizer: str,
    set_options: tuple[str, ...],
    workload: tuple[str, ...],
    neighbours: str,
    accounting: str | None,
    as_json: bool,
) -> None:
    """Privacy cost and expected error of `synthesize` with the same options. Reads
    SCHEMA only.
    """
    # Wrong usage has its own exit code, so it is not left to the plan's refusals.
    if (epsilon is None) == (accuracy is None):
        raise click.UsageError("say either --epsilon or --accuracy")
    if accuracy is not None and not rows:
        raise click.UsageError(
            "--accuracy needs --rows: how far noise moves a table depends on how many"
            " rows it has"
        )
    method = settings.choose_synthesizer(synthesizer, set_options)
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.workflow.planning.plan import plan as make_plan

    with screen.progress():
        made = make_plan(
            schema,
            epsilon=epsilon,
            accuracy=accuracy,
            delta=delta,
            rows=rows,
            synthesizer=method,
            neighbours=neighbours,
            accounting=accounting,
            workload=workload,
            progress=screen.step,
        )
    if as_json:
        report_json(made.to_dict())
    else:
        report(made.lines())
