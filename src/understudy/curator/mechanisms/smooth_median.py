"""The median of a column with noise that fits these rows: by smooth sensitivity, or by
propose-test-release.

The global sensitivity of a median is the range of its column, whatever the rows: half of
them may lie at either end. On most tables one row moves it far less. Both mechanisms use
that, and neither shows how far (toolbox/median_sensitivity.py bounds it).

Why it is private. Smooth sensitivity: rounded Cauchy noise of scale 2S/ε, ε-private by the proof in
toolbox/smooth_sensitivity.py with β = ε/2.

Propose-test-release (Dwork, Lei, "Differential privacy and robust statistics", 2009). The
analyst proposes a bound b. Let d be the least k with U_k > b. U_k(x) ≤ U_(k+1)(x') says
that d moves by at most 1 between neighbours, so d plus discrete Laplace noise of scale
1/ε₁ is ε₁-private. It must exceed T for the median to be released, with discrete Laplace
noise of scale b/ε₂. Where one neighbour moves the median by more than b, d is 0, and the
noise exceeds T with probability at most δ. Elsewhere the release is ε₂-private. So the
whole is (ε₁ + ε₂, δ)-private; by Kairouz, Oh, Viswanath 2015 it behaves as an
(ε₁ + ε₂)-private mechanism but for an event of probability δ, so δ adds up plainly.

A unit of m rows makes m changes, or 2m where it is replaced. Checked on all small tables
in tests/curator/mechanisms/test_smooth_median.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.cost import Accounting, Cost, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price, scale_for
from understudy.curator.context import Draw, TableProtocol
from understudy.curator.mechanisms.sparse_histogram import threshold
from understudy.noise import draw_noise
from understudy.noise.enclosure import enclose_exp_neg
from understudy.noise.rounded_cauchy import draw_rounded_cauchy
from understudy.noise.source import IntegerBounds
from understudy.toolbox.median_sensitivity import SortedValues
from understudy.toolbox.smooth_sensitivity import SmoothBound, bound_smoothly

MAX_DISTANCE = 1 << 30
"""Distances to a table with a larger sensitivity are counted up to here."""

_ONE_STEP = Sensitivity(Fraction(1), Fraction(1))


def count_changes(neighbours: Neighbours, max_rows: int) -> int:
    """How many values are added or removed between neighbours.

    >>> count_changes(Neighbours.REPLACE, 3)
    6
    """
    # A replaced row may leave its value and bring another, or none.
    return max_rows * (1 if neighbours is Neighbours.ADD_REMOVE else 2)


def buy_pure_epsilon(amount: Fraction, accounting: Accounting) -> Fraction:
    """The largest ε, on the grid of noise scales, that an amount pays for."""
    return 1 / scale_for(Law.DISCRETE_LAPLACE, amount, _ONE_STEP, accounting)


def price_pure_epsilon(epsilon: Fraction, accounting: Accounting) -> Cost:
    """What an ε-private mechanism costs."""
    return price(Law.DISCRETE_LAPLACE, 1 / epsilon, _ONE_STEP, accounting)


def enclose_smooth_scale(
    bound: SmoothBound, epsilon: Fraction
) -> Callable[[int], IntegerBounds]:
    """Enclosures of 2S/ε."""

    def enclose(bits: int) -> IntegerBounds:
        lows, highs = [], []
        for distance, sensitivity in bound.terms:
            lo, hi = enclose_exp_neg(bound.beta * distance, bits + 8)
            factor = 2 * sensitivity / epsilon / 2**8
            lows.append(lo * factor.numerator // factor.denominator)
            highs.append(-(-hi * factor.numerator // factor.denominator))
        # Of the largest term, whichever it is.
        return max(lows), max(highs)

    return enclose


@dataclass(frozen=True, kw_only=True)
class MedianColumn:
    """A column of bounded numbers, in lattice steps, and what a neighbour may change."""

    name: str
    low: int
    high: int
    changes: int
    described: str
    """What else the answer depends on: the column as declared, and the unit."""

    def read_values(self, table: TableProtocol) -> SortedValues:
        """The exact values, clipped."""
        values, times = table.lattice(self.name)
        return SortedValues.of(values, times, self.low, self.high)

    def local_bound(self, values: SortedValues) -> Callable[[int], int]:
        """U_k of these values."""
        return lambda k: values.widest_gap(self.changes * (k + 1))

    def describe(self) -> list[object]:
        """What identifies it."""
        return [self.name, self.low, self.high, self.changes, self.described]


@dataclass(frozen=True, kw_only=True)
class SmoothMedian:
    """The median with noise by smooth sensitivity."""

    column: MedianColumn
    epsilon: Fraction
    accounting: Accounting

    @property
    def cost(self) -> Cost:
        """That of an ε-private answer."""
        return price_pure_epsilon(self.epsilon, self.accounting)

    @property
    def noise_scales(self) -> Sequence[Fraction]:
        """None: its own noise has no widest scale."""
        return ()

    def describe(self) -> dict[str, object]:
        """What the answer depends on but the rows and the noise."""
        return {
            "mechanism": "smooth median",
            "column": self.column.describe(),
            "epsilon": str(self.epsilon),
        }

    def bound(self, values: SortedValues) -> SmoothBound:
        """S of these values."""
        reach = self.column.high - self.column.low
        local = self.column.local_bound(values)
        return bound_smoothly(local, beta=self.epsilon / 2, largest=reach)

    def draw(self, table: TableProtocol) -> bytes:
        """A lattice index inside the bounds."""
        values = self.column.read_values(table)
        scale = enclose_smooth_scale(self.bound(values), self.epsilon)
        noisy = draw_rounded_cauchy(values.median, scale)
        return json.dumps(min(max(noisy, self.column.low), self.column.high)).encode()


@dataclass(frozen=True, kw_only=True)
class ProposedMedian:
    """The median with noise for a proposed sensitivity, if a noisy test passes."""

    column: MedianColumn
    sensitivity: int
    amount: Fraction
    accounting: Accounting
    delta: Fraction
    noise: Draw = draw_noise

    @property
    def test_scale(self) -> Fraction:
        """The noise of the distance, for half of the amount."""
        law = Law.DISCRETE_LAPLACE
        return scale_for(law, self.amount / 2, _ONE_STEP, self.accounting)

    @property
    def threshold(self) -> int:
        """What the noisy distance must exceed."""
        # `threshold` is that of a count of 1; here the worst distance is 0.
        law = Law.DISCRETE_LAPLACE
        return threshold(law=law, scale=self.test_scale, delta=self.delta) - 1

    @property
    def scale(self) -> Fraction:
        """The noise of the median, for the other half."""
        moved = Fraction(self.sensitivity)
        reach = Sensitivity(moved, moved**2)
        law = Law.DISCRETE_LAPLACE
        return scale_for(law, self.amount / 2, reach, self.accounting)

    @property
    def cost(self) -> Cost:
        """Those of the test and of the median, and δ."""
        law = Law.DISCRETE_LAPLACE
        tested = price(law, self.test_scale, _ONE_STEP, self.accounting)
        moved = Fraction(self.sensitivity)
        reach = Sensitivity(moved, moved**2)
        released = price(law, self.scale, reach, self.accounting)
        return Cost(self.accounting, tested.amount + released.amount, self.delta)

    @property
    def noise_scales(self) -> Sequence[Fraction]:
        """Those of the test and of the median."""
        return self.test_scale, self.scale

    def describe(self) -> dict[str, object]:
        """What the answer depends on but the rows and the noise."""
        return {
            "mechanism": "proposed median",
            "column": self.column.describe(),
            "sensitivity": self.sensitivity,
            "scales": [str(self.test_scale), str(self.scale)],
            "threshold": self.threshold,
        }

    def find_distance(self, values: SortedValues) -> int:
        """The least k at which a neighbour may move the median by more than proposed."""
        local = self.column.local_bound(values)
        first, last = 0, MAX_DISTANCE
        # U_k rises with k, so the least k is found by halving.
        while first < last:
            middle = (first + last) // 2
            if local(middle) > self.sensitivity:
                last = middle
            else:
                first = middle + 1
        return first

    def draw(self, table: TableProtocol) -> bytes:
        """A lattice index, or null where the test did not pass."""
        values = self.column.read_values(table)
        law = Law.DISCRETE_LAPLACE
        test, error = (
            int(self.noise(law, scale, (1,))[0])
            for scale in (self.test_scale, self.scale)
        )
        passed = self.find_distance(values) + test > self.threshold
        noisy = min(max(values.median + error, self.column.low), self.column.high)
        return json.dumps(noisy if passed else None).encode()
