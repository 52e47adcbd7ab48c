"""A plan in words: all of its lines, a summary, or a page for a notebook; and as plain
values for a program.
"""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

from understudy.releases.guarantee import GUARANTEE_SYMBOLS, format_amount
from understudy.text import align_columns, format_count, format_percent, join_words

if TYPE_CHECKING:
    from understudy.workflow.planning.plan import Plan

MAX_OUTLINE_MARGINALS = 20
"""Marginals listed one by one, the largest first; of the others only the number."""


def plan_lines(plan: Plan) -> list[str]:
    """The whole plan."""
    text = _spending_lines(plan)
    if plan.marginals:
        text += ["", *_marginal_lines(plan)]
        if plan.rows is None:
            text.append(
                "Say the number of rows (--rows) to see how far noise alone would move"
                " each, how long a run takes, and what it needs."
            )
        text += _forecast_lines(plan)
        text += interval_lines(plan)
    if plan.assumed:
        text += [
            "",
            "Assumed here, learned in the run:",
            *(f"  {line}" for line in plan.assumed),
        ]
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


def plan_summary(plan: Plan) -> list[str]:
    """Privacy cost, error, time and memory, without the table of marginals."""
    return [
        *_spending_lines(plan),
        *(line for line in _forecast_lines(plan) if line and not line.startswith(" ")),
    ]


def plan_html(plan: Plan) -> str:
    """The whole plan for a notebook, with a figure of what ε means in the place of its
    bar.
    """
    meaning = plan.meaning
    lines = [line for line in plan_lines(plan) if meaning.bar() not in line]
    text = escape("\n".join(lines))
    return f'<pre style="white-space:pre-wrap">{text}</pre>{meaning.figure()}'


def _epsilon_search_lines(plan: Plan) -> list[str]:
    """The ε that was found, where an accuracy was asked for."""
    if plan.accuracy is None:
        return []
    this = (
        f"ε = {float(plan.budget.epsilon):g} is the smallest found, in steps of about a"
        " fifth,"
    )
    if plan.noise is None:
        return [
            f"{this} but no noise on columns or pairs is foreseen, so nothing says"
            " whether it is enough."
        ]
    parts = []
    for columns, word in ((1, "columns"), (2, "pairs")):
        noise = plan.noise_of(columns)
        if noise is not None:
            parts.append(f"{word} alone {100 * noise:.2g} %")
    apart = f" ({join_words(parts)})" if parts else ""
    what = "columns and pairs" if plan.has_pairs else "columns"
    return [
        f"{this} at which noise alone moves measured {what} by at most"
        f" {100 * plan.accuracy:g} % of the rows in the median: here"
        f" {100 * plan.noise:.2g} %{apart}."
    ]


def _spending_lines(plan: Plan) -> list[str]:
    """What the run would be charged, and for what."""
    amount = ""
    if plan.accounting != "pure":
        # Pure ε-DP adds up ε itself; the others a parameter of their own.
        symbol = GUARANTEE_SYMBOLS[plan.accounting]
        amount = f" ({format_amount(symbol, plan.amount)})"
    text = [
        *_epsilon_search_lines(plan),
        f"{plan.synthesizer} would spend {plan.budget}{amount}.",
    ]
    if plan.discovery:
        text.append(
            f"learning  {format_percent(float(plan.discovery))} of it, for what the"
            " schema leaves open"
        )
    if plan.marginals:
        text.append(
            f"measuring {format_count(len(plan.marginals), 'marginal')},"
            f" {format_count(plan.cells, 'cell')}"
        )
    return text


def _marginal_lines(plan: Plan) -> list[str]:
    """The table of marginals that a run would measure."""
    shown = sorted(plan.marginals, key=lambda m: -m.cells)[:MAX_OUTLINE_MARGINALS]
    rows = [["marginal", "cells", "noise on each", "share", "moved by noise"]]
    for m in shown:
        expected = plan.expected_distance(m)
        noise = "" if m.deviation is None else f"± {m.deviation:.3g}"
        moved = "" if expected is None else format_percent(expected)
        rows.append(
            [
                " × ".join(m.clique) or "(total)",
                f"{m.cells:,}",
                noise,
                format_percent(float(m.share)),
                moved,
            ]
        )
    left = len(plan.marginals) - len(shown)
    # How far noise moves a marginal is not known without the number of rows.
    table = rows if plan.rows else [row[:-1] for row in rows]
    text = align_columns(table, right=[1, 2, 3, 4])
    if left > 0:
        text.append(f"and {left} smaller")
    if plan.rows:
        text.append(_explain_noise(hides_tables="100 %" in {row[-1] for row in rows}))
    return text


def _explain_noise(*, hides_tables: bool) -> str:
    """What the last column of the marginals means."""
    hidden = ""
    if hides_tables:
        hidden = "; at 100 % noise hides the table, and only its sums are of use"
    return (
        "moved by noise: the share of rows that noise alone puts into a wrong cell"
        f" of the table as measured{hidden}. A fit shrinks a noisy table towards"
        " what is known already, so what is released is closer, as said below."
    )


def interval_lines(plan: Plan) -> list[str]:
    """How wide the intervals of each model of the workload would be."""
    text = []
    for made in plan.intervals:
        if made.reason:
            text += ["", f"{made.formula}: no intervals in the dry run ({made.reason})"]
            continue
        rows = [
            ["  " + name, f"± {wide:.3g}", f"± {narrow:.3g}"]
            for name, wide, narrow in zip(
                made.names, made.half_widths, made.without_noise, strict=True
            )
        ]
        head = ["  coefficient", "95 % interval", "without noise"]
        text += [
            "",
            f"{made.formula} ({made.family}), in a dry run on simulated rows:",
            *align_columns([head, *rows], right=[1, 2]),
        ]
    return text


def _forecast_lines(plan: Plan) -> list[str]:
    """The smallest group that survives the noise, and time, memory and error of the dry
    run.
    """
    text = []
    ones, twos = plan.smallest_group(1), plan.smallest_group(2)
    if ones is not None:
        also = "" if twos is None else f", {twos:,} in a table of two columns"
        text += [
            "",
            (
                f"smallest group that survives the noise: {format_count(ones, 'row')}"
                f" in one column{also}"
            ),
        ]
    if plan.rows_to_learn is not None:
        text.append(
            "what has to be learned is found from about"
            f" {format_count(plan.rows_to_learn, 'row')} on: a label that fewer have is"
            " not listed, and where no value has as many the column comes back empty"
        )
    made = plan.forecast
    # Without rows there is no dry run to report.
    if made is None or plan.noise is None:
        return text
    text.append(
        f"this machine would need about {_duration_phrase(made.total_seconds)} and"
        f" {-(-made.memory // 2**20):,} MiB"
    )
    moved = (
        f"noise alone would move a measured {_noise_phrase(plan)} of the rows in the"
        " median, all answers pooled"
    )
    if not plan.has_pairs:
        return [*text, moved]
    text.append(
        f"{moved}; all in all, pairs of columns would be off by"
        f" {format_percent(made.least)} to {format_percent(made.error)}"
    )
    text.append(
        "  (the first if columns are independent, the second in a dry run on simulated"
        " rows whose columns depend on each other so strongly that columns modelled"
        f" alone would be off by {format_percent(made.independent)})"
    )
    return text


def _noise_phrase(plan: Plan) -> str:
    """How far noise moves columns and pairs; where only coarser bins are measured, how
    far it moves these.
    """
    parts = []
    for word, noise in (("column", plan.noise_of(1)), ("pair", plan.noise_of(2))):
        if noise is not None:
            parts.append(f"{word} by {format_percent(noise)}")
    return join_words(parts or [f"table by {format_percent(plan.noise or 0.0)}"])


def _duration_phrase(span: float) -> str:
    return f"{span:.1f} seconds" if span < 60 else f"{span / 60:.1f} minutes"


def plan_facts(plan: Plan) -> dict[str, object]:
    """The plan for a program."""
    forecast = None
    if plan.forecast is not None:
        forecast = {
            "seconds": plan.forecast.seconds,
            "memory_bytes": plan.forecast.memory,
            "least_error": plan.forecast.least,
            "imagined_error": plan.forecast.error,
            "imagined_error_if_independent": plan.forecast.independent,
        }
    marginals = [
        {
            "columns": list(m.clique),
            "cells": m.cells,
            "deviation": m.deviation,
            "share": m.share,
            "expected_distance": plan.expected_distance(m),
        }
        for m in plan.marginals
    ]
    known = [
        {
            "columns": list(m.clique),
            "deviation": m.deviation,
            "expected_distance": plan.expected_distance(m),
        }
        for m in plan.known
    ]
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
        "rows_to_learn": plan.rows_to_learn,
        "smallest_group": {str(k): plan.smallest_group(k) for k in (1, 2)},
        "forecast": forecast,
        "intervals": [asdict(made) for made in plan.intervals],
        "meaning": plan.meaning.to_dict(),
        "marginals": marginals,
        "known": known,
        "assumed": list(plan.assumed),
        "basis": list(plan.basis),
        "warnings": list(plan.warnings),
    }
