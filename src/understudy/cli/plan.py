"""`understudy plan`: what a run would ask, pay and miss by. No data touched, nothing spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, settings
from understudy.cli.layout import aligned, listed, report, report_json
from understudy.cli.screen import Screen, amount, percent

if TYPE_CHECKING:
    from understudy.workflow.plan import Plan

MOST = 20
"""Marginals listed one by one; the others are summed up."""


@click.command(short_help="What a run would cost and miss by. Reads no rows.")
@click.argument("schema", type=options.FILE)
@click.option("--epsilon", metavar="E", help="How much privacy to spend, such as 1 or 0.5.")
@click.option(
    "--accuracy",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="A",
    help="Instead of --epsilon: find the smallest one at which noise moves a measured column or pair, in the median, by at most this"
    " share of the rows.",
)
@options.delta
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help="About how many rows the table has, if that may be said: gives expected errors.",
)
@settings.synthesizer
@settings.setting
@settings.workload
@options.neighbours
@options.currency
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
    currency: str | None,
    as_json: bool,
) -> None:
    """What `synthesize` with the same options would cost and how exact it would be. Reads SCHEMA only."""
    if (epsilon is None) == (accuracy is None):
        raise click.UsageError("say either --epsilon or --accuracy")
    if accuracy is not None and not rows:
        raise click.UsageError("--accuracy needs --rows: how far noise moves a table depends on how many rows it has")
    method = settings.chosen(synthesizer, set_options)
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
                currency=currency,
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
                currency=currency,
                workload=workload,
                progress=screen.step,
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
        "stages": dict(plan.stages),
        "cells": plan.cells,
        "rows": plan.rows,
        "noise": plan.noise,
        "noise_by_columns": {str(k): plan.noise_of(k) for k in (1, 2, 3)},
        "smallest_group": {str(k): plan.group(k) for k in (1, 2)},
        "forecast": None
        if plan.forecast is None
        else {
            "seconds": plan.forecast.seconds,
            "memory_bytes": plan.forecast.memory,
            "least_error": plan.forecast.least,
            "imagined_error": plan.forecast.error,
            "imagined_error_if_independent": plan.forecast.independent,
        },
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
            {"columns": list(m.clique), "deviation": m.deviation, "expected_distance": plan.expected(m)}
            for m in plan.known
        ],
        "assumed": list(plan.assumed),
        "basis": list(plan.basis),
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
        text.append(f"measuring {amount(len(plan.marginals), 'marginal')}, {amount(plan.cells, 'cell')}")
        text += ["", *_table(plan)]
        if plan.rows is None:
            text.append(
                "Say --rows to see how far noise alone would move each of them, how long a run takes, and what it needs."
            )
        text += _outlook(plan)
    if plan.assumed:
        text += ["", "Assumed here, learned in the run:", *(f"  {line}" for line in plan.assumed)]
    if plan.basis:
        text += ["", "What this rests on:", *(f"  {line}" for line in plan.basis)]
    text += [
        "",
        "What it means for one person:",
        *(f"  {line}" for line in plan.meaning.lines()),
        f"  {plan.meaning.bar()}",
    ]
    if plan.warnings:
        text += ["", *plan.warnings]
    return [*text, "", "No data was touched and nothing was spent."]


def _table(plan: Plan) -> list[str]:
    shown = sorted(plan.marginals, key=lambda m: -m.cells)[:MOST]
    rows = [["marginal", "cells", "noise on each", "share", "moved by noise"]]
    for m in shown:
        expected = plan.expected(m)
        noise = "" if m.deviation is None else f"± {m.deviation:.3g}"
        moved = "" if expected is None else percent(expected)
        rows.append([" × ".join(m.clique) or "(total)", f"{m.cells:,}", noise, percent(float(m.share)), moved])
    left = len(plan.marginals) - len(shown)
    text = aligned(rows if plan.rows else [row[:-1] for row in rows], right=[1, 2, 3, 4])
    if left > 0:
        text.append(f"and {left} smaller")
    if plan.rows:
        hidden = (
            "; at 100 % noise hides the table, and only its sums are of use" if "100 %" in {r[-1] for r in rows} else ""
        )
        text.append(
            f"moved by noise: the share of rows that noise alone puts into a wrong cell of the table as measured{hidden}. A fit believes a"
            " table only as far as its noise deserves, so what is released is closer, as said below."
        )
    return text


def _outlook(plan: Plan) -> list[str]:
    """What noise leaves of small groups, and what an imagined run took and missed by."""
    text = []
    ones, twos = plan.group(1), plan.group(2)
    if ones is not None:
        also = "" if twos is None else f", {twos:,} in a table of two columns"
        text += ["", f"smallest group that survives the noise: {amount(ones, 'row')} in one column{also}"]
    made = plan.forecast
    if made is None or plan.noise is None:
        return text
    text.append(f"this machine would need about {_seconds(made.total_seconds)} and {-(-made.memory // 2**20):,} MiB")
    text.append(
        f"noise alone would move a measured {_moved(plan)} of the rows in the median, all answers taken together; all in all,"
        f" pairs of columns would be off by {percent(made.least)} to {percent(made.error)}"
    )
    text.append(
        "  (the one if columns do not depend on each other at all, the other in a rehearsal on imagined rows in which they depend so"
        f" much that columns on their own would be off by {percent(made.independent)})"
    )
    return text


def _moved(plan: Plan) -> str:
    """What noise does to columns and pairs; where only coarser bins are measured, to these."""
    found = {"column": plan.noise_of(1), "pair": plan.noise_of(2)}
    said = [f"{word} by {percent(noise)}" for word, noise in found.items() if noise is not None]
    return listed(said or [f"table by {percent(plan.noise or 0.0)}"])


def _seconds(span: float) -> str:
    return f"{span:.1f} seconds" if span < 60 else f"{span / 60:.1f} minutes"
