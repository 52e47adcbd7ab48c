"""Columns that learning recoded: labels too rare to be shown, and numbers beyond the
bounds that were learned. Found from the release alone.

A release is about the table as its closed schema describes it. If labels or bounds were
learned, some cells are no longer what they were in the file: the card's bounds, and
answers, are about the recoded cells. Readers of a release are informed of it.
"""

from __future__ import annotations

import math

from understudy.models.estimates.support import MIN_NON_VALUE_SIGMAS
from understudy.releases.card.lost_columns import is_lost_column, lost_columns
from understudy.releases.evidence import Evidence
from understudy.text import format_count, join_first_names


def rare_rows_by_column(evidence: Evidence) -> dict[str, int]:
    """How many rows of each column with learned values have none of the values that are
    shown, by the model's own counts; not where noise alone explains them.
    """
    schema, model = evidence.schema, evidence.model
    rare: dict[str, int] = {}
    if model is None:
        return rare
    for name in schema:
        other = schema.codecs[name].other
        if other is None or "values" not in schema[name].learned:
            continue
        if is_lost_column(evidence, name):
            continue
        # A count of the model, which is already noisy: nothing more is released.
        rows = round(float(model.marginal((name,))[other]))
        if rows > 0 and _exceeds_noise(evidence, name, other):
            rare[name] = rows
    return rare


def _exceeds_noise(evidence: Evidence, name: str, code: int) -> bool:
    """Whether the measurements show that rows have a code; not known where none is
    about it.
    """
    measured = evidence.least_squares
    variance = float(measured.variance((name,))[code])
    if not math.isfinite(variance):
        return True
    count = float(measured.marginal((name,))[code])
    return count > MIN_NON_VALUE_SIGMAS * math.sqrt(variance)


def recoding_lines(evidence: Evidence) -> list[str]:
    """A line on columns whose numbers were clipped, and one on those with labels that
    are not shown.
    """
    schema, lines = evidence.schema, []
    lost = lost_columns(evidence)
    learned_bounds = [name for name in schema if "bounds" in schema[name].learned]
    clipped = [name for name in learned_bounds if name not in lost]
    if clipped:
        lines.append(
            f"Clipped to the bounds that were learned: {join_first_names(clipped)}."
        )
    folded = [
        f"{name} (about {format_count(rows, 'row')})"
        for name, rows in rare_rows_by_column(evidence).items()
    ]
    if folded:
        lines.append(
            'Too rare to be shown, so "other" or what the schema makes of it:'
            f" {join_first_names(folded)}."
        )
    return lines
