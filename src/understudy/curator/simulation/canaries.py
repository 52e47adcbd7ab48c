"""Canaries: made-up rows to audit the curator on, alone or beside those of a real
table. They never leave the curator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.curator.context import TableProtocol
from understudy.measurements import Clique
from understudy.schema import Schema


class EncodedRows:
    """Rows given as codes: a made-up table, or canaries to put beside a real one."""

    def __init__(self, schema: Schema, codes: Mapping[str, NDArray[np.int64]]) -> None:
        self._schema = schema
        self._codes = codes
        # An audit asks the same marginals thousands of times.
        self._kept: dict[Clique, NDArray[np.int64]] = {}

    def rows(self) -> int:
        """How many."""
        return len(next(iter(self._codes.values())))

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Dense counts over each clique."""
        return [self._count_clique(tuple(clique)).copy() for clique in cliques]

    def sparse_counts(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes and counts of the cells that occur."""
        rows = np.stack([self._codes[name] for name in clique], axis=1)
        cells, counts = np.unique(rows, axis=0, return_counts=True)
        return cells.astype(np.int64), counts.astype(np.int64)

    def _count_clique(self, clique: Clique) -> NDArray[np.int64]:
        if clique not in self._kept:
            sizes = self._schema.sizes(clique)
            if not clique:
                return np.array(self.rows(), np.int64)
            codes = tuple(self._codes[name] for name in clique)
            flat = np.ravel_multi_index(codes, sizes)
            counts = np.bincount(flat, minlength=prod(sizes))
            self._kept[clique] = counts.reshape(sizes).astype(np.int64)
        return self._kept[clique]


class TableWithCanaries:
    """A table and some rows more, counted together; for a closed schema."""

    def __init__(self, table: TableProtocol, more: EncodedRows) -> None:
        self._table = table
        self._more = more

    def rows(self) -> int:
        """How many."""
        return self._table.rows() + self._more.rows()

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Dense counts over each clique."""
        own = self._table.counts(cliques)
        more = self._more.counts(cliques)
        return [a + b for a, b in zip(own, more, strict=True)]

    def sparse_counts(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes and counts of the cells that occur."""
        parts = [self._table.sparse_counts(clique), self._more.sparse_counts(clique)]
        codes = np.concatenate([codes for codes, _ in parts])
        times = np.concatenate([counts for _, counts in parts])
        cells, place = np.unique(codes, axis=0, return_inverse=True)
        counts = np.zeros(len(cells), np.int64)
        # numpy 2.0 gives the inverse a second axis; add.at, since a cell comes twice.
        np.add.at(counts, place.reshape(-1), times)
        return cells.astype(np.int64), counts
