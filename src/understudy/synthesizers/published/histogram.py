"""The whole domain as one histogram: a noisy count for every combination of values
there could be.

The basic construction of differentially private synthetic data (Dwork, McSherry,
Nissim, Smith 2006; Vadhan, "The complexity of differential privacy", 2017, §7):
singleton bins, geometric noise, negative counts to zero, and as many copies of each
cell as its count says.

Why it is private: one marginal over all columns is asked of the curator, empty cells
included.

Why it is refused on large domains: all cells carry noise, most of them are empty, and
cutting negative counts at zero invents t/(1 - t²) rows in each empty one
(`models.consistency.clamp_bias`). `fit="project"` subtracts a constant before it cuts,
so that the counts sum to the estimated number of rows; with a million cells the rest of
the table is noise all the same.

The number of rows. As the sum of all cells it has √cells times the noise of one. Where
it is private and a twentieth of the budget estimates it better, that is spent on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.dense import DenseModel
from understudy.models.estimates.consistency import clamp, project_simplex
from understudy.models.estimates.pooling import pool_marginal, pool_total
from understudy.models.sampling.unmeasured import uniform_shares
from understudy.schema import Schema, codec_of
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
from understudy.synthesizers.shared.noise_units import noise_power

DEFAULT_HISTOGRAM_CELLS = 1_000_000
"""Cells that are still counted one by one."""

CountFit = Literal["project", "clamp", "rescale"]


@dataclass(frozen=True, kw_only=True)
class Histogram(Synthesizer):
    """One noisy count for every combination of values. At most `limit` of them.

    `fit` says how noisy counts become a table: `project` (the nearest non-negative
    counts that sum to the pooled number of rows), `clamp` (negative counts to zero, the
    number of rows grows with them) or `rescale` (clamp, then scale to the pooled number
    of rows).
    """

    name: ClassVar[str] = "histogram"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=False, budget=False, efficiency=False
    )
    about: ClassVar[About] = About(
        use="few columns with few values",
        avoid="most combinations are empty: noise in them outweighs the rows",
        cost="one request; a noisy count for every combination of values",
        paper=(
            'Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity in'
            ' private data analysis", TCC 2006'
        ),
    )

    limit: int = option(
        DEFAULT_HISTOGRAM_CELLS,
        "combinations of values; more are refused before anything is spent",
    )
    total_share: Fraction = option(
        Fraction(1, 20),
        "part of the budget for the number of rows, where it is private and many cells"
        " would sum to it",
    )
    fit: CountFit = option(
        "project",
        "what becomes of negative counts: projected, cut at zero, or cut and rescaled",
    )

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise Refused("histogram: `limit` must be at least 1. Nothing was spent")
        if not 0 < self.total_share < 1:
            raise Refused(
                "histogram: `total_share` is a part above 0 and below 1. Nothing was"
                " spent"
            )
        if self.fit not in get_args(CountFit):
            raise Refused(
                f"histogram: `fit` must be one of {', '.join(get_args(CountFit))}."
                " Nothing was spent"
            )

    def check(self, schema: Schema, *, delta: Fraction) -> None:
        """Refuse a domain with more cells than the limit."""
        super().check(schema, delta=delta)
        self._refuse_large_domain(schema, "Nothing was spent")

    def measure(
        self,
        curator: CuratorProtocol,
        workload: Workload,
        progress: Progress,
    ) -> Measurements:
        """The number of rows where that pays, and the whole domain; a domain that only
        discovery showed to be too large is refused here.
        """
        self._refuse_large_domain(curator.schema, "Nothing was spent after discovery")
        progress("measuring", 0.0)
        measured = curator.discovered_measurements + public_total(curator)
        if self._needs_total(curator):
            measured += curator.measure([()], share=Fraction(self.total_share))
        measured += curator.measure([tuple(curator.schema)], share=curator.share_left)
        progress("measuring", 1.0)
        return measured

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> DenseModel:
        """Non-negative counts that sum to the model's total; uniform and no rows where
        nothing positive is left.
        """
        clique = tuple(schema)
        pooled = pool_marginal(clique, measurements)
        assert pooled is not None, "the whole domain was measured"
        zeros = schema.zeros(clique)
        total = max(pool_total(schema, measurements)[0], 0.0)
        if self.fit == "project":
            counts = project_simplex(
                pooled.values, total, allowed=None if zeros is None else ~zeros
            )
        else:
            counts = clamp(pooled.values)
            total = float(counts.sum()) if self.fit == "clamp" else total
        if total <= 0:
            return DenseModel(schema, 0.0, clique, uniform_shares(schema, clique))
        return DenseModel.from_counts(schema, clique, counts, total)

    def _needs_total(self, curator: CuratorProtocol) -> bool:
        """Whether the number of rows is better measured than summed over the cells."""
        if curator.rows is not None or curator.schema.rows is not None:
            return False
        # Clamped counts sum to what they sum to, whatever the number of rows is.
        if self.fit == "clamp":
            return False
        cells = math.prod(curator.schema.sizes(tuple(curator.schema)))
        # A share s of the budget has 1/s times the Laplace noise of all of it, or 1/√s
        # times the Gaussian noise.
        power = noise_power(curator.accounting)
        return bool(math.sqrt(cells) > float(self.total_share) ** -power)

    def _refuse_large_domain(self, schema: Schema, spent: str) -> None:
        cells = math.prod(
            codec_of(schema[name]).size for name in schema if schema[name].is_closed
        )
        if cells > self.limit:
            raise Refused(
                f"histogram: the {len(schema)} columns together have"
                f" {_rough_count(cells)} cells, more than {self.limit:,}. Use"
                " `stability` (only cells that occur), `independent` (each column), or"
                f" fewer columns or bins. {spent}"
            )


def _rough_count(cells: int) -> str:
    return f"{cells:,}" if cells < 10**9 else f"10^{len(str(cells)) - 1}"
