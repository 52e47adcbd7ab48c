"""What an answer costs, in the accounting its run was opened in.

A run is pure, GDP or zCDP from its first charge to its last, so amounts of one
accounting simply add up: ε, μ² or ρ. What a threshold risks on top (δ) adds up beside
it. Amounts are exact fractions; only a sum too long to write down is rounded, and then
up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

_MAX_COST_DENOMINATOR, _ROUNDED_COST_DENOMINATOR = 2**1024, 2**512


class Accounting(StrEnum):
    """The measure of privacy loss a run adds up.

    >>> [str(accounting) for accounting in Accounting]
    ['pure', 'gdp', 'zcdp']
    """

    PURE = "pure"
    """ε of pure differential privacy."""

    GDP = "gdp"
    """μ² of Gaussian differential privacy (Dong, Roth, Su 2022); adaptive composition
    adds μ².
    """

    ZCDP = "zcdp"
    """ρ of zero-concentrated differential privacy (Bun, Steinke 2016)."""


@dataclass(frozen=True)
class Cost:
    """An exact privacy cost.

    >>> Cost(Accounting.PURE, Fraction(1, 2)) + Cost(Accounting.PURE, Fraction(1, 4))
    Cost(accounting=<Accounting.PURE: 'pure'>, amount=Fraction(3, 4), delta=Fraction(0, 1))
    """

    accounting: Accounting
    amount: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        # Checked also under python -O: a negative cost would pay budget back.
        if self.amount < 0 or self.delta < 0:
            raise ValueError("a cost is never negative")

    def __add__(self, other: Cost) -> Cost:
        if self.accounting is not other.accounting:
            raise ValueError("costs of two accountings do not add up")
        return Cost(
            self.accounting,
            round_up_long_amount(self.amount + other.amount),
            round_up_long_amount(self.delta + other.delta),
        )


def round_up_long_amount(amount: Fraction) -> Fraction:
    """Sums of many unlike fractions grow without end; past 300 digits they are rounded
    up, by less than 2⁻⁵¹².

    >>> round_up_long_amount(Fraction(1, 3))
    Fraction(1, 3)
    """
    if amount.denominator <= _MAX_COST_DENOMINATOR:
        return amount
    steps = math.ceil(amount * _ROUNDED_COST_DENOMINATOR)
    return Fraction(steps, _ROUNDED_COST_DENOMINATOR)


@dataclass(frozen=True)
class Sensitivity:
    """How far one unit can move an integer vector: in one norm each, under the run's
    neighbour relation.

    `l0` cells at most change, each by at most `linf`; `l1` and `l2_squared` bound the
    whole change. Exact numbers.
    """

    l1: Fraction
    l2_squared: Fraction
    l0: int = 1
    linf: Fraction = Fraction(1)
