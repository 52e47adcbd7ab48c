"""A filter on Rényi privacy over several orders.

Feldman, Zrnic, "Individual privacy accounting via a Rényi filter", 2021; Lécuyer,
"Practical privacy filters and odometers with Rényi differential privacy", 2021.

Each order α has an allowance B(α). A question is admitted as long as some order stays
feasible: Σ ε_i(α) ≤ B(α).

Why it is private. For one order fixed in advance, stopping before Σ ε_i(α) exceeds B(α)
bounds the Rényi divergence of the whole adaptive interaction by B(α), and so its δ at
the budget's ε by a δ_α. Which order is feasible at the end may depend on answers. But
E[(1 − e^(ε − L))⁺], L the privacy loss, is at most the sum of what it is on the
transcripts that leave each order feasible, so the δ_α add up: each of n orders gets
δ/n, and B(α) is what converts to (ε, δ/n). A single order pays nothing for that.

Checked against all transcripts of adaptive randomised response, and against numerical
composition, in tests/accounting/filters/test_renyi_filter.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.filters.renyi import (
    ACCOUNTED_RENYI_ORDERS,
    RenyiCost,
    renyi_allowed,
)
from understudy.errors import BudgetExceeded, InvalidBudget


@dataclass
class RenyiFilter:
    """Admits questions while some order has room.

    >>> from understudy.accounting.filters.renyi import renyi_of_gaussian
    >>> run = RenyiFilter.of(Budget.of(1))
    >>> run.admit(renyi_of_gaussian(Fraction(1, 50)))
    >>> run.admits(renyi_of_gaussian(Fraction(1, 50)))
    False
    """

    orders: tuple[Fraction, ...]
    allowed: tuple[Fraction, ...]
    spent: tuple[Fraction, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not self.spent:
            self.spent = (Fraction(0),) * len(self.orders)

    @classmethod
    def of(
        cls, budget: Budget, orders: tuple[Fraction, ...] = ACCOUNTED_RENYI_ORDERS
    ) -> RenyiFilter:
        """The filter of a run on this budget, whose δ is shared by the orders."""
        # Which order holds at the end depends on answers, so that their δ add up.
        share = Budget(budget.epsilon, budget.delta / len(orders))
        allowed = tuple(renyi_allowed(share, order) for order in orders)
        if max(allowed) <= 0:
            raise InvalidBudget(
                f"No order of Rényi privacy allows anything at {budget}: use a larger ε"
                " or δ, or pure ε. Nothing was spent."
            )
        return cls(orders, allowed)

    @property
    def feasible_orders(self) -> tuple[Fraction, ...]:
        """The orders whose allowance is not exceeded. One that is lost never returns."""
        rows = zip(self.orders, self.spent, self.allowed, strict=True)
        return tuple(order for order, spent, allowed in rows if spent <= allowed)

    def admits(self, cost: RenyiCost) -> bool:
        """Whether a question at this cost would leave some order feasible."""
        rows = zip(self._after(cost).amounts, self.allowed, strict=True)
        # One order is enough: each bounds the whole interaction by itself.
        return any(spent <= allowed for spent, allowed in rows)

    def admit(self, cost: RenyiCost) -> None:
        """Pay, or raise BudgetExceeded and leave everything as it was."""
        if not self.admits(cost):
            raise BudgetExceeded(
                "This question would leave no order of Rényi privacy within its"
                " allowance. Nothing was spent."
            )
        self.spent = self._after(cost).amounts

    def _after(self, cost: RenyiCost) -> RenyiCost:
        return RenyiCost(self.orders, self.spent) + cost
