"""Filters: admit or refuse a question before any data is touched; and how costs add up
across questions.

A run is given an amount of one accounting. A question is admitted when what was spent
plus its price stays within the amount, however the question was chosen: by a plan, or
in view of earlier answers. That is enough for privacy with adaptively chosen prices,
for pure ε (Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters", 2016), for ρ
(Feldman, Zrnic, "Individual privacy accounting via a Rényi filter", 2021) and for μ²
(Koskela, Tobaben, Honkela, "Individual privacy accounting with Gaussian differential
privacy", 2023; Smith, Thakurta, "Fully adaptive composition for Gaussian differential
privacy", 2022). The δ of thresholds adds up beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from understudy.accounting.budget import Budget, spell_value, spell_values_apart
from understudy.accounting.conversion import total_for
from understudy.accounting.cost import Accounting, Cost, round_up_long_amount
from understudy.accounting.neighbours import Neighbours
from understudy.errors import BudgetExceeded, InvalidBudget

ACCOUNTING_SYMBOLS = {Accounting.PURE: "ε", Accounting.GDP: "μ²", Accounting.ZCDP: "ρ"}
"""How an amount of each accounting is written."""


@dataclass
class Filter:
    """What one run may spend, and what it has spent.

    >>> run = Filter(Accounting.PURE, Fraction(1))
    >>> run.admit(Cost(Accounting.PURE, Fraction(3, 4)))
    >>> run.admits(Cost(Accounting.PURE, Fraction(1, 2))), run.amount_left
    (False, Fraction(1, 4))
    """

    accounting: Accounting
    total: Fraction
    delta: Fraction = Fraction(0)
    """δ set aside for thresholds; what the conversion of the total uses is not part of
    it.
    """
    spent: Fraction = field(default=Fraction(0), kw_only=True)
    spent_delta: Fraction = field(default=Fraction(0), kw_only=True)

    @classmethod
    def of(
        cls,
        budget: Budget,
        *,
        accounting: Accounting | None = None,
        threshold_delta: Fraction = Fraction(0),
    ) -> Filter:
        """The filter of a run on this budget; in a GDP or zCDP run `threshold_delta` of
        its δ is set aside for thresholds.

        A pure run needs no δ for itself, so all of it is there for thresholds.

        >>> Filter.of(Budget.of(1, 0)).total
        Fraction(1, 1)
        """
        chosen = accounting or budget.accounting
        if chosen is Accounting.PURE:
            return cls(chosen, budget.epsilon, budget.delta)
        if not 0 <= threshold_delta < budget.delta:
            raise InvalidBudget(
                "The δ set aside for thresholds must be below the whole δ of"
                f" {spell_value(budget.delta)}: give a larger δ. Nothing was spent."
            )
        # What thresholds do not use of δ converts ε to the run's accounting.
        converted = Budget(budget.epsilon, budget.delta - threshold_delta)
        return cls(chosen, total_for(converted, chosen), threshold_delta)

    def fits_budget(self, budget: Budget) -> bool:
        """Whether everything this filter admits stays within the budget.

        >>> Filter(Accounting.PURE, Fraction(2)).fits_budget(Budget.of(1))
        False
        """
        if self.accounting is Accounting.PURE:
            return self.total <= budget.epsilon and self.delta <= budget.delta
        whole = Filter.of(
            budget, accounting=self.accounting, threshold_delta=self.delta
        )
        return self.total <= whole.total

    @property
    def amount_left(self) -> Fraction:
        """What can still be spent of the accounting."""
        return self.total - self.spent

    @property
    def delta_left(self) -> Fraction:
        """What can still be spent of the δ for thresholds."""
        return self.delta - self.spent_delta

    def admits(self, cost: Cost) -> bool:
        """Whether a question at this price would be answered."""
        if cost.accounting is not self.accounting:
            raise InvalidBudget(
                f"This run adds up {ACCOUNTING_SYMBOLS[self.accounting]} and the"
                f" question is priced in {ACCOUNTING_SYMBOLS[cost.accounting]}: price"
                " it in the run's accounting. Nothing was spent."
            )
        return (
            self.spent + cost.amount <= self.total
            and self.spent_delta + cost.delta <= self.delta
        )

    def admit(self, cost: Cost) -> None:
        """Pay, or raise BudgetExceeded and leave everything as it was."""
        if not self.admits(cost):
            raise self._overspending_error(cost)
        # Rounded up, so that what is left is never more than it should be.
        self.spent = round_up_long_amount(self.spent + cost.amount)
        self.spent_delta = round_up_long_amount(self.spent_delta + cost.delta)

    def _overspending_error(self, cost: Cost) -> BudgetExceeded:
        """Which of the two amounts a question exceeds."""
        symbol, asked, left, total = "δ", cost.delta, self.delta_left, self.delta
        if self.spent + cost.amount > self.total:
            symbol = ACCOUNTING_SYMBOLS[self.accounting]
            asked, left, total = cost.amount, self.amount_left, self.total
        price, rest = spell_values_apart(asked, left)
        return BudgetExceeded(
            f"This question would cost {symbol} = {price} and only {rest} of"
            f" {spell_value(total)} is left in this run. Nothing was spent."
        )


def compose_sequential(costs: Iterable[Cost]) -> Cost:
    """The cost of answering all of them about the same rows.

    >>> amounts = [Fraction(x) for x in ("0.5", "0.2", "0.25", "0.25")]
    >>> compose_sequential(Cost(Accounting.PURE, amount) for amount in amounts).amount
    Fraction(6, 5)
    """
    first, *rest = costs
    return sum(rest, first)


def compose_parallel(
    costs: Sequence[Cost], neighbours: Neighbours, *, constant_within_unit: bool = True
) -> Cost:
    """The cost of answering each of them about its own part of the table, the parts
    being disjoint.

    Under add/remove a unit is in one part: the dearest counts. Under replace it may
    leave one part and enter another: the two dearest count. Where the rows of one unit
    may lie in several parts, nothing is saved.

    >>> parts = [Cost(Accounting.PURE, Fraction(x)) for x in ("0.2", "0.25")]
    >>> [compose_parallel(parts, relation).amount for relation in Neighbours]
    [Fraction(1, 4), Fraction(9, 20)]
    """
    together = compose_sequential(costs)
    if not constant_within_unit:
        return together
    touched = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    # The largest amount and the largest δ may belong to different parts: both count.
    amounts = sorted(c.amount for c in costs)
    deltas = sorted(c.delta for c in costs)
    return Cost(
        together.accounting,
        sum(amounts[-touched:], Fraction(0)),
        sum(deltas[-touched:], Fraction(0)),
    )
