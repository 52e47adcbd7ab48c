"""Linear maps on one axis of a marginal, with integer entries, so that every answer
stays on a stated lattice.

A measurement of a clique is `(⊗ map_i) · counts + noise`. Three maps suffice: the
counts themselves, counts of coarser bins, and the centred counts n·I − J (the residual
basis of Xiao, He, Zhang, Kifer, "Optimal and scalable matrix mechanism for noisy
marginals", 2023, scaled to integers).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Identity:
    """Every cell of the axis on its own.

    >>> Identity(3).matrix().tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """

    size: int

    @property
    def out(self) -> int:
        """Length of the axis after the map."""
        return self.size

    @property
    def own_entry(self) -> int:
        """The one entry of a cell's column that differs from the others; with
        `other_entry`, all that sensitivities need.
        """
        return 1

    @property
    def other_entry(self) -> int:
        """Every other entry of a cell's column."""
        return 0

    def matrix(self) -> NDArray[np.int64]:
        """The map as a dense integer matrix, `out` × `size`."""
        return np.eye(self.size, dtype=np.int64)


@dataclass(frozen=True)
class Partition:
    """Cells gathered into coarser bins: `bins[code]` is the bin of a code.

    >>> Partition((0, 0, 1)).matrix().tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    bins: tuple[int, ...]

    def __post_init__(self) -> None:
        # An empty bin would be a cell that no row can reach, and still be noised.
        if set(self.bins) != set(range(max(self.bins) + 1)):
            raise ValueError("every bin of a partition holds at least one code")

    @property
    def size(self) -> int:
        """Length of the axis before the map."""
        return len(self.bins)

    @property
    def out(self) -> int:
        """Length of the axis after the map."""
        return max(self.bins) + 1

    @property
    def own_entry(self) -> int:
        """The one entry of a cell's column that differs from the others; with
        `other_entry`, all that sensitivities need.
        """
        return 1

    @property
    def other_entry(self) -> int:
        """Every other entry of a cell's column."""
        return 0

    def matrix(self) -> NDArray[np.int64]:
        """The map as a dense integer matrix, `out` × `size`."""
        # A code has a 1 in the row of its bin and nowhere else.
        dense = np.zeros((self.out, self.size), np.int64)
        dense[list(self.bins), np.arange(self.size)] = 1
        return dense


@dataclass(frozen=True)
class Centring:
    """n·I − J: how far each cell lies from the mean of the axis, times n, so that it
    stays an integer.

    >>> Centring(2).matrix().tolist()
    [[1, -1], [-1, 1]]
    """

    size: int

    @property
    def out(self) -> int:
        """Length of the axis after the map."""
        return self.size

    @property
    def own_entry(self) -> int:
        """The one entry of a cell's column that differs from the others; with
        `other_entry`, all that sensitivities need.
        """
        return self.size - 1

    @property
    def other_entry(self) -> int:
        """Every other entry of a cell's column."""
        return -1

    def matrix(self) -> NDArray[np.int64]:
        """The map as a dense integer matrix, `out` × `size`."""
        # n·I − J: numpy takes the 1 from every entry.
        return self.size * np.eye(self.size, dtype=np.int64) - 1


AxisMap = Identity | Partition | Centring
