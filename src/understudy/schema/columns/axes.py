"""Where the answers of single columns are laid out: along the axes of a marginal, or
row by row.

A table over several columns is made for a marginal alone, whose own table is as large.
Rows are compared with what is listed one by one: two columns of 100,000 codes have a
table of 10 GB, and a handful of rows needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class TableAxes(Protocol):
    """Lays a table over the codes of some columns where it can be combined with others."""

    def align_table(self, names: Sequence[str], table: NDArray[Any]) -> NDArray[Any]:
        """The table's entries, in the shape all answers share (or one that broadcasts
        to it).
        """

    def mark(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        places: NDArray[np.int64],
        marks: NDArray[np.int8],
    ) -> NDArray[np.int8]:
        """The largest mark among the listed combinations of codes (one column of
        `places` each) that an entry is; 0 where it is none.
        """


class CliqueAxes:
    """The cells of a clique: one axis for each of its columns.

    >>> CliqueAxes(("age", "sex")).align_table(["sex"], np.array([1, 2])).shape
    (1, 2)
    """

    def __init__(self, clique: Sequence[str]) -> None:
        self.clique = list(clique)

    def align_table(self, names: Sequence[str], table: NDArray[Any]) -> NDArray[Any]:
        order = sorted(range(len(names)), key=lambda i: self.clique.index(names[i]))
        sizes = dict(zip(names, table.shape, strict=True))
        return table.transpose(order).reshape(
            [sizes.get(name, 1) for name in self.clique]
        )

    def mark(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        places: NDArray[np.int64],
        marks: NDArray[np.int8],
    ) -> NDArray[np.int8]:
        table = np.zeros(sizes, np.int8)
        np.maximum.at(table, tuple(places), marks)
        return self.align_table(names, table)


class RowAxes:
    """Rows of codes: one answer for each.

    >>> RowAxes({"sex": np.array([0, 1, 1])}).align_table(["sex"], np.array([5, 6])).tolist()
    [5, 6, 6]
    """

    def __init__(self, codes: Mapping[str, NDArray[np.integer]]) -> None:
        self.codes = codes

    def align_table(self, names: Sequence[str], table: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = table[tuple(self.codes[name] for name in names)]
        return found

    def mark(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        places: NDArray[np.int64],
        marks: NDArray[np.int8],
    ) -> NDArray[np.int8]:
        mine = np.zeros(len(self.codes[names[0]]), np.int64)
        theirs, listed = np.zeros(len(marks), np.int64), np.ones(mine.size, np.bool_)
        if not theirs.size:
            return np.zeros(mine.size, np.int8)
        # Beginnings of combinations are numbered anew after each column, so that no
        # number grows beyond how many are listed.
        for name, size, wanted in zip(names, sizes, places, strict=True):
            mine = mine * size + self.codes[name].astype(np.int64)
            begun, theirs = np.unique(theirs * size + wanted, return_inverse=True)
            rank = np.minimum(np.searchsorted(begun, mine), begun.size - 1)
            listed &= begun[rank] == mine
            mine = rank
        largest = np.zeros(theirs.max() + 1, np.int8)
        np.maximum.at(largest, theirs, marks)
        return np.where(listed, largest[mine], np.int8(0))
