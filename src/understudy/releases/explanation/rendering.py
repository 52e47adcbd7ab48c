"""The explanation as a sentence, as lines of text and as HTML."""

from __future__ import annotations

import math
from collections import Counter
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

SHOWN_MEASURED_PER_STAGE, SHOWN_REJECTED_PER_STAGE = 100, 20
"""Candidates of a stage that a table shows, a few screens of them: 80 columns have
3,160 pairs. `Explanation.rows` has all that are kept.
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


def explanation_table(
    decisions: Sequence[Decision], left_out: Mapping[str, int]
) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows of the table as texts, and lines about what it does not list."""
    shown = _choose_shown(decisions)
    rows = [_table_row(decision) for decision in shown]
    return rows, _rest_lines(decisions, shown, left_out)


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
    """The first of each stage that were measured, and the first that were not."""
    shown: list[Decision] = []
    # Decisions come ranked within a stage, so its first ones are the strongest.
    counts: Counter[tuple[str, bool]] = Counter()
    for decision in decisions:
        kind = decision.stage, decision.is_measured
        counts[kind] += 1
        most = SHOWN_REJECTED_PER_STAGE
        if decision.is_measured:
            most = SHOWN_MEASURED_PER_STAGE
        if counts[kind] <= most:
            shown.append(decision)
    return shown


def _rest_lines(
    decisions: Sequence[Decision],
    shown: Sequence[Decision],
    left_out: Mapping[str, int],
) -> list[str]:
    """How many candidates of each stage a table does not list."""
    kept = Counter((d.stage, d.is_measured) for d in decisions)
    kept.subtract((d.stage, d.is_measured) for d in shown)
    lines = []
    # A stage of a file may have nothing but candidates that were left out.
    for stage in dict.fromkeys([*(d.stage for d in decisions), *left_out]):
        measured = kept[stage, True]
        rest = measured + kept[stage, False] + left_out.get(stage, 0)
        if rest:
            counted = format_count(rest, "weaker candidate")
            of_them = f"{measured:,} of them measured"
            lines.append(f"{stage}: {counted} not listed, {of_them}.")
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
