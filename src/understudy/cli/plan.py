"""`understudy plan`: what a run would ask, pay and miss by. No data touched, nothing spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, settings
from understudy.cli.layout import aligned, report, report_json
from understudy.cli.screen import amount, percent

if TYPE_CHECKING:
    from understudy.workflow.plan import Plan

MOST = 20
"""Marginals listed one by one; the others are summed up."""


@click.command(short_help="What a run would cost and miss by. Reads no rows.")
@click.argument("schema", type=options.FILE)
@options.epsilon
@options.delta
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help="About how many rows the table has, if that may be said: gives expected errors.",
)
@settings.synthesizer
@settings.setting
@options.neighbours
@options.currency
@options.as_json
def plan(
    schema: Path,
    epsilon: str,
    delta: str | None,
    rows: int | None,
    synthesizer: str,
    set_options: tuple[str, ...],
    neighbours: str,
    currency: str | None,
    as_json: bool,
) -> None:
    """What `synthesize` with the same options would cost and how exact it would be. Reads SCHEMA only."""
    method = settings.chosen(synthesizer, set_options)
    from understudy.workflow.plan import plan as make_plan

    made = make_plan(
        schema,
        epsilon=epsilon,
        delta=delta,
        rows=rows,
        synthesizer=method,
        neighbours=neighbours,
        currency=currency,
    )
    if as_json:
        report_json(facts(made))
    else:
        report(lines(made))


def facts(plan: Plan) -> dict[str, object]:
    """A plan for a program."""
    return {
        "synthesizer": plan.synthesizer,
        "epsilon": plan.budget.epsilon,
        "delta": plan.budget.delta,
        "currency": str(plan.currency),
        "amount": plan.amount,
        "discovery": plan.discovery,
        "cells": plan.cells,
        "memory_bytes": plan.memory,
        "rows": plan.rows,
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
        "assumed": list(plan.assumed),
        "warnings": list(plan.warnings),
    }


def lines(plan: Plan) -> list[str]:
    """A plan for a person."""
    from understudy.releases.guarantee import SYMBOLS, stated

    price = "" if plan.currency == "pure" else f" ({stated(SYMBOLS[plan.currency], plan.amount)})"
    text = [f"{plan.synthesizer} would spend {plan.budget}{price}."]
    if plan.discovery:
        text.append(f"learning  {percent(float(plan.discovery))} of it, for what the schema leaves open")
    if plan.marginals:
        text.append(
            f"measuring {amount(len(plan.marginals), 'marginal')}, {amount(plan.cells, 'cell')},"
            f" about {amount(-(-plan.memory // 2**20), 'MiB', 'MiB')} of memory"
        )
        text += ["", *_table(plan)]
        if plan.rows is None:
            text.append("Say --rows to see how far noise alone would move each of them.")
    if plan.assumed:
        text += ["", "Assumed here, learned in the run:", *(f"  {line}" for line in plan.assumed)]
    if plan.warnings:
        text += ["", *plan.warnings]
    return [*text, "", "No data was touched and nothing was spent."]


def _table(plan: Plan) -> list[str]:
    shown = sorted(plan.marginals, key=lambda m: -m.cells)[:MOST]
    head = ["marginal", "cells", "noise on each", "share", *(["expected distance"] if plan.rows else [])]
    rows = [head]
    for m in shown:
        expected = plan.expected(m)
        last = [] if expected is None else [percent(expected)]
        rows.append(
            [" × ".join(m.clique) or "(total)", f"{m.cells:,}", f"± {m.deviation:.3g}", percent(float(m.share)), *last]
        )
    left = len(plan.marginals) - len(shown)
    return [*aligned(rows, right=[1, 2, 3, 4]), *([f"and {left} smaller"] if left > 0 else [])]
