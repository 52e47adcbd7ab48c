"""Statistics that a release tells something of, pooled with what questions measured.

A release's noisy marginals and the answers to questions have noise of their own each, so
two estimates of one number are weighed by their precisions, which add up. Everything here
is computed of numbers that were released and paid for: post-processing, free. Which
weight each has depends on the scales of noise alone, never on the numbers.

Statistics that a release tells of are correlated with one another. So of a ratio, whose
interval takes both sides for independent, only the number of rows is pooled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.law import Law
from understudy.queries.estimates import ANSWER_DOUBT, NoisyStatistic
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.plan import AnyStatistic
from understudy.queries.precision import (
    SMALL_GROUP_SHARE,
    NoisyValues,
    grid_scale_below,
    root_down,
    root_up,
    scale_for_half_width,
)
from understudy.queries.query import Aggregate, AggregateKind


@dataclass(frozen=True)
class ReleasedStatistic:
    """A number for each group by least squares over a release, and its deviation:
    infinite where the release does not tell it.
    """

    values: tuple[float, ...]
    deviations: tuple[float, ...]
    law: Law

    @property
    def precision(self) -> Fraction:
        """1/σ² of the group that is known least.

        >>> law = Law.ROUNDED_GAUSSIAN
        >>> ReleasedStatistic((7.0, 9.0), (2.0, math.inf), law).precision
        Fraction(0, 1)
        """
        return min(map(_precision_of, self.deviations), default=Fraction(0))

    def fewest_rows(self, doubt: float) -> float:
        """The fewest rows of a group, of those that are not small beside the largest; 0
        if there may be none.
        """
        largest = max(self.values, default=0.0)
        factor = NoiseScale(self.law, Fraction(1)).tail_factor(doubt)
        groups = zip(self.values, self.deviations, strict=True)
        ends = [v - factor * d for v, d in groups if v >= SMALL_GROUP_SHARE * largest]
        return max(min(ends, default=0.0), 0.0)


ReleasedStatistics = Sequence[ReleasedStatistic | None]
"""What a release tells of each statistic of a plan; empty without a release."""


def rows_part(kind: AggregateKind) -> int | None:
    """Which of the statistics of an aggregate may be pooled with a release: the only one
    of a count or a sum, the number of rows of a mean or a share.
    """
    match kind:
        case AggregateKind.COUNT | AggregateKind.SUM | AggregateKind.MEAN:
            return 0
        case AggregateKind.SHARE:
            return 1
    return None


def needed_scale_after(
    target: Fraction,
    earlier: Sequence[NoisyValues],
    released: ReleasedStatistic,
    law: Law,
) -> Fraction | None:
    """The scale of one more measurement after which every group is known as well as one
    measurement with the target scale would tell it; None if it is already.

    >>> law = Law.ROUNDED_GAUSSIAN
    >>> known = ReleasedStatistic((7.0,), (5.0,), law)
    >>> needed_scale_after(Fraction(3), [], known, law)
    Fraction(15, 4)
    """
    scales = [each.scale for each in earlier if each.law is law]
    precision = sum((1 / scale**2 for scale in scales), released.precision)
    missing = 1 / target**2 - precision
    return None if missing <= 0 else root_down(1 / missing)


def scale_for_width_after(
    half_width: float,
    doubt: float,
    earlier: Sequence[NoisyValues],
    released: ReleasedStatistic,
    law: Law,
) -> Fraction | None:
    """The same for the interval: the scale after which it is no wider than this."""
    alone = scale_for_half_width(half_width, doubt, earlier, law)
    noise = NoiseScale(law, Fraction(1), draws=2)
    # What is pooled is no whole number: its interval has rounding on top.
    room = max(half_width - noise.rounding, 0.0)
    target = grid_scale_below(room / noise.tail_factor(doubt))
    if alone is None or not target:
        return alone
    pooled = needed_scale_after(target, earlier, released, law)
    # Rounding may make a release of hardly any precision cost more than none.
    return None if pooled is None else max(pooled, alone)


def pool_noise_after(
    noise: NoiseScale | None, precision: Fraction, law: Law
) -> NoiseScale:
    """The noise of an estimate that is pooled with one of a release; as it was where
    that is not better.
    """
    if noise is not None and (not noise.scale or not precision):
        return noise
    own = Fraction(0) if noise is None else 1 / noise.scale**2
    # Rounded up: an interval may be a little wider, never narrower.
    together = NoiseScale(law, root_up(1 / (own + precision)), draws=2)
    width = together.half_width(ANSWER_DOUBT)
    # Widths follow from scales alone: choosing by them takes no coverage away.
    if noise is not None and noise.half_width(ANSWER_DOUBT) <= width:
        return noise
    return together


def pool_with_release(
    statistic: AnyStatistic,
    measured: Sequence[NoisyStatistic],
    released: ReleasedStatistic,
) -> list[NoisyStatistic]:
    """Every group by what was measured and by the release; by the release alone where
    nothing was measured.
    """
    pooled = []
    groups = zip(released.values, released.deviations, strict=True)
    for group, (value, deviation) in enumerate(groups):
        own = measured[group] if measured else None
        precision = _precision_of(deviation)
        own_noise = None if own is None else own.noise
        # What a batch measured is not pooled: its answers have draws in common.
        assert own_noise is None or isinstance(own_noise, NoiseScale)
        noise = pool_noise_after(own_noise, precision, released.law)
        if own is not None and noise is own_noise:
            pooled.append(own)
            continue
        weight = Fraction(0) if own_noise is None else 1 / own_noise.scale**2
        before = 0.0 if own is None else float(weight) * own.value
        estimate = (before + float(precision) * value) / float(weight + precision)
        pooled.append(NoisyStatistic(statistic, estimate, noise))
    return pooled


def choose_parts(
    aggregate: Aggregate,
    places: Sequence[int],
    own: Sequence[Sequence[NoisyStatistic]],
    pooled: Sequence[Sequence[NoisyStatistic]],
) -> list[Sequence[NoisyStatistic]]:
    """The statistics of an aggregate, the one pooled that may be."""
    parts = [own[place] for place in places]
    part = rows_part(aggregate.kind)
    if part is not None:
        parts[part] = pooled[places[part]]
    return parts


def _precision_of(deviation: float) -> Fraction:
    if not math.isfinite(deviation) or deviation <= 0:
        return Fraction(0)
    return 1 / Fraction(deviation) ** 2
