"""Counting: many marginals of coded columns in one pass, exactly.

The cliques asked for are covered by fewer, larger ones (clique_cover.py). Only these
are counted, in blocks of rows that stay in the processor's cache, and the answers are
sums over the larger tables. Everything is integers; the order of rows, blocks and
threads cannot change a result.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TableError
from understudy.schema import Codec
from understudy.tables.clique_cover import Clique, count_cells, cover_cliques

CodedColumns = Mapping[str, NDArray[np.unsignedinteger]]

COUNT_BLOCK_ROWS = 2**17
"""Rows counted at a time: their fused codes fit the second cache level."""

SPARSE_BLOCK_ROWS = 2**20
"""Rows whose distinct cells are found at a time."""

MAX_DENSE_COUNT_CELLS = 2**28
"""Largest table counted densely (2 GiB)."""

MAX_WORD_CELLS = 2**62
"""Cells that one signed machine word numbers, with a bit to spare."""


class Tally:
    """Counts of many cliques, added up block by block.

    >>> tally = Tally([("a",), ("a", "b"), ()], {"a": 2, "b": 2})
    >>> tally.add({"a": np.array([0, 1, 1], np.uint8), "b": np.array([1, 0, 0], np.uint8)})
    >>> [table.tolist() for table in tally.counts()]
    [[1, 2], [[0, 1], [2, 0]], 3]
    """

    def __init__(
        self,
        cliques: Sequence[Clique],
        sizes: Mapping[str, int],
        *,
        threads: int | None = None,
    ) -> None:
        for clique in cliques:
            _check_clique(clique, sizes)
        self.cliques = [tuple(c) for c in cliques]
        self.sizes = dict(sizes)
        self.total = 0
        self.supers = cover_cliques([c for c in self.cliques if c], sizes)
        self._tables = [np.zeros(count_cells(s, sizes), np.int64) for s in self.supers]
        self._threads = threads or os.cpu_count() or 1

    def add(self, columns: CodedColumns, rows: int | None = None) -> None:
        """Count more rows: one array of codes per column; `rows` where no column is
        given.
        """
        lengths = {len(codes) for codes in columns.values()}
        if rows is not None:
            lengths.add(rows)
        # numpy would broadcast a length of 1, and count rows that are not there.
        if len(lengths) > 1:
            raise ValueError("columns of different lengths are not rows")
        count = lengths.pop() if lengths else 0
        self.total += count
        work = list(zip(self.supers, self._tables, strict=True))
        if self._threads == 1 or len(work) == 1 or count < COUNT_BLOCK_ROWS:
            for clique, table in work:
                self._count_clique(clique, table, columns, count)
            return
        # Each thread owns whole tables, so nothing is shared and nothing has to be
        # merged.
        with ThreadPoolExecutor(self._threads) as pool:
            jobs = [
                pool.submit(self._count_clique, clique, table, columns, count)
                for clique, table in work
            ]
            for job in jobs:
                job.result()

    def _count_clique(
        self,
        clique: Clique,
        table: NDArray[np.int64],
        columns: CodedColumns,
        rows: int,
    ) -> None:
        block = max(COUNT_BLOCK_ROWS, min(len(table), 2**22))
        for start in range(0, rows, block):
            fused = fuse_codes(
                clique,
                self.sizes,
                columns,
                slice(start, min(start + block, rows)),
            )
            if len(table) <= 2 * len(fused):
                table += np.bincount(fused, minlength=len(table))
            else:
                # Few rows in a large table: no second table is made.
                np.add.at(table, fused, 1)

    def counts(self) -> list[NDArray[np.int64]]:
        """The tables asked for, in order, each in the shape and axis order of its
        clique.
        """
        answers = []
        for clique in self.cliques:
            if not clique:
                answers.append(np.array(self.total, np.int64))
                continue
            home = self._find_home(clique)
            answers.append(
                marginal(self._tables[home], self.supers[home], clique, self.sizes)
            )
        return answers

    def _find_home(self, clique: Clique) -> int:
        """The smallest covering clique that holds this one."""
        candidates = min((self._homes[name] for name in clique), key=len)
        wanted = set(clique)
        return min((size, place) for size, place, held in candidates if wanted <= held)[
            1
        ]

    @cached_property
    def _homes(self) -> dict[str, list[tuple[int, int, frozenset[str]]]]:
        """For each column, the covering cliques that hold it, with their cells."""
        homes: dict[str, list[tuple[int, int, frozenset[str]]]] = {}
        for place, held in enumerate(self.supers):
            cells = count_cells(held, self.sizes)
            for name in held:
                homes.setdefault(name, []).append((cells, place, frozenset(held)))
        return homes


def _check_clique(clique: Clique, sizes: Mapping[str, int]) -> None:
    """Refuse a clique that cannot be counted densely."""
    if len(set(clique)) != len(clique):
        raise TableError(
            f'a clique names column "{_repeated_column(clique)}" twice. Nothing was'
            " counted"
        )
    unknown = [name for name in clique if name not in sizes]
    if unknown:
        raise TableError(
            f'column "{unknown[0]}" is not counted in this table. Nothing was counted'
        )
    if count_cells(clique, sizes) > MAX_DENSE_COUNT_CELLS:
        raise TableError(
            f"{' × '.join(clique)} has {count_cells(clique, sizes):,} cells, too many"
            " to count densely. Ask for sparse counts, or for coarser bins. Nothing"
            " was counted"
        )


def fuse_codes(
    clique: Clique,
    sizes: Mapping[str, int],
    columns: CodedColumns,
    rows: slice,
) -> NDArray[np.integer]:
    """Mixed-radix number of each row's cell, first column slowest, in the smallest type
    that is quick to count.

    >>> row = {"a": np.array([2], np.uint8), "b": np.array([7], np.uint8)}
    >>> fuse_codes(("a", "b"), {"a": 3, "b": 10}, row, slice(None)).tolist()
    [27]
    """
    total = count_cells(clique, sizes)
    dtype: np.dtype[np.integer] = np.dtype(np.int64)
    if total <= 2**16:
        dtype = np.dtype(np.uint16)
    elif total <= 2**31:
        dtype = np.dtype(np.int32)
    fused = columns[clique[0]][rows].astype(dtype)
    for name in clique[1:]:
        if sizes[name] > 1:
            fused *= dtype.type(sizes[name])
            np.add(fused, columns[name][rows], out=fused, casting="unsafe")
    return fused


def marginal(
    table: NDArray[np.int64],
    have: Clique,
    want: Clique,
    sizes: Mapping[str, int],
) -> NDArray[np.int64]:
    """Sum a flat table over the columns not wanted; axes in the order wanted."""
    kept = [name for name in have if name in want]
    summed = table.reshape([sizes[n] for n in have]).sum(
        axis=tuple(i for i, n in enumerate(have) if n not in want)
    )
    return np.ascontiguousarray(summed.transpose([kept.index(n) for n in want]))


def _repeated_column(clique: Clique) -> str:
    return next(name for name in clique if clique.count(name) > 1)


def count_sparse(
    clique: Clique,
    sizes: Mapping[str, int],
    batches: Iterable[CodedColumns],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells that occur, in rising order, and their counts; the domain may be larger
    than any machine word.

    >>> rows = {"a": np.array([1, 0, 1], np.uint8), "b": np.array([0, 2, 0], np.uint8)}
    >>> codes, counts = count_sparse(("a", "b"), {"a": 2, "b": 3}, [rows])
    >>> codes.tolist(), counts.tolist()
    ([[0, 2], [1, 0]], [1, 2])
    """
    words = _split_into_words(clique, sizes)
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    held = 0
    for keys in _iter_keys(words, sizes, batches):
        blocks.append(merge_counts(keys, np.ones(len(keys), np.int64)))
        held += len(blocks[-1][1])
        # Merged again only once they have doubled: every cell is merged few times.
        if held > 2 * SPARSE_BLOCK_ROWS and held > 2 * len(blocks[0][1]):
            blocks = [_merge_blocks(blocks)]
            held = len(blocks[0][1])
    if not blocks:
        return np.zeros((0, len(clique)), np.int64), np.zeros(0, np.int64)
    keys, counts = _merge_blocks(blocks)
    columns: list[NDArray[np.int64]] = []
    for word, fused in zip(words, keys.T, strict=True):
        columns.extend(np.unravel_index(fused, [sizes[name] for name in word]))
    return np.stack(columns, axis=1).astype(np.int64), counts


def _iter_keys(
    words: list[Clique],
    sizes: Mapping[str, int],
    batches: Iterable[CodedColumns],
) -> Iterator[NDArray[np.int64]]:
    """The cells of rows as machine words, block by block."""
    for batch in batches:
        length = len(next(iter(batch.values())))
        for start in range(0, length, SPARSE_BLOCK_ROWS):
            rows = slice(start, min(start + SPARSE_BLOCK_ROWS, length))
            fused = [fuse_codes(word, sizes, batch, rows) for word in words]
            yield np.stack([keys.astype(np.int64) for keys in fused], axis=1)


def _merge_blocks(
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    keys = np.concatenate([keys for keys, _ in blocks])
    counts = np.concatenate([counts for _, counts in blocks])
    return merge_counts(keys, counts)


def _split_into_words(clique: Clique, sizes: Mapping[str, int]) -> list[Clique]:
    """Columns in order, as many together as fit a machine word."""
    words: list[list[str]] = [[]]
    for name in clique:
        if words[-1] and count_cells((*words[-1], name), sizes) >= MAX_WORD_CELLS:
            words.append([])
        words[-1].append(name)
    return [tuple(word) for word in words]


def merge_counts(
    keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal keys together, in rising order, their counts added up."""
    order = np.lexsort(keys.T[::-1])
    keys = keys[order]
    new = np.ones(len(keys), bool)
    new[1:] = np.any(keys[1:] != keys[:-1], axis=1)
    if not len(keys):
        return keys, counts
    return keys[new], np.add.reduceat(counts[order], np.flatnonzero(new))


def bin_values(
    positions: NDArray[np.int64],
    times: NDArray[np.int64],
    edges: Sequence[int],
) -> NDArray[np.int64]:
    """Counts of values, added up in bins."""
    bins = np.searchsorted(np.array(edges, np.int64), positions, side="right") - 1
    inside = (bins >= 0) & (bins < len(edges) - 1)
    counts = np.zeros(len(edges) - 1, np.int64)
    np.add.at(counts, bins[inside], times[inside])
    return counts


def fuse_places(
    codes: Sequence[NDArray[Any]], codecs: Mapping[str, Codec], rows: int
) -> NDArray[np.int64]:
    """The place of each row's cell among all cells."""
    places = np.zeros(rows, np.int64)
    for code, codec in zip(codes, codecs.values(), strict=True):
        places = places * codec.size + code.astype(np.int64)
    return places
