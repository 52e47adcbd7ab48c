"""Each column on its own: one noisy histogram per column, nothing between them.

The independent-attribute mode of Ping, Stoyanovich, Howe, "DataSynthesizer", 2017, and
the baseline of McKenna et al., "AIM", 2022.

Why it is private: d marginals are asked of the curator, which prices each and adds the
prices up. With `equal` the split is the textbook's: under replace neighbours each of d
histograms gets ε/d, one row moves two of its cells, so a count carries discrete Laplace
noise of scale 2d/ε, a frequency 2d/(εn).

By default larger columns get more. The mean L1 error is ∝ Σ sizeᵢ·scaleᵢ; the budget is
Σ 1/scaleᵢ in a pure run and Σ 1/scaleᵢ² in a Gaussian one, so it is smallest when
column i gets a part ∝ size^(1/2) or size^(2/3). Sizes are public, so the split is too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from understudy.accounting.cost import Accounting
from understudy.measurements import Clique, Measurements
from understudy.models.product import ProductModel
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


@dataclass(frozen=True, kw_only=True)
class Independent(Synthesizer):
    """Each column a noisy histogram, nothing between them."""

    name: ClassVar[str] = "independent"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=False, budget=False, efficiency=True
    )
    about: ClassVar[About] = About(
        use="single columns matter, or there are very many columns",
        avoid="relations between columns matter: it has none",
        cost="one request, one histogram per column",
        paper=(
            'Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity in'
            ' private data analysis", TCC 2006'
        ),
    )

    equal: bool = option(
        False, "split the budget equally instead of by the columns' sizes"
    )

    def measure(
        self,
        curator: CuratorProtocol,
        workload: Workload,
        progress: Progress,
    ) -> Measurements:
        """Every column, those that discovery has counted once more: nothing else needs
        the budget.

        Where the number of rows is public, a column with a single code has nothing to
        tell.
        """
        sized = zip(
            curator.schema, curator.schema.sizes(tuple(curator.schema)), strict=True
        )
        every: list[Clique] = [
            (name,) for name, size in sized if size > 1 or curator.rows is None
        ]
        progress("measuring", 0.0)
        weights = (
            None if self.equal else [self.weight(curator, clique) for clique in every]
        )
        measured = (
            curator.discovered_measurements
            + public_total(curator)
            + curator.measure(every, share=1, weights=weights)
        )
        progress("measuring", 1.0)
        return measured

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> ProductModel:
        """Pool by precision, make non-negative, agree on one total."""
        return ProductModel.from_measurements(schema, measurements)

    @staticmethod
    def weight(curator: CuratorProtocol, clique: Clique) -> float:
        """The part of the budget that minimises the mean L1 error of all columns."""
        (size,) = curator.schema.sizes(clique)
        # The minimum of Σ size · scale for a fixed Σ 1/scale, or Σ 1/scale² with
        # Gaussian noise.
        return math.pow(size, 1 / 2 if curator.accounting is Accounting.PURE else 2 / 3)
