"""Noisy moments of a formula's columns, as they were released."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.cost import Cost
from understudy.accounting.law import Law


@dataclass(frozen=True)
class MomentMeasurement:
    """One noisy sum for each entry of Z'Z that a formula has, in the order in which the
    schema and the formula give them (toolbox/moments.py), each with its own scale of
    noise: sums of large numbers need more.
    """

    formula: str
    values: tuple[int, ...]
    law: Law
    scales: tuple[Fraction, ...]
    cost: Cost

    def __post_init__(self) -> None:
        if len(self.values) != len(self.scales):
            raise ValueError("every moment has its scale")
