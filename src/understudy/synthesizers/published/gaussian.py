"""Gaussian: the whole workload measured once, and the distribution of maximum entropy
that agrees with it.

The baseline "Gaussian + Private-PGM" of McKenna, Mullins, Sheldon, Miklau, "AIM: an
adaptive and iterative mechanism for differentially private synthetic data", 2022, Table
2; the name stays when a pure run draws Laplace noise.

A marginal of n cells and weight w gets a part ∝ (w·n)^(2/3) of the budget, (w·n)^(1/2)
for Laplace noise: the closed-form optimum of the mean L1 error over the workload
(`synthesizers.sizes`). Nothing depends on the data but the noisy counts, so nothing is
spent on selection.

Why it is private: one request to the curator, priced marginal by marginal. Which
marginals are asked is decided by sizes and weights alone.

A model needs a junction tree, and all pairs of d columns have none but the whole
domain. So only those marginals are measured that fit together into `limit` cells, taken
by weight for every new cell; what is left out is said. A workload that would not fit as
it is and goes beyond pairs is replaced by all pairs first: many small marginals tie
more columns together than a few large ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.fitting.estimate import estimate_tree
from understudy.models.tree import TreeModel
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
)
from understudy.synthesizers.shared.held_workload import holdable_workload


@dataclass(frozen=True, kw_only=True)
class Gaussian(Synthesizer):
    """The workload once, as much of it as one model of `limit` cells can hold."""

    name: ClassVar[str] = "gaussian"
    aware: ClassVar[Awareness] = Awareness(
        workload=True, data=False, budget=False, efficiency=True
    )
    about: ClassVar[About] = About(
        use=(
            "few columns, or few values in each, so that all marginals that matter fit;"
            " or selection by data is unwanted"
        ),
        avoid="there are many large columns: only part of the pairs fits into a model",
        cost=(
            "one request, nothing for choosing; time goes into the fit, which grows"
            " with the cells of the model"
        ),
        paper=(
            'McKenna, Mullins, Sheldon, Miklau, "AIM", VLDB 2022, Table 2: the baseline'
            " of that name"
        ),
    )

    size_aware: bool = option(
        True, "larger marginals get more of the budget; false: the same noise on all"
    )
    limit: int = option(
        DEFAULT_TREE_CELLS, "cells of the model; what is left out is said"
    )

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise Refused("gaussian: `limit` must be at least 1. Nothing was spent")

    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """One request for every marginal that fits."""
        schema = curator.schema
        progress("measuring", 0.0)
        # Sizes and weights alone decide, so choosing has no privacy cost.
        wanted = holdable_workload(schema, workload, self.limit)
        sizes = [cell_count(schema, clique) for clique in wanted]
        weights = size_weights(
            sizes, curator.accounting, list(wanted.values()), equal=not self.size_aware
        )
        found = (
            curator.discovered_measurements
            # Before the request below: a curator with nothing left answers nothing.
            + public_total(curator)
            + curator.measure(list(wanted), share=1, weights=weights)
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
        return estimate_tree(schema, measurements, limit_cells=self.limit)
