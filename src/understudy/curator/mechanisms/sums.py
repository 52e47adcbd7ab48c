"""Sums and means of a clipped column, exact on its lattice.

Why it is private. A row adds its lattice index, clipped to [low, high], minus a public
origin; a row without a value adds nothing. So adding or removing one moves the sum by
at most max(high − origin, origin − low, 0), replacing one by at most max of that and
high − low. A unit has max_rows of them. The sum is a Python integer: it cannot wrap.
The mean is two answers, a sum around the middle and a count, each paid for; nothing
here divides by a private number of rows.

A sum may be released in steps of a public granularity γ: it is rounded to the nearest
multiple (halves up), and noise is added in whole steps. Rounding commutes with whole
steps, so it moves by at most ⌈Δ/γ⌉ of them where the sum moves by Δ (noise/granularity.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Cost, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price
from understudy.curator.context import MechanismContext
from understudy.curator.payment import NoisyAnswer
from understudy.errors import Refused
from understudy.noise import round_to_lattice
from understudy.schema import Lattice


@dataclass(frozen=True)
class Sum:
    """A noisy sum of (clipped lattice index − origin) over the rows that have a value."""

    column: str
    value: int
    origin: int
    law: Law
    scale: Fraction
    cost: Cost
    granularity: int = 1
    """The value is a multiple of this; the scale of the noise is in these steps."""


@dataclass(frozen=True)
class Mean:
    """A noisy mean: a sum around the middle of the bounds, and a count."""

    sum: Sum
    count: Sum
    low: int
    high: int

    @property
    def index(self) -> Fraction:
        """The mean as a lattice index, inside the bounds; their middle where the noisy
        count is not positive.
        """
        if self.count.value <= 0:
            return Fraction(self.sum.origin)
        mean = self.sum.origin + Fraction(self.sum.value, self.count.value)
        return min(max(mean, Fraction(self.low)), Fraction(self.high))


def measure_sum(
    context: MechanismContext,
    column: Lattice,
    *,
    amount: Fraction,
    origin: int = 0,
    granularity: int = 1,
) -> Sum:
    """The noisy sum of a bounded column, in steps of `granularity`."""
    if type(granularity) is not int or granularity < 1:
        raise Refused(
            f"{column.name}: a granularity is a whole number of lattice steps, at least"
            " 1. Nothing was spent"
        )
    low, high = _require_bounds(column)
    reach = max(high - origin, origin - low, 0)
    if context.neighbours is Neighbours.REPLACE:
        reach = max(reach, high - low)
    if reach * context.max_rows >= 2**53:
        raise Refused(
            f"{column.name}: its bounds are too wide for its step. Use a coarser step."
            " Nothing was spent"
        )

    def compute_exact() -> int:
        total = context.table.sum(column.name, low, high)
        return total - origin * context.table.count_valid(column.name)

    return _measure_value(
        context,
        column.name,
        compute_exact,
        reach=max(reach, 1),
        origin=origin,
        amount=amount,
        what="sum",
        granularity=granularity,
    )


def measure_mean(
    context: MechanismContext,
    column: Lattice,
    *,
    amount: Fraction,
) -> Mean:
    """The noisy mean of a bounded column: half the amount for the sum, half for the
    count.
    """
    # Around the middle one row moves the sum least.
    low, high = _require_bounds(column)
    around = measure_sum(context, column, amount=amount / 2, origin=(low + high) // 2)
    count = _measure_value(
        context,
        column.name,
        lambda: context.table.count_valid(column.name),
        reach=1,
        origin=0,
        amount=amount / 2,
        what="count of values",
    )
    return Mean(around, count, low, high)


def _require_bounds(column: Lattice) -> tuple[int, int]:
    if column.low is None or column.high is None:
        remedy = (
            "Add `min` and `max` to the schema, or let part of the budget find them:"
            " bounds: learn"
        )
        raise Refused(
            f"{column.name}: a sum needs bounds before it can be released. {remedy}"
        )
    return column.low, column.high


def _measure_value(
    context: MechanismContext,
    column: str,
    exact: Callable[[], int],
    *,
    reach: int,
    origin: int,
    amount: Fraction,
    what: str,
    granularity: int = 1,
) -> Sum:
    moves = Fraction(math.ceil(Fraction(reach * context.max_rows, granularity)))
    sensitivity = Sensitivity(l1=moves, l2_squared=moves * moves, l0=1, linf=moves)
    scale = context.scale(amount, sensitivity)
    cost = price(context.law, scale, sensitivity, context.accounting)
    request: dict[str, object] = {
        "mechanism": what,
        "column": column,
        "law": context.law,
        "scale": scale,
        "origin": origin,
    }
    # Left out where it is 1: runs of earlier versions are resumed by the same request.
    if granularity != 1:
        request["granularity"] = granularity

    def draw_value(counted: int) -> NoisyAnswer:
        steps = round_to_lattice(Fraction(counted), Fraction(granularity))
        noise = int(context.draw(context.law, scale, (1,))[0])
        # Text, because a sum may exceed 64 bits.
        return {"value": np.array(str((steps + noise) * granularity))}

    answer = context.payments.pay(request, cost, exact, draw_value)
    value = int(str(answer["value"]))
    return Sum(column, value, origin, context.law, scale, cost, granularity)
