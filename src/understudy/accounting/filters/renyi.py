"""Rényi differential privacy: what a mechanism costs at each of several orders.

Mironov, "Rényi differential privacy", 2017. A mechanism is (α, ε(α))-RDP where no pair
of neighbours has a Rényi divergence of order α above ε(α). Adaptive composition adds up
at each order.

| mechanism | ε(α) |
|---|---|
| Gaussian noise with μ | α·μ²/2 |
| ρ-zCDP | α·ρ |
| any with pure ε | that of randomised response with ε, which dominates it |
| private choice with ε | the smaller of the two above, with ρ = ε²/8 |

To (ε, δ): Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy",
2020, Prop. 12, at the best order. Amounts are rounded up and what they allow is rounded
down (`CONVERSION_MARGIN`); tests/accounting/filters/test_renyi.py compares with
numerical composition of privacy loss distributions, which is never above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import CONVERSION_MARGIN
from understudy.accounting.cost import Accounting, Cost, round_up_long_amount
from understudy.errors import InvalidBudget, Refused

_SMALL_ORDERS = tuple(Fraction(quarters, 4) for quarters in (5, 6, 8, 10))
_LARGE_ORDERS = (3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256)

ACCOUNTED_RENYI_ORDERS = (*_SMALL_ORDERS, *map(Fraction, (*_LARGE_ORDERS, 512, 1024)))
"""Orders α at which privacy loss is added up. The best one is near 1 + √(ln(1/δ)/ρ):
at δ = 1e-9 these cover ρ from 300 down to 2e-5.
"""


@dataclass(frozen=True)
class RenyiCost:
    """ε(α) at every order of `orders`, exact numbers rounded up.

    >>> spent = renyi_of_gaussian(Fraction(1, 100)) + renyi_of_pure(Fraction(1, 10))
    >>> f"{float(epsilon_of_renyi(spent, Fraction(1, 10**9))):.3f}"
    '0.657'
    """

    orders: tuple[Fraction, ...]
    amounts: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.orders) != len(self.amounts) or not self.orders:
            raise ValueError("a Rényi cost has one amount for each order")
        if min(self.orders) <= 1 or min(self.amounts) < 0:
            raise ValueError("orders are above 1, and a cost is never negative")

    def __add__(self, other: RenyiCost) -> RenyiCost:
        if self.orders != other.orders:
            raise ValueError("costs at other orders do not add up")
        both = zip(self.amounts, other.amounts, strict=True)
        return RenyiCost(
            self.orders,
            tuple(round_up_long_amount(here + there) for here, there in both),
        )


def renyi_of_zcdp(
    rho: Fraction, orders: tuple[Fraction, ...] = ACCOUNTED_RENYI_ORDERS
) -> RenyiCost:
    """Concentrated privacy: linear in the order.

    >>> renyi_of_zcdp(Fraction(1, 8), (Fraction(2),)).amounts
    (Fraction(1, 4),)
    """
    return RenyiCost(orders, tuple(order * rho for order in orders))


def renyi_of_gaussian(
    mu_squared: Fraction, orders: tuple[Fraction, ...] = ACCOUNTED_RENYI_ORDERS
) -> RenyiCost:
    """Gaussian noise with μ² = L2²/σ², and every μ-GDP mechanism, which it dominates.

    >>> renyi_of_gaussian(Fraction(1, 4), (Fraction(2),)).amounts
    (Fraction(1, 4),)
    """
    return renyi_of_zcdp(mu_squared / 2, orders)


def renyi_of_pure(
    epsilon: Fraction, orders: tuple[Fraction, ...] = ACCOUNTED_RENYI_ORDERS
) -> RenyiCost:
    """Any ε-private mechanism: the divergence of randomised response.

    >>> renyi_of_pure(Fraction(1), (Fraction(1024),)).amounts[0] < 1
    True
    """
    if epsilon <= 0:
        return RenyiCost(orders, (Fraction(0),) * len(orders))
    return RenyiCost(orders, tuple(_pure_amount(epsilon, order) for order in orders))


def renyi_of_choice(
    epsilon: Fraction, orders: tuple[Fraction, ...] = ACCOUNTED_RENYI_ORDERS
) -> RenyiCost:
    """One draw of the exponential mechanism, which is ε-bounded-range.

    >>> renyi_of_choice(Fraction(1), (Fraction(2),)).amounts
    (Fraction(1, 4),)
    """
    concentrated = renyi_of_zcdp(epsilon**2 / 8, orders).amounts
    pure = renyi_of_pure(epsilon, orders).amounts
    return RenyiCost(orders, tuple(map(min, concentrated, pure)))


def renyi_of_cost(
    cost: Cost, orders: tuple[Fraction, ...] = ACCOUNTED_RENYI_ORDERS
) -> RenyiCost:
    """A cost of another accounting.

    >>> renyi_of_cost(Cost(Accounting.ZCDP, Fraction(1, 2)), (Fraction(3),)).amounts
    (Fraction(3, 2),)
    """
    if cost.delta > 0:
        raise Refused(
            "A cost with a δ of its own has no Rényi cost: keep the δ apart. Nothing"
            " was spent."
        )
    match cost.accounting:
        case Accounting.PURE:
            return renyi_of_pure(cost.amount, orders)
        case Accounting.GDP:
            return renyi_of_gaussian(cost.amount, orders)
        case Accounting.ZCDP:
            return renyi_of_zcdp(cost.amount, orders)


def epsilon_of_renyi(cost: RenyiCost, delta: Fraction) -> Fraction:
    """The smallest ε that a Rényi cost guarantees at this δ, at its best order, rounded
    up. For costs that were fixed in advance; `RenyiFilter` is for adaptive ones.
    """
    pairs = zip(cost.orders, cost.amounts, strict=True)
    bounds = [amount + _conversion_slack(order, delta) for order, amount in pairs]
    return max(Fraction(0), min(bounds)) * (1 + CONVERSION_MARGIN)


def renyi_allowed(budget: Budget, order: Fraction) -> Fraction:
    """The largest ε(α) at one order that implies this (ε, δ), rounded down; negative
    where no cost at this order does.
    """
    return budget.epsilon * (1 - CONVERSION_MARGIN) - _conversion_slack(
        order, budget.delta
    )


def _conversion_slack(order: Fraction, delta: Fraction) -> Fraction:
    """What the conversion of ε(α) to (ε, δ) adds, rounded up:
    (ln(1/δ) + α·ln(1 − 1/α) − ln(α − 1)) / (α − 1).
    """
    if not 0 < delta < 1:
        raise InvalidBudget(
            "Rényi privacy needs a δ above 0 and below 1, such as 1e-9. Nothing was"
            " spent."
        )
    a = float(order)
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    terms = (-log_delta, a * math.log1p(-1 / a), -math.log(a - 1))
    slack = math.fsum(terms) / (a - 1)
    # The terms may cancel: the margin is one of their sizes, not of their sum.
    size = sum(map(abs, terms)) / (a - 1)
    return Fraction(slack) + Fraction(size) * CONVERSION_MARGIN


def _pure_amount(epsilon: Fraction, order: Fraction) -> Fraction:
    """Rényi divergence of two coins with odds e^ε and e^(−ε), rounded up."""
    # Never above ε, nor above ε²·α/2 (Bun, Steinke 2016, Prop. 3.3).
    simple = min(epsilon, order * epsilon**2 / 2)
    e, a = float(epsilon), float(order)
    if e > 1e-4:
        # log(e^(αε) + e^((1−α)ε)) − log(1 + e^ε), with the larger exponent taken out.
        larger = a * e + math.log1p(math.exp((1 - 2 * a) * e))
        total = larger - e - math.log1p(math.exp(-e))
        # The two logarithms may cancel: a margin of their size.
        margin = Fraction((a + 1) * e + 1) * CONVERSION_MARGIN
        exact = (Fraction(total) + margin) / (order - 1)
        return min(simple, max(exact, Fraction(0)))
    return simple
