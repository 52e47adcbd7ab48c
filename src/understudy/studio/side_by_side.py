"""Several synthesizers on one table at once, each with a budget of its own."""

from __future__ import annotations

from understudy.accounting.budget import Budget, spell_value
from understudy.errors import InvalidBudget, Refused
from understudy.schema import Schema
from understudy.synthesizers import SYNTHESIZER_CLASSES
from understudy.workflow.synthesize import DEFAULT_SYNTHESIZER

SIDE_BY_SIDE_MODES = ("random", "independent", "privbayes", DEFAULT_SYNTHESIZER)
"""Nothing learned, columns alone, a network, and the default."""


def list_modes(schema: Schema) -> list[str]:
    """The modes that can run; what reads no rows needs every domain declared.

    >>> from understudy.schema import Boolean
    >>> list_modes(Schema(columns=(Boolean(name="smoker"),)))[0]
    'random'
    """
    return [
        mode
        for mode in dict.fromkeys(SIDE_BY_SIDE_MODES)
        if schema.is_closed or SYNTHESIZER_CLASSES[mode].reads_rows
    ]


def check_agreed_total(budget: Budget, runs: int, agreed: str) -> None:
    """Refuse runs whose total nobody agreed to: each of them spends the whole budget.

    >>> check_agreed_total(Budget.of("0.5"), 3, "1.5")
    >>> check_agreed_total(Budget.of("0.5"), 3, "0.5")
    Traceback (most recent call last):
    understudy.errors.Refused: 3 runs spend ε = 1.50 in all, which was not agreed to...
    """
    # The page computes the total too; a stale page must not spend more than it said.
    total = runs * budget.epsilon
    try:
        matches = Budget.of(agreed).epsilon == total
    except InvalidBudget:
        matches = False
    if not matches:
        raise Refused(
            f"{runs} runs spend ε = {spell_value(total)} in all, which was not agreed"
            " to. Nothing was spent."
        )
