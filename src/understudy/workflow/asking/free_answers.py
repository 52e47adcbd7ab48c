"""Answers of a release that are exact enough, for nothing."""

from __future__ import annotations

from fractions import Fraction

from understudy.accounting.cost import Accounting, Cost
from understudy.errors import UnderstudyError
from understudy.queries.offers import Offer
from understudy.queries.plan import QueryPlan
from understudy.queries.resolving import find_open_keys
from understudy.queries.results import AnswerTable
from understudy.releases.answers.query_answer import answer_query, meets_precision
from understudy.releases.release import Release
from understudy.schema import Schema, describe_broken_rows
from understudy.workflow.asking.question_price import Price


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
    # Rules that drop rows, or empty their cells, make another table of them.
    if describe_broken_rows(release.schema) != describe_broken_rows(schema):
        return None
    try:
        answer = answer_query(release.evidence, plan.query)
    except UnderstudyError:
        # The release has another schema, or the question is none for a release.
        return None
    return answer if meets_precision(answer, within) else None


def price_from_release(
    release: Release | None,
    schema: Schema,
    plan: QueryPlan,
    within: float | None,
    accounting: Accounting,
    amount_left: Fraction | None = None,
) -> Price | None:
    """The price of what a release answers within the ±: nothing."""
    answer = answer_from_release(release, schema, plan, within)
    if release is None or answer is None:
        return None
    made = release.statement
    named = f" of {made.dataset}" if made.dataset else ""
    day = f", {made.day}" if made.day else ""
    return Price(
        Offer(plan, (), Cost(accounting, Fraction(0))),
        Fraction(0),
        amount_left,
        released=answer,
        source=f"the release{named}{day} answers it within the ±",
    )
