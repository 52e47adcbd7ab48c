"""What a release tells of the statistics of a question, by least squares over its
measurements: unbiased numbers whose deviations are known, to be pooled with what is
measured for the question.

A statistic is told only if it is a sum of the release's cells: bins that decide the
condition, single values of what is added up, the same bounds and the same units, and no
rules by which rows were left out. Otherwise the question is answered without.
"""

from __future__ import annotations

import math

import numpy as np

from understudy.accounting.law import Law
from understudy.errors import UnderstudyError
from understudy.models.uncertainty.intervals import deviation_of_sum
from understudy.queries.conditions import join_conditions
from understudy.queries.plan import AnyStatistic, QueryPlan
from understudy.queries.released import ReleasedStatistic
from understudy.queries.statistics import ColumnFactor, Statistic
from understudy.releases.answers.group_conditions import iterate_group_conditions
from understudy.releases.answers.query_answer import (
    SelectedRows,
    Weights,
    select_rows,
)
from understudy.releases.evidence import Evidence
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.predicates.ast import ColumnName, IsMissing, Predicate

MAX_POOLED_GROUPS = 500
"""Groups of a question that are pooled with a release: each is a sum of its own."""

MIN_POOLED_SCALE = 1
"""Smallest noise of a release that is pooled: below it rounding is not like noise."""


def estimate_statistics(
    evidence: Evidence, plan: QueryPlan
) -> tuple[ReleasedStatistic | None, ...]:
    """What a release tells of each statistic of a plan; None where it tells nothing."""
    nothing = (None,) * len(plan.statistics)
    law = _shared_law(evidence)
    if law is None or not _fits_plan(evidence, plan):
        return nothing
    try:
        return tuple(_estimate(evidence, plan, each, law) for each in plan.statistics)
    except UnderstudyError:
        # The release has another schema, or too many cells to be asked.
        return nothing


def _shared_law(evidence: Evidence) -> Law | None:
    """The law of all the noise of a release, if sums of it are nearly normal."""
    laws = {measured.law for measured in evidence.measurements}
    scales = [measured.scale for measured in evidence.measurements]
    if len(laws) != 1 or laws == {Law.DISCRETE_LAPLACE}:
        return None
    return laws.pop() if min(scales) >= MIN_POOLED_SCALE else None


def _fits_plan(evidence: Evidence, plan: QueryPlan) -> bool:
    """Whether the release is about the same units, and none of its rows were left out
    or changed by a rule.
    """
    own, asked = evidence.schema, plan.source_schema
    is_same_unit = own.unit == asked.unit and own.unit.id is None
    has_rules = bool(own.impossible or own.rules or asked.impossible or asked.rules)
    has_mapping = any(key.mapping or key.cases for key in plan.query.keys)
    is_plain = plan.features is None and not has_mapping
    is_small = plan.cells.groups <= MAX_POOLED_GROUPS
    return is_same_unit and not has_rules and is_plain and is_small


def _estimate(
    evidence: Evidence, plan: QueryPlan, statistic: AnyStatistic, law: Law
) -> ReleasedStatistic | None:
    if not isinstance(statistic, Statistic):
        return None
    values, deviations = [], []
    for _, condition in iterate_group_conditions(evidence, plan.query):
        rows = _select_statistic_rows(evidence, statistic, condition)
        weights = _cell_weights(rows, statistic)
        value, deviation = 0.0, math.inf
        if weights is not None:
            value, deviation = _sum_cells(rows, weights)
        values.append(value)
        deviations.append(deviation * _rounding_factor(evidence, law))
    return ReleasedStatistic(tuple(values), tuple(deviations), law)


def _select_statistic_rows(
    evidence: Evidence, statistic: Statistic, condition: Predicate | None
) -> SelectedRows:
    """The rows of one group that a statistic adds up."""
    own = join_conditions(condition, statistic.condition)
    for name in statistic.value_columns:
        own = join_conditions(own, IsMissing(ColumnName(name), negated=True))
    return select_rows(evidence, own, *statistic.value_columns)


def _cell_weights(rows: SelectedRows, statistic: Statistic) -> Weights | None:
    """What one row in each cell adds to a statistic; None if the cells do not say."""
    if not np.array_equal(rows.coverage.sure, rows.coverage.possible):
        return None
    weights = rows.coverage.sure.astype(np.float64)
    for factor in statistic.factors:
        values = _factor_values(rows.evidence, factor)
        if values is None:
            return None
        weights = weights * rows.along(factor.column, values)
    return weights


def _factor_values(evidence: Evidence, factor: ColumnFactor) -> Weights | None:
    """A factor for each code of its column; None if a code holds several values."""
    column, codec = (
        evidence.schema[factor.column],
        evidence.schema.codecs[factor.column],
    )
    # Values beyond learned bounds were moved to them, and count as what they are here.
    is_same = (
        isinstance(column, Integer | Real)
        and (column.low, column.high) == (factor.low, factor.high)
        and np.array_equal(codec.first_indices, codec.last_indices)
    )
    if not is_same:
        return None
    values = (codec.first_indices.astype(np.float64) - factor.origin) ** factor.power
    return np.asarray(np.where(codec.is_ranked, values, 0.0), np.float64)


def _sum_cells(rows: SelectedRows, weights: Weights) -> tuple[float, float]:
    pooled = rows.evidence.least_squares
    deviation = deviation_of_sum(pooled, rows.clique, weights)
    if not math.isfinite(deviation):
        return 0.0, math.inf
    return float((weights * pooled.marginal(rows.clique)).sum()), deviation


def _rounding_factor(evidence: Evidence, law: Law) -> float:
    """How much wider noise is by being rounded: the error of rounding is nearly uniform,
    of variance 1/12.
    """
    if law is not Law.ROUNDED_GAUSSIAN:
        return 1.0
    least = float(min(measured.scale for measured in evidence.measurements))
    return math.sqrt(1 + 1 / (12 * least**2))
