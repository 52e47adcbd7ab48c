"""The card as a sentence, as lines of text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from understudy.releases.card.entry import CardEntry, MarginalVerdict
from understudy.releases.card.statistic_intervals import (
    CARD_QUANTILES,
    ColumnStatistics,
    describe_interval,
)
from understudy.text import align_columns

CARD_COLUMN_TITLES = ("marginal", "cells", "noise/cell", "error ≤", "verdict")

STATISTICS_TITLES = (
    "column",
    "mean (95 % interval)",
    "standard deviation",
    *(f"{100 * rank:g} %" for rank in CARD_QUANTILES),
)
"""Titles of the table of statistics; the last ones are quantiles."""

FIRST_QUANTILE_CELL = 3
"""Where quantiles begin in a row of statistics: after its name, mean and deviation."""

NOTEBOOK_CARD_PAIRS = 20
"""Pairs that a notebook shows before the rest is folded."""

_NUMBER_COLUMNS = (1, 2, 3)
_ALL_ROWS_WRONG = 0.995
"""From here on an error rounds to 100 %."""


def card_sentence(entries: Sequence[CardEntry]) -> str:
    """The card in one sentence: how many columns and pairs are answered how well, and
    which pair is least certain.
    """
    columns = [entry for entry in entries if len(entry.clique) == 1]
    pairs = [entry for entry in entries if len(entry.clique) == 2]
    usable = (MarginalVerdict.GOOD, MarginalVerdict.USABLE)
    fine = sum(entry.verdict in usable for entry in columns)
    parts = [f"{fine} of {len(columns)} columns are good or usable"]
    if pairs:
        parts.append(_describe_pairs(pairs, math.comb(len(columns), 2)))
    if len(pairs) > 1 and (worst := _describe_worst(pairs)):
        parts.append(worst)
    return "; ".join(parts) + "."


def card_lines(entries: Sequence[CardEntry]) -> list[str]:
    """The card as text, worst last within columns and pairs."""
    return align_columns(
        [CARD_COLUMN_TITLES, *_card_rows(entries)], right=_NUMBER_COLUMNS
    )


def statistics_lines(statistics: Sequence[ColumnStatistics]) -> list[str]:
    """The statistics of columns of numbers as text, each table after an empty line:
    means and deviations, then quantiles, since all of them are too wide for a terminal.
    """
    if not statistics:
        return []
    rows = [STATISTICS_TITLES, *map(statistics_cells, statistics)]
    moments = [row[:FIRST_QUANTILE_CELL] for row in rows]
    quantiles = [(row[0], *row[FIRST_QUANTILE_CELL:]) for row in rows]
    return [
        "",
        *align_columns(moments, right=range(1, len(moments[0]))),
        "",
        *align_columns(quantiles, right=range(1, len(quantiles[0]))),
    ]


def statistics_cells(statistics: ColumnStatistics) -> tuple[str, ...]:
    """One row of the table of statistics."""
    said = [describe_interval(statistic) for _, statistic in statistics.all_statistics]
    return (statistics.name, *said)


def statistics_sentence(statistics: ColumnStatistics) -> str:
    """The statistics of one column in a line."""
    said = [
        f"{title} {describe_interval(value)}"
        for title, value in statistics.all_statistics
    ]
    return "; ".join(said)


def card_html(
    entries: Sequence[CardEntry],
    paragraphs: Sequence[str],
    statistics: Sequence[ColumnStatistics] = (),
) -> str:
    """The card for a notebook, below a few sentences; most pairs are folded."""
    rows = list(_card_rows(entries))
    columns = sum(len(entry.clique) == 1 for entry in entries)
    shown = columns + NOTEBOOK_CARD_PAIRS
    said = "".join(f"<p>{escape(text)}</p>" for text in paragraphs)
    html = f"{said}{_html_table(CARD_COLUMN_TITLES, rows[:shown])}"
    if len(rows) > shown:
        folded = _html_table(CARD_COLUMN_TITLES, rows[shown:])
        html += (
            f"<details><summary>{len(rows) - shown} more pairs</summary>"
            f"{folded}</details>"
        )
    if statistics:
        html += _html_table(
            STATISTICS_TITLES, [statistics_cells(column) for column in statistics]
        )
    return html


def _describe_pairs(pairs: Sequence[CardEntry], all_pairs: int) -> str:
    """How many pairs have which verdict."""
    verdicts = [entry.verdict for entry in pairs]
    counted = [
        (verdicts.count(verdict), verdict.value)
        for verdict in MarginalVerdict
        if verdict in verdicts
    ]
    if all_pairs == 1:
        return f"their pair: {counted[0][1]}"
    said = ", ".join(f"{count} {verdict}" for count, verdict in counted)
    if len(pairs) == all_pairs:
        return f"of {len(pairs)} pairs {said}"
    return f"of {len(pairs)} of the {all_pairs:,} pairs {said}"


def _describe_worst(pairs: Sequence[CardEntry]) -> str:
    """The pair with the largest bound; nothing if no pair has one."""
    bounded = [(entry.error, entry) for entry in pairs if entry.error is not None]
    if not bounded:
        return ""
    error, worst = max(bounded, key=lambda pair: pair[0])
    percent = f"{100 * error:.2g}" if error < _ALL_ROWS_WRONG else "100"
    return (
        f"least sure: {' × '.join(worst.clique)} (at most {percent} % of rows in a"
        " wrong cell)"
    )


def _card_rows(entries: Sequence[CardEntry]) -> Iterator[tuple[str, ...]]:
    """Cells of the card's table, columns before pairs, marginals without a bound last."""

    def order(entry: CardEntry) -> tuple[int, float]:
        return len(entry.clique), math.inf if entry.error is None else entry.error

    # A marginal without a bound may be fine, but nothing proves it: it comes last.
    for entry in sorted(entries, key=order):
        noise = "" if entry.noise is None else f"{entry.noise:,.1f}"
        error = "" if entry.error is None else f"{100 * entry.error:.1f} %"
        name = " × ".join(entry.clique)
        yield name, f"{entry.cells:,}", noise, error, entry.verdict.value


def _html_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of the card as HTML: words at the left, numbers at the right."""
    head = _html_row("th", titles)
    return f"<table>{head}{''.join(_html_row('td', row) for row in rows)}</table>"


def _html_row(tag: str, cells: Sequence[str]) -> str:
    row = ""
    for place, cell in enumerate(cells):
        side = "right" if place in _NUMBER_COLUMNS else "left"
        # Labels and names come from a file that may be a stranger's.
        row += f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
    return f"<tr>{row}</tr>"
