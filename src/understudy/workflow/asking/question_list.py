"""What is asked, as it was handed in: a list of questions, and the ± of their answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from understudy.errors import Refused
from understudy.queries.lookups import PublicTable
from understudy.queries.plan import QueryPlan
from understudy.queries.query import Query
from understudy.queries.resolving import find_open_keys
from understudy.schema import Schema
from understudy.workflow.asking.question_price import plan_question


def read_width(within: object) -> float | None:
    """The ± that was asked for, as a number; None if it was not.

    >>> from fractions import Fraction
    >>> read_width(Fraction(99, 2))
    49.5
    """
    if within is None:
        return None
    try:
        # Decimals, fractions and numpy's numbers too, but no texts or truths.
        width = math.nan if isinstance(within, str | bool) else float(within)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        width = math.nan
    if not math.isfinite(width) or width <= 0:
        raise Refused("`within` is a number above 0. Nothing was spent")
    return width


def plan_questions(
    questions: Iterable[str | Query],
    schema: Schema,
    public: Sequence[PublicTable] = (),
) -> list[QueryPlan]:
    """The plans of several questions that are asked together."""
    if not isinstance(questions, Iterable):
        raise Refused(
            "A question is SQL text or a query, or a list of them. Nothing was spent"
        )
    plans = [plan_question(each, schema, public) for each in questions]
    if not plans:
        raise Refused("Ask at least one question. Nothing was spent")
    for plan in plans:
        for column in find_open_keys(plan.query, schema):
            raise Refused(
                f"{column}: groups that are learned are asked for one question at a"
                " time. Ask it by itself. Nothing was spent"
            )
    return plans
