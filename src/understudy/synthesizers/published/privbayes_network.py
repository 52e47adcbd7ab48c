"""The growing network of PrivBayes: which pair joins next, and what is measured of it.

A pair is a clique whose first column is the child and whose others are its parents.
The sources and the privacy argument stand in `privbayes.py`; this module asks the
curator and holds no row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting
from understudy.measurements import Clique, Measurement, Measurements
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.estimates.pooling import pool_total
from understudy.models.model import Codes
from understudy.models.network import NetworkModel
from understudy.models.product import ProductModel
from understudy.synthesizers.base import CuratorProtocol, Progress

MAX_PAIR_CANDIDATES = 4_000
"""Pairs that one choice is made from, at most."""


MAX_NODE_TABLE_CELLS = 1_000_000
"""Cells of a table that is still measured."""


MAX_CHOICE_CELLS = 20_000_000
"""Cells of all pairs that one choice is made from."""


MAX_PARENT_SET_STEPS = 200_000
"""Sets looked at for one child before there are too many."""


MIN_REST_PART = Fraction(1, 1000)
"""A rest of the budget that is not worth a question."""


NETWORK_SAMPLE_ROWS = 2**16
"""Rows that stand for the network so far when parents' shares are asked of it."""


@dataclass(frozen=True)
class NetworkSettings:
    """What the network's growth depends on; see the options of `PrivBayes`."""

    k: int | None
    theta: float
    beta: Fraction


@dataclass
class NetworkBuilder:
    """One run of `measure`: what is asked, of whom, and what was answered so far."""

    curator: CuratorProtocol
    settings: NetworkSettings
    sizes: Mapping[str, int]
    columns: Sequence[str]
    found: Measurements
    progress: Progress
    most: int | None = None
    """Parents that the last choice had to be limited to, if it had to."""
    parent_shares: dict[Clique, NDArray[np.float64]] = field(default_factory=dict)
    """Shares of parents' cells in the network so far, by clique."""

    def measure_after_structure(self, score: str) -> Measurements:
        """Structure first, then all tables at once: the order of the paper."""
        settings, curator, d = self.settings, self.curator, len(self.columns)
        tables = 1 - settings.beta
        first: Clique = (self.columns[0],)
        k, cells = settings.k, MAX_NODE_TABLE_CELLS
        if k is None:
            root = curator.measure([first], share=tables / d)
            self.found += root
            k, cells = self._useful_limits(
                root, share=tables / d, tables=tables * (d - 1) / d
            )
        pairs = [first]
        for turn in range(1, d):
            self.progress(f"choosing round {turn}", turn / d)
            candidates = self._candidate_pairs([pair[0] for pair in pairs], k, cells)
            # Scores of shares need no estimate: the curator compares with nothing.
            blank = {clique: np.zeros(self._shape(clique)) for clique in candidates}
            pairs.append(self._choose_pair(blank, score, settings.beta / (d - 1)))
        wanted = _maximal_pairs(pairs)
        self.progress("measuring", 0.0)
        self.found += curator.measure(wanted, share=curator.share_left)
        self.progress("measuring", 1.0)
        return self.found

    def measure_while_growing(self) -> Measurements:
        """Each table as soon as its pair is chosen: the next choice is made against the
        network so far.
        """
        settings, curator, d = self.settings, self.curator, len(self.columns)
        beta = settings.beta
        every: list[Clique] = [(name,) for name in self.columns]
        counted = {m.clique for m in curator.discovered_measurements if m.plain}
        wanted = [clique for clique in every if clique not in counted] or every
        singles = curator.measure(wanted, share=beta / 3, weights=self._weights(wanted))
        self.found += singles
        k, cells = settings.k, MAX_NODE_TABLE_CELLS
        if k is None:
            k, cells = self._useful_limits(singles, share=beta / 3, tables=1 - beta)
        total = max(pool_total(curator.schema, self.found)[0], 0.0)
        shares = ProductModel.from_measurements(curator.schema, self.found).shares
        pair: Clique = (self.columns[0],)
        crowd: Codes = {}
        for turn in range(1, d):
            self.progress(f"measuring round {turn}", turn / d)
            self._sample_column(crowd, pair)
            candidates = self._candidate_pairs(list(crowd), k, cells)
            estimates = self._assume_independence(candidates, crowd, shares, total)
            # Every choice has the same share, set before the first one: it depends on
            # no answer.
            pair = self._choose_pair(estimates, "l1", beta * 2 / 3 / (d - 1))
            reserved = beta * 2 / 3 * (d - 1 - turn) / (d - 1)
            if len(pair) > 1:
                self.found += curator.measure(
                    [pair], share=(curator.share_left - reserved) / (d - turn)
                )
        if curator.share_left > MIN_REST_PART:
            # Choices that were not needed leave a rest; where no pair was useful, all
            # of it sharpens the single columns.
            last = [m.clique for m in self.found if len(m.clique) > 1] or every
            self.found += curator.measure(
                last, share=curator.share_left, weights=self._weights(last)
            )
        self.progress("measuring", 1.0)
        return self.found

    def _assume_independence(
        self,
        candidates: Iterable[Clique],
        crowd: Codes,
        shares: Mapping[str, NDArray[np.float64]],
        total: float,
    ) -> dict[Clique, NDArray[np.float64]]:
        """The counts of each candidate if child and parents were independent."""
        estimates: dict[Clique, NDArray[np.float64]] = {}
        for clique in candidates:
            parents = self._shares_of_parents(crowd, clique[1:])
            estimates[clique] = total * np.multiply.outer(shares[clique[0]], parents)
        return estimates

    def _choose_pair(
        self,
        estimates: Mapping[Clique, NDArray[np.float64]],
        score: str,
        share: Fraction,
    ) -> Clique:
        """A private choice where there is one to make."""
        cliques = list(estimates)
        if len(cliques) == 1 or all(len(clique) == 1 for clique in cliques):
            return cliques[0]
        return self.curator.choose(estimates, share=share, score=score)

    def _useful_limits(
        self, paid: Measurements, *, share: Fraction, tables: Fraction
    ) -> tuple[int | None, int]:
        """The number of parents of two-valued columns (None where they are not), and
        the most cells of a pair.

        The noise that a budget buys is estimated from what `share` of it measured;
        `tables` is the share for tables.
        """
        d = len(self.columns)
        rows = max(0.0, pool_total(self.curator.schema, self.found)[0])
        handed = sum((m.cost.amount for m in paid), Fraction(0)) / share

        def max_useful_cells(count: int) -> float:
            """The most cells of one of so many tables that is useful."""
            noise = mean_noise_at_cost(
                paid[0], handed * tables / count, self.curator.accounting
            )
            return rows / (self.settings.theta * noise)

        if all(self.sizes[name] == 2 for name in self.columns):
            useful = (k for k in range(1, d) if 2 ** (k + 1) <= max_useful_cells(d - k))
            return max(useful, default=0), MAX_NODE_TABLE_CELLS
        return None, int(min(max_useful_cells(d), MAX_NODE_TABLE_CELLS))

    def _candidate_pairs(
        self, placed: Sequence[str], k: int | None, cells: int
    ) -> list[Clique]:
        """Every pair that may join: child first, then its parents. Where there would be
        too many, sets of fewer columns or cells.
        """
        new = [name for name in self.columns if name not in placed]
        most = len(placed) if k is None else min(k, len(placed))
        most = min(most, self.most or most)
        while True:
            found = self._pairs_within(new, placed, most, cells)
            if found is not None:
                self.most = most if most < len(placed) else None
                return found
            most, cells = (most - 1, cells) if most > 1 else (most, cells // 2)

    def _pairs_within(
        self, new: Sequence[str], placed: Sequence[str], most: int, cells: int
    ) -> list[Clique] | None:
        """All pairs with a largest parent set; None where they are too many, or their
        tables too large together.
        """
        found: list[Clique] = []
        volume = 0
        for child in new:
            for parents in largest_sets(
                placed, self.sizes, cells // self.sizes[child], most
            ):
                if parents is None:
                    return None
                found.append((child, *parents))
                volume += math.prod(self._shape(found[-1]))
                if (most > 1 and len(found) > MAX_PAIR_CANDIDATES) or (
                    parents and volume > MAX_CHOICE_CELLS
                ):
                    return None
        return found

    def _sample_column(self, crowd: Codes, pair: Clique) -> None:
        """Draw a new column for the crowd from what was measured of its pair. Public
        randomness, and the same in a run that is resumed.
        """
        # The generator counts columns, so a resumed run draws the same crowd.
        relevant = [m for m in self.found if set(m.clique) <= set(pair)]
        network = NetworkModel.from_measurements(
            self.curator.schema, Measurements(tuple(relevant))
        )
        crowd[pair[0]] = network.draw_column(
            pair[0], crowd, NETWORK_SAMPLE_ROWS, np.random.default_rng(len(crowd))
        )

    def _shares_of_parents(self, crowd: Codes, parents: Clique) -> NDArray[np.float64]:
        """Shares of the parents' cells in the network so far; a column that joined does
        not change any more.
        """
        if parents not in self.parent_shares:
            sizes = self._shape(parents)
            cell = np.zeros(NETWORK_SAMPLE_ROWS, np.int64)
            for name in parents:
                cell = cell * self.sizes[name] + crowd[name]
            self.parent_shares[parents] = (
                np.bincount(cell, minlength=math.prod(sizes)).reshape(sizes)
                / NETWORK_SAMPLE_ROWS
            )
        return self.parent_shares[parents]

    def _shape(self, clique: Clique) -> list[int]:
        return [self.sizes[name] for name in clique]

    def _weights(self, cliques: Sequence[Clique]) -> list[float]:
        """Parts of the budget that make the mean L1 error of several tables smallest."""
        power = 1 / 2 if self.curator.accounting is Accounting.PURE else 2 / 3
        return [math.prod(self._shape(clique)) ** power for clique in cliques]


def largest_sets(
    columns: Sequence[str], sizes: Mapping[str, int], room: int, most: int
) -> Iterator[Clique | None]:
    """Sets of at most `most` columns and `room` cells to which no column can be added;
    ends with None where there are far too many.

    >>> list(largest_sets(["a", "b", "c"], {"a": 2, "b": 3, "c": 4}, 6, 2))
    [('a', 'b'), ('c',)]
    """
    order = sorted(columns, key=lambda name: (sizes[name], columns.index(name)))
    steps = 0
    open_sets: list[tuple[tuple[int, ...], int]] = [((), 1)]
    while open_sets:
        chosen, cells = open_sets.pop()
        steps += 1
        if steps > MAX_PARENT_SET_STEPS:
            yield None
            return
        outside = _find_first_outside(chosen, len(order))
        # Columns stand by size: if the smallest one outside does not fit, none does.
        has_room = outside is not None and cells * sizes[order[outside]] <= room
        if len(chosen) == most or not has_room:
            yield tuple(order[i] for i in chosen)
        if len(chosen) < most:
            start = chosen[-1] + 1 if chosen else 0
            for i in range(len(order) - 1, start - 1, -1):
                if cells * sizes[order[i]] <= room:
                    open_sets.append(((*chosen, i), cells * sizes[order[i]]))


def _find_first_outside(chosen: tuple[int, ...], count: int) -> int | None:
    """The smallest number below `count` that was not chosen; `chosen` is sorted."""
    places = (i for i in range(count) if i >= len(chosen) or chosen[i] != i)
    return next(places, None)


def mean_noise_at_cost(
    paid: Measurement, amount: Fraction, accounting: Accounting
) -> float:
    """The mean |noise| on a cell of a marginal that gets an amount, estimated from
    one that was paid for.

    A scale is ∝ 1/amount in a pure run and ∝ 1/√amount in a Gaussian one; a mean
    |noise| is the scale of Laplace noise and √(2/π)·σ of Gaussian noise.
    """
    part = float(amount / paid.cost.amount)
    if accounting is Accounting.PURE:
        return float(paid.scale) / part
    deviation = float(paid.scale) / math.sqrt(part)
    return deviation * MEAN_ABS_NORMAL


def _maximal_pairs(pairs: Sequence[Clique]) -> list[Clique]:
    """The pairs whose columns do not all lie in another pair, in their order."""
    maximal: list[Clique] = []
    for i, pair in enumerate(pairs):
        columns = set(pair)
        inside_another = any(columns < set(other) for other in pairs)
        repeated = any(columns == set(other) for other in pairs[:i])
        if not (inside_another or repeated):
            maximal.append(pair)
    return maximal
