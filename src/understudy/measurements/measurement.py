"""A measurement: exactly what was released of one marginal, and a list of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.law import Law
from understudy.measurements.maps import AxisMap, Identity
from understudy.measurements.moments import MomentMeasurement

Clique = tuple[str, ...]
"""A tuple of column names; the empty one is the total."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """`(⊗ maps) · counts + noise` of one clique, as it was released and never rescaled
    in silence.

    `values` has one axis per column of the clique (after its map) and holds integers.
    Every cell is noised, the empty ones too.
    """

    clique: Clique
    maps: tuple[AxisMap, ...]
    values: NDArray[np.int64]
    law: Law
    scale: Fraction
    cost: Cost

    def __post_init__(self) -> None:
        # Read from release files too: a wrong shape must not reach a fit.
        if self.values.dtype != np.int64:
            raise ValueError("a measurement holds integers")
        if self.values.shape != tuple(m.out for m in self.maps):
            raise ValueError("values and maps disagree")
        if len(self.clique) != len(self.maps):
            raise ValueError("clique and maps disagree")

    @property
    def plain(self) -> bool:
        """Whether every axis is measured as it is."""
        return all(isinstance(m, Identity) for m in self.maps)


@dataclass(frozen=True, eq=False)
class SparseMeasurement:
    """The cells of a large marginal that passed a stability threshold; those below it
    are not shown, nor is how many there were.

    `codes` has one row per shown cell and one column per column of the clique; `values`
    are their noisy counts, all above `threshold`.
    """

    clique: Clique
    codes: NDArray[np.int64]
    values: NDArray[np.int64]
    threshold: int
    law: Law
    scale: Fraction
    cost: Cost

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.values), len(self.clique)):
            raise ValueError("codes and values disagree")
        if self.values.dtype != np.int64:
            raise ValueError("a measurement holds integers")


@dataclass(frozen=True)
class Distance:
    """A noisy L1 distance between a true marginal and an estimate of it, in units of
    1/`grid` rows.
    """

    clique: Clique
    value: int
    grid: int
    law: Law
    scale: Fraction
    cost: Cost

    def __float__(self) -> float:
        return self.value / self.grid


@dataclass(frozen=True, eq=False)
class EstimateDistance:
    """A noisy L1 distance and the public estimate it was measured from, both in units
    of 1/grid rows.

    Whatever an estimate says of a marginal that was not measured, this bounds its
    error: at most its distance to this estimate plus the distance from there to the
    truth (the triangle inequality). `public` says that the estimate is a public
    table's, and may serve as a prior.
    """

    distance: Distance
    estimate: NDArray[np.int64]
    public: bool = False

    def __post_init__(self) -> None:
        if self.estimate.dtype != np.int64:
            raise ValueError("an estimate lies on the grid")
        if self.estimate.ndim != len(self.distance.clique):
            raise ValueError("estimate and clique disagree")

    @classmethod
    def of(cls, distance: Distance, estimate: NDArray[np.float64]) -> EstimateDistance:
        """The distance as the curator gave it, and the estimate it was asked about."""
        # Rounded as the curator rounded it before it measured the distance.
        return cls(distance, np.rint(estimate * distance.grid).astype(np.int64))


MAX_ESTIMATE_DISTANCE_CELLS = 4_000_000
"""Cells of all estimates that a run keeps beside its distances: about 30 MB before
packing.
"""

MAX_ESTIMATE_DISTANCES = 30_000
"""Estimates that a run keeps: each is a member of a release file, which holds at most
65,535.
"""


def distances_with_estimates(
    distances: Mapping[Clique, Distance],
    estimates: Mapping[Clique, NDArray[np.float64]],
) -> tuple[EstimateDistance, ...]:
    """Distances with the estimates they were measured from, small marginals first, as
    many as a release should carry.

    >>> distances_with_estimates({}, {})
    ()
    """
    kept: list[EstimateDistance] = []
    cells = 0
    for clique in sorted(distances, key=lambda c: estimates[c].size):
        cells += estimates[clique].size
        # Sorted by size, so none of those that follow would fit either.
        if cells > MAX_ESTIMATE_DISTANCE_CELLS or len(kept) == MAX_ESTIMATE_DISTANCES:
            break
        kept.append(EstimateDistance.of(distances[clique], estimates[clique]))
    return tuple(kept)


@dataclass(frozen=True, eq=False)
class Measurements(Sequence[Measurement]):
    """A list of measurements that knows which cliques were measured already."""

    items: tuple[Measurement, ...] = ()
    sparse: tuple[SparseMeasurement, ...] = ()
    gaps: tuple[EstimateDistance, ...] = ()
    moments: tuple[MomentMeasurement, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Measurement: ...

    @overload
    def __getitem__(self, index: slice) -> Measurements: ...

    def __getitem__(self, index: int | slice) -> Measurement | Measurements:
        if isinstance(index, slice):
            return Measurements(self.items[index])
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.items)

    def __add__(self, other: Measurements) -> Measurements:
        return Measurements(
            self.items + other.items,
            self.sparse + other.sparse,
            self.gaps + other.gaps,
            self.moments + other.moments,
        )

    def __contains__(self, clique: object) -> bool:
        """Whether this clique was measured, its columns in any order, each cell on its
        own.
        """
        if not isinstance(clique, tuple):
            return False
        # Centred or coarser counts do not determine the cells of the marginal.
        return any(m.plain and set(m.clique) == set(clique) for m in self.items)

    def of(self, clique: Clique) -> Measurements:
        """Those that measured exactly these columns."""
        return Measurements(
            tuple(m for m in self.items if set(m.clique) == set(clique))
        )
