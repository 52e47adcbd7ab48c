"""Answers to single questions: charge, then count, then draw, then store, then answer.

A synthesizer's questions are counted before they are charged (payment.py): its owner
may repeat what failed. An analyst may not: how a count fails could depend on rows, so
here the charge comes first, and a failure after it stays paid for.

Why it is private. A statistic is a vector of integers, one for each group, that one unit
moves by at most its sensitivity (queries/statistics.py), computed from the cells and
bounds that are applied here. Noise of the scale that the charge is the price of is added
to every entry. Nothing else of the rows leaves: cells that hold no rows and cells that
do take the same way, and which cells occur is seen by nobody.

Sensitivity checked by brute force in tests/queries/test_statistics.py and test_batches.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.pricing import default_law
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.questions.question_run import QuestionCharge
from understudy.curator.context import Draw, TableProtocol
from understudy.curator.interrupts import hold_signals
from understudy.curator.quantile_search import GroupValues, search_quantiles
from understudy.errors import Refused
from understudy.noise import draw_noise
from understudy.noise.samplers import MAX_NOISE_SCALE
from understudy.queries.offers import Offer, StatisticOrder, list_recalled
from understudy.queries.plan import AnyStatistic, QueryPlan
from understudy.queries.precision import NoisyValues
from understudy.queries.searches import DistinctCount, QuantileSearch
from understudy.queries.statistics import Statistic


class QuestionRunProtocol(Protocol):
    """The part of a run of questions that answers need."""

    def refuse_unaffordable(
        self,
        cost: Cost,
        *,
        analyst: str = "",
        scope: PartitionScope | None = None,
        recalled: Sequence[str] = (),
    ) -> None:
        """Raise BudgetExceeded where a question of this cost, with the stored answers
        of these digests, has no room.
        """

    def charge_together(
        self,
        charges: Sequence[QuestionCharge],
        *,
        recalled: Sequence[str] = (),
        analyst: str = "",
        purpose: str = "",
    ) -> tuple[int, ...]:
        """Write all charges down durably, and hand the stored answers of some digests
        to an analyst, who pays for those that are new to them: all of it or nothing.
        The steps of the charges.
        """

    def store(self, step: int, digest: str, payload: bytes) -> None:
        """Keep the answer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionCurator:
    """Rows, a run of questions and noise. `draw` can be replaced by tests, through this
    constructor and nowhere else.
    """

    table: TableProtocol
    run: QuestionRunProtocol
    draw: Draw = draw_noise

    def answer(
        self,
        offer: Offer,
        *,
        analyst: str = "",
        purpose: str = "",
        recalled: Sequence[str] = (),
    ) -> list[tuple[NoisyValues, ...]]:
        """Every statistic of an offer as it was measured, earlier answers first; all are
        charged before any row is read. Stored answers of the digests `recalled` are
        handed out with it.
        """
        used = [*recalled, *list_recalled([offer])]
        self._refuse_undrawable(offer, analyst, used)
        steps = iter(
            self.run.charge_together(
                [
                    QuestionCharge(order.cost, order.digest, order.scope)
                    for order in offer.orders
                    if order.scale is not None
                ],
                recalled=used,
                analyst=analyst,
                purpose=purpose,
            )
        )
        exact: ExactStatistics | None = None
        measured = []
        for place, order in enumerate(offer.orders):
            # Nothing new is measured: earlier answers are precise enough.
            if order.scale is None:
                measured.append(order.earlier)
                continue
            # Once for all statistics of the question, behind the charge.
            if exact is None:
                exact = ExactStatistics(self.table, offer.plan)
            # A signal between drawing and storing would lose an answer that is paid
            # for.
            with hold_signals():
                noisy = self._draw_values(exact, place, order)
                self.run.store(next(steps), order.digest, noisy.to_bytes())
            measured.append((*order.earlier, noisy))
        return measured

    def _refuse_undrawable(
        self, offer: Offer, analyst: str, recalled: Sequence[str]
    ) -> None:
        """Refuse, before the charge, what has no room or cannot be drawn."""
        # All statistics of a question have its scope.
        scope = offer.orders[0].scope if offer.orders else None
        self.run.refuse_unaffordable(
            offer.cost, analyst=analyst, scope=scope, recalled=recalled
        )
        if not is_drawable(offer):
            raise Refused(
                "This question needs noise wider than any that is drawn (2^50). Use a"
                " larger ε, narrower bounds or a coarser step. Nothing was spent"
            )

    def _draw_values(
        self, exact: ExactStatistics, place: int, order: StatisticOrder
    ) -> NoisyValues:
        law = default_law(order.cost.accounting)
        assert order.scale is not None
        if isinstance(order.statistic, QuantileSearch):
            found = search_quantiles(
                order.statistic,
                exact.values_by_group(order.statistic),
                law=law,
                scale=order.scale,
                draw=self.draw,
            )
            return NoisyValues(tuple(found), law, order.scale)
        values = exact.measure_groups(place)
        if order.scale:
            noise = self.draw(law, order.scale, (len(values),))
            values = [x + int(z) for x, z in zip(values, noise, strict=True)]
        return NoisyValues(tuple(values), law, order.scale)


class ExactStatistics:
    """The exact statistics of a plan, added up when they are first needed. They leave
    the curator with noise only.
    """

    def __init__(self, table: TableProtocol, plan: QueryPlan) -> None:
        if plan.features is not None:
            table = table.derive_units(plan.features)
        self._table = table.with_schema(plan.cells.schema)
        self._plan = plan
        sums = [s for s in plan.statistics if isinstance(s, Statistic)]
        self._cells, by_cell = self._table.cell_sums(
            plan.cells.clique, [*sums, Statistic()]
        )
        self._sums = dict(zip(sums, by_cell, strict=False))
        self._counts = by_cell[-1]

    def measure_groups(self, place: int) -> list[int]:
        """A statistic as it is measured: of every group, or sums of groups."""
        return self._plan.combine_groups(place, self.by_group(place))

    def by_group(self, place: int) -> list[int]:
        """A statistic of the plan, for every group."""
        statistic = self._plan.statistics[place]
        groups = self._groups_of(statistic)
        if isinstance(statistic, Statistic):
            cells = groups[self._cells].tolist()
            return _group_sums(cells, self._sums[statistic], self._plan.cells.groups)
        assert isinstance(statistic, DistinctCount)
        if statistic.is_unit:
            units, places = self._table.unit_cells(self._plan.cells.clique)
            return self._count_pairs(groups[places], units)
        return self._count_pairs(*self._occupied_values(statistic, groups))

    def values_by_group(self, search: QuantileSearch) -> list[GroupValues]:
        """The values of a column in every group, in rising order."""
        cells, values, times = self._table.cell_values(
            self._plan.cells.clique, search.column
        )
        groups = self._groups_of(search)[cells]
        # By the declared bounds, which the search's candidates span; nothing is left
        # out.
        clipped = np.clip(values, search.low, search.high)
        order = np.lexsort((clipped, groups))
        ends = np.searchsorted(groups[order], np.arange(self._plan.cells.groups + 1))
        found = []
        for first, last in pairwise(ends.tolist()):
            rows = order[first:last]
            found.append(GroupValues(clipped[rows], times[rows]))
        return found

    def _groups_of(self, statistic: AnyStatistic) -> NDArray[np.int64]:
        """The group of each cell whose rows a statistic is about; -1 for the others."""
        return np.where(
            self._plan.selects(statistic), self._plan.cells.group_of_cell, -1
        )

    def _occupied_values(
        self, statistic: DistinctCount, groups: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The group and the value of each cell that holds a row with a value."""
        cells = self._plan.cells
        axis = cells.clique.index(statistic.column)
        codes = np.unravel_index(self._cells, cells.sizes)[axis]
        codec = cells.codecs[statistic.column]
        is_held = np.array(self._counts, object) > 0
        is_value = codec.is_value[codes] & is_held.astype(np.bool_)
        return np.where(is_value, groups[self._cells], -1), codes.astype(np.int64)

    def _count_pairs(
        self, groups: NDArray[np.int64], others: NDArray[np.int64]
    ) -> list[int]:
        """How many different partners each group has."""
        inside = groups >= 0
        pairs = np.unique(np.stack([groups[inside], others[inside]]), axis=1)
        counts = np.bincount(pairs[0], minlength=self._plan.cells.groups)
        return [int(count) for count in counts]


def is_drawable(offer: Offer) -> bool:
    """Whether no statistic needs wider noise than there is."""
    scales = [order.scale for order in offer.orders if order.scale is not None]
    return max(scales, default=Fraction(0)) <= MAX_NOISE_SCALE


def _group_sums(groups: Sequence[int], sums: Sequence[int], size: int) -> list[int]:
    """Sums by cell as sums by group, in Python's integers."""
    totals = [0] * size
    for group, value in zip(groups, sums, strict=True):
        if group >= 0:
            totals[group] += value
    return totals
