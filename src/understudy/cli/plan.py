"""`understudy plan`: what a run would ask, pay and miss by. No data touched, nothing
spent.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, settings
from understudy.cli.layout import report, report_json
from understudy.cli.screen import Screen

if TYPE_CHECKING:
    from understudy.workflow.plan import Plan


@click.command(short_help="What a run would cost and miss by. Reads no rows.")
@click.argument("schema", type=options.PATH_TYPE)
@click.option(
    "--epsilon", metavar="E", help="How much privacy to spend, such as 1 or 0.5."
)
@click.option(
    "--accuracy",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="A",
    help=(
        "Instead of --epsilon: find the smallest one at which noise moves a measured"
        " column or pair, in the median, by at most this share of the rows."
    ),
)
@options.delta
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help=(
        "About how many rows the table has, if that may be said: gives expected errors."
    ),
)
@settings.synthesizer
@settings.setting
@settings.workload
@options.neighbours
@options.accounting
@options.as_json
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
    """What `synthesize` with the same options would cost and how exact it would be.
    Reads SCHEMA only.
    """
    if (epsilon is None) == (accuracy is None):
        raise click.UsageError("say either --epsilon or --accuracy")
    if accuracy is not None and not rows:
        raise click.UsageError(
            "--accuracy needs --rows: how far noise moves a table depends on how many"
            " rows it has"
        )
    method = settings.choose_synthesizer(synthesizer, set_options)
    from understudy.workflow.plan import epsilon_for
    from understudy.workflow.plan import plan as make_plan

    with screen.progress():
        if accuracy is not None:
            made = epsilon_for(
                schema,
                accuracy=accuracy,
                rows=rows or 0,
                delta=delta,
                synthesizer=method,
                neighbours=neighbours,
                accounting=accounting,
                workload=workload,
            )
        else:
            made = make_plan(
                schema,
                epsilon=epsilon,
                delta=delta,
                rows=rows,
                synthesizer=method,
                neighbours=neighbours,
                accounting=accounting,
                workload=workload,
                progress=screen.step,
            )
    if as_json:
        report_json(plan_facts(made))
    else:
        report(made.lines())


def plan_facts(plan: Plan) -> dict[str, object]:
    """A plan for a program."""
    return {
        "synthesizer": plan.synthesizer,
        "epsilon": plan.budget.epsilon,
        "delta": plan.budget.delta,
        "accounting": str(plan.accounting),
        "amount": plan.amount,
        "discovery": plan.discovery,
        "stages": dict(plan.stages),
        "cells": plan.cells,
        "rows": plan.rows,
        "accuracy": plan.accuracy,
        "noise": plan.noise,
        "noise_by_columns": {str(k): plan.noise_of(k) for k in (1, 2, 3)},
        "smallest_group": {str(k): plan.group(k) for k in (1, 2)},
        "forecast": (
            None
            if plan.forecast is None
            else {
                "seconds": plan.forecast.seconds,
                "memory_bytes": plan.forecast.memory,
                "least_error": plan.forecast.least,
                "imagined_error": plan.forecast.error,
                "imagined_error_if_independent": plan.forecast.independent,
            }
        ),
        "meaning": plan.meaning.to_dict(),
        "marginals": [
            {
                "columns": list(m.clique),
                "cells": m.cells,
                "deviation": m.deviation,
                "share": m.share,
                "expected_distance": plan.expected(m),
            }
            for m in plan.marginals
        ],
        "known": [
            {
                "columns": list(m.clique),
                "deviation": m.deviation,
                "expected_distance": plan.expected(m),
            }
            for m in plan.known
        ],
        "assumed": list(plan.assumed),
        "basis": list(plan.basis),
        "warnings": list(plan.warnings),
    }
