"""The settings that tuning tries: every combination of masks that differ in law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from understudy.errors import Refused
from understudy.imputation.mask_strength import MaskStrength


@dataclass(frozen=True, kw_only=True)
class MaskGrid:
    """Every combination of K (`copies`) and σ² (`variance`) for numbers with π (`keep`)
    or α (`alpha`) for labels.

    Only K/σ² decides how near a number stays, so of settings that share it one is tried.

    >>> MaskGrid(copies=(5, 10), variance=(1.0, 2.0), keep=(0.8,)).list_strengths()[0].copies
    5
    >>> len(MaskGrid(copies=(5, 10), variance=(1.0, 2.0), keep=(0.8,)).list_strengths())
    3
    """

    copies: Sequence[int] = (1, 5, 20)
    variance: Sequence[float] = (1.0,)
    keep: Sequence[float] = (0.6, 0.8, 0.95)
    alpha: Sequence[float] = ()

    def __post_init__(self) -> None:
        has_labels = bool(self.keep or self.alpha)
        if not (self.copies and self.variance and has_labels):
            raise Refused(
                "tune_mask: a grid has at least one of each: copies, variance, and"
                " keep or alpha"
            )

    def list_strengths(
        self, *, has_numbers: bool = True, has_labels: bool = True
    ) -> list[MaskStrength]:
        """The settings, without those that differ only in masks of columns that the
        table has not.
        """
        found: dict[tuple[float, object], MaskStrength] = {}
        for copies, variance in product(self.copies, self.variance):
            for label_mask in self._list_label_masks():
                strength = MaskStrength(copies=copies, variance=variance, **label_mask)
                # The posterior precision of a number depends on K/σ² alone.
                near = copies / variance if has_numbers else 0.0
                shown = tuple(label_mask.items()) if has_labels else ()
                found.setdefault((near, shown), strength)
        return list(found.values())

    def _list_label_masks(self) -> list[dict[str, float]]:
        kept = [{"keep": share} for share in self.keep]
        return kept + [{"alpha": factor} for factor in self.alpha]
