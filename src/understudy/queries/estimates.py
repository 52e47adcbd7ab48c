"""From noisy statistics to numbers with intervals that hold.

A count or a sum is its statistic, with the exact quantile of its noise. A mean or a
share is a ratio S/N of two of them: for the true r = S/N the difference S − r·N of the
noisy ones is normal with a known deviation, so those r for which it is small are a
confidence set (Fieller, "Some problems in interval estimation", 1954), whatever N is.
Everything else is computed by interval arithmetic from intervals that hold together:
the doubt is divided among them (union bound).

True numbers lie in known ranges: counts are not negative, means lie within the bounds.
Intervals are cut to these and estimates moved into them, which takes no coverage away.
A mean of no rows has none: its interval is then the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.queries.noise_intervals import (
    ANSWER_CONFIDENCE,
    NoiseScale,
    SumNoise,
)
from understudy.queries.plan import AnyStatistic
from understudy.queries.query import Aggregate, AggregateKind
from understudy.queries.searches import DistinctCount
from understudy.queries.statistics import ColumnFactor, Statistic

ANSWER_DOUBT = 1 - ANSWER_CONFIDENCE
_BISECTION_STEPS = 80


@dataclass(frozen=True)
class NumberEstimate:
    """A number and the interval that holds the true one 95 times in 100."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """The larger distance from the number to an end of its interval."""
        return max(self.high - self.value, self.value - self.low)


@dataclass(frozen=True)
class NoisyStatistic:
    """The noisy integer of one group, its noise, and what it is the sum of; a quantile
    has the ends of its interval already.
    """

    statistic: AnyStatistic
    value: float
    noise: NoiseScale | SumNoise
    ends: tuple[float, float] | None = None
    source: int | None = None
    """Statistics with the same source have draws in common."""

    @property
    def factors(self) -> tuple[ColumnFactor, ...]:
        """What is multiplied for each row; nothing for numbers of something."""
        if isinstance(self.statistic, Statistic):
            return self.statistic.factors
        return ()

    def interval(self, doubt: float) -> tuple[float, float]:
        """The interval of the exact integer."""
        reach = self.noise.half_width(doubt)
        low, high = self.value - reach, self.value + reach
        if (
            isinstance(self.statistic, DistinctCount)
            and self.statistic.most is not None
        ):
            most = float(self.statistic.most)
            # There are no more different values than the schema allows.
            low, high = min(low, most), min(high, most)
        if all(factor.power % 2 == 0 for factor in self.factors):
            # Counts and sums of squares are not negative.
            return max(low, 0.0), max(high, 0.0)
        return low, high


def estimate_aggregate(
    aggregate: Aggregate,
    parts: Sequence[NoisyStatistic],
    steps: Sequence[float],
    doubt: float = ANSWER_DOUBT,
) -> NumberEstimate:
    """One aggregate of one group, from its statistics in the order of
    `plan.list_statistics`; `steps` are the lattice steps of its columns. A quantile's
    interval was found with its value, and has a doubt of its own.
    """
    match aggregate.kind:
        case AggregateKind.COUNT | AggregateKind.DISTINCT:
            return _estimate_linear(parts[0], 1.0, doubt)
        case AggregateKind.QUANTILE:
            ends = parts[0].ends
            assert ends is not None
            found = NumberEstimate(parts[0].value, *ends)
            return _move_estimate(found, 0, steps[0])
        case AggregateKind.SUM:
            return _estimate_linear(parts[0], steps[0], doubt)
        case AggregateKind.SHARE:
            return estimate_ratio(parts[0], parts[1], 0.0, 1.0, doubt)
        case AggregateKind.MEAN:
            (factor,) = parts[1].factors
            low, high = _centred_bounds(factor)
            ratio = estimate_ratio(parts[1], parts[0], low, high, doubt)
            return _move_estimate(ratio, factor.origin, steps[0])
        case AggregateKind.VARIANCE:
            return _estimate_spread(parts, steps, _identity, doubt)
        case AggregateKind.DEVIATION:
            return _estimate_spread(parts, steps, _root, doubt)
        case AggregateKind.COVARIANCE:
            return _estimate_covariance(parts, steps, doubt)
        case AggregateKind.CORRELATION:
            return _estimate_correlation(parts, doubt)


def _estimate_linear(part: NoisyStatistic, step: float, doubt: float) -> NumberEstimate:
    low, high = part.interval(doubt)
    value = min(max(part.value, low), high)
    return NumberEstimate(value * step, low * step, high * step)


def estimate_ratio(
    top: NoisyStatistic,
    bottom: NoisyStatistic,
    low: float,
    high: float,
    doubt: float = ANSWER_DOUBT,
) -> NumberEstimate:
    """A ratio that is known to lie between low and high."""
    middle = (low + high) / 2
    guess = top.value / bottom.value if bottom.value > 0 else middle
    start = min(max(guess, low), high)
    if not (top.noise.is_gaussian and bottom.noise.is_gaussian):
        ends = _divide_intervals(top.interval(doubt / 2), bottom.interval(doubt / 2))
        return _clamp_estimate(start, ends, low, high)
    noises = (top.noise, bottom.noise)
    is_shared = top.source is not None and top.source == bottom.source
    z = max(noise.tail_factor(doubt) for noise in noises)
    deviations = [noise.deviation for noise in noises]
    roundings = [noise.rounding for noise in noises]

    def excess(ratio: float) -> float:
        off = abs(top.value - ratio * bottom.value)
        sides = deviations[0], abs(ratio) * deviations[1]
        # Of draws in common the deviations add up at most.
        spread = sum(sides) if is_shared else math.hypot(*sides)
        rounding = roundings[0] + abs(ratio) * roundings[1]
        return off - z * spread - rounding

    ends = _find_end(excess, start, low), _find_end(excess, start, high)
    return _clamp_estimate(start, ends, low, high)


def _find_end(excess: Callable[[float], float], start: float, end: float) -> float:
    """The last place from start towards end that is not rejected.

    On each side of S/N the excess is a line minus a convex function, so concave: if it
    rejects the end and not the start it changes sign once, and if it does not reject
    the end the set reaches there.
    """
    if excess(end) <= 0:
        return end
    if excess(start) > 0:
        return start
    inside, outside = start, end
    for _ in range(_BISECTION_STEPS):
        middle = (inside + outside) / 2
        if excess(middle) <= 0:
            inside = middle
        else:
            outside = middle
    return outside


def _clamp_estimate(
    value: float, ends: tuple[float, float], low: float, high: float
) -> NumberEstimate:
    first = min(max(ends[0], low), high)
    last = max(min(ends[1], high), first)
    return NumberEstimate(min(max(value, first), last), first, last)


def _divide_intervals(
    top: tuple[float, float], bottom: tuple[float, float]
) -> tuple[float, float]:
    """What a quotient may be; everything if the divisor may be less than one row."""
    # The divisor is a whole number of rows: 0 or at least 1.
    if bottom[0] < 0.5:
        return -math.inf, math.inf
    corners = [a / b for a in top for b in bottom]
    return min(corners), max(corners)


def _centred_bounds(factor: ColumnFactor) -> tuple[float, float]:
    return float(factor.low - factor.origin), float(factor.high - factor.origin)


def _move_estimate(
    estimate: NumberEstimate, origin: int, step: float
) -> NumberEstimate:
    """From indices around an origin to values."""
    return NumberEstimate(
        (estimate.value + origin) * step,
        (estimate.low + origin) * step,
        (estimate.high + origin) * step,
    )


def _identity(value: float) -> float:
    return value


def _root(value: float) -> float:
    return math.sqrt(max(value, 0.0))


Interval = tuple[float, float]


def _estimate_spread(
    parts: Sequence[NoisyStatistic],
    steps: Sequence[float],
    shape: Callable[[float], float],
    doubt: float,
) -> NumberEstimate:
    """A sample variance, or a rising function of it, from n, Σx and Σx²."""
    n, first, second = parts
    (factor,) = first.factors
    width = float(factor.high - factor.low)
    # Two rows at both bounds have the largest sample variance.
    most = width**2 / 2
    value = _central_moment(n.value, second.value, first.value, first.value)
    ends = _moment_interval(n, second, first, first, doubt)
    found = _clamp_estimate(value, ends, 0.0, most)
    scale = steps[0] ** 2
    return NumberEstimate(
        shape(found.value * scale), shape(found.low * scale), shape(found.high * scale)
    )


def _estimate_covariance(
    parts: Sequence[NoisyStatistic], steps: Sequence[float], doubt: float
) -> NumberEstimate:
    n, one, other, product = parts
    widths = [
        float(factor.high - factor.low)
        for part in (one, other)
        for factor in part.factors
    ]
    most = widths[0] * widths[1] / 2
    value = _central_moment(n.value, product.value, one.value, other.value)
    ends = _moment_interval(n, product, one, other, doubt)
    found = _clamp_estimate(value, ends, -most, most)
    scale = steps[0] * steps[1]
    return NumberEstimate(found.value * scale, found.low * scale, found.high * scale)


def _estimate_correlation(
    parts: Sequence[NoisyStatistic], doubt: float
) -> NumberEstimate:
    n, one, other, product, square, other_square = parts
    share = doubt / 2
    joint = _moment_interval(n, product, one, other, share)
    first = _moment_interval(n, square, one, one, share / 2)
    second = _moment_interval(n, other_square, other, other, share / 2)
    covariance = _central_moment(n.value, product.value, one.value, other.value)
    spreads = [
        _central_moment(n.value, square.value, one.value, one.value),
        _central_moment(n.value, other_square.value, other.value, other.value),
    ]
    value = 0.0
    if min(spreads) > 0:
        value = covariance / math.sqrt(spreads[0] * spreads[1])
    low_scale = math.sqrt(max(first[0], 0.0) * max(second[0], 0.0))
    high_scale = math.sqrt(max(first[1], 0.0) * max(second[1], 0.0))
    if low_scale <= 0 or not math.isfinite(high_scale):
        return _clamp_estimate(value, (-1.0, 1.0), -1.0, 1.0)
    corners = [end / scale for end in joint for scale in (low_scale, high_scale)]
    return _clamp_estimate(value, (min(corners), max(corners)), -1.0, 1.0)


def _central_moment(n: float, product: float, one: float, other: float) -> float:
    """The sample covariance from sums; 0 if there are not two rows."""
    if n < 1.5:
        return 0.0
    return (product - one * other / n) / (n - 1)


def _moment_interval(
    n: NoisyStatistic,
    product: NoisyStatistic,
    one: NoisyStatistic,
    other: NoisyStatistic,
    doubt: float,
) -> Interval:
    """The interval of a sample covariance: the product's mean less that of the means,
    times n/(n − 1), each within its interval.
    """
    sides = (one,) if one is other else (one, other)
    part = doubt / (2 + len(sides))
    rows = n.interval(part)
    if rows[0] < 1.5:
        return -math.inf, math.inf
    mean_product = _divide_intervals(product.interval(part), rows)
    means = [_divide_intervals(side.interval(part), rows) for side in sides]
    of_means = _multiply_intervals(means[0], means[-1], is_square=one is other)
    low, high = mean_product[0] - of_means[1], mean_product[1] - of_means[0]
    factors = [row / (row - 1) for row in rows]
    corners = [low * f for f in factors] + [high * f for f in factors]
    return min(corners), max(corners)


def _multiply_intervals(one: Interval, other: Interval, *, is_square: bool) -> Interval:
    """The interval of a product, or of the square of one number."""
    if is_square:
        ends = [end * end for end in one]
        # A square is never negative, though the product of two ends may be.
        return 0.0 if one[0] <= 0 <= one[1] else min(ends), max(ends)
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)
