"""Only the cells that occur: a sparse histogram over all columns at once, for domains
too large to list.

Bun, Nissim, Stemmer, "Simultaneous private learning of multiple concepts", 2016, after
Korolova, Kenthapadi, Mishra, Ntoulas 2009.

Why it is private: the curator noises the counts of non-empty cells and shows those
safely above zero; a cell that one person alone fills is shown with probability at most
δ. So this needs δ > 0. The proof and the threshold are the curator's
(`Curator.sparse`).

Its error does not depend on the size of the domain. What it loses is every cell below
the threshold, about ln(1/δ)/ε rows each: in a table where every row is unique,
everything. The model's `suppressed` says how much.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.estimates.pooling import pool_cells, pool_total
from understudy.models.rules.structural_zeros import impossible_masks, impossible_rows
from understudy.models.sparse import SparseModel
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
class Stability(Synthesizer):
    """Noisy counts of only the combinations that occur."""

    name: ClassVar[str] = "stability"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=True, budget=False, efficiency=True
    )
    about: ClassVar[About] = About(
        use="the domain is huge and the same combinations occur again and again",
        avoid="most rows are unique: what is rare is not shown at all",
        cost="one request, and some δ for the threshold",
        paper=(
            'Bun, Nissim, Stemmer, "Simultaneous private learning of multiple'
            ' concepts", ITCS 2016'
        ),
    )
    needs_delta: ClassVar[bool] = True

    total_share: Fraction = option(
        Fraction(1, 20),
        "part of the budget for the number of rows, where it is private",
    )

    def __post_init__(self) -> None:
        if not isinstance(self.total_share, Fraction) or not 0 < self.total_share < 1:
            raise Refused(
                "stability: `total_share` must be an exact fraction between 0 and 1."
                " Nothing was spent"
            )

    def check(self, schema: Schema, *, delta: Fraction) -> None:
        """Refuse δ = 0: showing cells because they occur cannot be purely private."""
        super().check(schema, delta=delta)
        if delta <= 0:
            raise Refused(
                "stability: showing only the cells that occur needs δ > 0. Give a delta"
                " such as 1e-9, or use `histogram` or `independent`, which need none."
                " Nothing was spent"
            )

    def measure(
        self,
        curator: CuratorProtocol,
        workload: Workload,
        progress: Progress,
    ) -> Measurements:
        """The total where it is private, then the cells."""
        progress("measuring", 0.0)
        measured = curator.discovered_measurements + public_total(curator)
        if curator.rows is None:
            # Shown cells hold only part of the rows, so their sum does not say the
            # total.
            measured = measured + curator.measure([()], share=self.total_share)
        measured = measured + curator.sparse(
            tuple(curator.schema), share=curator.share_left
        )
        progress("measuring", 1.0)
        return measured

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> SparseModel:
        """The shown cells in proportion to their noisy counts, scaled to the total;
        uniform where none was shown.

        Cells that the schema declares impossible are left out, whoever may be in them.
        """
        clique = tuple(schema)
        total = max(pool_total(schema, measurements)[0], 0.0)
        cells, counts = pool_cells(clique, measurements)
        never = impossible_rows(
            impossible_masks(schema),
            dict(zip(clique, cells.T, strict=True)),
            len(cells),
        )
        cells, counts = cells[~never], counts[~never]
        shown = float(counts.sum())
        # With noise, the shown counts may exceed the total.
        suppressed = max(0.0, 1 - shown / total) if total > 0 else float(not shown)
        return SparseModel(
            schema,
            total,
            clique,
            cells,
            counts / shown if shown else counts,
            suppressed,
        )
