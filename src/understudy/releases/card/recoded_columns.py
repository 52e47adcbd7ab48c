"""What learning made of cells: labels too rare to be shown, and numbers beyond the
bounds that were learned. Told from the release alone.

A release is about the table as its closed schema has it. Where labels or bounds were
learned, some cells are no longer what they were in the file: the card's bounds, and
answers, are about what they became. Who reads a release is told so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.releases.card.degenerate_columns import join_first_names
from understudy.schema.disclosed import LOST_COLUMN_NOTE
from understudy.text import format_count

if TYPE_CHECKING:
    from understudy.releases.release import Release


def rare_rows_by_column(release: Release) -> dict[str, int]:
    """How many rows of each column with learned values are of none that is shown, by
    the release's own counts.
    """
    found = {}
    for name in release.schema if release.model is not None else ():
        place = release.schema.codecs[name].other
        if place is not None and "values" in release.schema[name].learned:
            assert release.model is not None
            found[name] = round(float(release.model.marginal((name,))[place]))
    return {name: rows for name, rows in found.items() if rows > 0}


def columns_without_bounds(release: Release) -> list[str]:
    """The columns whose bounds were to be learned and could not be."""
    return [
        name for name in release.schema if release.schema[name].note == LOST_COLUMN_NOTE
    ]


def recoding_lines(release: Release) -> list[str]:
    """A line on columns whose numbers were clipped, and one on those with labels that
    are not shown.
    """
    lines, gone = [], columns_without_bounds(release)
    clipped = [
        n
        for n in release.schema
        if "bounds" in release.schema[n].learned and n not in gone
    ]
    if clipped:
        lines.append(
            f"Clipped to the bounds that were learned: {join_first_names(clipped)}."
        )
    folded = [
        f"{name} (about {format_count(rows, 'row')})"
        for name, rows in rare_rows_by_column(release).items()
    ]
    if folded:
        lines.append(
            'Too rare to be shown, so "other" or what the schema makes of it:'
            f" {join_first_names(folded)}."
        )
    return lines
