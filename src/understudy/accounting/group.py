"""Group privacy: what a guarantee for one unit says about k of them.

Pure: kε. GDP: kμ, so k²μ² (Dong, Roth, Su 2022, Thm. 2.14). zCDP: k²ρ (Bun, Steinke
2016, Prop. 1.9). (ε, δ): kε and δ·(e^{kε} − 1)/(e^ε − 1), by walking from one table to
the other in k steps.
"""

from __future__ import annotations

import math
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import CONVERSION_MARGIN, SMALLEST_DOUBLE
from understudy.accounting.cost import Accounting, Cost
from understudy.errors import Refused


def group_cost(cost: Cost, size: int) -> Cost:
    """The cost of an answer for `size` units together.

    >>> group_cost(Cost(Accounting.ZCDP, Fraction(1, 8)), 2).amount
    Fraction(1, 2)
    """
    _require_members(size)
    if cost.delta > 0 and size > 1:
        raise Refused(
            "A cost with a δ of its own has no group cost: convert it to (ε, δ) first"
            " and use group_budget. Nothing was spent."
        )
    factor = size if cost.accounting is Accounting.PURE else size**2
    return Cost(cost.accounting, cost.amount * factor, cost.delta)


def group_budget(budget: Budget, size: int) -> Budget:
    """The (ε, δ) that holds for `size` units together, δ rounded up.

    >>> group_budget(Budget.of(1, 0), 3)
    Budget(epsilon=Fraction(3, 1), delta=Fraction(0, 1))
    """
    _require_members(size)
    if budget.delta == 0 or size == 1:
        return Budget(budget.epsilon * size, budget.delta)
    one = max(float(budget.epsilon), SMALLEST_DOUBLE)
    # log((e^(kε) − 1)/(e^ε − 1)) = (k − 1)ε + log(1 − e^(−kε)) − log(1 − e^(−ε)).
    all_steps = math.log(-math.expm1(-size * one))
    one_step = math.log(-math.expm1(-one))
    growth = (size - 1) * one + all_steps - one_step
    delta = budget.delta
    logarithm = growth + math.log(delta.numerator) - math.log(delta.denominator)
    if logarithm >= -1e-9:
        raise Refused(
            f"At {budget} nothing is guaranteed for a group of {size}: take a smaller ε"
            " or δ. Nothing was spent."
        )
    # δ itself stays exact: one that no double can hold must not become 0. Its factor is
    # taken in parts that a double can hold.
    parts = 1 + math.floor(growth / 500)
    factor = Fraction(math.exp(growth / parts)) ** parts
    return Budget(
        budget.epsilon * size, budget.delta * factor * (1 + CONVERSION_MARGIN)
    )


def _require_members(size: int) -> None:
    if size < 1:
        raise Refused("A group has at least one member. Nothing was spent.")
