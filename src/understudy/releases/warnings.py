"""What a reader of a release should be warned of, from the release alone."""

from __future__ import annotations

from understudy.accounting.advice import advise_on_budget
from understudy.accounting.budget import Budget
from understudy.releases.card.degenerate_columns import degenerate_column_lines
from understudy.releases.card.lost_columns import lost_columns
from understudy.releases.contents import ReleaseContents
from understudy.text import join_first_names

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
    return (*warnings, *list_degenerate_columns(release))


def list_degenerate_columns(release: ReleaseContents) -> tuple[str, ...]:
    """A line for each kind of degenerate column, with the columns it is true of."""
    return degenerate_column_lines(release.card.degenerate_columns)
