"""Counting: many marginals of coded columns in one pass, exactly.

Counting one clique costs about the same however many columns it has, as long as its
table stays in the processor's cache. So the cliques asked for are covered by fewer,
larger ones (105 pairs of 15 columns by some 20 to 35 sets of three or four), only these
are counted, in blocks of rows that stay in cache too, and the answers are sums over the
larger tables. Everything is integers; the order of rows, blocks and threads cannot
change a result.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TableError

Clique = tuple[str, ...]
CodedColumns = Mapping[str, NDArray[np.unsignedinteger]]

COUNT_BLOCK_ROWS = 2**17
"""Rows counted at a time: their fused codes fit the second cache level."""

MAX_COVER_CELLS = 2**16
"""No covering clique has more cells than this, so that its codes fit 16 bits and its
table the second cache level.
"""

SPARSE_BLOCK_ROWS = 2**20
"""Rows whose distinct cells are found at a time."""

MAX_DENSE_COUNT_CELLS = 2**28
"""Largest table counted densely (2 GiB)."""


def count_cells(clique: Clique, sizes: Mapping[str, int]) -> int:
    """Number of cells of a marginal, exactly, however large.

    >>> count_cells(("age", "sex"), {"age": 90, "sex": 2})
    180
    """
    return math.prod(sizes[name] for name in clique)


def cover_cliques(
    cliques: Sequence[Clique], sizes: Mapping[str, int], limit: int = MAX_COVER_CELLS
) -> list[Clique]:
    """Few cliques of at most `limit` cells such that each clique asked for lies within
    one; a larger one stays as it is.

    >>> cover_cliques([("a", "b"), ("b", "c"), ("a", "c")], {"a": 4, "b": 4, "c": 4})
    [('a', 'b', 'c')]
    """
    open_sets = {frozenset(c) for c in cliques}
    holding: dict[str, set[frozenset[str]]] = {}
    for one in open_sets:
        for name in one:
            holding.setdefault(name, set()).add(one)
    single = {name for one in open_sets if len(one) == 1 for name in one}
    chosen: list[Clique] = []
    order = sorted(
        open_sets, key=lambda s: (-math.prod(sizes[n] for n in s), sorted(s))
    )
    for seed in order:
        if seed not in open_sets:
            continue
        grown: set[str] = set()
        # Of each open clique that is touched, the columns still missing; for each
        # column, the open cliques that miss it alone.
        missing: dict[frozenset[str], int] = {}
        reach = dict.fromkeys(single, 1)
        joining = sorted(seed)
        room = limit // max(1, math.prod(sizes[n] for n in seed))
        while joining:
            for new in joining:
                grown.add(new)
                reach.pop(new, None)
                for one in holding[new]:
                    missing[one] = missing.get(one, len(one)) - 1
                    if missing[one] == 1:
                        (name,) = one - grown
                        reach[name] = reach.get(name, 0) + 1
            # The column that brings in the most open cliques, and of those the
            # smallest: it leaves the most room.
            ranks = [
                (-gain, sizes[name], name)
                for name, gain in reach.items()
                if sizes[name] <= room
            ]
            joining = [min(ranks)[2]] if ranks and room > 1 else []
            room //= max(1, sizes[joining[0]]) if joining else 1
        for one in [one for one, left in missing.items() if not left]:
            open_sets.discard(one)
            single -= one if len(one) == 1 else set()
            for name in one:
                holding[name].discard(one)
        chosen.append(tuple(sorted(grown)))
    return chosen


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
            if len(set(clique)) != len(clique):
                raise TableError(
                    f'a clique names column "{_repeated_column(clique)}" twice. Nothing'
                    " was counted"
                )
            unknown = [name for name in clique if name not in sizes]
            if unknown:
                raise TableError(
                    f'column "{unknown[0]}" is not counted in this table. Nothing was'
                    " counted"
                )
            if count_cells(clique, sizes) > MAX_DENSE_COUNT_CELLS:
                raise TableError(
                    f"{' × '.join(clique)} has {count_cells(clique, sizes):,} cells,"
                    " too many to count densely. Ask for sparse counts, or for coarser"
                    " bins. Nothing was counted"
                )
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
        lengths = {len(a) for a in columns.values()} | (
            {rows} if rows is not None else set()
        )
        (count,) = lengths or {0}
        self.total += count
        # Each thread owns whole tables, so nothing is shared and nothing has to be
        # merged.
        work = [(s, table) for s, table in zip(self.supers, self._tables, strict=True)]
        if self._threads == 1 or len(work) == 1 or count < COUNT_BLOCK_ROWS:
            for clique, table in work:
                self._count_clique(clique, table, columns, count)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            for done in [
                pool.submit(self._count_clique, clique, table, columns, count)
                for clique, table in work
            ]:
                done.result()

    def _count_clique(
        self, clique: Clique, table: NDArray[np.int64], columns: CodedColumns, rows: int
    ) -> None:
        block = max(COUNT_BLOCK_ROWS, min(len(table), 2**22))
        for start in range(0, rows, block):
            fused = fuse_codes(
                clique, self.sizes, columns, slice(start, min(start + block, rows))
            )
            if len(table) <= 2 * len(fused):
                table += np.bincount(fused, minlength=len(table))
            else:
                np.add.at(
                    table, fused, 1
                )  # few rows in a large table: no second table is made

    def counts(self) -> list[NDArray[np.int64]]:
        """The tables asked for, in order, each in the shape and axis order of its
        clique.
        """
        homes: dict[str, list[tuple[int, int, frozenset[str]]]] = {}
        for i, s in enumerate(self.supers):
            for name in s:
                homes.setdefault(name, []).append(
                    (count_cells(s, self.sizes), i, frozenset(s))
                )
        answers = []
        for clique in self.cliques:
            if not clique:
                answers.append(np.array(self.total, np.int64))
                continue
            wanted, fewest = (
                frozenset(clique),
                min((homes[name] for name in clique), key=len),
            )
            home = min((size, i) for size, i, held in fewest if wanted <= held)[1]
            answers.append(
                marginal(self._tables[home], self.supers[home], clique, self.sizes)
            )
        return answers


def fuse_codes(
    clique: Clique, sizes: Mapping[str, int], columns: CodedColumns, rows: slice
) -> NDArray[np.integer]:
    """Mixed-radix number of each row's cell, first column slowest, in the smallest type
    that is quick to count.

    >>> fuse_codes(("a", "b"), {"a": 3, "b": 10}, {"a": np.array([2], np.uint8), "b": np.array([7], np.uint8)}, slice(None)).tolist()
    [27]
    """
    total = count_cells(clique, sizes)
    dtype = np.dtype(
        np.uint16 if total <= 2**16 else np.int32 if total <= 2**31 else np.int64
    )
    fused = columns[clique[0]][rows].astype(dtype)
    for name in clique[1:]:
        if sizes[name] > 1:
            fused *= dtype.type(sizes[name])
            np.add(fused, columns[name][rows], out=fused, casting="unsafe")
    return fused


def marginal(
    table: NDArray[np.int64], have: Clique, want: Clique, sizes: Mapping[str, int]
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
    clique: Clique, sizes: Mapping[str, int], batches: Iterable[CodedColumns]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells that occur, in rising order, and their counts; the domain may be larger
    than any machine word.

    >>> rows = {"a": np.array([1, 0, 1], np.uint8), "b": np.array([0, 2, 0], np.uint8)}
    >>> codes, counts = count_sparse(("a", "b"), {"a": 2, "b": 3}, [rows])
    >>> codes.tolist(), counts.tolist()
    ([[0, 2], [1, 0]], [1, 2])
    """
    words = _split_into_words(clique, sizes)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    held = 0
    for batch in batches:
        length = len(batch[clique[0]])
        for start in range(0, length, SPARSE_BLOCK_ROWS):
            rows = slice(start, min(start + SPARSE_BLOCK_ROWS, length))
            keys = np.stack(
                [
                    fuse_codes(word, sizes, batch, rows).astype(np.int64)
                    for word in words
                ],
                axis=1,
            )
            found.append(_merge_counts(keys, np.ones(len(keys), np.int64)))
            held += len(found[-1][1])
            if held > 2 * SPARSE_BLOCK_ROWS and held > 2 * len(found[0][1]):
                found = [
                    _merge_counts(
                        *(np.concatenate(part) for part in zip(*found, strict=True))
                    )
                ]
                held = len(found[0][1])
    if not found:
        return np.zeros((0, len(clique)), np.int64), np.zeros(0, np.int64)
    keys, counts = _merge_counts(
        *(np.concatenate(part) for part in zip(*found, strict=True))
    )
    columns: list[NDArray[np.int64]] = []
    for word, fused in zip(words, keys.T, strict=True):
        columns.extend(np.unravel_index(fused, [sizes[name] for name in word]))
    return np.stack(columns, axis=1).astype(np.int64), counts


def _split_into_words(clique: Clique, sizes: Mapping[str, int]) -> list[Clique]:
    """Columns in order, as many together as fit a machine word."""
    words: list[list[str]] = [[]]
    for name in clique:
        if words[-1] and count_cells((*words[-1], name), sizes) >= 2**62:
            words.append([])
        words[-1].append(name)
    return [tuple(word) for word in words]


def _merge_counts(
    keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal keys together, in rising order, their counts added up."""
    order = np.lexsort(keys.T[::-1])
    keys = keys[order]
    new = np.ones(len(keys), bool)
    new[1:] = np.any(keys[1:] != keys[:-1], axis=1)
    return keys[new], (
        np.add.reduceat(counts[order], np.flatnonzero(new)) if len(keys) else counts
    )
