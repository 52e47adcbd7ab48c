"""A filter for mechanisms of which only (ε_i, δ_i) is known, each chosen in view of the
answers before it.

Whitehouse, Ramdas, Rogers, Wu, "Fully-adaptive composition in differential privacy",
2023, Thm. 1: a question is admitted while

    √(2·ln(1/δ')·Σε_i²) + ½·Σε_i² ≤ ε      and      Σδ_i ≤ δ'',

and everything that was admitted is (ε, δ' + δ'')-private, as if the ε_i had been fixed
in advance.

Few large questions are admitted by plain composition as well, Σε_i ≤ ε. Why both
together are private: but for an event of probability Σδ_i every mechanism acts as an
ε_i-private one; there the privacy loss L is at most Σε_i. So transcripts that end
within Σε_i ≤ ε add nothing to E[(1 − e^(ε − L))⁺], and the others add δ' at most.

Sums are exact fractions, ln(1/δ') is rounded up. Checked against all transcripts of
adaptive randomised response, and against numerical composition, in
tests/accounting/filters/test_approximate_filter.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.conversion import CONVERSION_MARGIN
from understudy.accounting.cost import round_up_long_amount
from understudy.errors import BudgetExceeded, InvalidBudget


@dataclass
class ApproximateFilter:
    """Admits (ε_i, δ_i) mechanisms within one (ε, δ).

    >>> run = ApproximateFilter.of(Budget.of(1, "1e-6"))
    >>> asked = 0
    >>> while run.admits(Budget.of("0.01", 0)):
    ...     run.admit(Budget.of("0.01", 0))
    ...     asked += 1
    >>> asked
    349
    """

    epsilon: Fraction
    composition_delta: Fraction
    """δ' of the theorem: what composing costs."""
    mechanism_delta: Fraction = Fraction(0)
    """δ'' of the theorem: what the mechanisms themselves may have together."""
    spent: Fraction = field(default=Fraction(0), kw_only=True)
    spent_squares: Fraction = field(default=Fraction(0), kw_only=True)
    spent_delta: Fraction = field(default=Fraction(0), kw_only=True)

    @classmethod
    def of(
        cls, budget: Budget, *, mechanism_delta: Fraction = Fraction(0)
    ) -> ApproximateFilter:
        """The filter of a run on this budget; `mechanism_delta` of its δ is for the
        mechanisms, the rest for composing them.
        """
        if not 0 <= mechanism_delta <= budget.delta:
            raise InvalidBudget(
                "The δ of the mechanisms must be within the whole δ: give a larger δ."
                " Nothing was spent."
            )
        return cls(budget.epsilon, budget.delta - mechanism_delta, mechanism_delta)

    def admits(self, asked: Budget) -> bool:
        """Whether a mechanism with this (ε, δ) would be answered."""
        if self.spent_delta + asked.delta > self.mechanism_delta:
            return False
        # Plain composition is the better bound for few large questions.
        if self.spent + asked.epsilon <= self.epsilon:
            return True
        return self._composes(self.spent_squares + asked.epsilon**2)

    def admit(self, asked: Budget) -> None:
        """Pay, or raise BudgetExceeded and leave everything as it was."""
        if not self.admits(asked):
            raise BudgetExceeded(
                f"A question with {asked} does not compose with the others within ε ="
                f" {float(self.epsilon):.4g}. Nothing was spent."
            )
        # Rounded up, never down: long fractions would grow with every question.
        self.spent = round_up_long_amount(self.spent + asked.epsilon)
        self.spent_squares = round_up_long_amount(self.spent_squares + asked.epsilon**2)
        self.spent_delta = round_up_long_amount(self.spent_delta + asked.delta)

    def _composes(self, squares: Fraction) -> bool:
        """√(2·ln(1/δ')·S) + S/2 ≤ ε, without a root."""
        if self.composition_delta <= 0:
            return False
        rest = self.epsilon - squares / 2
        # Both sides squared, which is only sound where the rest is not negative.
        return rest >= 0 and 2 * self._log_inverse_delta() * squares <= rest**2

    def _log_inverse_delta(self) -> Fraction:
        delta = self.composition_delta
        # Of integers: Python takes logarithms of any size, a float δ could be 0.
        logarithm = math.log(delta.denominator) - math.log(delta.numerator)
        return Fraction(logarithm) * (1 + CONVERSION_MARGIN) + CONVERSION_MARGIN
