"""Answers of a release that are exact enough, for nothing."""

from __future__ import annotations

from understudy.accounting.ledger import Ledger
from understudy.errors import Refused, UnderstudyError
from understudy.queries.plan import QueryPlan
from understudy.queries.resolving import find_open_keys
from understudy.queries.results import AnswerTable
from understudy.releases.answers.query_answer import answer_query, meets_precision
from understudy.releases.release import Release
from understudy.schema import Schema


def answer_from_release(
    release: Release | None, schema: Schema, plan: QueryPlan, within: float | None
) -> AnswerTable | None:
    """The answer of the release, if all its numbers are exact enough. What decides is
    the release alone: no row is looked at.
    """
    has_open_keys = bool(find_open_keys(plan.query, schema))
    # A release has no columns of public tables.
    has_mapping = any(key.mapping for key in plan.query.keys)
    if release is None or within is None or has_open_keys or has_mapping:
        return None
    try:
        answer = answer_query(release.evidence, plan.query)
    except UnderstudyError:
        # The release has another schema, or the question is none for a release.
        return None
    return answer if meets_precision(answer, within) else None


def refuse_foreign_release(release: Release | None, ledger: Ledger) -> None:
    """Refuse a release of another table: its numbers would be given, and pooled with
    what is measured, as if they were about these rows.
    """
    if release is None or not release.statement.dataset:
        return
    made = release.statement
    is_here = any(run.id == made.run for run in ledger.runs())
    if not is_here and made.dataset != ledger.dataset:
        raise Refused(
            f"The release is of {made.dataset!r}, and {ledger.path.name} is the account"
            f" of {ledger.dataset!r}. Leave the release out, or name the ledger that it"
            " was charged to. Nothing was spent"
        )
