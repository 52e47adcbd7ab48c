"""Masks by risk: people who stand out are drawn further from their original cells.

Rows are of low, medium or high risk by how many others look alike. Each group has masks
of its own strength; all are drawn from one model, a copula of every column (copula.py),

    P(level) ∝ P(latent value in the level's interval) · p(W | level; strength of group).

The copies are a draw given the masks W, which all copies share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr

from understudy.errors import Refused
from understudy.evaluation.risk.matching import (
    QuasiIdentifiers,
    RiskLevel,
    assign_risk_groups,
    match_radii,
)
from understudy.imputation.copula import (
    MAX_RANKED_LEVELS,
    UNKNOWN_LEVEL,
    CopulaState,
    RankedColumn,
    condition_on_others,
    draw_between,
    start_chain,
    sweep_chain,
)
from understudy.imputation.mask_strength import LabelMask, MaskStrength, NumberMask
from understudy.imputation.sequence import put_labels, put_numbers
from understudy.schema import Categorical, Lattice, Schema
from understudy.tables import ABSENT_PLACE, Records

BURN_IN_SWEEPS = 100
"""Sweeps before the first copy: the covariance of a few columns settles in dozens."""

SWEEPS_PER_COPY = 20
"""Sweeps from the settled chain to each copy, by a generator of its own."""

DRAW_VISITS = 5
"""Visits of each replaced column in a draw: a row's few columns forget their start in
three or four.
"""

MAX_DRAWN_LEVELS = 300
"""Levels of a number that are told apart; values within one are drawn along it."""

MAX_BLOCK_ROWS = 5_000
"""Rows whose chances of all levels are held at a time."""


@dataclass(frozen=True, kw_only=True)
class RiskStrengths:
    """Masks for people of low, medium and high risk.

    `radius` says how near numbers must be to look alike, as `match_copies` takes it.

    >>> RiskStrengths().high.keep
    0.7
    """

    low: MaskStrength = field(
        default_factory=lambda: MaskStrength(copies=1, variance=0.01, keep=0.99)
    )
    medium: MaskStrength = field(
        default_factory=lambda: MaskStrength(copies=1, variance=0.1, keep=0.9)
    )
    high: MaskStrength = field(
        default_factory=lambda: MaskStrength(copies=1, variance=0.5, keep=0.7)
    )
    radius: Mapping[str, float] | None = None

    def of_group(self, level: RiskLevel) -> MaskStrength:
        """The strength of a group's masks."""
        named = {RiskLevel.LOW: self.low, RiskLevel.MEDIUM: self.medium}
        return named.get(level, self.high)


@dataclass(frozen=True, eq=False)
class TargetedColumn:
    """A replaced column: its levels, what each stands for, and the masks' likelihood of
    a level, as a function of the row: W and precision, or a row of logarithms.
    """

    name: str
    ranked: RankedColumn
    values: NDArray[np.float64]
    shown: NDArray[np.float64]
    precision: NDArray[np.float64]
    label_logs: NDArray[np.float64] | None

    def log_likelihood(self, rows: slice) -> NDArray[np.float64]:
        """What the masks of some rows say of each level."""
        if self.label_logs is not None:
            return self.label_logs[rows]
        gap = self.shown[rows, None] - self.values
        logs: NDArray[np.float64] = -0.5 * self.precision[rows, None] * gap**2
        return logs


@dataclass(frozen=True, eq=False)
class TargetedTable:
    """A table ready to be drawn from: the settled chain, and the masked columns, which
    are the first of the chain's.
    """

    original: Records
    columns: tuple[TargetedColumn, ...]
    ranked: tuple[RankedColumn, ...]
    state: CopulaState

    @classmethod
    def of(
        cls,
        original: Records,
        replaced: Sequence[str],
        strengths: RiskStrengths,
        rng: Generator,
    ) -> TargetedTable:
        """Draw the masks, and run the chain until it has settled."""
        groups = find_groups(original, replaced, strengths)
        columns = tuple(
            _mask_column(original, name, groups, strengths, rng) for name in replaced
        )
        kept = [name for name in original.codes if name not in replaced]
        ranked = [column.ranked for column in columns]
        for name in kept:
            ranked += _rank_kept(original, name)
        state = sweep_chain(ranked, start_chain(ranked, rng), BURN_IN_SWEEPS, rng)
        return cls(original, columns, tuple(ranked), state)

    def draw(self, rng: Generator) -> Records:
        """One copy: the covariance drawn anew, then every replaced column."""
        state = sweep_chain(self.ranked, self.state, SWEEPS_PER_COPY, rng)
        latent = self._forget_replaced(state, rng)
        levels = [column.ranked.levels for column in self.columns]
        for _ in range(DRAW_VISITS):
            for place, column in enumerate(self.columns):
                levels[place] = _visit_column(column, latent, state, place, rng)
        copy = self.original
        for place, column in enumerate(self.columns):
            deviation = float(np.sqrt(state.covariance[place, place]))
            score = latent[:, place] / deviation
            copy = _put_column(copy, column, levels[place], score)
        return copy

    def _forget_replaced(
        self, state: CopulaState, rng: Generator
    ) -> NDArray[np.float64]:
        """Latent rows with the replaced columns drawn given the kept ones: a start at
        the original ones would leave traces of them.
        """
        count, covariance = len(self.columns), state.covariance
        latent = state.latent.copy()
        mean = np.zeros((len(latent), count))
        spread = covariance[:count, :count]
        if count < len(covariance):
            weights = np.linalg.solve(
                covariance[count:, count:], covariance[count:, :count]
            )
            mean = latent[:, count:] @ weights
            spread = spread - covariance[:count, count:] @ weights
        root = np.linalg.cholesky((spread + spread.T) / 2)
        noise = rng.standard_normal((len(latent), count))
        latent[:, :count] = mean + noise @ root.T
        return latent


def find_groups(
    original: Records, replaced: Sequence[str], strengths: RiskStrengths
) -> NDArray[np.int64]:
    """The level of risk of each person, by the columns that are replaced."""
    radii = match_radii(original.schema, list(replaced), strengths.radius)
    return assign_risk_groups(QuasiIdentifiers.of(original, list(replaced)), radii)


def check_targeted(schema: Schema, replaced: Sequence[str]) -> None:
    """Refuse columns whose values have no order that a latent normal could follow."""
    for name in replaced:
        column = schema[name]
        if isinstance(column, Categorical) and not column.ordered:
            values = column.values or ()
            if len(values) > 2:
                raise Refused(
                    f'mask: column "{name}" has labels without an order, which a copula'
                    " does not draw. Declare them `ordered`, or choose da-mi"
                )


def _mask_column(
    original: Records,
    name: str,
    groups: NDArray[np.int64],
    strengths: RiskStrengths,
    rng: Generator,
) -> TargetedColumn:
    is_number = isinstance(original.schema[name], Lattice)
    cells = original.places[name] if is_number else original.codes[name]
    if is_number and (cells == ABSENT_PLACE).any():
        raise Refused(
            f'mask: column "{name}" has missing numbers, which a copula does not draw.'
            " Say `imputations`, or choose another method"
        )
    ranked, values = _rank_numbers(cells.astype(np.float64))
    shown, precision = cells.astype(np.float64), np.zeros(len(cells))
    logs = None if is_number else np.zeros((len(cells), ranked.count))
    for group in RiskLevel:
        rows = np.flatnonzero(groups == group)
        strength = strengths.of_group(group)
        if logs is not None:
            # A single label has no other to be exchanged for.
            if ranked.count > 1:
                drawn = LabelMask.draw(ranked.levels[rows], ranked.count, strength, rng)
                logs[rows] = drawn.log_likelihood
            continue
        spread = float(cells.astype(np.float64).var())
        mask = NumberMask.of_spread(shown[rows], spread, strength, rng)
        if mask is not None:
            shown[rows], precision[rows] = mask.mean, 1 / mask.variance
    return TargetedColumn(name, ranked, values, shown, precision, logs)


def _rank_numbers(
    cells: NDArray[np.float64],
) -> tuple[RankedColumn, NDArray[np.float64]]:
    """Levels of a column, and what each stands for; of many values, equal shares."""
    values, levels = np.unique(cells, return_inverse=True)
    if len(values) > MAX_DRAWN_LEVELS:
        cuts = np.unique(np.quantile(cells, np.linspace(0, 1, MAX_DRAWN_LEVELS + 1)))
        levels = np.searchsorted(cuts[1:-1], cells, side="right")
        _, levels = np.unique(levels, return_inverse=True)
        rows = np.bincount(levels.reshape(-1))
        values = np.bincount(levels.reshape(-1), weights=cells) / rows
    return RankedColumn(levels.reshape(-1).astype(np.int64), len(values)), values


def _rank_kept(original: Records, name: str) -> list[RankedColumn]:
    """A kept column as the chain takes it: by its order, or an indicator of each label
    but the most frequent.
    """
    column, codes = original.schema[name], original.codes[name].astype(np.int64)
    if isinstance(column, Lattice):
        places = original.places[name]
        known = places != ABSENT_PLACE
        if len(np.unique(places[known])) < 2:
            return []
        levels = np.full(len(places), UNKNOWN_LEVEL, np.int64)
        part, _ = _rank_numbers(places[known].astype(np.float64))
        levels[known] = part.levels
        return [RankedColumn(levels, part.count)]
    labels, counts = np.unique(codes, return_counts=True)
    rest = labels[np.argsort(-counts, kind="stable")][1:]
    return [RankedColumn((codes == label).astype(np.int64), 2) for label in rest]


def _visit_column(
    column: TargetedColumn,
    latent: NDArray[np.float64],
    state: CopulaState,
    place: int,
    rng: Generator,
) -> NDArray[np.int64]:
    """Draw the levels of one column and its latent values, which change in place."""
    mean, deviation = condition_on_others(latent, state.covariance, place)
    scale = float(np.sqrt(state.covariance[place, place]))
    cuts = np.concatenate([[-np.inf], scale * column.ranked.scores[:-1], [np.inf]])
    levels = np.empty(len(latent), np.int64)
    for first in range(0, len(latent), MAX_BLOCK_ROWS):
        rows = slice(first, first + MAX_BLOCK_ROWS)
        below = ndtr((cuts[None, :] - mean[rows, None]) / deviation)
        with np.errstate(divide="ignore"):
            score = np.log(np.diff(below, axis=1)) + column.log_likelihood(rows)
        # The largest score plus Gumbel noise is a draw by the chances.
        levels[rows] = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    latent[:, place] = draw_between(
        mean, deviation, cuts[levels], cuts[levels + 1], rng
    )
    return levels


def _put_column(
    copy: Records,
    column: TargetedColumn,
    levels: NDArray[np.int64],
    score: NDArray[np.float64],
) -> Records:
    if column.label_logs is not None:
        codes = np.rint(column.values[levels]).astype(np.int64)
        return put_labels(copy, column.name, codes)
    values = column.values[levels]
    if column.ranked.count > MAX_RANKED_LEVELS:
        # Along the latent scale between levels: a real value comes back by chance only.
        upper = column.ranked.scores
        middle = np.concatenate([[upper[0]], (upper[1:] + upper[:-1]) / 2])
        values = np.interp(score, middle, column.values)
    return put_numbers(copy, column.name, values)
