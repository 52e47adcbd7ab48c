"""Plain words about a budget before it is spent. Advice never stops a run and reads no
data: the number of rows is declared or noisy.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.accounting.budget import Budget, spell_value
from understudy.accounting.cost import Sensitivity
from understudy.accounting.expected_error import expected_noise
from understudy.accounting.filter import Filter

MIN_ROWS_TIMES_EPSILON = 100
"""Below this n·ε a single count is off by more than one per cent of all rows, whatever
the noise.
"""


def advise_on_budget(
    budget: Budget, *, rows: int | None = None, noisy: bool = False
) -> tuple[str, ...]:
    """What an owner should hear about this budget; `rows` is the declared number of
    rows, or a noisy one.

    >>> for line in advise_on_budget(Budget.of(2, "1e-3"), rows=5000): print(line)
    ε = 2.00 is above 1: whoever is in the table may be told apart 7.4 times as surely as without it. Up to 1 is the usual range.
    δ = 0.001 is above 1 in 5,000 (the declared number of rows): at such a δ one whole row could be shown. Use 1e-9 or less.
    """
    lines = []
    if budget.epsilon > 1:
        odds = (
            f"{2.718281828459045 ** float(budget.epsilon):,.1f}"
            if budget.epsilon < 20
            else "more than a hundred million"
        )
        lines.append(
            f"ε = {spell_value(budget.epsilon)} is above 1: whoever is in the table may"
            f" be told apart {odds} times as surely as without it. Up to 1 is the usual"
            " range."
        )
    if rows is None or rows <= 0:
        return tuple(lines)
    kind = "noisy" if noisy else "declared"
    if rows * budget.epsilon < MIN_ROWS_TIMES_EPSILON:
        whole = expected_noise(
            Filter.of(budget).total,
            Sensitivity(Fraction(1), Fraction(1)),
            budget.accounting,
        )
        off = 100 * whole.deviation / rows
        lines.append(
            f"{rows:,} rows (the {kind} number) are few for ε ="
            f" {spell_value(budget.epsilon)}: a single count will be off by about"
            f" {off:.0f} % of all rows. Use more rows, a larger ε, or release fewer"
            " numbers."
        )
    if budget.delta * rows > 1:
        lines.append(
            f"δ = {spell_value(budget.delta)} is above 1 in {rows:,} (the {kind} number"
            " of rows): at such a δ one whole row could be shown. Use"
            f" 1e-{max(9, len(str(rows)))} or less."
        )
    return tuple(lines)
