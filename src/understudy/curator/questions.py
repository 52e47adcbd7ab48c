"""Answers to single questions: charge, then count, then draw, then store, then answer.

A synthesizer's questions are counted before they are charged (payment.py): its owner
may repeat what failed. An analyst may not: how a count fails could depend on rows, so
here the charge comes first, and a failure after it stays paid for.

Why it is private. A statistic is a vector of integers, one for each group, that one unit
moves by at most its sensitivity (queries/statistics.py), computed from the cells and
bounds that are applied here. Noise of the scale that the charge is the price of is added
to every entry. Nothing else of the rows leaves: cells that hold no rows and cells that
do take the same way, and which cells occur is seen by nobody.

Sensitivity checked by brute force in tests/curator/test_questions.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.filter import Filter
from understudy.accounting.pricing import default_law
from understudy.accounting.questions.partition import PartitionScope
from understudy.curator.context import Draw, TableProtocol
from understudy.curator.interrupts import hold_signals
from understudy.errors import Refused
from understudy.noise import draw_noise
from understudy.noise.samplers import MAX_NOISE_SCALE
from understudy.queries.offers import Offer, StatisticOrder
from understudy.queries.plan import QueryPlan
from understudy.queries.precision import NoisyValues


class QuestionRunProtocol(Protocol):
    """The part of a run of questions that answers need."""

    @property
    def filter(self) -> Filter:
        """What the run may spend and has spent."""

    def charge(
        self,
        cost: Cost,
        digest: str,
        *,
        analyst: str = "",
        purpose: str = "",
        scope: PartitionScope | None = None,
    ) -> int:
        """Write the charge down durably; its step."""

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
        self, offer: Offer, *, analyst: str = "", purpose: str = ""
    ) -> list[tuple[NoisyValues, ...]]:
        """Every statistic of an offer as it was measured, earlier answers first; each
        is charged before any row is read for it.
        """
        self._refuse_undrawable(offer)
        exact: list[list[int]] | None = None
        measured = []
        for place, order in enumerate(offer.orders):
            if order.scale is None:
                measured.append(order.earlier)
                continue
            step = self.run.charge(
                order.cost,
                order.digest,
                analyst=analyst,
                purpose=purpose,
                scope=order.scope,
            )
            # Once for all statistics of the question, behind the first charge.
            if exact is None:
                exact = group_statistics(self.table, offer.plan)
            with hold_signals():
                noisy = self._draw_values(exact[place], order)
                self.run.store(step, order.digest, noisy.to_bytes())
            measured.append((*order.earlier, noisy))
        return measured

    def _refuse_undrawable(self, offer: Offer) -> None:
        """Refuse, before the first charge, what the run would refuse at a later one."""
        budget = self.run.filter
        if not budget.admits(offer.cost):
            # Raises what the run would raise, on a copy of its filter.
            budget.admit(offer.cost)
        for order in offer.orders:
            if order.scale is not None and order.scale > MAX_NOISE_SCALE:
                raise Refused(
                    "This question needs noise wider than any that is drawn (2^50). Use"
                    " a larger ε. Nothing was spent"
                )

    def _draw_values(self, exact: list[int], order: StatisticOrder) -> NoisyValues:
        law = default_law(order.cost.accounting)
        assert order.scale is not None
        values = exact
        if order.scale:
            noise = self.draw(law, order.scale, (len(exact),))
            values = [x + int(z) for x, z in zip(exact, noise, strict=True)]
        return NoisyValues(tuple(values), law, order.scale)


def group_statistics(table: TableProtocol, plan: QueryPlan) -> list[list[int]]:
    """The exact statistics of a plan, by group. They leave the curator with noise only."""
    own = table.with_schema(plan.cells.schema)
    cells, sums = own.cell_sums(plan.cells.clique, plan.statistics)
    return [
        _group_sums(plan, plan.selects(statistic), cells, by_cell)
        for statistic, by_cell in zip(plan.statistics, sums, strict=True)
    ]


def _group_sums(
    plan: QueryPlan,
    selected: NDArray[np.bool_],
    cells: NDArray[np.int64],
    sums: Sequence[int],
) -> list[int]:
    """Sums by cell as sums by group, in Python's integers."""
    groups = np.where(selected, plan.cells.group_of_cell, -1)[cells]
    totals = [0] * plan.cells.groups
    for group, value in zip(groups.tolist(), sums, strict=True):
        if group >= 0:
            totals[group] += value
    return totals
