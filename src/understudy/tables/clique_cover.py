"""Few large cliques that hold all the cliques asked for.

Counting one clique costs about the same however many columns it has, as long as its
table stays in the processor's cache. So 105 pairs of 15 columns are counted as some 20
to 35 sets of three or four columns, and the pairs are sums over those.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Clique = tuple[str, ...]

MAX_COVER_CELLS = 2**16
"""No covering clique has more cells than this, so that its codes fit 16 bits and its
table the second cache level.
"""


def count_cells(clique: Clique, sizes: Mapping[str, int]) -> int:
    """Number of cells of a marginal, exactly, however large.

    >>> count_cells(("age", "sex"), {"age": 90, "sex": 2})
    180
    """
    return math.prod(sizes[name] for name in clique)


def cover_cliques(
    cliques: Sequence[Clique],
    sizes: Mapping[str, int],
    limit: int = MAX_COVER_CELLS,
) -> list[Clique]:
    """Few cliques of at most `limit` cells such that each clique asked for lies within
    one; a larger one stays as it is.

    >>> cover_cliques([("a", "b"), ("b", "c"), ("a", "c")], {"a": 4, "b": 4, "c": 4})
    [('a', 'b', 'c')]
    """
    uncovered = _UncoveredCliques(cliques)
    # Large cliques first: small ones fit into what grows from them, not the reverse.
    starts = sorted(
        uncovered.cliques,
        key=lambda clique: (-count_cells(tuple(clique), sizes), sorted(clique)),
    )
    cover = []
    for start in starts:
        if start in uncovered.cliques:
            grown = _GrowingClique(uncovered, sizes)
            grown.grow_from(start, limit)
            uncovered.remove_cliques(grown.completed_cliques())
            cover.append(tuple(sorted(grown.columns)))
    return cover


class _UncoveredCliques:
    """Cliques that no chosen one holds yet, also by column."""

    def __init__(self, cliques: Sequence[Clique]) -> None:
        self.cliques = {frozenset(clique) for clique in cliques}
        self.by_column: dict[str, set[frozenset[str]]] = {}
        self.single_columns: set[str] = set()
        """Columns that are a clique of their own."""
        for clique in self.cliques:
            if len(clique) == 1:
                self.single_columns |= clique
            for name in clique:
                self.by_column.setdefault(name, set()).add(clique)

    def remove_cliques(self, cliques: Sequence[frozenset[str]]) -> None:
        """Leave out cliques that are covered now."""
        for clique in cliques:
            self.cliques.discard(clique)
            if len(clique) == 1:
                self.single_columns -= clique
            for name in clique:
                self.by_column[name].discard(clique)


class _GrowingClique:
    """A clique that takes in one column after the other."""

    def __init__(self, uncovered: _UncoveredCliques, sizes: Mapping[str, int]) -> None:
        self.columns: set[str] = set()
        self._by_column = uncovered.by_column
        self._sizes = sizes
        self._missing: dict[frozenset[str], int] = {}
        """Of each uncovered clique that is touched, how many columns are missing."""
        self._gains = dict.fromkeys(uncovered.single_columns, 1)
        """For each column, how many uncovered cliques miss it alone."""

    def grow_from(self, start: frozenset[str], limit: int) -> None:
        """Take in the start, then columns as long as the cells stay within the limit."""
        for name in sorted(start):
            self._add_column(name)
        room = limit // max(1, count_cells(tuple(start), self._sizes))
        while room > 1:
            # The column that completes the most uncovered cliques, and of those the
            # smallest: it leaves the most room.
            ranks = [
                (-gain, self._sizes[name], name)
                for name, gain in self._gains.items()
                if self._sizes[name] <= room
            ]
            if not ranks:
                return
            _, size, name = min(ranks)
            self._add_column(name)
            room //= max(1, size)

    def completed_cliques(self) -> list[frozenset[str]]:
        """The uncovered cliques that lie within this one."""
        return [clique for clique, count in self._missing.items() if not count]

    def _add_column(self, name: str) -> None:
        self.columns.add(name)
        self._gains.pop(name, None)
        for clique in self._by_column[name]:
            count = self._missing.get(clique, len(clique)) - 1
            self._missing[clique] = count
            if count == 1:
                (last,) = clique - self.columns
                self._gains[last] = self._gains.get(last, 0) + 1
