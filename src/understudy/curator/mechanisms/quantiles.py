"""Private quantiles of a bounded column, on its own lattice: the exponential mechanism
over every lattice point between the bounds.

Smith, "Privacy-preserving statistical estimation with optimal convergence rates", 2011.
The score of a point c for the quantile α is −|(1 − α) · #{x < c} − α · #{x > c}|.
Points of equal score are drawn as one run weighted by its length, so the lattice may be
long. Exact (noise/quantile.py).

Why it is private. A score moves by at most max(α, 1 − α) per row added or removed, and
by at most 1 per row replaced; a row without a value counts nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.pricing import choice_epsilon_for, price_choice
from understudy.curator.context import MechanismContext
from understudy.curator.payment import NoisyAnswer
from understudy.errors import Refused
from understudy.noise import quantile
from understudy.schema import Lattice

MAX_QUANTILE_PARTS = 10**6
"""Most parts a quantile may be divided into. Finer ones overflow with many rows, and
whether they do would tell how many there are.
"""


def choose_quantiles(
    context: MechanismContext,
    column: Lattice,
    alphas: Sequence[Fraction],
    *,
    amount: Fraction,
) -> list[int]:
    """Lattice indices near each quantile, in rising order; the amount is split equally."""
    if column.low is None or column.high is None:
        remedy = (
            "Add `min` and `max` to the schema, or let part of the budget find them:"
            " bounds: learn"
        )
        raise Refused(f"{column.name}: a quantile needs bounds. {remedy}")
    if not alphas or not all(_is_exact_quantile(alpha) for alpha in alphas):
        raise Refused(
            f"{column.name}: a quantile is an exact fraction from 0 to 1, in at most"
            f" {MAX_QUANTILE_PARTS:,} parts. Nothing was spent"
        )
    low = column.low
    high = column.high
    epsilon = choice_epsilon_for(amount / len(alphas), context.accounting)
    one = price_choice(epsilon, context.accounting)
    cost = Cost(context.accounting, one.amount * len(alphas))
    request = {
        "mechanism": "quantiles",
        "column": column.name,
        "alphas": list(alphas),
        "epsilon": epsilon,
        "range": [low, high],
    }

    def draw_indices(
        exact: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> NoisyAnswer:
        values, counts = exact
        drawn = [
            quantile(
                values,
                alpha=alpha,
                lo=low,
                hi=high,
                epsilon=epsilon,
                neighbours=context.neighbours,
                counts=counts,
                max_rows=context.max_rows,
            )
            for alpha in alphas
        ]
        return {"indices": np.array(drawn, np.int64)}

    answer = context.payments.pay(
        request,
        cost,
        lambda: context.table.lattice(column.name),
        draw_indices,
    )
    # Sorting is post-processing: noise may have put a higher quantile below a lower one.
    return sorted(int(index) for index in answer["indices"])


def _is_exact_quantile(alpha: object) -> bool:
    if not isinstance(alpha, Fraction) or not 0 <= alpha <= 1:
        return False
    return alpha.denominator <= MAX_QUANTILE_PARTS
