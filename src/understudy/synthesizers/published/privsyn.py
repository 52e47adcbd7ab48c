"""PrivSyn: many small marginals, and a table of rows that is pushed towards all of
them.

Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang, "PrivSyn: differentially private data
synthesis", USENIX Security 2021.

  1. One-way marginals (a tenth of the budget).
  2. InDif (a tenth): how far is every pair of columns from being independent? InDif_ab
     = ‖M_ab − M_a·M_b/N‖₁. The paper forms it from exact one-ways; all three terms then
     move with a row and its sensitivity is 4. Here M_a, M_b and N are those already
     paid for in step 1, public by now, so one row moves one cell of M_ab and InDif by 1
     (2 under replace): a quarter of the noise for the same price.
  3. DenseMarg: which pairs to measure? Leaving pair i out costs its dependency error φᵢ
     = InDifᵢ; measuring it costs the noise error ψᵢ = nᵢ·E|noise|. With the best split
     of the budget the noise error of a set is (Σ nᵢ^(2/3))^(3/2)·c for Gaussian noise
     and (Σ nᵢ^(1/2))²·c for Laplace noise. Pairs are added greedily, each time the one
     that lowers the sum most, while it falls.
  4. Pairs that form a clique are measured together as one marginal while that has fewer
     than `largest` cells and shares at most two columns with the cliques accepted
     before; large cliques first.
  5. Measure those (eight tenths), each with a part ∝ n^(2/3), or n^(1/2) for Laplace
     noise.
  6. Make the marginals agree (models/estimates/overlap_consistency.py), grow a table of
     rows from them (models/sampling/gum.py).

Why it is private: steps 1, 2 and 5 are questions to the curator, priced one by one; all
else is computed from their answers and sizes.

Two refinements of what the answers say, both options, both on by default and free of
charge:
  * `count_occupied_cells`: counts are cut at zero in the end, so a cell that expects
    next to no rows (by the paid one-ways) never has an error of the noise's size. Such
    cells do not count in nᵢ, which lets large and mostly empty pairs be measured that
    are worth it.
  * `shrink_counts`: noisy marginals are drawn towards independence where noise is all
    there is to see (models/estimates/shrinkage.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting
from understudy.errors import Refused
from understudy.measurements import (
    Clique,
    Distance,
    Measurements,
    distances_with_estimates,
)
from understudy.models.estimates.noise_moments import (
    MEAN_ABS_LAPLACE,
    MEAN_ABS_NORMAL,
    cell_variance,
    noise_variance,
)
from understudy.models.estimates.overlap_consistency import (
    TargetMarginals,
    enforce_consistency,
)
from understudy.models.estimates.pooling import PooledMarginal, pool_total
from understudy.models.estimates.shrinkage import shrink_counts
from understudy.models.product import ProductModel
from understudy.models.rows import RowsModel
from understudy.models.sampling.gum import GumSchedule, run_gum
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
    split_by_cells,
    too_large_notice,
    varying_columns,
)
from understudy.synthesizers.published.privsyn_selection import (
    NoiseLevel,
    combine_pairs,
    count_occupied_cells,
    dense_marginals,
)

MAX_PAIR_CELLS = 1_000_000
"""Cells of a pair that is still considered."""

PAIR_SELECTION_ROUNDS = 6
"""Which pairs are measured decides how noisy they are, and that which are worth it:
settled in so many rounds.
"""

MAX_SHRUNK_COLUMNS = 5
"""Columns of the largest marginal that is drawn towards independence. Cell by cell,
noise hides everything in one of twelve two-valued columns, though its sums over ten of
them tell a lot.
"""


@dataclass(frozen=True, kw_only=True)
class PrivSyn(Synthesizer):
    """Pairs worth their noise, and a table of rows grown from them."""

    name: ClassVar[str] = "privsyn"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=True, budget=True, efficiency=True
    )
    about: ClassVar[About] = About(
        use="ten to a hundred columns with many relations, and all pairs matter",
        avoid="rows are to be completed, or triples matter at small ε",
        cost=(
            "a noisy distance for each pair, then one request; time grows with rows ×"
            " marginals × iterations"
        ),
        paper=(
            'Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang, "PrivSyn:'
            ' differentially private data synthesis", USENIX Security 2021'
        ),
    )

    selection: Fraction = option(
        Fraction(1, 10), "part of the budget for a noisy distance of every pair"
    )
    singles: Fraction = option(Fraction(1, 10), "part of the budget for single columns")
    largest: int = option(
        5_000, "cells of a marginal of more than two columns; 1 keeps to pairs"
    )
    occupied: bool = option(
        True, "mostly empty marginals count only the cells in which rows are expected"
    )
    shrink: bool = option(
        True, "draw marginals towards independence where noise is all there is to see"
    )
    iterations: int = option(100, "passes in which the table is grown, at most")
    every: int = option(2, "passes after which steps become smaller")
    most_rows: int = option(
        200_000, "rows of the table that is grown; more are made by repeating it"
    )

    def __post_init__(self) -> None:
        if min(self.selection, self.singles) <= 0 or self.selection + self.singles >= 1:
            raise Refused(
                "privsyn: `selection` and `singles` are parts above 0 that leave"
                " something to measure. Nothing was spent"
            )
        if min(self.largest, self.iterations, self.every, self.most_rows) < 1:
            raise Refused(
                "privsyn: `largest`, `iterations`, `every` and `most_rows` must be at"
                " least 1. Nothing was spent"
            )

    def measure(
        self,
        curator: CuratorProtocol,
        workload: Workload,
        progress: Progress,
    ) -> Measurements:
        """One-ways, InDif of every pair, and the marginals that are worth their noise."""
        schema = curator.schema
        every = _list_columns(curator)
        wanted = _list_uncounted(curator, every)
        progress("measuring", 0.0)
        pairs = _list_pairs(schema)
        noise = NoiseLevel(
            1.0, 1 / 2 if curator.accounting is Accounting.PURE else 2 / 3
        )
        share = Fraction(self.singles) if pairs else Fraction(1)
        weights = [noise.part(schema.sizes(clique)[0]) for clique in wanted]
        found = curator.discovered_measurements + public_total(curator)
        singles = curator.measure(wanted, share=share, weights=weights)
        found += singles
        if not pairs:
            return found
        progress("selection", 0.0)
        product = ProductModel.from_measurements(schema, found)
        expected = _expected_counts(product, pairs)
        distances = curator.errors(expected, share=Fraction(self.selection))
        found += Measurements(gaps=distances_with_estimates(distances, expected))
        noise = NoiseLevel(
            _unit_error(singles, (1 - share - Fraction(self.selection)) / share),
            noise.power,
        )
        losses = {
            pair: _omission_loss(distances[pair], product.total) for pair in pairs
        }
        dense = self.select(expected, losses, noise)
        # Where no pair is worth its noise, the budget sharpens the columns.
        cliques = combine_pairs(dense, schema.column_sizes, self.largest) or every
        progress("measuring", 0.2)
        sizes = self._sizes(_expected_counts(product, cliques), cliques, noise)
        found += curator.measure(
            cliques,
            share=curator.share_left,
            weights=[noise.part(sizes[c]) for c in cliques],
        )
        progress("measuring", 1.0)
        return found

    def select(
        self, expected: TargetMarginals, losses: dict[Clique, float], noise: NoiseLevel
    ) -> list[Clique]:
        """The pairs that are worth their noise."""
        sizes: dict[Clique, float] = {
            pair: float(rows.size) for pair, rows in expected.items()
        }
        dense = dense_marginals(losses, sizes, noise)
        for _ in range(PAIR_SELECTION_ROUNDS if self.occupied else 0):
            sizes = count_occupied_cells(expected, dense, sizes, noise)
            dense = dense_marginals(losses, sizes, noise)
        return dense

    def estimate(
        self, schema: Schema, measurements: Measurements, rng: Generator
    ) -> RowsModel:
        """Make the marginals agree, then grow rows from them."""
        total = max(pool_total(schema, measurements)[0], 0.0)
        targets = self.target_marginals(schema, measurements, total)
        # A column that only coarser bins or nothing was measured of still needs a
        # start.
        singles = ProductModel.from_measurements(schema, measurements)
        rows = min(round(total), self.most_rows)
        start = {(name,): singles.marginal((name,)) for name in schema}
        grown = run_gum(
            schema,
            start | targets,
            rows,
            rng,
            GumSchedule(iterations=self.iterations, every=self.every),
        )
        return RowsModel(schema, total, grown.table)

    def target_marginals(
        self, schema: Schema, measurements: Measurements, total: float
    ) -> TargetMarginals:
        """The marginals the table is to have: pooled, drawn towards independence, in
        agreement.
        """
        pooled = _pool_measurements(schema, measurements)
        agreed = enforce_consistency(schema, pooled, total)
        if not self.shrink or total <= 0:
            return agreed
        for clique, measured in pooled.items():
            if 1 < len(clique) <= MAX_SHRUNK_COLUMNS and all(
                (name,) in agreed for name in clique
            ):
                expected = np.array(total)
                for name in clique:
                    expected = np.multiply.outer(expected, agreed[name,] / total)
                # Shrinkage compares cell by cell, so both tables need the same total.
                lacking = total - float(measured.values.sum())
                level = measured.values + lacking / measured.values.size
                shrunk = shrink_counts(level, expected, measured.variance)
                pooled[clique] = PooledMarginal(shrunk, measured.variance)
        return enforce_consistency(schema, pooled, total)

    def _sizes(
        self, expected: TargetMarginals, cliques: list[Clique], noise: NoiseLevel
    ) -> dict[Clique, float]:
        sizes: dict[Clique, float] = {
            clique: float(rows.size) for clique, rows in expected.items()
        }
        for _ in range(PAIR_SELECTION_ROUNDS if self.occupied else 0):
            sizes = count_occupied_cells(expected, cliques, sizes, noise)
        # Few distinct sizes mean few distinct prices, whose exact sum stays short.
        return {
            clique: 2 ** (round(2 * math.log2(size)) / 2)
            for clique, size in sizes.items()
        }


def _list_columns(curator: CuratorProtocol) -> list[Clique]:
    """The one-ways to measure. A column with a single code tells the number of rows,
    which is worth asking only where it is not public.
    """
    schema = curator.schema
    names = list(schema) if curator.rows is None else varying_columns(schema)
    return [(name,) for name in names or schema]


def _list_uncounted(curator: CuratorProtocol, every: list[Clique]) -> list[Clique]:
    """The one-ways that discovery did not count; all where it counted all."""
    counted = {m.clique for m in curator.discovered_measurements if m.plain}
    return [clique for clique in every if clique not in counted] or every


def _list_pairs(schema: Schema) -> list[Clique]:
    """The pairs of columns that are small enough; a notice names the others."""
    several = [name for name, size in schema.column_sizes.items() if size > 1]
    pairs, huge = split_by_cells(schema, combinations(several, 2), MAX_PAIR_CELLS)
    if huge:
        post_notice(too_large_notice(MAX_PAIR_CELLS, huge))
    return pairs


def _omission_loss(distance: Distance, rows: float) -> float:
    """What leaving a pair out costs: its InDif, less what noise alone would often show,
    and no more than all rows twice.

    Of thousands of pairs the noise of some is large, and those would be taken for
    dependent.
    """
    often = math.sqrt(noise_variance(distance.law, distance.scale)) / distance.grid
    return min(float(distance) - often, 2 * rows)


def _expected_counts(product: ProductModel, cliques: list[Clique]) -> TargetMarginals:
    return {clique: product.marginal(clique) for clique in cliques}


def _pool_measurements(
    schema: Schema, measurements: Measurements
) -> dict[Clique, PooledMarginal]:
    """Every measured set of columns once, in the schema's order; several answers about
    one set are pooled by precision.
    """
    answers: dict[Clique, list[tuple[float, NDArray[np.int64]]]] = {}
    for m in measurements:
        if m.plain and m.clique:
            clique = tuple(name for name in schema if name in m.clique)
            values = m.values.transpose([m.clique.index(name) for name in clique])
            answers.setdefault(clique, []).append((1 / cell_variance(m), values))
    pooled = {}
    for clique, weighted in answers.items():
        precision = sum(weight for weight, _ in weighted)
        top = np.sum([weight * values for weight, values in weighted], axis=0)
        pooled[clique] = PooledMarginal(
            np.asarray(top / precision, np.float64), 1 / precision
        )
    return pooled


def _unit_error(singles: Measurements, ratio: Fraction) -> float:
    """E|noise| on the cells of one marginal that gets the whole budget for marginals,
    estimated from the cost and the noise of the one-way marginals.

    `ratio` is that budget by comparison with theirs. A scale is ∝ 1/amount in a pure
    run and ∝ 1/√amount in a Gaussian one.
    """
    one = next((m for m in singles if m.cost.amount > 0), None)
    if one is None:
        return 0.0
    part = float(one.cost.amount / sum(m.cost.amount for m in singles) / ratio)
    pure = one.cost.accounting is Accounting.PURE
    scale = float(one.scale) * (part if pure else math.sqrt(part))
    mean = MEAN_ABS_LAPLACE if pure else MEAN_ABS_NORMAL
    return mean * math.sqrt(noise_variance(one.law, scale))
