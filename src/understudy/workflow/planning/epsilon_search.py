"""The smallest ε at which noise moves columns and pairs by at most a given accuracy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from understudy.errors import Refused

if TYPE_CHECKING:
    from understudy.workflow.planning.plan import Plan

_EPSILON_TENTHS = (10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82)
"""The values of ε that are tried, in tenths, within each power of ten: each a fifth
above the last.
"""

_STEPS_PER_DECADE = len(_EPSILON_TENTHS)

_MIN_STEP, _MAX_STEP = -3 * _STEPS_PER_DECADE, 2 * _STEPS_PER_DECADE
"""ε is searched for from 0.001 to 100: nothing is gained beyond either."""


class PlanMaker(Protocol):
    """Makes the plan at an ε; without `outlook` it says only what noise does."""

    def __call__(self, epsilon: Fraction, *, outlook: bool) -> Plan: ...


def search_epsilon(make_plan: PlanMaker, *, accuracy: float) -> Plan:
    """The plan with the smallest ε of those tried whose median noise is at most
    `accuracy`.
    """

    def is_accurate(step: int) -> bool:
        return _is_accurate(make_plan(epsilon_at(step), outlook=False), accuracy)

    high = _bracket_from_above(make_plan, accuracy)
    low = high - _STEPS_PER_DECADE // 2
    while high - low > 1:
        middle = (low + high) // 2
        if is_accurate(middle):
            high = middle
        else:
            low = middle
    # What a dry run chooses to measure depends on its noise, so the plan with the
    # outlook may need a little more.
    found = make_plan(epsilon_at(high), outlook=True)
    while not _is_accurate(found, accuracy):
        high += 1
        found = make_plan(epsilon_at(high), outlook=True)
    return replace(found, accuracy=accuracy)


def epsilon_at(step: int) -> Fraction:
    """The ε of a step; step 0 is ε = 1, and a decade has twelve.

    >>> [str(epsilon_at(step)) for step in (-12, -1, 0, 1)]
    ['1/10', '41/50', '1', '6/5']
    """
    decade, place = divmod(step, _STEPS_PER_DECADE)
    return Fraction(_EPSILON_TENTHS[place], 10) * Fraction(10) ** decade


def _bracket_from_above(make_plan: PlanMaker, accuracy: float) -> int:
    """A step that is accurate, where half a decade below is not (or is not tried).

    From ε = 1 in strides of half a decade: a dry run takes longer the larger ε is, so
    the search begins in the middle and not at the top.
    """
    stride = _STEPS_PER_DECADE // 2
    high = 0
    made = make_plan(epsilon_at(high), outlook=False)
    if _is_accurate(made, accuracy):
        while high > _MIN_STEP:
            lower = make_plan(epsilon_at(high - stride), outlook=False)
            if not _is_accurate(lower, accuracy):
                break
            high -= stride
        return high
    while not _is_accurate(made, accuracy):
        if high >= _MAX_STEP:
            raise Refused(
                f"Not even ε = {float(made.budget.epsilon):g} brings noise below"
                f" {accuracy:g} with {made.rows:,} rows. Release fewer columns, or ask"
                " for less. Nothing was spent"
            )
        high += stride
        made = make_plan(epsilon_at(high), outlook=False)
    return high


def _is_accurate(plan: Plan, accuracy: float) -> bool:
    """Whether noise is small enough; it is where none is foreseen."""
    return plan.noise is None or plan.noise <= accuracy
