"""A list of counts, tested against an estimate one after another, as one answer of a
session: private multiplicative weights with the sparse vector.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from understudy.accounting.budget import Number
from understudy.curator.mechanisms.online_counts import OnlineCounts
from understudy.errors import Refused
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.query import Query
from understudy.queries.resolving import find_open_keys
from understudy.toolbox.online_counts import (
    CountBasis,
    OnlineAnswers,
    OnlineCount,
    OnlinePlan,
    plan_online,
)
from understudy.workflow.asking.question_price import plan_question
from understudy.workflow.asking.session import Session

MAX_ONLINE_FAILURES = 1_000
"""Failures of one list: with more, a test's noise is far wider than a count's would be."""


def ask_online(
    session: Session,
    questions: Sequence[str | Query],
    *,
    epsilon: Number,
    failures: int = 5,
    threshold: int | None = None,
    purpose: str = "",
) -> OnlineAnswers:
    """Counts in the order given: each from an estimate that a noisy test has found
    within a threshold of rows, or measured where the test fails, up to so many failures.

    The whole is charged to the session's run before a row is counted, for at most
    `epsilon`, and is one answer: asked again, it costs nothing. It pays only where
    hardly any test fails; by default the threshold is as wide as a test's noise.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from understudy.schema import Boolean, Schema
    >>> from understudy.workflow.asking.questions import session
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.csv")
    ...     _ = people.write_text("smoker\\n" + "yes\\n" * 500 + "no\\n" * 9_500)
    ...     declared = Schema(columns=(Boolean(name="smoker", nullable=False),))
    ...     wanted = ["SELECT COUNT(*) FROM people WHERE smoker"] * 3
    ...     with session(people, declared, budget=2) as opened:
    ...         found = ask_online(opened, wanted, epsilon=2, failures=1)
    >>> [str(row.basis) for row in found.rows]
    ['measured', 'not checked', 'not checked']
    """
    _check_settings(failures, threshold)
    plans = [plan_question(each, session.schema) for each in questions]
    for each in plans:
        for column in find_open_keys(each.query, session.schema):
            raise Refused(
                f"{column}: groups that are learned are asked for one question at a"
                " time. Ask it by itself. Nothing was spent"
            )
    plan = plan_online(plans, session.schema)
    mechanism = OnlineCounts(
        plan=plan,
        failures=failures,
        amount=session.amount_of(epsilon),
        accounting=session.accounting,
        asked_threshold=threshold,
    )
    payload, cost = session.draw_single(mechanism, purpose=purpose)
    total, answers = json.loads(payload)
    rows = [
        _make_row(plan, mechanism, place, value, CountBasis(basis), total)
        for place, (value, basis) in enumerate(answers)
    ]
    return OnlineAnswers(tuple(rows), failures, cost)


def _check_settings(failures: int, threshold: int | None) -> None:
    if type(failures) is not int or not 1 <= failures <= MAX_ONLINE_FAILURES:
        raise Refused(
            "How many tests may fail is a whole number from 1 to"
            f" {MAX_ONLINE_FAILURES:,}. Nothing was spent"
        )
    if threshold is not None and (type(threshold) is not int or threshold < 0):
        raise Refused(
            "The threshold is a whole number of rows from 0 up. Nothing was spent"
        )


def _make_row(
    plan: OnlinePlan,
    mechanism: OnlineCounts,
    place: int,
    value: int,
    basis: CountBasis,
    total: int,
) -> OnlineCount:
    """An answer with its interval, by the law of the noise."""
    width = mechanism.count_noise.half_width(ANSWER_DOUBT)
    match basis:
        case CountBasis.MEASURED:
            low, high = value - width, value + width
        case CountBasis.CHECKED:
            reach = mechanism.threshold + mechanism.test_width
            low, high = value - reach, value + reach
        case CountBasis.UNCHECKED:
            # No test says anything: between none of the rows and all of them.
            low, high = 0.0, total + width
    return OnlineCount(
        question=plan.questions[place],
        keys=plan.keys[place],
        value=max(value, 0),
        low=float(max(low, 0)),
        high=float(max(high, 0)),
        basis=basis,
    )
