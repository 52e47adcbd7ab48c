"""Random rows that fit the schema: right names, right types, allowed values, and
nothing about anybody.

The random mode of Ping, Stoyanovich, Howe, "DataSynthesizer: privacy-preserving
synthetic datasets", 2017.

Why it is private: nothing is asked of the curator, so the release does not depend on
the rows at all (ε = 0). Good for testing programs before a real release exists; useless
for statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Measurements
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
)

DEFAULT_RANDOM_ROWS = 1000
"""Rows where neither the caller nor the schema names a number."""


@dataclass(frozen=True, kw_only=True)
class Random(Synthesizer):
    """Random rows that fit the schema, at no cost."""

    name: ClassVar[str] = "random"
    aware: ClassVar[Awareness] = Awareness(
        workload=False, data=False, budget=False, efficiency=True
    )
    about: ClassVar[About] = About(
        use="a program has to be tested before a release exists",
        avoid="anybody will compute a statistic",
        cost="nothing: ε = 0, and no ledger",
    )
    reads_rows: ClassVar[bool] = False

    rows: int | None = option(
        None, "how many; none: the schema's public number, else 1000"
    )

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 0:
            raise Refused("random: `rows` cannot be negative. Nothing was spent")

    def measure(
        self,
        curator: CuratorProtocol,
        workload: Workload,
        progress: Progress,
    ) -> Measurements:
        """Nothing."""
        progress("measuring", 1.0)
        return Measurements()

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> ProductModel:
        """Every code of every column equally likely."""
        # The caller counts before the schema: a test may want more rows than the table
        # has.
        stated = [rows for rows in (self.rows, schema.rows) if rows is not None]
        return ProductModel.uniform(
            schema, total=float([*stated, DEFAULT_RANDOM_ROWS][0])
        )
