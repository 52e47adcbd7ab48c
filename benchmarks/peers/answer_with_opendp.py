"""OpenDP's Polars context: zCDP, the budget split evenly over the questions, the largest
ρ that implies (ε, δ). A mean is a noisy sum over a noisy count.
"""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

warnings.simplefilter("ignore")

import opendp.prelude as dp  # noqa: E402
import polars as pl  # noqa: E402
from answer_job import list_groups, main, order_groups  # noqa: E402
from job import Task  # noqa: E402
from workload import BOUNDS, Question  # noqa: E402

dp.enable_features("contrib")

SIGNS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "=": operator.eq,
}
MEDIAN_CANDIDATES = 1000
"""Values that a median is chosen from: all of a short range, a grid of a long one."""


class OpenDP:
    """A context over all questions of a round."""

    def __init__(self, task: dict[str, object], asked: list[Question]) -> None:
        epsilon, delta = float(task["epsilon"]), float(task["delta"])  # type: ignore[arg-type]
        self.rho = Task({}, {}, epsilon, delta).rho
        # Scanned: rows in memory go through the plan of every question, which takes seconds.
        self.rows = pl.scan_parquet(str(task["rows"]))
        self.context = self.open_context(len(asked))
        # Its search for a scale takes seconds a question. Where only the error counts,
        # it gets the scale that the search finds: the smallest that fits its share.
        self.share = self.rho / len(asked) if task["together"] else None

    def open_context(self, questions: int) -> dp.Context:
        return dp.Context.compositor(
            data=self.rows,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=self.rho),
            split_evenly_over=questions,
            margins=[dp.polars.Margin(max_length=100_000_000)],
        )

    def answer(self, question: Question) -> list[float]:
        query = self.context.query()
        for column, sign, constant in question.where:
            query = query.filter(SIGNS[sign](pl.col(column), constant))
        numbers = self.list_aggregates(question)
        if question.by:
            keys = pl.LazyFrame(
                list_groups(question), schema=list(question.by), orient="row"
            )
            query = query.group_by(*question.by).agg(*numbers).with_keys(keys)
        else:
            query = query.select(*numbers)
        found = {}
        for row in self.release_query(query, question).collect().iter_rows(named=True):
            number = row[question.column or "len"]
            if question.kind == "mean":
                number = number / max(row["len"], 1)
            found[tuple(row[name] for name in question.by)] = number
        return order_groups(question, found)

    def release_query(self, query: dp.polars.LazyFrameQuery, question: Question) -> Any:
        """Release a query, by its own search or at the scales that stand in it."""
        if self.share is None or question.kind == "median":
            return query.release()
        # The query hands its attributes on to Polars, hence the way round.
        inner = object.__getattribute__(query, "_query")
        domain, metric = inner._chain
        measurement = dp.m.make_private_lazyframe(
            input_domain=domain,
            input_metric=metric,
            output_measure=inner._output_measure,
            lazyframe=object.__getattribute__(query, "polars_plan"),
        )
        return self.context(measurement)

    def list_aggregates(self, question: Question) -> list[pl.Expr]:
        if question.kind == "count":
            return [dp.len(scale=self.find_scale(1, 1), signed=True)]
        low, high = BOUNDS[question.column]
        column = pl.col(question.column).fill_null(0)
        if question.kind == "median":
            step = max((high - low) // MEDIAN_CANDIDATES, 1)
            return [column.dp.median(list(range(low, high + 1, step)))]
        parts = 1 if question.kind == "sum" else 2
        total = column.dp.sum((low, high), scale=self.find_scale(high, parts))
        if parts == 1:
            return [total]
        return [total, dp.len(scale=self.find_scale(1, parts), signed=True)]

    def find_scale(self, sensitivity: int, parts: int) -> float | None:
        """Gaussian noise that costs an even part of a question's share of ρ."""
        if self.share is None:
            return None
        # The slack is for its rounding of costs upwards.
        return sensitivity * math.sqrt(parts / (2 * self.share)) * (1 + 1e-3)

    def count_affordable(self, within: float) -> int:
        """By its own statement of accuracy."""
        scale = dp.accuracy_to_discrete_gaussian_scale(accuracy=within, alpha=0.05)
        return math.floor(self.rho * 2 * scale**2)


if __name__ == "__main__":
    main(OpenDP)
