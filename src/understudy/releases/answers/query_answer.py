"""Queries answered from a release, with intervals, free of charge.

A count is a question of its own for each group (answers/answer.py). A sum weighs the
cells of its column by the values that they hold, from the least to the largest. A mean
is the r for which Σ (x − r) over the rows is 0: those r for which the bounds on that sum
hold 0 are a confidence set, by inverting the test at each r. A share is the mean of an
indicator, and a quantile at level α is where Σ (1[x ≤ c] − α) passes 0.

The estimate is that of the release's own marginals, moved into its interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.queries.answer_rows import (
    AnswerRow,
    append_derived,
    combines_numbers,
)
from understudy.queries.conditions import join_conditions
from understudy.queries.estimates import ANSWER_DOUBT, NumberEstimate
from understudy.queries.features import refuse_features
from understudy.queries.plan import column_factor
from understudy.queries.query import Aggregate, AggregateKind, Query
from understudy.queries.resolving import resolve_query
from understudy.queries.results import AnswerTable, finish_answer
from understudy.queries.sql.reader import read_sql
from understudy.releases.answers.answer import answer_question, cover_predicate
from understudy.releases.answers.cell_coverage import MAX_QUESTION_CELLS, CellCoverage
from understudy.releases.answers.group_conditions import iterate_group_conditions
from understudy.releases.answers.linear_bounds import LinearBounds
from understudy.releases.answers.question import Question, QuestionKind
from understudy.releases.evidence import Evidence
from understudy.schema import Lattice
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.predicates.ast import ColumnName, IsMissing, Predicate

BASIS_RELEASE = "from the release"

_INVERSION_STEPS = 22
"""Halvings of the range of a mean: ends are known to a four-millionth of it."""

_DENSITY_PIECES = 8
"""Pieces of a bin by which its mean is computed from the density of values in it."""

Weights = NDArray[np.float64]
SumTest = Callable[[float], tuple[float, float]]
"""The bounds on a sum that falls as its argument rises."""


def answer_query(evidence: Evidence, question: str | Query) -> AnswerTable:
    """The answer to a query, or to SQL, from what is known of a release."""
    schema = evidence.schema
    query = question if isinstance(question, Query) else read_sql(question, schema)
    refuse_features(query)
    resolved = resolve_query(query, schema)
    for aggregate in resolved.aggregates:
        if aggregate.kind not in _ANSWER_BY_KIND:
            raise Refused(
                f"{aggregate.title}: a release answers counts, sums, means, shares and"
                " quantiles. Sample rows from it, or ask the rows under a budget"
                " (understudy ask)"
            )
    if combines_numbers(resolved):
        raise Refused(
            "A release answers computed columns of one number each. Ask for the numbers"
            " by themselves, or ask the rows under a budget (understudy ask)"
        )
    rows = []
    for keys, condition in iterate_group_conditions(evidence, resolved):
        numbers = [
            _answer_aggregate(evidence, aggregate, condition)
            for aggregate in resolved.aggregates
        ]
        rows.append(AnswerRow(keys, append_derived(resolved, numbers)))
    counted = schema.unit.counted_rows
    return finish_answer(
        resolved, rows, basis=BASIS_RELEASE, cost=None, counted=counted
    )


def is_query(question: object) -> bool:
    """Whether a question is a query or SQL, rather than `count where …`."""
    if isinstance(question, str):
        return question.lstrip().lower().startswith("select")
    return isinstance(question, Query)


def _answer_aggregate(
    evidence: Evidence, aggregate: Aggregate, condition: Predicate | None
) -> NumberEstimate:
    limit = aggregate.condition
    assert limit is None or isinstance(limit, Predicate)
    if aggregate.kind is not AggregateKind.SHARE:
        condition = join_conditions(condition, limit)
    for name in aggregate.columns:
        present = IsMissing(ColumnName(name), negated=True)
        condition = join_conditions(condition, present)
    return _ANSWER_BY_KIND[aggregate.kind](evidence, aggregate, condition)


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """The rows that a condition selects, and what is known of a column in their cells."""

    evidence: Evidence
    clique: Clique
    coverage: CellCoverage

    @cached_property
    def counts(self) -> Weights:
        """The expected number of selected rows in each cell."""
        expected = self.evidence.marginal(self.clique) * self.coverage.share
        return np.asarray(expected, np.float64)

    @cached_property
    def bounds(self) -> LinearBounds:
        """Bounds on sums over the cells."""
        return LinearBounds(self.evidence, self.clique)

    def bound_values(self, low: Weights, high: Weights) -> tuple[float, float]:
        """Bounds on the sum of values between low and high over the selected rows."""
        sure, possible = self.coverage.sure, self.coverage.possible
        # A row that is perhaps not selected adds its value or nothing.
        least = np.where(sure, low, np.where(possible, np.minimum(low, 0.0), 0.0))
        most = np.where(sure, high, np.where(possible, np.maximum(high, 0.0), 0.0))
        return self.bounds.bound_sum(least, most, ANSWER_DOUBT)

    def along(self, name: str, table: Weights) -> Weights:
        """A table over the codes of a column, over all cells."""
        shape = [1] * len(self.clique)
        shape[self.clique.index(name)] = len(table)
        sizes = self.evidence.schema.sizes(self.clique)
        return np.broadcast_to(table.reshape(shape), sizes)


def select_rows(
    evidence: Evidence, condition: Predicate | None, *names: str
) -> SelectedRows:
    """The rows of a condition, in the cells of its columns and of some others."""
    wanted = set(names).union(() if condition is None else condition.columns)
    clique = tuple(name for name in evidence.schema if name in wanted)
    cells = math.prod(evidence.schema.sizes(clique))
    if cells > MAX_QUESTION_CELLS:
        raise Refused(
            f"The question spans {cells:,} combinations, more than"
            f" {MAX_QUESTION_CELLS:,}. Ask about fewer columns at a time"
        )
    return SelectedRows(evidence, clique, cover_predicate(condition, evidence, clique))


def _count_rows(
    evidence: Evidence, aggregate: Aggregate, condition: Predicate | None
) -> NumberEstimate:
    del aggregate  # every answer has the same form
    found = answer_question(evidence, Question(QuestionKind.COUNT, condition))
    return NumberEstimate(found.estimate, found.low, found.high)


def _share_rows(
    evidence: Evidence, aggregate: Aggregate, condition: Predicate | None
) -> NumberEstimate:
    """The share of rows that meet the aggregate's condition, of those that meet the
    question's.
    """
    inner = aggregate.condition
    assert isinstance(inner, Predicate)
    rows = select_rows(evidence, condition, *inner.columns)
    inside = cover_predicate(inner, evidence, rows.clique)

    def test(share: float) -> tuple[float, float]:
        low = inside.sure.astype(np.float64) - share
        high = inside.possible.astype(np.float64) - share
        return rows.bound_values(low, high)

    total = float(rows.counts.sum())
    part = float((rows.counts * inside.share).sum())
    estimate = part / total if total > 0 else 0.5
    return _invert_test(test, estimate, 0.0, 1.0)


def _sum_values(
    evidence: Evidence, aggregate: Aggregate, condition: Predicate | None
) -> NumberEstimate:
    rows, low, high, middle, step = _column_values(evidence, aggregate, condition)
    ends = rows.bound_values(low, high)
    estimate = float((rows.counts * middle).sum())
    estimate = min(max(estimate, ends[0]), ends[1])
    return NumberEstimate(estimate * step, ends[0] * step, ends[1] * step)


def _average_values(
    evidence: Evidence, aggregate: Aggregate, condition: Predicate | None
) -> NumberEstimate:
    rows, low, high, middle, step = _column_values(evidence, aggregate, condition)
    factor = column_factor(evidence.schema, aggregate.columns[0])

    def test(mean: float) -> tuple[float, float]:
        return rows.bound_values(low - mean, high - mean)

    total = float(rows.counts.sum())
    centre = (factor.low + factor.high) / 2
    estimate = float((rows.counts * middle).sum()) / total if total > 0 else centre
    found = _invert_test(test, estimate, float(factor.low), float(factor.high))
    return NumberEstimate(found.value * step, found.low * step, found.high * step)


def _find_quantile(
    evidence: Evidence, aggregate: Aggregate, condition: Predicate | None
) -> NumberEstimate:
    rows, low, high, _, step = _column_values(evidence, aggregate, condition)
    factor = column_factor(evidence.schema, aggregate.columns[0])
    assert aggregate.level is not None
    level = float(aggregate.level)

    def test(value: float) -> tuple[float, float]:
        # Turned round, so that it falls as the value rises. A row surely lies at or
        # below a value if the whole of its cell does.
        surely = (high <= value).astype(np.float64)
        possibly = (low <= value).astype(np.float64)
        return rows.bound_values(level - possibly, level - surely)

    estimate = _estimate_quantile(rows, aggregate.columns[0], level)
    found = _invert_test(test, estimate, float(factor.low), float(factor.high))
    low_end, high_end = math.floor(found.low), math.ceil(found.high)
    value = min(max(round(found.value), low_end), high_end)
    return NumberEstimate(value * step, low_end * step, high_end * step)


def _estimate_quantile(rows: SelectedRows, name: str, level: float) -> float:
    """Where the release's own counts pass a level; within a bin by its density."""
    codec = rows.evidence.schema.codecs[name]
    axis = rows.clique.index(name)
    others = tuple(i for i in range(len(rows.clique)) if i != axis)
    counts = rows.counts.sum(axis=others)[codec.is_ranked]
    below = np.cumsum(counts)
    if not below.size or below[-1] <= 0:
        return float(codec.edges[0])
    code = int(np.searchsorted(below, level * below[-1]))
    code = min(code, len(counts) - 1)
    first, last = int(codec.edges[code]), int(codec.edges[code + 1])
    density = rows.evidence.bin_densities.get(name)
    before = below[code] - counts[code]
    inside = (level * below[-1] - before) / max(counts[code], 1e-9)
    while last - first > 1:
        middle = (first + last) // 2
        share = (middle - codec.edges[code]) / np.diff(codec.edges)[code]
        if density is not None:
            share = density.below(code, middle)
        first, last = (middle, last) if share < inside else (first, middle)
    return float(first)


def _column_values(
    evidence: Evidence, aggregate: Aggregate, condition: Predicate | None
) -> tuple[SelectedRows, Weights, Weights, Weights, float]:
    """Rows, and the least, the largest and the mean index of a column in each cell."""
    (name,) = aggregate.columns
    factor = column_factor(evidence.schema, name)
    rows = select_rows(evidence, condition, name)
    codec = evidence.schema.codecs[name]
    first = codec.first_indices.astype(np.float64)
    last = codec.last_indices.astype(np.float64)
    # What lies beyond bounds that were learned counts at the nearest one.
    first = np.clip(first, factor.low, factor.high) * codec.is_ranked
    last = np.clip(last, factor.low, factor.high) * codec.is_ranked
    middle = (first + last) / 2
    if name in evidence.bin_densities:
        middle = middle.copy()
        for code in range(len(codec.bins)):
            middle[code] = _bin_mean(evidence, name, code)
    column = evidence.schema[name]
    assert isinstance(column, Integer | Real)
    along = (rows.along(name, table) for table in (first, last, middle))
    low, high, mean = along
    return rows, low, high, mean, float(column.step)


def _bin_mean(evidence: Evidence, name: str, code: int) -> float:
    """The mean index in a bin, by the density of the release's own rows."""
    column = evidence.schema[name]
    assert isinstance(column, Lattice)
    edges = evidence.schema.codecs[name].edges
    density = evidence.bin_densities[name]
    cuts = np.linspace(edges[code], edges[code + 1], _DENSITY_PIECES + 1).astype(int)
    below = [density.below(code, int(cut)) for cut in cuts]
    middles = (cuts[:-1] + np.maximum(cuts[1:] - 1, cuts[:-1])) / 2
    return float((np.diff(below) * middles).sum())


def _invert_test(
    test: SumTest, estimate: float, low: float, high: float
) -> NumberEstimate:
    """The values at which a falling sum may be 0, by bisection from the estimate."""
    start = min(max(estimate, low), high)
    # Above the interval the upper bound of the sum is below 0, below it the lower
    # bound is above 0.
    top = _bisect_sign(lambda value: test(value)[1] >= 0, low, high)
    bottom = -_bisect_sign(lambda value: test(-value)[0] <= 0, -high, -low)
    first, last = min(bottom, top), max(bottom, top)
    return NumberEstimate(min(max(start, first), last), first, last)


def _bisect_sign(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The last value at which something still holds, rounded up; low if it never does."""
    if holds(high):
        return high
    inside, outside = low, high
    for _ in range(_INVERSION_STEPS):
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return outside


_ANSWER_BY_KIND: dict[
    AggregateKind, Callable[[Evidence, Aggregate, Predicate | None], NumberEstimate]
] = {
    AggregateKind.COUNT: _count_rows,
    AggregateKind.SHARE: _share_rows,
    AggregateKind.SUM: _sum_values,
    AggregateKind.MEAN: _average_values,
    AggregateKind.QUANTILE: _find_quantile,
}


def meets_precision(answer: AnswerTable, within: float) -> bool:
    """Whether all numbers of an answer are within a ±.

    >>> row = AnswerRow((), (NumberEstimate(10, 5, 15),))
    >>> meets_precision(AnswerTable("count", (), ("count",), (row,), ""), 5)
    True
    """
    return answer.half_width <= within
