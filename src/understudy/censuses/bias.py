"""How wrong non-negative tables are, and in which direction.

Counts that cannot fall below zero are too high where few persons live, and what they
have too much is taken from large places. The size of that is seen without a further
look at the rows: the released tables are taken for a truth, measured again with
simulated noise of the same plan, and fitted again.

B = (σ₊² − σ₋²)/(σ₊² + σ₋²), where σ₊² and σ₋² are the mean squares of positive and of
negative errors over all (JASON, "Consistency of Data Products and Formal Privacy
Methods for the 2020 Census", 2022): 1 where all errors are upwards, 0 without bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from understudy.censuses.controlled_rounding import Integers
from understudy.censuses.lattice import Floats, sum_to_marginal
from understudy.censuses.level_measurement import LevelMeasurement
from understudy.censuses.release import CensusRelease, estimate_census

SIZE_EDGES = (0, 10, 50, 100, 200, 400, 800, 3000)
"""Lower ends of the sizes of places, in persons."""

DEFAULT_BIAS_REPEATS = 3
"""Simulated releases of a country of many places, which say enough together."""

MIN_SIMULATED_PLACES = 100
"""Lowest places in all simulated releases of a small country: a mean over so many is off
by a tenth of the deviation of one.
"""


@dataclass(frozen=True)
class SizeError:
    """The errors of places of one size: how many, on average, how large and how
    one-sided (B).
    """

    low: int
    high: int | None
    places: int
    bias: float
    mean_absolute_error: float
    imbalance: float

    @property
    def size(self) -> str:
        """The sizes in words."""
        return (
            f"{self.low:,} and more"
            if self.high is None
            else f"{self.low:,} to {self.high - 1:,}"
        )


def imbalance(errors: Floats) -> float:
    """B of some errors.

    >>> imbalance(np.array([2.0, 1.0])), imbalance(np.array([1.0, -1.0]))
    (1.0, 0.0)
    """
    above = float(np.square(np.maximum(errors, 0)).mean())
    below = float(np.square(np.minimum(errors, 0)).mean())
    return (above - below) / (above + below) if above + below else 0.0


def tabulate_errors(
    sizes: Floats | Integers,
    errors: Floats | Integers,
    edges: Sequence[int] = SIZE_EDGES,
) -> list[SizeError]:
    """Errors by size of place; sizes without places are left out.

    With true sizes these are the producer's errors (what becomes of a place of this
    size), with released sizes the consumer's (what a place that looks like this is).
    """
    found = []
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        inside = (sizes >= low) if high is None else (sizes >= low) & (sizes < high)
        here = errors[inside].astype(float)
        if len(here):
            found.append(
                SizeError(
                    low,
                    high,
                    len(here),
                    float(here.mean()),
                    float(np.abs(here).mean()),
                    imbalance(here),
                )
            )
    return found


@dataclass(frozen=True, eq=False)
class BiasFigures:
    """Simulated errors of totals, by level and size of place: to the producer and to
    the consumer.
    """

    producer: dict[str, list[SizeError]]
    consumer: dict[str, list[SizeError]]
    repeats: int
    """Simulated releases; each place is in all of them."""


def choose_repeats(release: CensusRelease, max_cells: int) -> int:
    """How many releases to simulate: some, and of a small country more, as long as they
    have no more cells together than that.
    """
    hierarchy = release.design.hierarchy
    cells = hierarchy.unit_count * release.design.lattice.cells
    wanted = -(-MIN_SIMULATED_PLACES // len(hierarchy.leaves))
    return max(DEFAULT_BIAS_REPEATS, min(wanted, max_cells // cells))


def simulate_bias(
    release: CensusRelease, rng: Generator, *, repeats: int = DEFAULT_BIAS_REPEATS
) -> BiasFigures:
    """Errors of a release like this one, with the released tables as the truth."""
    true = {level: release.counts(level) for level in release.design.hierarchy.levels}
    sizes: dict[str, list[Integers]] = {level: [] for level in true}
    seen: dict[str, list[Integers]] = {level: [] for level in true}
    for _ in range(repeats):
        again = _simulate_release(release, rng)
        for level, counts in true.items():
            sizes[level].append(counts)
            seen[level].append(again.counts(level))
    producer, consumer = {}, {}
    for level in true:
        truth, released = np.concatenate(sizes[level]), np.concatenate(seen[level])
        producer[level] = tabulate_errors(truth, released - truth)
        consumer[level] = tabulate_errors(released, released - truth)
    return BiasFigures(producer, consumer, repeats)


def _simulate_release(release: CensusRelease, rng: Generator) -> CensusRelease:
    """The release made again from its own tables. The noise is simulated: the tables it
    is added to are released already.
    """
    design = release.design
    whole = tuple(range(len(design.shape)))
    measurements = []
    for each in release.measurements:
        table = release.estimate.fitted.tables[
            design.hierarchy.levels.index(each.level)
        ]
        exact = sum_to_marginal(table, whole, design.axes(each.query)).astype(np.int64)
        noise = np.rint(rng.normal(0.0, each.scale, exact.shape)).astype(np.int64)
        measurements.append(
            LevelMeasurement(
                each.level, each.query, exact + noise, each.scale, each.law
            )
        )
    estimate = estimate_census(
        design, tuple(measurements), release.exact, method=release.method
    )
    return replace(release, estimate=estimate)
