"""The explanation as a sentence, as lines of text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from understudy.decisions import Decision
from understudy.releases.explanation.picture import join_columns
from understudy.text import align_columns, format_count, format_percent

EXPLANATION_COLUMN_TITLES = (
    "stage",
    "marginal",
    "noisy distance",
    "prior deviation",
    "expected gain",
    "part of budget left",
    "decision",
)

NO_DECISIONS = "There is nothing to explain: the synthesizer recorded no decisions."

SHOWN_REJECTED_PER_STAGE = 20
"""Candidates of a stage that a table shows although they were not measured: a screen of
them. `Explanation.rows` has all that are kept.
"""

_EXPLANATION_NUMBER_COLUMNS = (2, 3, 4, 5)


def explanation_sentence(
    decisions: Sequence[Decision], left_out: Mapping[str, int]
) -> str:
    """How many candidates there were, and how many of them were measured."""
    if not decisions:
        return NO_DECISIONS
    measured = sum(decision.is_measured for decision in decisions)
    candidates = len(decisions) + sum(left_out.values())
    verb = "was" if measured == 1 else "were"
    counted = format_count(candidates, "candidate")
    return f"{measured:,} of {counted} {verb} measured."


def explanation_lines(
    decisions: Sequence[Decision], left_out: Mapping[str, int]
) -> list[str]:
    """The sentence, a table, and how many candidates of each stage it leaves out."""
    sentence = explanation_sentence(decisions, left_out)
    if not decisions:
        return [sentence]
    shown = _choose_shown(decisions)
    rows = [_table_row(decision) for decision in shown]
    table = align_columns(
        [EXPLANATION_COLUMN_TITLES, *rows], right=_EXPLANATION_NUMBER_COLUMNS
    )
    return [sentence, *table, *_rest_lines(decisions, shown, left_out)]


def explanation_html(
    decisions: Sequence[Decision], left_out: Mapping[str, int], picture: str
) -> str:
    """The picture and, folded, the table, for a notebook."""
    sentence = escape(explanation_sentence(decisions, left_out))
    if not decisions:
        return f"<p>{sentence}</p>"
    shown = _choose_shown(decisions)
    head = _html_row(EXPLANATION_COLUMN_TITLES, "th")
    body = "".join(_html_row(_table_row(decision), "td") for decision in shown)
    rest = "".join(
        f"<p>{escape(line)}</p>" for line in _rest_lines(decisions, shown, left_out)
    )
    return (
        f"<p>{sentence}</p>{picture}<details><summary>All numbers</summary>"
        f"<table>{head}{body}</table>{rest}</details>"
    )


def _choose_shown(decisions: Sequence[Decision]) -> list[Decision]:
    """Everything that was measured, and the first others of each stage."""
    shown: list[Decision] = []
    rejected: dict[str, int] = {}
    # Decisions come ranked within a stage, so its first rejected ones came closest.
    for decision in decisions:
        if not decision.is_measured:
            rejected[decision.stage] = rejected.get(decision.stage, 0) + 1
        is_close = rejected.get(decision.stage, 0) <= SHOWN_REJECTED_PER_STAGE
        if decision.is_measured or is_close:
            shown.append(decision)
    return shown


def _rest_lines(
    decisions: Sequence[Decision],
    shown: Sequence[Decision],
    left_out: Mapping[str, int],
) -> list[str]:
    lines = []
    # A stage of a file may have nothing but candidates that were left out.
    for stage in dict.fromkeys([d.stage for d in decisions] + list(left_out)):
        kept = sum(decision.stage == stage for decision in decisions)
        listed = sum(decision.stage == stage for decision in shown)
        rest = kept - listed + left_out.get(stage, 0)
        if rest:
            counted = format_count(rest, "weaker candidate")
            lines.append(f"{stage}: {counted} not listed, none of them measured.")
    return lines


def _table_row(decision: Decision) -> tuple[str, ...]:
    noisy = decision.noisy_distance
    return (
        decision.stage,
        join_columns(decision.clique),
        "not asked" if noisy is None else f"{noisy:,.1f}",
        # A file may hold a negative number here, which has no root.
        f"{math.sqrt(max(decision.prior_variance, 0.0)):.3f}",
        f"{decision.gain:,.1f}",
        format_percent(decision.part),
        decision.verdict.value,
    )


def _html_row(cells: Sequence[str], tag: str) -> str:
    written = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{written}</tr>"
