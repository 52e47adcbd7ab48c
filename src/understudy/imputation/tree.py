"""Classification and regression trees: each value is drawn from the donors in its leaf.

Reiter, "Using CART to generate partially synthetic public use microdata", 2005. Small
leaves remember people: what a leaf of five gains in utility it pays in uniques of the
original that come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.evaluation.utility.design import import_sklearn, skip_sklearn_checks
from understudy.schema import Lattice
from understudy.tables import Records

DEFAULT_LEAF_ROWS = 5
"""Fewest donors in a leaf: the default of the literature."""

MAX_TREE_DEPTH = 30
"""As in the implementation that the literature measures."""

SPLIT_TO_LEAF_ROWS = 3
"""A node is split if it has this many times the rows of a smallest leaf."""


MAX_SPIKE_SHARE = 0.7
"""A number that more than this share of the rows have is no draw from a density, and is
not smoothed.
"""

SILVERMAN_FACTOR, SILVERMAN_POWER = 0.9, -0.2
"""Bandwidth of a normal kernel, in deviations: 0.9 n^(−1/5) (Silverman 1986)."""


@dataclass(frozen=True, kw_only=True)
class DonorLeaves:
    """How leaves are made and drawn from: the fewest `rows` in one, and whether numbers
    are smoothed, so that no original value comes back but by chance.
    """

    rows: int = DEFAULT_LEAF_ROWS
    smooth: bool = False


DEFAULT_LEAVES = DonorLeaves()


@dataclass(frozen=True, eq=False)
class DonorTree:
    """A tree, and the original values in each of its leaves."""

    leaves: DonorLeaves
    is_number: bool
    y: NDArray[np.generic]
    x: NDArray[np.float64]
    tree: object = None
    donors: NDArray[np.generic] = field(default_factory=lambda: np.zeros(0))
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def draw_parameters(self, rng: Generator) -> DonorTree:
        """A tree grown on a bootstrap sample of the rows."""
        return self._grow(rng.integers(len(self.y), size=len(self.y)))

    @cached_property
    def _whole_tree(self) -> DonorTree:
        """The tree itself, or that of all rows: grown when it is drawn from, since
        drawn parameters grow another one.
        """
        return self if self.tree is not None else self._grow(np.arange(len(self.y)))

    def _grow(self, rows: NDArray[np.int64]) -> DonorTree:
        sklearn = import_sklearn()
        kind = (
            sklearn.tree.DecisionTreeRegressor
            if self.is_number
            else sklearn.tree.DecisionTreeClassifier
        )
        # A bootstrap sample has each row several times: as weights they are sorted once.
        times = np.bincount(rows, minlength=len(self.y))
        once = np.flatnonzero(times)
        # Trees of scikit-learn compare in single precision: rows must be cut as they
        # will be looked up.
        x = self.x[once].astype(np.float32)
        share = len(once) / len(rows)
        tree = kind(
            # Half a row less, since the share of the rows is rounded.
            min_weight_fraction_leaf=(self.leaves.rows - 0.5) / len(rows),
            # Rows of a node are counted once, however often they were drawn.
            min_samples_split=max(
                round(share * SPLIT_TO_LEAF_ROWS * self.leaves.rows), 2
            ),
            max_depth=MAX_TREE_DEPTH,
            # Ties between splits are broken alike each time; chance comes from the
            # bootstrap.
            random_state=0,
        )
        with skip_sklearn_checks():
            tree.fit(x, self.y[once], sample_weight=times[once].astype(np.float64))
            leaf = np.repeat(tree.tree_.apply(x), times[once])
        y = np.repeat(self.y[once], times[once])
        order = np.argsort(leaf, kind="stable")
        counts = np.bincount(leaf, minlength=tree.tree_.node_count).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        return replace(self, tree=tree, donors=y[order], starts=starts, counts=counts)

    def draw(self, x: NDArray[np.float64], rng: Generator) -> NDArray[np.generic]:
        """One donor for each row of predictors."""
        return self._whole_tree._draw_donors(x, rng)

    def _draw_donors(
        self, x: NDArray[np.float64], rng: Generator
    ) -> NDArray[np.generic]:
        leaf = self.tree.tree_.apply(x.astype(np.float32))  # type: ignore[attr-defined]
        # Each donor of a leaf is equally likely: the leaf's rows are the estimate.
        chosen = rng.integers(self.counts[leaf])
        drawn: NDArray[np.generic] = self.donors[self.starts[leaf] + chosen]
        if self.is_number and self.leaves.smooth:
            return self._smooth(drawn.astype(np.float64), leaf, rng)
        return drawn

    def _smooth(
        self, drawn: NDArray[np.float64], leaf: NDArray[np.int64], rng: Generator
    ) -> NDArray[np.float64]:
        """Draws from a kernel density of each leaf, shrunk so that the leaf keeps its
        mean and variance (Silverman 1986).
        """
        nodes = np.repeat(np.arange(len(self.counts)), self.counts)
        donors, rows = self.donors.astype(np.float64), np.maximum(self.counts, 1)
        mean = np.bincount(nodes, weights=donors, minlength=len(rows)) / rows
        squares = (donors - mean[nodes]) ** 2
        spread = np.sqrt(
            np.bincount(nodes, weights=squares, minlength=len(rows)) / rows
        )
        share = SILVERMAN_FACTOR * rows[leaf] ** SILVERMAN_POWER
        noise = share * spread[leaf] * rng.standard_normal(len(leaf))
        shrunk = (drawn - mean[leaf] + noise) / np.sqrt(1 + share**2)
        values, counts = np.unique(donors, return_counts=True)
        # A value such as 0 hours is an answer of its own: smoothed, it would exist no
        # more.
        is_spike = drawn == values[counts.argmax()]
        has_spike = counts.max() > MAX_SPIKE_SHARE * len(donors)
        return np.where(is_spike & has_spike, drawn, mean[leaf] + shrunk)


def fit_tree(
    y: NDArray[np.generic],
    x: NDArray[np.float64],
    *,
    is_number: bool,
    leaves: DonorLeaves = DEFAULT_LEAVES,
) -> DonorTree:
    """The tree of a column given its predictors."""
    return DonorTree(leaves=leaves, is_number=is_number, y=y, x=x)


@dataclass(frozen=True, eq=False)
class TreePredictor:
    """One predictor as a tree takes it: a number, or the place of a label in the order
    in which the target changes along it.
    """

    name: str
    label_places: NDArray[np.float64] | None = None
    absent_place: float = 0.0

    def values(self, records: Records) -> NDArray[np.float64]:
        """The predictor of each record."""
        if self.label_places is not None:
            places: NDArray[np.float64] = self.label_places[records.codes[self.name]]
            return places
        numbers = records.numbers(self.name)
        return np.where(np.isnan(numbers), self.absent_place, numbers)


@dataclass(frozen=True, eq=False)
class TreePredictors:
    """Predictors in which a single cut parts labels best: exactly for a number or two
    labels (Breiman et al. 1984), nearly for more (Coppersmith, Hong, Hosking 1999).
    """

    predictors: tuple[TreePredictor, ...]

    @classmethod
    def of(
        cls, names: Sequence[str], real: Records, target: NDArray[np.float64]
    ) -> TreePredictors:
        """Predictors for a target: a number, or an indicator of each label, a row."""
        return cls(tuple(_tree_predictor(name, real, target) for name in names))

    def matrix(self, records: Records) -> NDArray[np.float64]:
        """One row for each record."""
        columns = [predictor.values(records) for predictor in self.predictors]
        if not columns:
            return np.zeros((records.rows, 0))
        return np.column_stack(columns)


def _tree_predictor(
    name: str, real: Records, target: NDArray[np.float64]
) -> TreePredictor:
    if isinstance(real.schema[name], Lattice):
        numbers = real.numbers(name)
        known = numbers[~np.isnan(numbers)]
        # Missing numbers lie below all others: one cut parts them.
        return TreePredictor(name, absent_place=float(known.min(initial=0.0)) - 1.0)
    codes, size = real.codes[name], real.codec(name).size
    rows = np.bincount(codes, minlength=size)
    sums = [np.bincount(codes, weights=one, minlength=size) for one in target.T]
    means = np.column_stack(sums) / np.maximum(rows, 1)[:, None]
    centered = np.where(rows[:, None] > 0, means - target.mean(axis=0), 0.0)
    # The first principal component of the labels' mean targets, each by its rows.
    spread = (centered * rows[:, None]).T @ centered
    direction = np.linalg.eigh(spread)[1][:, -1]
    return TreePredictor(name, label_places=centered @ direction)


def tree_target(values: NDArray[np.generic], *, is_number: bool) -> NDArray[np.float64]:
    """The target by which labels of predictors are ordered: a number, or an indicator
    of each label.
    """
    if is_number:
        return values.astype(np.float64)[:, None]
    labels = np.unique(values)
    indicators: NDArray[np.float64] = (values[:, None] == labels).astype(np.float64)
    return indicators
