"""What a reader of a release should be warned of, from the release alone."""

from __future__ import annotations

from understudy.accounting.advice import advise_on_budget
from understudy.accounting.budget import Budget
from understudy.releases.card.degenerate_columns import degenerate_column_lines
from understudy.releases.card.lost_columns import lost_columns
from understudy.releases.contents import ReleaseContents
from understudy.schema import Integer, Lattice, Schema
from understudy.schema.identifier_names import names_person
from understudy.text import join_first_names

MIN_PEOPLE_RANGE = 20
"""Steps between the learned bounds of a column called after people from which it
numbers them; a flag or a kind of people has fewer.
"""

_NO_ROWS_WARNING = (
    "The noisy number of rows is not positive, so there are no synthetic rows. Use"
    " --rows, more rows or a larger ε."
)


def list_warnings(release: ReleaseContents) -> tuple[str, ...]:
    """What a reader of this release should be warned of: the budget for this number of
    rows (the declared one, else the noisy one), and columns whose content is lost.
    """
    promise = release.guarantee
    if not promise.epsilon:
        return ()
    declared = release.schema.rows
    rows = release.rows if declared is None else declared
    budget = Budget(promise.epsilon, promise.delta)
    warnings = list(advise_on_budget(budget, rows=rows, noisy=declared is None))
    if rows == 0:
        warnings.append(_NO_ROWS_WARNING)
    if lost := lost_columns(release.evidence):
        # Releases made before such columns were left empty hold a constant instead.
        is_empty = all(release.schema[name].is_lost for name in lost)
        outcome = "left empty" if is_empty else "what was in them is lost"
        warnings.append(
            f"Nothing stood out of the noise in {join_first_names(lost)}: {outcome}."
            " Declare their values, or `min` and `max`, in a schema, or use a larger ε."
        )
    if clipped := list_clipped_columns(release):
        warnings.append(
            "Learned bounds may have clipped more than a mean can lose in"
            f" {join_first_names(clipped)}. Declare `min` and `max` in a schema, or use"
            " a larger ε."
        )
    if numbered := list_numbered_people(release.schema):
        names = join_first_names(numbered)
        warnings.append(
            f"By name and numbers, people are numbered in {names}, and those of this"
            " release are made up. Declare `identifier` in a schema, and a `unit` if"
            " somebody has several rows."
        )
    return (*warnings, *list_degenerate_columns(release))


def list_clipped_columns(release: ReleaseContents) -> list[str]:
    """The columns that are poor because values may lie beyond their learned bounds."""
    schema = release.schema
    columns = (schema[name] for name in schema)
    # Spares most tables the statistics: declared bounds hide nothing.
    if not any(isinstance(column, Lattice) and column.beyond for column in columns):
        return []
    described = release.card.statistics.values()
    return [column.name for column in described if column.is_spoiled_by_clipping]


def list_numbered_people(schema: Schema) -> list[str]:
    """The columns that were found to hold numbers of whoever a row is about, which are
    invented in a release like any others.
    """
    found = []
    for name in schema:
        column = schema[name]
        if not isinstance(column, Integer) or column.is_lost:
            continue
        if "type" not in column.learned or not names_person(name):
            continue
        low, high = column.low, column.high
        if low is not None and high is not None and high - low >= MIN_PEOPLE_RANGE:
            found.append(name)
    return found


def list_degenerate_columns(release: ReleaseContents) -> tuple[str, ...]:
    """A line for each kind of degenerate column, with the columns it is true of."""
    return degenerate_column_lines(release.card.degenerate_columns)
