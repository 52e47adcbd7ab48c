"""Plans of the toolbox without a ledger: measured on small tables, compared with brute
force, and audited.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kit.curator.listed import Listed, Row
from kit.privacy.audit import Audit, gdp
from kit.queries.noiseless import QuestionRunInMemory
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.context import Draw, TableProtocol
from understudy.curator.questions import ExactStatistics, QuestionCurator
from understudy.noise import draw_noise
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.offers import Offer, offer_answer
from understudy.queries.plan import QueryPlan
from understudy.queries.precision import pool_values

CLAIM = Fraction(1)
"""μ² of every audited plan."""


def offer_plan(
    plan: QueryPlan,
    relation: Neighbours = Neighbours.ADD_REMOVE,
    amount: Fraction = CLAIM,
) -> Offer:
    return offer_answer(
        plan, neighbours=relation, accounting=Accounting.GDP, amount=amount
    )


def measure(
    plan: QueryPlan,
    table: TableProtocol,
    *,
    amount: Fraction = CLAIM,
    draw: Draw = draw_noise,
) -> list[tuple[list[float], NoiseScale]]:
    """Every statistic of a plan, with the noise that an amount of μ² buys."""
    offer = offer_plan(plan, amount=amount)
    curator = QuestionCurator(table=table, run=QuestionRunInMemory(), draw=draw)
    return [pool_values(each) for each in curator.answer(offer)]


def halve_noise(law: Law, scale: Fraction, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """A broken twin: half of the noise that was paid for."""
    return draw_noise(law, scale / 2, shape)


def exact_values(plan: QueryPlan, table: TableProtocol) -> list[NDArray[np.int64]]:
    """Every statistic of a plan without noise."""
    exact = ExactStatistics(table, plan)
    return [np.array(exact.by_group(i)) for i in range(len(plan.statistics))]


def neighbouring_tables(
    cells: Sequence[Row], relation: Neighbours, most_rows: int = 2
) -> Iterator[tuple[list[Row], list[Row]]]:
    """All pairs of neighbouring tables of at most this many rows."""
    for size in range(most_rows):
        for common in product(cells, repeat=size):
            if relation is Neighbours.ADD_REMOVE:
                for row in cells:
                    yield [*common], [*common, row]
                continue
            for one, other in product(cells, repeat=2):
                yield [*common, one], [*common, other]


def audit_plan(
    plan: QueryPlan,
    tables: tuple[Listed, Listed],
    *,
    relation: Neighbours = Neighbours.ADD_REMOVE,
    trials: int = 500,
    draw: Draw = draw_noise,
) -> Audit:
    """What the best linear test of real answers proves about the charge."""
    offer = offer_plan(plan, relation)
    here, there = (exact_values(plan, table) for table in tables)
    direction = [
        (b - a) / max(float(order.scale or 0), 1e-3) ** 2
        for a, b, order in zip(here, there, offer.orders, strict=True)
    ]
    middle = sum(
        float(d @ (a + b)) / 2 for d, a, b in zip(direction, here, there, strict=True)
    )
    scores = []
    for table in tables:
        curator = QuestionCurator(table=table, run=QuestionRunInMemory(), draw=draw)
        own = []
        for _ in range(trials):
            answers = curator.answer(offer)
            own.append(
                sum(
                    float(np.dot(d, answer[-1].values))
                    for d, answer in zip(direction, answers, strict=True)
                )
            )
        scores.append(np.array(own))
    return gdp(*scores, math.sqrt(CLAIM), at=middle, alpha=1e-7)
