"""Counts one after another: the sparse vector technique with private multiplicative
weights (Hardt, Rothblum 2010).

A test compares d = |true count − estimate| with a threshold T. It fails where
d + ν ≥ T + ρ, with discrete Laplace noise ν of its own and ρ on the threshold. Then a
fresh noisy count is measured, the public weights learn it, and a new ρ is drawn. When
all failures that were paid for are used up, the rest is answered from the weights.

Why it is private. The parts compose: the number of rows, and for each failure that may
happen, the tests up to it and the count that it measures. The estimates of a part depend
on the outcomes of earlier parts alone, so they are public when it begins. Adding or
removing a unit of k rows moves a count by at most k; so does replacing it, whose rows
leave and come by k at most each. So d moves by at most k, up or down. Of one part, take
the outcome "tests 1 … j − 1 pass, j fails" on two neighbours. A ρ that is higher by k
lets all pass that passed before; a ν of test j that is higher by 2k makes it fail still.
With ρ of scale 2k/ε and ν of scale 4k/ε both shifts together cost e^(ε/2)·e^(ε/2): tests
up to a failure are ε-private, however many pass (Dwork, Roth, "The algorithmic
foundations of differential privacy", 2014, algorithm 1; Lyu, Su, Li, "Understanding the
sparse vector technique", 2017). Counts, estimates, T and noise are integers, so nothing
is rounded in between.

All of it is one answer: what it can cost at most is charged before a row is counted, and
neither ρ nor the weights outlive it.

The law of every sequence of outcomes is compared with e^ε on all small tables in
tests/curator/mechanisms/test_online_counts.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting, Cost, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.pricing import default_law, price, scale_for
from understudy.curator.context import Draw, TableProtocol
from understudy.curator.mechanisms.smooth_median import (
    buy_pure_epsilon,
    price_pure_epsilon,
)
from understudy.noise import draw_noise
from understudy.queries.estimates import ANSWER_DOUBT
from understudy.queries.noise_intervals import NoiseScale
from understudy.schema import Schema, schema_to_dict
from understudy.toolbox.online_counts import CellWeights, CountBasis, OnlinePlan

TEST_PARTS = 3
"""What tests up to a failure may cost, in parts of a count's: their noise is four times
as wide at the same ε, so they are worth more of it.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineCounts:
    """A list of counts, for an amount of an accounting."""

    plan: OnlinePlan
    failures: int
    amount: Fraction
    accounting: Accounting
    asked_threshold: int | None = None
    """None: as wide as the noise of a test."""
    noise: Draw = draw_noise
    """Replaced by tests alone."""

    @property
    def sensitivity(self) -> int:
        """How far one unit moves a count, and so its distance from an estimate."""
        return self.plan.schema.unit.max_rows

    @property
    def count_sensitivity(self) -> Sensitivity:
        """The same of one count."""
        return Sensitivity(Fraction(self.sensitivity), Fraction(self.sensitivity) ** 2)

    @property
    def part(self) -> Fraction:
        """What one noisy count may cost: the number of rows, or that after a failure."""
        return self.amount / (1 + self.failures * (TEST_PARTS + 1))

    @property
    def law(self) -> Law:
        """That of the noise on counts."""
        return default_law(self.accounting)

    @property
    def count_noise(self) -> NoiseScale:
        """The noise on a count that is measured."""
        moved = self.count_sensitivity
        return NoiseScale(
            self.law, scale_for(self.law, self.part, moved, self.accounting)
        )

    @property
    def test_epsilon(self) -> Fraction:
        """The ε of all tests up to one failure."""
        return buy_pure_epsilon(self.part * TEST_PARTS, self.accounting)

    @property
    def threshold_noise(self) -> NoiseScale:
        """That of ρ."""
        scale = 2 * self.sensitivity / self.test_epsilon
        return NoiseScale(Law.DISCRETE_LAPLACE, scale)

    @property
    def test_noise(self) -> NoiseScale:
        """That of ν."""
        scale = 4 * self.sensitivity / self.test_epsilon
        return NoiseScale(Law.DISCRETE_LAPLACE, scale)

    @property
    def test_width(self) -> int:
        """How far ρ − ν goes for any one count, all but 1 time in 20: whichever of the
        thresholds it meets. Half of the doubt is for each of the two, one-sided.
        """
        high = self.threshold_noise.half_width(ANSWER_DOUBT / self.failures)
        low = self.test_noise.half_width(ANSWER_DOUBT)
        return int(high + low)

    @property
    def threshold(self) -> int:
        """T."""
        asked = self.asked_threshold
        return self.test_width if asked is None else asked

    @property
    def cost(self) -> Cost:
        """That of the number of rows, and of every failure that may happen."""
        count = price(
            self.law, self.count_noise.scale, self.count_sensitivity, self.accounting
        )
        tests = price_pure_epsilon(self.test_epsilon, self.accounting)
        whole = count.amount * (1 + self.failures) + tests.amount * self.failures
        return Cost(self.accounting, whole)

    @property
    def noise_scales(self) -> Sequence[Fraction]:
        """Those of counts and tests."""
        noises = (self.count_noise, self.threshold_noise, self.test_noise)
        return tuple(each.scale for each in noises)

    def describe(self) -> dict[str, object]:
        """What the answer depends on but the rows and the noise."""
        schema = self.plan.schema
        columns = [
            replace(column, constant=False, note="")
            for column in schema.columns
            if column.name in self.plan.clique
        ]
        return {
            "mechanism": "online counts",
            "columns": schema_to_dict(Schema(columns=tuple(columns))),
            "unit": self.plan.counted,
            "selected": hashlib.sha256(
                np.packbits(self.plan.selected).tobytes()
            ).hexdigest(),
            "counts": self.plan.selected.shape,
            "law": self.law,
            "failures": self.failures,
            "threshold": self.threshold,
            "scales": [str(scale) for scale in self.noise_scales],
        }

    def count_exactly(self, table: TableProtocol) -> tuple[int, list[int]]:
        """The exact number of rows, and every exact count."""
        (cells,) = table.with_schema(self.plan.schema).counts([self.plan.clique])
        rows = np.asarray(cells, np.int64).ravel()
        counts = [int(rows[chosen].sum()) for chosen in self.plan.selected]
        return int(rows.sum()), counts

    def draw(self, table: TableProtocol) -> bytes:
        """The noisy number of rows, and for each count its answer and where it is from,
        as a ledger stores them.
        """
        rows, counts = self.count_exactly(table)
        total = rows + int(self._draw(self.count_noise, 1)[0])
        weights = CellWeights(self.plan.cells, total)
        fresh = self._draw(self.count_noise, self.failures).tolist()
        thresholds = self._draw(self.threshold_noise, self.failures).tolist()
        tests = self._draw(self.test_noise, len(counts)).tolist()
        answers: list[tuple[int, CountBasis]] = []
        failed = 0
        for selected, count, test in zip(
            self.plan.selected, counts, tests, strict=True
        ):
            estimate = weights.estimate(selected)
            if failed == self.failures:
                answers.append((estimate, CountBasis.UNCHECKED))
            elif abs(count - estimate) + test < self.threshold + thresholds[failed]:
                answers.append((estimate, CountBasis.CHECKED))
            else:
                noisy = count + fresh[failed]
                failed += 1
                weights.learn(selected, noisy)
                answers.append((noisy, CountBasis.MEASURED))
        return json.dumps([total, answers]).encode()

    def _draw(self, noise: NoiseScale, size: int) -> NDArray[np.int64]:
        return self.noise(noise.law, noise.scale, (size,))
