"""The three modes of DataSynthesizer, by name: random, independent and correlated
attributes.

Ping, Stoyanovich, Howe, "DataSynthesizer: privacy-preserving synthetic datasets", 2017.

  random       type-consistent random values; nothing is asked of the rows (ε = 0).
  independent  each of d columns gets ε/d and becomes a noisy histogram: Laplace noise
               of scale 2d/(εn) on its frequencies.
  correlated   a Bayesian network with at most k parents for each column, chosen by
               mutual information (published/privbayes.py); the budget is halved
               between structure and tables.

In all of them a missing value is a value like any other: it has a code of its own in
every column that may be missing.

The product is a description: the schema with noisy tables, in a release file. Rows are
sampled from it as often and as many as wanted, at no further cost. Domains come from
the schema and are declared or paid for; they are never read off the rows for free.
Where the number of rows is private, mutual information has no bounded sensitivity and
the network is chosen by L1 distance.

Why it is private: each mode asks the curator what its own module asks (random.py,
independent.py, privbayes.py), and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.model import PortableModel
from understudy.schema import Schema
from understudy.synthesizers.base import (
    About,
    Awareness,
    CuratorProtocol,
    Progress,
    Synthesizer,
    Workload,
    option,
)
from understudy.synthesizers.published.independent import Independent
from understudy.synthesizers.published.privbayes import PrivBayes
from understudy.synthesizers.published.random import Random

AttributeMode = Literal["random", "independent", "correlated"]

STRUCTURE_BUDGET_PART = Fraction(1, 2)
"""The part of the budget that the correlated mode spends on structure."""


@dataclass(frozen=True, kw_only=True)
class DataSynthesizer(Synthesizer):
    """Random, independent or correlated attributes, by `mode`."""

    name: ClassVar[str] = "datasynthesizer"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=True, budget=True, efficiency=True
    )
    about: ClassVar[About] = About(
        use="you know its three modes and want them with exact noise and a ledger",
        avoid="accuracy matters most",
        cost=(
            "nothing in random mode, one histogram per column in independent mode, a"
            " network and its tables in correlated mode"
        ),
        paper=(
            'Ping, Stoyanovich, Howe, "DataSynthesizer: privacy-preserving synthetic'
            ' datasets", SSDBM 2017'
        ),
    )

    mode: AttributeMode = option(
        "correlated", "what is kept: nothing, single columns, or a network"
    )
    k: int | None = option(
        None,
        "parents of a column in correlated mode; none: as many as leave the tables"
        " useful",
    )
    rows: int | None = option(
        None, "rows in random mode, which looks at none; none: the schema's, else 1000"
    )

    def __post_init__(self) -> None:
        if self.mode not in get_args(AttributeMode):
            raise Refused(
                "datasynthesizer: `mode` must be one of"
                f" {', '.join(get_args(AttributeMode))}. Nothing was spent"
            )
        if self.k is not None and self.mode != "correlated":
            raise Refused(
                "datasynthesizer: only the correlated mode has parents. Leave `k` out."
                " Nothing was spent"
            )
        if self.k is not None and self.k < 0:
            raise Refused(
                "datasynthesizer: `k` cannot be negative. Leave it out to let the"
                " budget decide. Nothing was spent"
            )
        if self.rows is not None and self.mode != "random":
            raise Refused(
                "datasynthesizer: only the random mode is told its rows; elsewhere ask"
                " for them when sampling. Nothing was spent"
            )
        self._mode_synthesizer(None)  # refuses what the mode's own module would refuse
        if self.mode == "random":
            # The dataclass is frozen, and only this mode leaves the rows alone.
            object.__setattr__(self, "reads_rows", False)

    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """What the mode asks."""
        return self._mode_synthesizer(curator.rows).measure(curator, workload, progress)

    def estimate(
        self, schema: Schema, measurements: Measurements, rng: Generator
    ) -> PortableModel:
        """The mode's model."""
        # The score guides only what is measured, so estimating needs no number of rows.
        return self._mode_synthesizer(None).estimate(schema, measurements, rng)

    def _mode_synthesizer(self, rows: int | None) -> Synthesizer:
        match self.mode:
            case "random":
                return Random(rows=self.rows)
            case "independent":
                # The paper splits ε equally; the default there would split it by size.
                return Independent(equal=True)
            case "correlated":
                return PrivBayes(
                    k=self.k,
                    beta=STRUCTURE_BUDGET_PART,
                    # The sensitivity of mutual information needs a public number of
                    # rows.
                    score="l1" if rows is None else "I",
                )
