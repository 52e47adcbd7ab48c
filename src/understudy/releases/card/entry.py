"""What the card says of one marginal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from understudy.measurements import Clique
from understudy.releases.card.statistic_intervals import ColumnStatistics

MAX_GOOD_ERROR, MAX_USABLE_ERROR = 0.02, 0.10
"""Largest share of rows in a wrong cell for a marginal to be called good, or usable."""


class MarginalVerdict(StrEnum):
    """What a marginal of the release is good for."""

    GOOD = "good"
    USABLE = "usable"
    POOR = "poor"
    LOST = "lost"
    UNKNOWN = "no bound"


@dataclass(frozen=True)
class CardEntry:
    """What the card says of one marginal. `error` bounds the share of rows in a wrong
    cell; `noise` is in rows per cell.

    `noise` is None if the bound rests on a released distance instead.
    """

    clique: Clique
    supported: bool
    cells: int
    noise: float | None
    error: float | None
    lost: bool = False
    statistics: ColumnStatistics | None = None
    """Those of a single column of numbers."""

    @property
    def verdict(self) -> MarginalVerdict:
        """Good up to 2 % of the rows in a wrong cell, usable up to 10 %; lost if the
        cells say nothing of what was in a column. A column of numbers is poor if its
        mean is not known to half a standard deviation.
        """
        if self.error is None:
            return MarginalVerdict.UNKNOWN
        # Before the error: the counts of a lost column may well be precise.
        if self.lost:
            return MarginalVerdict.LOST
        # Few rows in a wrong cell may be far out, and decide what the mean is.
        if self.statistics is not None and not self.statistics.is_usable:
            return MarginalVerdict.POOR
        if self.error <= MAX_GOOD_ERROR:
            return MarginalVerdict.GOOD
        if self.error <= MAX_USABLE_ERROR:
            return MarginalVerdict.USABLE
        return MarginalVerdict.POOR

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "clique": list(self.clique),
            "supported": self.supported,
            "cells": self.cells,
            "noise": self.noise,
            "error": self.error,
            "verdict": self.verdict.value,
        }
