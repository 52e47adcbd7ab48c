"""The marginals that a run would measure, and the noise that is left on each when all
answers are pooled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.measurements import Centring, Clique, Measurement, Measurements
from understudy.models.estimates.noise_moments import (
    MEAN_ABS_NORMAL,
    cell_variance,
    noise_size,
)
from understudy.workflow.planning.precision import KnownMarginal


@dataclass(frozen=True, kw_only=True)
class PlannedMarginal:
    """One marginal a run would measure: its cells, the standard deviation and mean size
    of the noise on each, and its share of the run.

    A marginal that is measured several times, or through several maps, is listed once,
    with the noise in rows that is left when all answers are pooled; None where they do
    not determine all of its cells.
    """

    clique: Clique
    cells: int
    deviation: float | None
    size: float | None
    share: Fraction


def plan_marginals(
    measured: Measurements, known: Sequence[KnownMarginal], total: Fraction
) -> tuple[PlannedMarginal, ...]:
    """Every measured marginal once; `total` is the amount of the whole run."""
    by_clique: dict[Clique, list[Measurement]] = {}
    for measurement in measured:
        by_clique.setdefault(measurement.clique, []).append(measurement)
    pooled = {
        (frozenset(marginal.clique), marginal.cells): marginal for marginal in known
    }
    return tuple(
        _plan_marginal(clique, measurements, pooled, total)
        for clique, measurements in by_clique.items()
    )


def _plan_marginal(
    clique: Clique,
    measurements: Sequence[Measurement],
    pooled: Mapping[tuple[frozenset[str], int], KnownMarginal],
    total: Fraction,
) -> PlannedMarginal:
    finest = max(measurements, key=lambda m: (m.values.size, m.plain))
    cells = finest.values.size
    known = pooled.get((frozenset(clique), cells))
    noise = (
        _own_noise(finest, measurements)
        if known is None
        else (known.deviation, known.size)
    )
    deviation, size = noise
    cost = sum((m.cost.amount for m in measurements), Fraction(0))
    return PlannedMarginal(
        clique=clique, cells=cells, deviation=deviation, size=size, share=cost / total
    )


def _own_noise(
    measurement: Measurement, measurements: Sequence[Measurement]
) -> tuple[float, float] | tuple[None, None]:
    """The noise on counts, such as those of coarser bins, that is left by the
    measurements with the same maps alone. A residual has none: it is no count of rows.
    """
    if any(isinstance(axis, Centring) for axis in measurement.maps):
        return None, None
    same = [m for m in measurements if m.maps == measurement.maps]
    deviation = 1 / math.sqrt(sum(1 / cell_variance(m) for m in same))
    # Discrete noise much narrower than a row is mostly zero: its mean size is then
    # below that of a normal with the same deviation.
    smallest = min(noise_size(m.law, m.scale) for m in same)
    return deviation, min(MEAN_ABS_NORMAL * deviation, smallest)
