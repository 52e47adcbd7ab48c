"""Medians with noise that fits the rows, as questions of a session."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction

from understudy.accounting.budget import Number
from understudy.accounting.cost import Cost
from understudy.accounting.law import Law
from understudy.curator.key_search import KEY_DELTA_SHARE
from understudy.curator.mechanisms.smooth_median import (
    MedianColumn,
    ProposedMedian,
    SmoothMedian,
    buy_pure_epsilon,
    count_changes,
)
from understudy.errors import Refused
from understudy.queries.builders import median as ask_median
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.plan import column_factor
from understudy.queries.resolving import resolve_query
from understudy.schema import Schema, describe_counted_rows, schema_to_dict
from understudy.schema.columns.numeric import Integer, Real
from understudy.workflow.asking.session import Session


@dataclass(frozen=True)
class MedianAnswer:
    """A noisy median. `value` is None where a test did not pass, and the interval, at
    95 %, is None where the scale of the noise is secret.
    """

    column: str
    value: float | None
    interval: tuple[float, float] | None
    method: str
    cost: Cost | None = None

    def to_dict(self) -> dict[str, object]:
        """It for a program."""
        return {
            "column": self.column,
            "median": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "method": self.method,
        }

    def lines(self) -> list[str]:
        """It in words."""
        if self.value is None:
            return [
                f"{self.column}: the test did not pass: one row may move the median by"
                " more than was proposed. Propose more."
            ]
        line = f"median of {self.column}: {self.value:.6g}"
        if self.interval is None:
            return [f"{line} (the noise fits the rows, so its size is secret)"]
        low, high = self.interval
        return [f"{line} ({low:.6g} to {high:.6g}, 95 %)"]


def smooth_median(
    session: Session, column: str, *, epsilon: Number, purpose: str = ""
) -> MedianAnswer:
    """The median of a column of numbers, with noise by smooth sensitivity: small where
    many rows lie near the median. Without a δ, and without an interval.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from understudy.workflow.asking.questions import session
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.csv")
    ...     _ = people.write_text("pay\\n" + "\\n".join(map(str, range(1, 20_000))))
    ...     declared = Schema(columns=(Integer(name="pay", min=0, max=1_000_000),))
    ...     with session(people, declared, budget=2) as questions:
    ...         found = smooth_median(questions, "pay", epsilon=2)
    >>> 0 <= found.value <= 1_000_000, found.interval
    (True, None)
    """
    described, step = _describe_column(session, column)
    mechanism = SmoothMedian(
        column=described,
        epsilon=find_pure_epsilon(session, epsilon),
        accounting=session.accounting,
    )
    payload, paid = session.draw_single(mechanism, purpose=purpose)
    value = json.loads(payload) * step
    return MedianAnswer(described.name, value, None, "smooth sensitivity", paid)


def propose_median(
    session: Session,
    column: str,
    *,
    sensitivity: float,
    epsilon: Number,
    purpose: str = "",
) -> MedianAnswer:
    """The median with noise for a proposed `sensitivity`, in the column's own values, by
    propose-test-release: released, with an interval, only if a noisy test says that no
    row near these moves it further. Needs a run that was opened with a δ for thresholds
    (private_keys=True).

    >>> import tempfile
    >>> from pathlib import Path
    >>> from understudy.workflow.asking.questions import session
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.csv")
    ...     _ = people.write_text("pay\\n" + "\\n".join(map(str, range(1, 20_000))))
    ...     declared = Schema(columns=(Integer(name="pay", min=0, max=1_000_000),))
    ...     with session(people, declared, budget=2, private_keys=True) as questions:
    ...         found = propose_median(questions, "pay", sensitivity=400, epsilon=1)
    >>> low, high = found.interval
    >>> low < 15_000 and high > 5_000
    True
    """
    described, step = _describe_column(session, column)
    if not math.isfinite(sensitivity) or sensitivity < step:
        raise Refused(
            f"{column}: a proposed sensitivity is at least one step of the column"
            f" ({step:g}). Nothing was spent"
        )
    delta = session.threshold_delta * KEY_DELTA_SHARE
    if not delta:
        raise Refused(
            "A test that may pass by chance needs a δ: open the run with"
            " private_keys=True (--private-keys), which sets some aside. Nothing was"
            " spent"
        )
    mechanism = ProposedMedian(
        column=described,
        sensitivity=math.floor(Fraction(sensitivity) / Fraction(step)),
        amount=session.amount_of(epsilon),
        accounting=session.accounting,
        delta=delta,
    )
    payload, paid = session.draw_single(mechanism, purpose=purpose)
    index = json.loads(payload)
    method = "propose-test-release"
    if index is None:
        return MedianAnswer(described.name, None, None, method, paid)
    noise = NoiseScale(Law.DISCRETE_LAPLACE, mechanism.scale)
    width = noise.half_width(ANSWER_DOUBT)
    ends = max(index - width, described.low), min(index + width, described.high)
    interval = ends[0] * step, ends[1] * step
    return MedianAnswer(described.name, index * step, interval, method, paid)


def find_pure_epsilon(session: Session, epsilon: Number) -> Fraction:
    """The pure ε that a question's ε buys in the accounting of a session: all of it in a
    pure run, about a seventh in one of Gaussian noise.
    """
    return buy_pure_epsilon(session.amount_of(epsilon), session.accounting)


def _describe_column(session: Session, name: str) -> tuple[MedianColumn, float]:
    """The column as the mechanisms take it, and what a step of it is."""
    schema = session.schema
    (aggregate,) = resolve_query(ask_median(name), schema).aggregates
    factor = column_factor(schema, aggregate.columns[0])
    column = schema[factor.column]
    assert isinstance(column, Integer | Real)
    plain = Schema(columns=(replace(column, constant=False, note=""),))
    unit = describe_counted_rows(schema)
    described = json.dumps([schema_to_dict(plain), unit], sort_keys=True, default=str)
    found = MedianColumn(
        name=factor.column,
        low=factor.low,
        high=factor.high,
        changes=count_changes(session.neighbours, schema.unit.max_rows),
        described=described,
    )
    return found, float(column.step)
