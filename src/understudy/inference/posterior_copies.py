"""Noise-aware copies of a private release: tables for tools that want tables, with the
rule that makes their intervals hold.

Each copy is made in two steps: the shares of all cells are drawn from what the noisy
measurements say of them (contrast_model.py), then rows are drawn from those shares. So
copies differ by the noise, and not only by the chance of their rows, and the variance
between them is what the rule of Raghunathan, Reiter and Rubin 2003 needs: with b between
copies and v̄ within, T = (1 + 1/M)b − v̄ (Räisä and others 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.inference.combining_rules import (
    MIN_BETWEEN_COPIES,
    CombiningRule,
    CopyKind,
)
from understudy.inference.contrast_model import ContrastModel
from understudy.inference.population import InferenceSettings, model_columns
from understudy.measurements import Clique
from understudy.models.estimates.residuals import PooledResiduals

MAX_COPY_ROWS = 10_000_000
"""Rows of one copy: it is one frame in memory."""


@dataclass(frozen=True, eq=False)
class PosteriorCopies:
    """How copies are drawn: a model of their columns, the number of rows, a seed."""

    model: ContrastModel
    count: int
    rows: int
    seed: int
    rule: CombiningRule

    @classmethod
    def of(
        cls,
        pooled: PooledResiduals,
        columns: Clique,
        *,
        count: int,
        rows: int | None,
        seed: int | None,
        settings: InferenceSettings,
    ) -> PosteriorCopies:
        """Copies of these columns; refused where a pair of them was not measured."""
        if count < MIN_BETWEEN_COPIES:
            raise Refused(
                f"copies: at least {MIN_BETWEEN_COPIES}: with fewer the variance between"
                " them is too uncertain for intervals that hold"
            )
        if rows is not None and not 1 <= rows <= MAX_COPY_ROWS:
            raise Refused(f"copies: a copy has between 1 and {MAX_COPY_ROWS:,} rows")
        try:
            model, _ = model_columns(pooled, _list_pairs(pooled, columns), settings)
        except Refused as refusal:
            raise Refused(
                f"copies: {refusal}, or name fewer `columns` whose pairs were measured"
            ) from None
        length = max(1, round(model.rows)) if rows is None else rows
        drawn = int(np.random.default_rng(seed).integers(1 << 62))
        rule = CombiningRule(kind=CopyKind.FULL_BETWEEN, rows_ratio=length / model.rows)
        return cls(model, count, length, drawn, rule)

    def draw_codes(self, i: int) -> dict[str, NDArray[np.int64]]:
        """The rows of one copy, the same whenever it is asked for."""
        rng = np.random.default_rng([self.seed, i])
        shares = self.model.draw_shares(rng)
        counts = rng.multinomial(self.rows, shares)
        cells = np.repeat(np.arange(len(shares)), counts)
        # Rows in the order of their cells would suggest an order that means something.
        rng.shuffle(cells)
        codes = np.unravel_index(cells, self.model.shape)
        return dict(zip(self.model.columns, codes, strict=True))


def _list_pairs(pooled: PooledResiduals, columns: Clique) -> list[Clique]:
    for name in columns:
        if name not in pooled.schema:
            raise Refused(f'column "{name}" takes no part in the release')
    ordered = tuple(name for name in pooled.schema if name in columns)
    pairs: list[Clique] = list(combinations(ordered, 2))
    return pairs or [ordered]
