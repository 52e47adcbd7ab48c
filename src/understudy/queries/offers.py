"""Offers: what a question would cost, and how exact its answer would be, before it is
asked. From public things alone: the plan, and what was answered before.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from understudy.queries.released import (
    ReleasedStatistic,
    needed_scale_after,
    pool_noise_after,
    scale_for_width_after,
)
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
    released: ReleasedStatistic | None = None
    """What a release says of it, without a charge."""


@dataclass(frozen=True)
class Offer:
    """What a question would cost and how exact it would be."""

    plan: QueryPlan
    orders: tuple[StatisticOrder, ...]
    cost: Cost

    @property
    def half_widths(self) -> dict[str, float | None]:
        """The ± of each aggregate at 95 %, the same in every group; None if it depends
        on how many rows there are, or follows from others.
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
        computed = [column.title for column in self.plan.query.derived]
        return widths | dict.fromkeys(computed)


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
    released: Sequence[ReleasedStatistic | None] = (),
) -> Offer:
    """The offer for a plan: for a ± at 95 %, or for an amount of the accounting.

    `find_seen` finds what whoever asks was given of the earlier answers, by default all:
    the price of a mean follows from the values of these. What a release says of each
    statistic, `released`, makes the ± cheaper, and an amount's answer more exact.
    """
    orders = []
    total = Cost(accounting, Fraction(0))
    shares = plan.amount_shares
    scope = question_scope(plan)
    law = default_law(accounting)
    digests = [question_digest(plan, each, table) for each in plan.statistics]
    known = [_find_pooled(find_earlier, digest, law) for digest in digests]
    seen = known
    if find_seen is not None:
        seen = [_find_pooled(find_seen, digest, law) for digest in digests]
    usable = [_usable_release(each, law) for each in released or [None] * len(digests)]
    for place, statistic in enumerate(plan.statistics):
        sensitivity = plan.sensitivity(statistic, neighbours)
        digest, earlier = digests[place], known[place]
        scale: Fraction | None = None if earlier else Fraction(0)
        # If all neighbours agree on it, it is public and needs no noise.
        if sensitivity.l1:
            if within is not None:
                width = _WidthTarget(plan, law, within, known, seen, usable)
                scale = width.needed_scale(place)
                # Nobody pays for stored answers that the release makes needless.
                if scale is None and width.is_released(place):
                    earlier = tuple(seen[place])
            else:
                assert amount is not None
                own = amount * shares[place]
                target = scale_for(law, own, sensitivity, accounting)
                scale = _scale_after(statistic, target, earlier, law)
        order = _order_statistic(
            statistic, digest, scale, sensitivity, earlier, accounting, scope
        )
        order = _add_release(order, usable[place], law)
        orders.append(order)
        total = total + order.cost
    return Offer(plan, tuple(orders), total)


def _find_pooled(find: FindEarlier, digest: str, law: Law) -> tuple[NoisyValues, ...]:
    """The stored answers of this law: those of a run in another accounting are no part
    of an answer, whose ± they could widen.
    """
    found = () if find is None else find(digest)
    return tuple(each for each in found if each.law is law)


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
    # Nothing at all: a release alone answers it (`_add_release`).
    noise = pooled_noise(scales or [Fraction(0)], law)
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


@dataclass(frozen=True)
class _WidthTarget:
    """A ± that all numbers of a plan must have, after what is `known` of each of its
    statistics, what was `seen` of that, and what was `released` of it.
    """

    plan: QueryPlan
    law: Law
    within: float
    known: Sequence[Sequence[NoisyValues]]
    seen: Sequence[Sequence[NoisyValues]]
    released: Sequence[ReleasedStatistic | None]

    def __post_init__(self) -> None:
        if not math.isfinite(self.within) or self.within <= 0:
            raise Refused("`within` is a number above 0. Nothing was spent")

    def needed_scale(self, place: int) -> Fraction | None:
        """The scale of noise at which all numbers that need a statistic are within the
        half-width; None if they are already.
        """
        scales = []
        plan = self.plan
        for aggregate, places in zip(plan.query.aggregates, plan.parts, strict=True):
            if place not in places:
                continue
            if aggregate.kind in _LINEAR_KINDS:
                scales.append(self._linear_scale(place))
            else:
                scales.append(self._ratio_scale(aggregate, place))
        needed = [scale for scale in scales if scale is not None]
        if any(scale <= 0 for scale in needed):
            raise Refused(
                f"No noise is within ±{self.within:g}: ask for less precision. Nothing"
                " was spent"
            )
        return min(needed, default=None)

    def is_released(self, place: int) -> bool:
        """Whether the release alone makes a statistic exact enough."""
        fresh = [()] * len(self.known)
        return (
            self.released[place] is not None
            and replace(self, known=fresh).needed_scale(place) is None
        )

    def _linear_scale(self, place: int) -> Fraction | None:
        width = self.within / _value_step(self.plan, self.plan.statistics[place])
        released, known = self.released[place], self.known[place]
        if released is None:
            return scale_for_half_width(width, ANSWER_DOUBT, known, self.law)
        return scale_for_width_after(width, ANSWER_DOUBT, known, released, self.law)

    def _ratio_scale(self, aggregate: Aggregate, place: int) -> Fraction | None:
        """The same for a mean or a share: by the number of rows, if that was seen."""
        plan = self.plan
        places = plan.parts[plan.query.aggregates.index(aggregate)]
        is_share = aggregate.kind is AggregateKind.SHARE
        bottom = places[1 if is_share else 0]
        rows = self._fewest_rows(bottom) if aggregate.kind in _RATIO_KINDS else 0.0
        if not rows:
            raise Refused(
                f"{aggregate.title}: how exact it is depends on how many rows there are."
                " Ask for the count of these rows first if it is a mean or a share, or"
                " name ε instead (epsilon=, --epsilon). Nothing was spent"
            )
        step, bound = 1.0, 1.0
        if not is_share:
            step, bound = _bound_values(plan, plan.statistics[places[1]])
        width = self.within / step
        sides = scales_for_ratio(width, rows, bound, ANSWER_DOUBT, self.law)
        target = sides[1 if place == bottom else 0]
        if not target:
            return target
        released = self.released[place]
        if place == bottom and released is not None:
            return needed_scale_after(target, self.known[place], released, self.law)
        return needed_scale(target, self.known[place], self.law)

    def _fewest_rows(self, bottom: int) -> float:
        """The fewest rows of a group: by what was answered to whoever asks, or by the
        release.
        """
        if self.law is Law.DISCRETE_LAPLACE:
            return 0.0
        # A price is free: it must not tell what somebody else paid for.
        counted = [each for each in self.seen[bottom] if each.law is self.law]
        if counted:
            return fewest_rows(counted, ANSWER_DOUBT)
        released = self.released[bottom]
        return 0.0 if released is None else released.fewest_rows(ANSWER_DOUBT)


def _usable_release(
    released: ReleasedStatistic | None, law: Law
) -> ReleasedStatistic | None:
    """What a release says, if noise of its law and of the run's adds up."""
    is_usable = released is not None and released.law is law and released.precision > 0
    return released if is_usable and law is not Law.DISCRETE_LAPLACE else None


def _add_release(
    order: StatisticOrder, released: ReleasedStatistic | None, law: Law
) -> StatisticOrder:
    if released is None:
        return order
    has_own = order.scale is not None or bool(order.earlier)
    own = order.noise if has_own else None
    noise = pool_noise_after(own, released.precision, law)
    return replace(order, noise=noise, released=released)


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
        scope = PartitionScope(
            name, describe_domain(plan.source_schema, codec), codec.size, cells
        )
        if not cells or scope.is_whole:
            continue
        if best is None or len(cells) / codec.size < len(best.cells) / best.size:
            best = scope
    return best
