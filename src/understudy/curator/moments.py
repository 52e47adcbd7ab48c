"""Noisy moments of a formula's columns at full resolution: Z'Z, entry by entry.

A marginal of a column of many values pays for every cell; least squares needs only sums
of products. Rows are not binned: a number counts as its place on the lattice, clipped to
the declared or learned bounds.

Why it is private. Every entry is a statistic of public cells, an integer that one unit
moves by at most its sensitivity (queries/statistics.py); its noise has the scale at which
this sensitivity costs an equal part of the amount, and the parts add up. In the corner of
the bounds one row moves all entries at once, so a joint sensitivity would be no smaller
(toolbox/moments.py).

Products of fine columns are large numbers. They are rounded to a public step before noise
is drawn in whole steps, as sums are (mechanisms/sums.py): rounding commutes with whole
steps, so an entry that moves by Δ moves by at most ⌈Δ/step⌉ of them.

Sensitivity checked by brute force in tests/curator/test_moments.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Cost, Sensitivity
from understudy.accounting.pricing import price
from understudy.curator.context import MechanismContext
from understudy.curator.payment import NoisyAnswer
from understudy.curator.questions import ExactStatistics
from understudy.measurements.moments import MomentMeasurement
from understudy.noise import round_to_lattice
from understudy.toolbox.moments import MomentPlan

MAX_MOMENT_STEPS = 1 << 24
"""Steps that one unit moves an entry by: the error of rounding to them is far below any
noise, and the noise far below the widest that is drawn.
"""


@dataclass(frozen=True)
class _NoisyEntry:
    """How one entry is released: in which steps, with how much noise, at what cost."""

    step: int
    scale: Fraction
    cost: Cost


def measure_moments(
    context: MechanismContext, plan: MomentPlan, amount: Fraction
) -> MomentMeasurement:
    """The moments of a plan, for at most `amount` in all."""
    statistics = plan.plan.statistics
    entries = [
        _price_entry(
            context,
            plan.plan.sensitivity(statistic, context.neighbours),
            amount / len(statistics),
        )
        for statistic in statistics
    ]
    total = sum((each.cost for each in entries), Cost(context.accounting, Fraction(0)))
    request = {
        "mechanism": "moments",
        "law": context.law,
        "formula": str(plan.plan.query),
        "statistics": [
            [plan.plan.digest(statistic), each.scale, each.step]
            for statistic, each in zip(statistics, entries, strict=True)
        ],
    }

    def add_up() -> list[int]:
        exact = ExactStatistics(context.table, plan.plan)
        # A plan of moments has one group: all rows that have all values.
        return [exact.by_group(place)[0] for place in range(len(statistics))]

    def draw_values(sums: list[int]) -> NoisyAnswer:
        noisy = [
            _draw_entry(context, value, each)
            for value, each in zip(sums, entries, strict=True)
        ]
        # Text, because a sum of squares may exceed 64 bits.
        return {"values": np.array([str(value) for value in noisy])}

    answer = context.payments.pay(request, total, add_up, draw_values)
    return MomentMeasurement(
        formula=str(plan.plan.query),
        values=tuple(int(str(value)) for value in answer["values"]),
        law=context.law,
        scales=tuple(each.scale * each.step for each in entries),
        cost=total,
    )


def _price_entry(
    context: MechanismContext, moved: Sensitivity, amount: Fraction
) -> _NoisyEntry:
    """The noise that an amount buys for an entry that one unit moves so far."""
    step = 1
    # A power of two, by the sensitivity alone, which is public.
    while moved.linf > step * MAX_MOMENT_STEPS:
        step *= 2
    steps = Fraction(math.ceil(moved.linf / step))
    # One entry: all norms are the distance that it moves.
    sensitivity = Sensitivity(l1=steps, l2_squared=steps**2, l0=1, linf=steps)
    scale = context.scale(amount, sensitivity)
    cost = price(context.law, scale, sensitivity, context.accounting)
    return _NoisyEntry(step, scale, cost)


def _draw_entry(context: MechanismContext, value: int, entry: _NoisyEntry) -> int:
    steps = round_to_lattice(Fraction(value), Fraction(entry.step))
    # A scale of 0 is that of an entry on which all neighbours agree.
    if entry.scale:
        steps += int(context.draw(context.law, entry.scale, (1,))[0])
    return int(steps * entry.step)
