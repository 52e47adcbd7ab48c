"""Offers: what a question would cost, and how exact its answer would be, before it is
asked. From public things alone: the plan, and what was answered before.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import total_for
from understudy.accounting.cost import Accounting, Cost, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import default_law, price, scale_for
from understudy.accounting.questions.partition import (
    MAX_PARTITION_CELLS,
    PartitionScope,
)
from understudy.errors import Refused
from understudy.measurements.scope import describe_domain
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.plan import AnyStatistic, QueryPlan
from understudy.queries.precision import (
    NoisyValues,
    fewest_rows,
    needed_scale,
    pooled_noise,
    scale_for_half_width,
    scales_for_ratio,
)
from understudy.queries.query import Aggregate, AggregateKind
from understudy.queries.searches import QuantileSearch
from understudy.queries.statistics import Statistic
from understudy.schema import Lattice
from understudy.schema.columns.numeric import Integer, Real

FindEarlier = Callable[[str], Sequence[NoisyValues]] | None
"""Looks up what was answered to a statistic before, by its digest."""

_RATIO_KINDS = (AggregateKind.MEAN, AggregateKind.SHARE)
"""Aggregates whose precision depends on the number of rows alone."""

_LINEAR_KINDS = (AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.DISTINCT)
"""Aggregates whose precision does not depend on the rows."""


@dataclass(frozen=True)
class StatisticOrder:
    """One statistic as it is to be measured: with a new draw of this scale, or not at
    all if what was answered before is enough.
    """

    statistic: AnyStatistic
    digest: str
    scale: Fraction | None
    noise: NoiseScale
    """The noise of the answer, with what was answered before."""
    cost: Cost
    earlier: tuple[NoisyValues, ...]
    scope: PartitionScope | None


@dataclass(frozen=True)
class Offer:
    """What a question would cost and how exact it would be."""

    plan: QueryPlan
    orders: tuple[StatisticOrder, ...]
    cost: Cost

    @property
    def half_widths(self) -> dict[str, float | None]:
        """The ± of each aggregate at 95 %, the same in every group; None if it depends
        on how many rows there are.
        """
        widths: dict[str, float | None] = {}
        aggregates = zip(self.plan.query.aggregates, self.plan.parts, strict=True)
        for aggregate, places in aggregates:
            if aggregate.kind not in _LINEAR_KINDS:
                widths[aggregate.title] = None
                continue
            order = self.orders[places[0]]
            step = _value_step(self.plan, order.statistic)
            widths[aggregate.title] = order.noise.half_width(ANSWER_DOUBT) * step
        return widths


def list_recalled(offers: Sequence[Offer]) -> list[str]:
    """The digests of all stored answers that offers use, each once."""
    digests = [
        order.digest for offer in offers for order in offer.orders if order.earlier
    ]
    return list(dict.fromkeys(digests))


def offer_answer(
    plan: QueryPlan,
    *,
    neighbours: Neighbours,
    accounting: Accounting,
    within: float | None = None,
    amount: Fraction | None = None,
    table: Mapping[str, str] | None = None,
    find_earlier: FindEarlier = None,
    find_seen: FindEarlier = None,
) -> Offer:
    """The offer for a plan: for a ± at 95 %, or for an amount of the accounting.

    `find_seen` finds what whoever asks was given of the earlier answers, by default all:
    the price of a mean follows from the values of these.
    """
    orders = []
    total = Cost(accounting, Fraction(0))
    part = None if amount is None else amount / len(plan.statistics)
    scope = question_scope(plan)
    law = default_law(accounting)
    digests = [question_digest(plan, each, table) for each in plan.statistics]
    known = [() if find_earlier is None else tuple(find_earlier(d)) for d in digests]
    seen = known if find_seen is None else [tuple(find_seen(d)) for d in digests]
    for place, statistic in enumerate(plan.statistics):
        sensitivity = plan.sensitivity(statistic, neighbours)
        digest, earlier = digests[place], known[place]
        scale: Fraction | None = None if earlier else Fraction(0)
        # If all neighbours agree on it, it is public and needs no noise.
        if sensitivity.l1:
            if within is not None:
                scale = _scale_for_width(plan, place, law, within, known, seen)
            else:
                assert part is not None
                target = scale_for(law, part, sensitivity, accounting)
                scale = _scale_after(statistic, target, earlier, law)
        order = _order_statistic(
            statistic, digest, scale, sensitivity, earlier, accounting, scope
        )
        orders.append(order)
        total = total + order.cost
    return Offer(plan, tuple(orders), total)


def _scale_after(
    statistic: AnyStatistic,
    target: Fraction,
    earlier: Sequence[NoisyValues],
    law: Law,
) -> Fraction | None:
    """The scale that reaches a target together with what was measured earlier."""
    # A search cannot be refined by a second one: it is made anew.
    is_search = isinstance(statistic, QuantileSearch)
    pooled = [e for e in earlier if not is_search or e.scale <= target]
    return needed_scale(target, pooled, law)


def _order_statistic(
    statistic: AnyStatistic,
    digest: str,
    scale: Fraction | None,
    sensitivity: Sensitivity,
    earlier: tuple[NoisyValues, ...],
    accounting: Accounting,
    scope: PartitionScope | None,
) -> StatisticOrder:
    law = default_law(accounting)
    cost = Cost(accounting, Fraction(0))
    if scale is not None:
        cost = price(law, scale, sensitivity, accounting)
    scales = [each.scale for each in earlier if each.law is law]
    scales += [] if scale is None else [scale]
    noise = pooled_noise(scales, law)
    return StatisticOrder(statistic, digest, scale, noise, cost, earlier, scope)


def question_digest(
    plan: QueryPlan, statistic: AnyStatistic, table: Mapping[str, str] | None
) -> str:
    """A name for a statistic of one table's rows."""
    facts = [plan.digest(statistic), dict(table or {})]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=256)
def amount_for_epsilon(budget: Budget, accounting: Accounting) -> Fraction:
    """What a question that is (ε, δ)-private by itself costs in a run's accounting."""
    if accounting is Accounting.PURE:
        return budget.epsilon
    return total_for(budget, accounting)


def _scale_for_width(
    plan: QueryPlan,
    place: int,
    law: Law,
    within: float,
    known: Sequence[Sequence[NoisyValues]],
    seen: Sequence[Sequence[NoisyValues]],
) -> Fraction | None:
    """The scale of noise at which all numbers that need a statistic are within a
    half-width, after what is `known` of each statistic, and what was `seen` of that.
    """
    if not math.isfinite(within) or within <= 0:
        raise Refused("`within` is a number above 0. Nothing was spent")
    scales = []
    for aggregate, places in zip(plan.query.aggregates, plan.parts, strict=True):
        if place not in places:
            continue
        if aggregate.kind in _LINEAR_KINDS:
            step = _value_step(plan, plan.statistics[place])
            own = scale_for_half_width(within / step, ANSWER_DOUBT, known[place], law)
        else:
            own = _scale_for_ratio(plan, aggregate, place, law, within, known, seen)
        scales.append(own)
    needed = [scale for scale in scales if scale is not None]
    if any(scale <= 0 for scale in needed):
        raise Refused(
            f"No noise is within ±{within:g}: ask for less precision. Nothing was spent"
        )
    return min(needed, default=None)


def _scale_for_ratio(
    plan: QueryPlan,
    aggregate: Aggregate,
    place: int,
    law: Law,
    within: float,
    known: Sequence[Sequence[NoisyValues]],
    seen: Sequence[Sequence[NoisyValues]],
) -> Fraction | None:
    """The same for a mean or a share: by the number of rows, if that was seen."""
    places = plan.parts[plan.query.aggregates.index(aggregate)]
    is_share = aggregate.kind is AggregateKind.SHARE
    bottom = places[1 if is_share else 0]
    # A price is free: it must not tell what somebody else paid for.
    counted = [each for each in seen[bottom] if each.law is law]
    is_ratio = aggregate.kind in _RATIO_KINDS and law is not Law.DISCRETE_LAPLACE
    rows = fewest_rows(counted, ANSWER_DOUBT) if is_ratio and counted else 0.0
    if not rows:
        raise Refused(
            f"{aggregate.title}: how exact it is depends on how many rows there are. Ask"
            " for the count of these rows first if it is a mean or a share, or name ε"
            " instead (epsilon=, --epsilon). Nothing was spent"
        )
    step, bound = 1.0, 1.0
    if not is_share:
        step, bound = _bound_values(plan, plan.statistics[places[1]])
    sides = scales_for_ratio(within / step, rows, bound, ANSWER_DOUBT, law)
    target = sides[1 if place == bottom else 0]
    return needed_scale(target, known[place], law) if target else target


def _bound_values(plan: QueryPlan, statistic: AnyStatistic) -> tuple[float, float]:
    """The step of a sum's column, and the most that one row adds, in steps."""
    assert isinstance(statistic, Statistic)
    (factor,) = statistic.factors
    ends = factor.high - factor.origin, factor.origin - factor.low
    return _value_step(plan, statistic), float(max(*ends, 1))


def _value_step(plan: QueryPlan, statistic: AnyStatistic) -> float:
    """What one unit of a count or a sum stands for."""
    step = 1.0
    factors = statistic.factors if isinstance(statistic, Statistic) else ()
    for factor in factors:
        column = plan.source_schema[factor.column]
        if isinstance(column, Integer | Real):
            step *= float(column.step)
    return step


def question_scope(plan: QueryPlan) -> PartitionScope | None:
    """The cells of one column of labels that the question's condition allows, so that
    questions about other cells do not add up with it; None if there is no such column.
    """
    # A column per unit is none of the table's, whatever its name is.
    if plan.condition is None or plan.features is not None:
        return None
    allowed = plan.where.reshape(plan.cells.sizes)
    best: PartitionScope | None = None
    for axis, name in enumerate(plan.cells.clique):
        codec = plan.cells.codecs[name]
        if isinstance(codec.column, Lattice) or codec.size > MAX_PARTITION_CELLS:
            continue
        others = tuple(i for i in range(allowed.ndim) if i != axis)
        possible = np.asarray(allowed.any(axis=others))
        cells = frozenset(np.flatnonzero(possible).tolist())
        # Labels alone do not decide where a value lies: other spellings of them do too.
        scope = PartitionScope(name, describe_domain(codec), codec.size, cells)
        if not cells or scope.is_whole:
            continue
        if best is None or len(cells) / codec.size < len(best.cells) / best.size:
            best = scope
    return best
