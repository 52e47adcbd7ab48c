"""Which pairs of columns are worth their noise, and which of them to measure together:
PrivSyn's DenseMarg and its combination rule.

Zhang et al., "PrivSyn: differentially private data synthesis", USENIX Security 2021,
§4. All of it works on sizes and on answers already paid for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique

MAX_MEASURED_CELLS = 20_000_000
"""Cells of all measured marginals together."""

MAX_CLIQUE_OVERLAP = 2
"""Columns of a new clique that cliques before it may hold already."""

OCCUPIED_CELL_FACTOR = 2.0
"""A cell counts in full once its expected rows, times this, reach the mean noise on it.
"""

CliqueSizes = Mapping[Clique, float]


@dataclass(frozen=True)
class NoiseLevel:
    """How much noise the budget for marginals means.

    `unit` is E|noise| on the cells of a marginal that gets all of it. A marginal of n
    cells gets a part ∝ n^power, which makes the sum of all L1 errors smallest: power is
    2/3 for Gaussian noise (∝ 1/√part) and 1/2 for Laplace noise (∝ 1/part).
    """

    unit: float
    power: float

    def part(self, size: float) -> float:
        """The weight of a marginal with so many cells."""
        return float(size**self.power)

    def error(self, load: float) -> float:
        """The L1 errors of all marginals whose weights sum to `load`: unit · (Σ
        n^power)^(1/power).
        """
        return float(self.unit * load ** (1 / self.power))

    def on_cell(self, size: float, load: float) -> float:
        """E|noise| on a cell of one of them."""
        return float(
            self.unit * (max(load / self.part(size), 1.0)) ** (1 / self.power - 1)
        )


def dense_marginals(
    losses: Mapping[Clique, float], sizes: CliqueSizes, noise: NoiseLevel
) -> list[Clique]:
    """The pairs worth their noise, in the order in which they were added: each time the
    one that lowers the sum of errors most.

    `losses` says what leaving a pair out costs, `sizes` how many cells it has. Both
    errors are L1 distances in rows.

    >>> losses = {("a", "b"): 90.0, ("a", "c"): 5.0}
    >>> dense_marginals(losses, dict.fromkeys(losses, 8), NoiseLevel(1.0, 2 / 3))
    [('a', 'b')]
    """
    pairs = list(losses)
    phi = np.array([losses[p] for p in pairs])
    cells = np.array([sizes[p] for p in pairs], np.float64)
    parts = cells**noise.power
    # All pairs are compared at once: adding one makes every other one noisier, since
    # they share the budget.
    left = np.ones(len(pairs), bool)
    chosen: list[Clique] = []
    room, load = float(MAX_MEASURED_CELLS), 0.0
    while True:
        # Σ noise errors is (Σ parts)^(1/power): what one more part adds to it, against
        # the loss of leaving the pair out.
        more = noise.unit * (load + parts) ** (1 / noise.power) - noise.error(load)
        change = np.where(left & (cells <= room), more - phi, math.inf)
        best = int(np.argmin(change))
        if change[best] >= 0:
            return chosen
        chosen.append(pairs[best])
        left[best] = False
        room, load = room - cells[best], load + float(parts[best])


def count_occupied_cells(
    expected: Mapping[Clique, NDArray[np.float64]],
    chosen: Iterable[Clique],
    sizes: CliqueSizes,
    noise: NoiseLevel,
) -> dict[Clique, float]:
    """How many cells of each marginal will carry an error of the noise's size, if
    `chosen` are measured.

    Counts are cut at zero afterwards, so the error in a cell that expects next to
    nothing is next to nothing, however large its noise.

    >>> expected = {("a", "b"): np.array([100.0, 50.0, 0.0, 0.5])}
    >>> count_occupied_cells(expected, [("a", "b")], {("a", "b"): 4}, NoiseLevel(4.0, 2 / 3))
    {('a', 'b'): 2.25}
    """
    measured = set(chosen)
    load = sum(noise.part(sizes[c]) for c in measured)
    found = {}
    for clique, rows in expected.items():
        part = 0.0 if clique in measured else noise.part(sizes[clique])
        level = noise.on_cell(sizes[clique], load + part)
        found[clique] = (
            max(float(np.minimum(1.0, OCCUPIED_CELL_FACTOR * rows / level).sum()), 1.0)
            if level > 0
            else float(rows.size)
        )
    return found


def combine_pairs(
    pairs: Sequence[Clique], sizes: Mapping[str, int], largest: int
) -> list[Clique]:
    """Pairs gathered into cliques of the graph they form: large ones first, few columns
    seen before, fewer than `largest` cells.

    Every pair is in one of the cliques, or stays as it is.

    >>> pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    >>> combine_pairs(pairs, dict.fromkeys("abcd", 2), 100)
    [('a', 'b', 'c'), ('c', 'd')]
    """
    order = {name: i for i, name in enumerate(sizes)}
    linked: dict[str, set[str]] = {name: set() for name in sizes}
    for a, b in pairs:
        linked[a].add(b)
        linked[b].add(a)
    found: list[Clique] = []
    used: set[str] = set()
    covered: set[frozenset[str]] = set()
    for clique in _linked_cliques(linked, order, sizes, largest):
        new = {frozenset(pair) for pair in combinations(clique, 2)} - covered
        if new and len(used & set(clique)) <= MAX_CLIQUE_OVERLAP:
            found.append(clique)
            used |= set(clique)
            covered |= new
    return found + [pair for pair in pairs if frozenset(pair) not in covered]


def _linked_cliques(
    linked: Mapping[str, set[str]],
    order: Mapping[str, int],
    sizes: Mapping[str, int],
    largest: int,
) -> list[Clique]:
    """Sets of three or more linked columns with fewer than `largest` cells: most
    columns first, then fewest cells.
    """
    found: list[Clique] = []
    layer: list[Clique] = [(name,) for name in order]
    while layer and len(found) < MAX_MEASURED_CELLS // 100:
        wider: list[Clique] = []
        for clique in layer:
            common = set.intersection(*map(linked.__getitem__, clique))
            for name in sorted(common, key=order.__getitem__):
                larger = (*clique, name)
                cells = math.prod(map(sizes.__getitem__, larger))
                # Columns join in one order only, so that no set is built twice.
                if order[name] > order[clique[-1]] and cells < largest:
                    wider.append(larger)
        layer = wider
        found += [clique for clique in layer if len(clique) > MAX_CLIQUE_OVERLAP]
    return sorted(found, key=lambda c: (-len(c), math.prod(sizes[n] for n in c)))
