"""A measurement: exactly what was released of one marginal, and a list of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.law import Law
from understudy.measurements.maps import AxisMap, Identity

Clique = tuple[str, ...]
"""A tuple of column names; the empty one is the total."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """`(⊗ maps) · counts + noise` of one clique, as it was released and never rescaled in silence.

    `values` has one axis per column of the clique (after its map) and holds integers. Every cell is noised, the empty ones too.
    """

    clique: Clique
    maps: tuple[AxisMap, ...]
    values: NDArray[np.int64]
    law: Law
    scale: Fraction
    cost: Cost

    def __post_init__(self) -> None:
        assert self.values.dtype == np.int64, "a measurement holds integers"
        assert self.values.shape == tuple(m.out for m in self.maps), "values and maps disagree"
        assert len(self.clique) == len(self.maps), "clique and maps disagree"

    @property
    def plain(self) -> bool:
        """Whether every axis is measured as it is."""
        return all(isinstance(m, Identity) for m in self.maps)


@dataclass(frozen=True, eq=False)
class Measurements(Sequence[Measurement]):
    """A list of measurements that can be asked whether a clique was bought already."""

    items: tuple[Measurement, ...] = ()

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.items)

    def __add__(self, other: Measurements) -> Measurements:
        return Measurements(self.items + other.items)

    def __contains__(self, clique: object) -> bool:
        """Whether this clique was measured, its columns in any order, each cell on its own."""
        return any(m.plain and isinstance(clique, tuple) and set(m.clique) == set(clique) for m in self.items)

    def of(self, clique: Clique) -> Measurements:
        """Those that measured exactly these columns."""
        return Measurements(tuple(m for m in self.items if set(m.clique) == set(clique)))
