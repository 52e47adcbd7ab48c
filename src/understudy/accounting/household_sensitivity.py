"""How far one household, or one person in it, moves a histogram of households."""

from __future__ import annotations

from fractions import Fraction

from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours


def find_household_sensitivity(neighbours: Neighbours, *, is_unit: bool) -> Sensitivity:
    """The sensitivity if the household is the privacy unit, or else one row of it; the
    reasons are in curator/mechanisms/households.py.

    >>> find_household_sensitivity(Neighbours.REPLACE, is_unit=False).l2_squared
    Fraction(8, 1)
    """
    # A record that comes or goes changes one cell; one that moves changes two.
    cells = 1 if is_unit else 2
    if neighbours is Neighbours.ADD_REMOVE:
        return Sensitivity(l1=Fraction(cells), l2_squared=Fraction(cells), l0=cells)
    if is_unit:
        return Sensitivity(l1=Fraction(2), l2_squared=Fraction(2), l0=2)
    # Two records that move alike: two cells change by 2.
    return Sensitivity(l1=Fraction(4), l2_squared=Fraction(8), l0=4, linf=Fraction(2))
