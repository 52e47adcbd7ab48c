"""What composition saves: one run of questions beside many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.budget import Budget, spell_value
from understudy.accounting.conversion import total_for
from understudy.accounting.cost import Accounting, Cost


@dataclass(frozen=True)
class QuestionComposition:
    """How many questions of one price the ε of a run is worth: inside the run, whose
    accounting composes, and each in a run of its own, whose ε add up.
    """

    budget: Budget
    inside: int
    apart: int

    def __str__(self) -> str:
        return (
            f"such questions for ε = {spell_value(self.budget.epsilon)}:"
            f" {self.inside:,} in one run, {self.apart:,} in runs of their own"
        )


def compose_question(
    budget: Budget, total: Fraction, cost: Cost, epsilon: Fraction
) -> QuestionComposition | None:
    """What the budget of a run, whose accounting may add up to this total, is worth in
    questions of a cost that are ε by themselves; None for a question that is free.

    >>> total = total_for(Budget.of(1), Accounting.GDP)
    >>> gdp = Cost(Accounting.GDP, Fraction("0.0015"))
    >>> print(compose_question(Budget.of(1), total, gdp, Fraction(1, 5)))
    such questions for ε = 1.00: 22 in one run, 5 in runs of their own
    """
    if not cost.amount or not epsilon:
        return None
    inside = math.floor(total / cost.amount)
    # Each would have all of δ: fewer still if they shared it.
    return QuestionComposition(budget, inside, math.floor(budget.epsilon / epsilon))


def composition_saving(budget: Budget, runs: int) -> Fraction:
    """How many times as many questions one run answers as this many runs that share
    its budget equally: μ² composes inside a run, (ε, δ) adds up between runs.

    >>> round(float(composition_saving(Budget.of(5), 10)), 1)
    8.9
    """
    one = total_for(budget, Accounting.GDP)
    part = Budget(budget.epsilon / runs, budget.delta / runs)
    return one / (runs * total_for(part, Accounting.GDP))
