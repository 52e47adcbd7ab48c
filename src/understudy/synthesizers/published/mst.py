"""MST: the pairs of a maximum spanning tree, and the distribution of maximum entropy
that has them.

McKenna, Miklau, Sheldon, "Winning the NIST contest: a scalable and general approach to
differentially private synthetic data", 2021.

  1. One-way marginals (a quarter of the budget).
  2. A spanning tree of the columns (a tenth). A pair weighs ‖M_ab − N·p_a·p_b‖₁: the
     rows it has in other cells than independent columns would. Kruskal's algorithm,
     each edge by a private choice among the pairs between two components still apart: d
     − 1 choices.
  3. The tree's pairs (the rest).
  4. The model of maximum entropy that has these marginals (models/fitting/estimate.py).

Why it is private: steps 1 to 3 are questions to the curator, priced one by one. In step
2, p_a, p_b and N are those of step 1, paid for and public by then, so one row moves one
cell of M_ab and the weight by 1 (2 under replace); weights of different pairs may move
in opposite directions, so a choice at ε draws with exp(ε·weight/(2·1)). Which pairs are
apart depends on choices already paid for.

Three things differ from the paper by default. It spends a third on each step (`singles`
and `selection` of 1/3); choosing needs less, because strong pairs stand far above the
noise, and pairs have the most cells. Larger marginals get more of their step's budget,
n^(2/3) or n^(1/2) (`synthesizers.sizes`); `size_aware=False` is the equal split. And
rare values stay on their own: `compress` merges those whose noisy count is below three
deviations when pairs are measured.

`select="errors"` releases all d(d − 1)/2 weights with noise instead, once. In a GDP run
with budget B for this step a choice has the noise of a Gumbel variable of scale
2·√(0.393·(d − 1)/B), the released weights Gaussian noise of √(d(d − 1)/2/B): choices
are sharper from six columns on, and by a factor that grows with √d.

`public` names the cliques instead, as the contest's own entry did with a public dataset
of the same kind: no budget goes to selection. They must come from public data or from
knowledge of the subject, never from these rows; the release lists them among its
options.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import AxisMap, Clique, Identity, Measurements, Partition
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.fitting.estimate import estimate_tree
from understudy.models.inference.junction_tree import forecast_cells
from understudy.models.product import ProductModel
from understudy.models.tree import TreeModel
from understudy.notices import post_notice
from understudy.schema import Schema
from understudy.synthesizers.base import (
    About,
    Awareness,
    CuratorProtocol,
    Progress,
    Synthesizer,
    Workload,
    option,
    public_total,
)
from understudy.synthesizers.budget_split import (
    DEFAULT_TREE_CELLS,
    cell_count,
    size_weights,
    spell_cliques,
    split_by_cells,
    too_large_notice,
    uncounted_columns,
    varying_columns,
)
from understudy.synthesizers.shared.spanning import components, spanning_forest

SelectionMode = Literal["choices", "errors"]

RARE_COUNT_DEVIATIONS = 3.0
"""Deviations of the noise below which a count says nothing about its value."""

EdgeEstimates = dict[Clique, NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class MST(Synthesizer):
    """A spanning tree of strongly dependent pairs."""

    name: ClassVar[str] = "mst"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=True, budget=False, efficiency=True
    )
    about: ClassVar[About] = About(
        use=(
            "a first choice for most tables: fast, robust at small ε, any number of"
            " columns"
        ),
        avoid="interactions of three columns matter and ε is large",
        cost=(
            "one marginal per column, one fewer pairs, and as many private choices;"
            " about a second"
        ),
        paper=(
            'McKenna, Miklau, Sheldon, "Winning the NIST contest", Journal of Privacy'
            " and Confidentiality 2021"
        ),
    )

    singles: Fraction = option(Fraction(1, 4), "part of the budget for single columns")
    selection: Fraction = option(
        Fraction(1, 10), "part of the budget for choosing the tree"
    )
    select: SelectionMode = option(
        "choices",
        "choose pair by pair, or release noisy weights (errors) of all pairs once",
    )
    size_aware: bool = option(
        True, "larger marginals get more of the budget; false: all the same"
    )
    compress: bool = option(
        False, "values rarer than three deviations of noise share a bin in every pair"
    )
    public: tuple[Clique, ...] | None = option(
        None, "the pairs, from public data alone; nothing is spent on choosing"
    )
    limit: int = option(
        DEFAULT_TREE_CELLS, "cells of the largest pair; what is left out is said"
    )

    def __post_init__(self) -> None:
        if not (
            min(self.singles, self.selection) > 0 and self.singles + self.selection < 1
        ):
            raise Refused(
                "mst: `singles` and `selection` are parts above 0 that leave something"
                " to measure. Nothing was spent"
            )
        if self.select not in get_args(SelectionMode):
            raise Refused(
                f"mst: `select` must be one of {', '.join(get_args(SelectionMode))}."
                " Nothing was spent"
            )
        if self.limit < 1:
            raise Refused("mst: `limit` must be at least 1. Nothing was spent")
        # A float is taken for the decimal it stands for.
        for part in ("singles", "selection"):
            object.__setattr__(
                self, part, Fraction(getattr(self, part)).limit_denominator(10**6)
            )
        if self.public is not None:
            object.__setattr__(
                self, "public", tuple(tuple(clique) for clique in self.public)
            )

    def check(self, schema: Schema, *, delta: Fraction) -> None:
        """Refuse public cliques that name columns there are not, or that are too large
        together.
        """
        super().check(schema, delta=delta)
        for clique in self.public or ():
            _refuse_misnamed(clique, schema)
        if self.public and schema.is_closed:
            size = forecast_cells(self.public, schema.column_sizes)
            if size > self.limit:
                raise Refused(
                    f"mst: `public` cliques together need {size:,} cells, more than"
                    f" {self.limit:,}. Leave some out or raise `limit`. Nothing was"
                    " spent"
                )

    @property
    def public_declarations(self) -> tuple[str, ...]:
        """Cliques known from elsewhere."""
        if self.public is None:
            return ()
        named = spell_cliques(self.public, most=20)
        return (f"that these columns depend on each other: {named}",)

    def measure(
        self,
        curator: CuratorProtocol,
        workload: Workload,
        progress: Progress,
    ) -> Measurements:
        """One-ways, a tree, its pairs."""
        schema = curator.schema
        names = varying_columns(schema)
        found = curator.discovered_measurements + public_total(curator)
        pairs, huge = split_by_cells(schema, combinations(names, 2), self.limit)
        # Declared cliques replace the choice, so nothing is spent on it.
        edges = pairs if self.public is None else []
        # The number of choices is known before any is made: a forest's edges.
        count = len(names) - len(components(names, edges))
        choosing = Fraction(self.selection) if count else Fraction(0)
        # Without edges there is nothing to choose or measure beyond single columns, and
        # their step gets the whole budget.
        measuring = (
            1 - Fraction(self.singles) - Fraction(self.selection)
            if count or self.public
            else Fraction(0)
        )
        progress("measuring", 0.0)
        one_way_share: Fraction | int = 1
        if measuring:
            one_way_share = self.singles / (self.singles + measuring + choosing)
        found += self._measure_one_ways(curator, names, one_way_share)
        progress("measuring", float(1 - curator.share_left))
        if not measuring:
            return found
        if self.public is not None:
            chosen = list(self.public)
        else:
            if huge:
                post_notice(too_large_notice(self.limit, huge))
            product = ProductModel.from_measurements(schema, found)
            chosen = self._choose_tree(curator, product, edges, count, progress)
        maps = [self._axis_maps(schema, found, pair) for pair in chosen]
        sizes = [math.prod(map(_cells_of_axis, axes)) for axes in maps]
        weights = size_weights(sizes, curator.accounting, equal=not self.size_aware)
        found += curator.measure(
            chosen, share=curator.share_left, weights=weights, maps=maps
        )
        progress("measuring", 1.0)
        return found

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> TreeModel:
        """The maximum-entropy model of everything measured."""
        return estimate_tree(schema, measurements)

    def _measure_one_ways(
        self, curator: CuratorProtocol, names: Sequence[str], share: Fraction | int
    ) -> Measurements:
        """Every column discovery has not counted; what it did count leaves its part to
        the pairs.
        """
        every: list[Clique] = [(name,) for name in names]
        wanted = (
            uncounted_columns(curator, names)
            if share != 1
            else uncounted_columns(curator, names) or every
        )
        if not wanted:
            return Measurements()
        size = dict(zip(every, self._weights(curator, every), strict=True))
        part = (
            Fraction(
                sum(size[c] for c in wanted) / sum(size.values())
            ).limit_denominator(1000)
            if share != 1
            else 1
        )
        return curator.measure(
            wanted,
            share=share * max(part, Fraction(1, 1000)),
            weights=[size[c] for c in wanted],
        )

    def _weights(
        self, curator: CuratorProtocol, cliques: Sequence[Clique]
    ) -> list[float]:
        return size_weights(
            [cell_count(curator.schema, c) for c in cliques],
            curator.accounting,
            equal=not self.size_aware,
        )

    def _choose_tree(
        self,
        curator: CuratorProtocol,
        product: ProductModel,
        edges: Sequence[Clique],
        count: int,
        progress: Progress,
    ) -> list[Clique]:
        # Independence is the estimate: the distance from it is what an edge adds.
        estimates = {pair: product.marginal(pair) for pair in edges}
        share = self.selection
        if self.select == "errors":
            errors = curator.errors(estimates, share=share)
            order = sorted(edges, key=lambda pair: -float(errors[pair]))
            return list(spanning_forest(order))
        chosen: list[Clique] = []
        for done in range(count):
            apart = _edges_between_components(edges, chosen)
            chosen.append(
                curator.choose(
                    {pair: estimates[pair] for pair in apart}, share=share / count
                )
            )
            progress(f"selecting round {done + 1}", (done + 1) / count)
        return chosen

    def _axis_maps(
        self, schema: Schema, found: Measurements, clique: Clique
    ) -> tuple[AxisMap, ...]:
        # Merged codes would hide which cells are impossible, so such pairs stay whole.
        if not self.compress or schema.zeros(clique) is not None:
            return tuple(Identity(size) for size in schema.sizes(clique))
        return tuple(_merge_rare_codes(schema, found, name) for name in clique)


def _edges_between_components(
    edges: Sequence[Clique], chosen: Sequence[Clique]
) -> list[Clique]:
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    label: dict[str, int] = {}
    for i, component in enumerate(components(names, chosen)):
        label.update(dict.fromkeys(component, i))
    return [(a, b) for a, b in edges if label[a] != label[b]]


def _cells_of_axis(axis: AxisMap) -> int:
    return axis.out


def _merge_rare_codes(schema: Schema, found: Measurements, name: str) -> AxisMap:
    """Values that stand out of the noise on their own, all others as one; the column as
    it is where at most one does not.
    """
    (size,) = schema.sizes((name,))
    pooled = PooledResiduals.of(schema, found)
    counts, deviation = pooled.marginal((name,)), np.sqrt(pooled.variance((name,)))
    # Pooled counts: discovery may have counted the column too, so the noise is smaller
    # than that of the one-way marginal alone.
    rare = counts < RARE_COUNT_DEVIATIONS * deviation
    if rare.sum() <= 1 or not np.all(np.isfinite(deviation)):
        return Identity(size)
    bins = np.cumsum(~rare) - 1
    bins[rare] = (~rare).sum()
    return Partition(tuple(int(b) for b in bins))


def _refuse_misnamed(clique: Clique, schema: Schema) -> None:
    unknown = [name for name in clique if name not in schema]
    if unknown:
        what = f'"{unknown[0]}" is no column of the schema'
    elif len(set(clique)) != len(clique) or not clique:
        what = "a clique names each column once"
    else:
        return
    raise Refused(f"mst: `public`: {what}. Correct the list. Nothing was spent")
