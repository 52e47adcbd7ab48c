"""Plain words about a budget before it is spent. Advice never stops a run and reads no
data: the number of rows is declared or noisy.
"""

from __future__ import annotations

import math
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
    """What an owner should know about this budget; `rows` is the declared number of
    rows, or a noisy one.

    >>> lines = advise_on_budget(Budget.of(2, "1e-3"), rows=5000)
    >>> [line.split(":")[0] for line in lines]
    ['ε = 2.00 is above 1', 'δ = 0.001 is above 1 in 5,000 (the declared number of rows)']
    """
    lines = []
    if budget.epsilon > 1:
        # e^ε bounds how much likelier any outcome becomes through one unit.
        odds = "more than a hundred million"
        if budget.epsilon < 20:
            odds = f"{math.exp(budget.epsilon):,.1f}"
        lines.append(
            f"ε = {spell_value(budget.epsilon)} is above 1: whoever is in the table may"
            f" be told apart {odds} times as surely as without it. Up to 1 is the usual"
            " range."
        )
    if rows is None or rows <= 0:
        return tuple(lines)
    kind = "noisy" if noisy else "declared"
    if rows * budget.epsilon < MIN_ROWS_TIMES_EPSILON:
        # Even with the whole budget for one count.
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
    # Showing a random row in full is (0, 1/n)-private: δ has to be far below 1/n.
    if budget.delta * rows > 1:
        lines.append(
            f"δ = {spell_value(budget.delta)} is above 1 in {rows:,} (the {kind} number"
            " of rows): at such a δ one whole row could be shown. Use"
            f" 1e-{max(9, len(str(rows)))} or less."
        )
    return tuple(lines)
