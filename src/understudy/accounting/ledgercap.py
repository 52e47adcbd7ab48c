"""The cap of an account: what may be spent in all, in whole ledger units."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.budget import Budget, spell_value, spell_values_apart
from understudy.accounting.chain import (
    DELTA_UNITS,
    EPSILON_UNITS,
    MAX_LEDGER_UNITS,
    units_down,
    units_up,
)
from understudy.errors import BudgetExceeded, InvalidBudget


@dataclass(frozen=True, kw_only=True)
class LedgerTotals:
    """What an account has spent and may spend; a cap of None is no cap."""

    epsilon: Fraction
    delta: Fraction
    cap_epsilon: Fraction | None
    cap_delta: Fraction | None
    runs: int
    entries: int


@dataclass(frozen=True)
class LedgerCap:
    """Units of ε and δ that an account may spend; None where there is no cap."""

    epsilon: int | None = None
    delta: int | None = None

    @classmethod
    def of(cls, budget: Budget | None) -> LedgerCap:
        """A budget as a cap, rounded down to whole units: never more than the owner
        said.
        """
        if budget is None:
            return cls()
        epsilon = units_down(budget.epsilon, EPSILON_UNITS)
        if not 0 < epsilon <= MAX_LEDGER_UNITS:
            raise InvalidBudget(
                f"A cap of ε = {spell_value(budget.epsilon)} is more or less than a"
                " ledger can count. No ledger was made."
            )
        return cls(epsilon, units_down(budget.delta, DELTA_UNITS))

    def to_budget(self) -> Budget | None:
        """The cap as exact numbers; None without one."""
        if self.epsilon is None or self.delta is None:
            return None
        return Budget(
            Fraction(self.epsilon, EPSILON_UNITS), Fraction(self.delta, DELTA_UNITS)
        )

    def require_budget(self) -> Budget:
        """The same, where there is a cap."""
        budget = self.to_budget()
        if budget is None:
            raise ValueError("there is no cap")
        return budget

    def refuse_overspending(
        self, spent: tuple[int, int], asked: tuple[int, int], name: str
    ) -> None:
        """Raise BudgetExceeded where what was spent and what is asked for do not fit
        together; messages call the ledger `name`.
        """
        # Each by itself: room in one never makes up for the other.
        _refuse_beyond("ε", EPSILON_UNITS, self.epsilon, spent[0], asked[0], name)
        _refuse_beyond("δ", DELTA_UNITS, self.delta, spent[1], asked[1], name)


def count_run_units(budget: Budget) -> tuple[int, int]:
    """The ε and δ of a run in ledger units, rounded up.

    >>> count_run_units(Budget.of(1, 0))
    (1000000000, 0)
    """
    units = (
        units_up(budget.epsilon, EPSILON_UNITS),
        units_up(budget.delta, DELTA_UNITS),
    )
    if max(units) > MAX_LEDGER_UNITS:
        raise InvalidBudget(
            f"ε = {spell_value(budget.epsilon)} is more than a ledger can count."
            " Nothing was spent."
        )
    return units


def _refuse_beyond(
    symbol: str, units: int, cap: int | None, spent: int, asked: int, name: str
) -> None:
    # Without a cap, sums still have to stay within SQLite's integers.
    most = MAX_LEDGER_UNITS if cap is None else cap
    if spent + asked <= most:
        return
    price, left = spell_values_apart(
        Fraction(asked, units), Fraction(most - spent, units)
    )
    raise BudgetExceeded(
        f"This run would cost {symbol} = {price} and only {left} of"
        f" {spell_value(Fraction(most, units))} is left in {name}. Nothing was spent."
    )
