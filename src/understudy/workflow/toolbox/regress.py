"""Least squares on private rows, as a question of a session."""

from __future__ import annotations

from understudy.accounting.budget import Number
from understudy.queries.query import Condition
from understudy.toolbox.moments import plan_moments
from understudy.toolbox.regression import (
    RegressionEstimate,
    check_regression_options,
    fit_moments,
)
from understudy.workflow.asking.session import Session


def regress(
    session: Session,
    formula: str,
    *,
    epsilon: Number,
    where: Condition | None = None,
    population: str = "sample",
    level: float = 0.95,
    purpose: str = "",
) -> RegressionEstimate:
    """Coefficients of `response ~ a + b` by least squares, with intervals that count the
    noise and, if the rows are a `sample`, the sampling.

    Charged to the session's run, for at most `epsilon`; the moments are stored, so the
    same formula costs nothing again.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from understudy.schema import Integer, Schema
    >>> from understudy.workflow.asking.questions import session
    >>> columns = (Integer(name="age", min=0, max=99), Integer(name="pay", min=0, max=200))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.csv")
    ...     rows = [f"{i % 100},{i % 100 + 50}" for i in range(9000)]
    ...     _ = people.write_text("\\n".join(["age,pay", *rows]))
    ...     with session(people, Schema(columns=columns), budget=2) as questions:
    ...         found = regress(questions, "pay ~ age", epsilon=2)
    >>> found.names, bool(abs(found.estimates[1] - 1) < 0.2)
    (('Intercept', 'age'), True)
    """
    check_regression_options(population, level)
    plan = plan_moments(formula, session.schema, where=where)
    measured, cost = session.measure_plan(plan.plan, epsilon=epsilon, purpose=purpose)
    return fit_moments(
        plan,
        [values[0] for values, _ in measured],
        [noise for _, noise in measured],
        population=population,
        level=level,
        sampling_factor=session.schema.unit.sampling_factor,
        cost=cost if cost.amount else None,
    )
