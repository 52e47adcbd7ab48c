"""How answers about single columns are combined: along the axes of a marginal, or row
by row.

A table over several columns is made for a marginal only, whose own table is as large.
Rows are compared with a list of combinations directly: two columns of 100,000 codes
have a table of 10 GB, and a few rows need none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class TableAxes(Protocol):
    """Lays tables over the codes of some columns out in one shape, so that they can be
    combined.
    """

    def align_table(self, names: Sequence[str], table: NDArray[Any]) -> NDArray[Any]:
        """The table's entries in the shape that all answers share (or that broadcasts
        to it).
        """

    def mark(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        places: NDArray[np.int64],
        marks: NDArray[np.int8],
    ) -> NDArray[np.int8]:
        """The largest mark of the listed combinations of codes (each a column of
        `places`) that an entry has; 0 if it has none of them.
        """


class CliqueAxes:
    """The cells of a clique, one axis for each of its columns.

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
    """Rows of codes, one answer for each.

    >>> RowAxes({"sex": np.array([0, 1, 1])}).align_table(["sex"], np.array([5, 6])).tolist()
    [5, 6, 6]
    """

    def __init__(self, codes: Mapping[str, NDArray[np.integer]]) -> None:
        self.codes = codes

    def align_table(self, names: Sequence[str], table: NDArray[Any]) -> NDArray[Any]:
        entries: NDArray[Any] = table[tuple(self.codes[name] for name in names)]
        return entries

    def mark(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        places: NDArray[np.int64],
        marks: NDArray[np.int8],
    ) -> NDArray[np.int8]:
        count = len(self.codes[names[0]])
        if not marks.size:
            return np.zeros(count, np.int8)
        row_prefix = np.zeros(count, np.int64)
        listed_prefix = np.zeros(len(marks), np.int64)
        is_listed = np.ones(count, np.bool_)
        # Prefixes of combinations are numbered anew after each column, so that no
        # number grows beyond how many are listed.
        for name, size, wanted in zip(names, sizes, places, strict=True):
            row_prefix = row_prefix * size + self.codes[name].astype(np.int64)
            prefixes, listed_prefix = np.unique(
                listed_prefix * size + wanted, return_inverse=True
            )
            rank = np.minimum(np.searchsorted(prefixes, row_prefix), prefixes.size - 1)
            is_listed &= prefixes[rank] == row_prefix
            row_prefix = rank
        largest = np.zeros(listed_prefix.max() + 1, np.int8)
        np.maximum.at(largest, listed_prefix, marks)
        return np.where(is_listed, largest[row_prefix], np.int8(0))
