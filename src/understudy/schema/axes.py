"""Where the answers of single columns are laid out: along the axes of a marginal, or row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Axes(Protocol):
    """Lays a table over the codes of some columns where it can be combined with others."""

    def lay(self, names: Sequence[str], table: NDArray[Any]) -> NDArray[Any]:
        """The table's entries, in the shape all answers share (or one that broadcasts to it)."""


class Dense:
    """The cells of a clique: one axis for each of its columns.

    >>> Dense(("age", "sex")).lay(["sex"], np.array([1, 2])).shape
    (1, 2)
    """

    def __init__(self, clique: Sequence[str]) -> None:
        self.clique = list(clique)

    def lay(self, names: Sequence[str], table: NDArray[Any]) -> NDArray[Any]:
        order = sorted(range(len(names)), key=lambda i: self.clique.index(names[i]))
        sizes = dict(zip(names, table.shape, strict=True))
        return table.transpose(order).reshape([sizes.get(name, 1) for name in self.clique])


class Rows:
    """Rows of codes: one answer for each.

    >>> Rows({"sex": np.array([0, 1, 1])}).lay(["sex"], np.array([5, 6])).tolist()
    [5, 6, 6]
    """

    def __init__(self, codes: Mapping[str, NDArray[np.integer]]) -> None:
        self.codes = codes

    def lay(self, names: Sequence[str], table: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = table[tuple(self.codes[name] for name in names)]
        return found
