"""The budget statement: what was asked on the way to a release, and what each answer
cost.

It repeats the ledger and nothing of the rows: no count of rows, no path, no time finer
than a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from understudy.accounting.cost import Cost
from understudy.errors import ReleaseError
from understudy.releases.guarantee import GUARANTEE_SYMBOLS, format_amount


@dataclass(frozen=True, kw_only=True)
class BudgetStep:
    """One charged answer: what was asked, its privacy cost, and its share of the run."""

    asked: str
    cost: Cost
    share: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ReleaseError("statement: a step's share lies between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class BudgetStatement:
    """What one run reserved, and what was charged for each answer.

    `dataset` is the name the owner gave, `ledger` the hash of the ledger's last entry
    when the run closed, `run` its number there.

    >>> day = date(2025, 3, 1)
    >>> BudgetStatement(dataset="people", epsilon=Fraction(1), day=day).lines()[0]
    'people, 2025-03-01: ε = 1, δ = 0 reserved'
    """

    dataset: str = ""
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    steps: tuple[BudgetStep, ...] = ()
    ledger: str = ""
    run: str = ""
    day: date | None = None

    def __post_init__(self) -> None:
        if min(self.epsilon, self.delta) < 0:
            raise ReleaseError("statement: what was reserved cannot be negative")
        # A datetime is a date too, but its time would tell how long the run took.
        if self.day is not None and type(self.day) is not date:
            raise ReleaseError(
                "statement: a release is dated by a day and nothing finer"
            )
        if len({step.cost.accounting for step in self.steps}) > 1:
            raise ReleaseError("statement: a run adds up one accounting only")

    @property
    def total_cost(self) -> Cost | None:
        """What the steps cost together; None if nothing was asked."""
        if not self.steps:
            return None
        first = self.steps[0].cost.accounting
        return sum((step.cost for step in self.steps), Cost(first, Fraction(0)))

    def lines(self) -> tuple[str, ...]:
        """The account as a person reads it."""
        when = f", {self.day.isoformat()}" if self.day else ""
        head = (
            f"{self.dataset or 'unnamed'}{when}: {format_amount('ε', self.epsilon)},"
            f" {format_amount('δ', self.delta)} reserved"
        )
        lines = [head]
        for step in self.steps:
            lines.append(
                f"{float(step.share):.1%} {step.asked}: {_format_cost(step.cost)}"
            )
        if self.ledger:
            lines.append(f"ledger {self.ledger[:16]}, run {self.run}")
        return tuple(lines)

    def __str__(self) -> str:
        return "\n  ".join(self.lines())


def _format_cost(cost: Cost) -> str:
    amount = format_amount(GUARANTEE_SYMBOLS[cost.accounting], cost.amount)
    if not cost.delta:
        return amount
    return f"{amount}, {format_amount('δ', cost.delta)}"
