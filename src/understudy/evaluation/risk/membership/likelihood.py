"""Membership from the measurements: the likelihood ratio of the noisy answers with and
without somebody, for an attacker who knows every other row.

A release carries answers y = q(D) + noise. For Gaussian noise the log likelihood ratio
of x is Σ ((y − q₀)² − (y − q₀ − q(x))²) / 2σ² with q₀ the answers without x.

Whose noise. The attack on a member knows the table without them, the attack on somebody
else knows the whole table: two attackers in two worlds. Scored against the noise of one
and the same release, that noise is on both sides of the comparison and cancels, and what
is left, ±q(x)²/2σ², separates the two groups perfectly however large σ is (an area of
0.92 where the guarantee allows 0.55). So both worlds draw their own noise here, from the
law and scale that each measurement states: the area is that of the strongest attack on
releases measured as this one was, over their noise, which is what a guarantee bounds.
Every row contributes the same numbers in another place, so the area is the same for
everybody, and no holdout is needed.

What this release's own noise did is reported beside it: the largest odds that it gives
against any member, and whether it is as large as stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.law import Law
from understudy.evaluation.risk.membership.roc import Scores, roc_finding
from understudy.evaluation.risk.noise_spread import MAX_LATTICE_SCALE
from understudy.evaluation.risk.rates import MembershipBound
from understudy.findings import Fact, Finding, FindingPart, Unavailable
from understudy.measurements import AxisMap, Centring, Measurement, Partition
from understudy.tables import Records, Table

SIMULATED_RELEASES = 20_000
"""With and without a person, each. The area's standard error is 0.003 at most."""

MAX_EXACT_TERMS = 64
"""Equal Laplace terms that are drawn one by one; the sum of more is drawn as normal."""

MAX_STATED_ODDS = 1e12
"""Larger odds are certainty, and exponentials overflow."""


def attack_by_measurements(
    table: Table,
    measurements: Sequence[Measurement],
    members: Records,
    *,
    rng: np.random.Generator,
    guarantee: MembershipBound | None,
) -> Finding:
    """The likelihood ratio of everything that was measured, with and without a row."""
    used = [m for m in measurements if m.clique and m.scale > 0]
    if not used:
        raise Unavailable("the release holds no noisy measurement of a marginal")
    inside, outside = np.zeros(SIMULATED_RELEASES), np.zeros(SIMULATED_RELEASES)
    for measurement in used:
        inside += simulate_ratios(measurement, rng, inside=True)
        outside += simulate_ratios(measurement, rng, inside=False)
    return roc_finding(
        "membership_measurements",
        "Membership from the noisy measurements, everything else known",
        inside,
        outside,
        guarantee=guarantee,
        facts={"measurements": len(used)},
        note=(
            "The strongest attack on a release made from measurements like these, over"
            " their noise. 0.5 is a coin; the guarantee bounds each number."
        ),
        further_parts=_own_noise_parts(table, used, members, guarantee),
    )


def simulate_ratios(
    measurement: Measurement, rng: np.random.Generator, *, inside: bool
) -> Scores:
    """Log likelihood ratios of one row over fresh noise, the row inside or not."""
    scale = float(measurement.scale)
    total = np.zeros(SIMULATED_RELEASES)
    # The attacker subtracts what they know. What is left is noise η, plus the row's own
    # contribution c if it is inside: log P(η + c − c)/P(η + c), or log P(η − c)/P(η).
    sign = 1 if inside else -1
    for entry, count in _contribution_counts(measurement.maps).items():
        if entry == 0:
            continue
        if measurement.law is not Law.DISCRETE_LAPLACE:
            # Σ ηc over equal cells is one normal number; ±c²/2σ² is fixed.
            signal = entry**2 * count / scale**2
            total += sign * signal / 2 + math.sqrt(signal) * _draw_unit_gaussian(
                measurement.law, scale, rng, single=count == 1 and abs(entry) == 1
            )
            continue
        total += sign * _sum_laplace_terms(scale, entry, count, rng)
    return total


def _contribution_counts(maps: Sequence[AxisMap]) -> dict[int, int]:
    """What one row adds to the cells of a measurement: each number, and in how many
    cells. It is the same for every row, since all columns of a map are alike.
    """
    counts = {1: 1}
    for axis in maps:
        products: dict[int, int] = {}
        for value, count in counts.items():
            own, others = value * axis.own_entry, value * axis.other_entry
            products[own] = products.get(own, 0) + count
            products[others] = products.get(others, 0) + count * (axis.out - 1)
        counts = products
    return {value: count for value, count in counts.items() if count}


def _draw_unit_gaussian(
    law: Law, scale: float, rng: np.random.Generator, *, single: bool
) -> Scores:
    """Gaussian noise in units of its scale; on whole numbers if one cell is measured."""
    if not single or scale > MAX_LATTICE_SCALE:
        return rng.standard_normal(SIMULATED_RELEASES)
    if law is Law.ROUNDED_GAUSSIAN:
        noise = np.rint(scale * rng.standard_normal(SIMULATED_RELEASES))
    else:
        far = math.ceil(12 * scale) + 1
        numbers = np.arange(-far, far + 1)
        weights = np.exp(-(numbers**2) / (2 * scale**2))
        noise = rng.choice(numbers, SIMULATED_RELEASES, p=weights / weights.sum())
    return np.asarray(noise / scale, np.float64)


def _sum_laplace_terms(
    scale: float, entry: int, count: int, rng: np.random.Generator
) -> Scores:
    """Σ (|η + c| − |η|)/scale over equal cells with discrete Laplace noise."""
    size = (SIMULATED_RELEASES, min(count, MAX_EXACT_TERMS))
    # The difference of two geometric numbers has the discrete Laplace law.
    failure = -math.expm1(-1 / scale)
    noise = rng.geometric(failure, size) - rng.geometric(failure, size)
    terms = (np.abs(noise + entry) - np.abs(noise)) / scale
    if count <= MAX_EXACT_TERMS:
        return np.asarray(terms.sum(axis=1), np.float64)
    spread = terms.std() * math.sqrt(count)
    total = terms.mean() * count + spread * rng.standard_normal(SIMULATED_RELEASES)
    return np.asarray(total, np.float64)


def _own_noise_parts(
    table: Table,
    measurements: Sequence[Measurement],
    members: Records,
    guarantee: MembershipBound | None,
) -> tuple[FindingPart, ...]:
    """What the noise of this very release did: to its members, and in itself."""
    ratios = np.zeros(members.rows)
    squares: list[NDArray[np.float64]] = []
    kurtosis = 3.0
    for measurement in measurements:
        (exact,) = table.counts([measurement.clique])
        ratios += likelihood_ratios(measurement, exact, members, inside=True)
        deviation = float(measurement.scale)
        if measurement.law is Law.DISCRETE_LAPLACE:
            kurtosis = 6.0
            # Variance of the discrete Laplace law: 2t/(1 − t)², t = exp(−1/scale).
            deviation = 1 / (math.sqrt(2) * math.sinh(0.5 / deviation))
        squares.append((_noise_of(measurement, exact) / deviation).reshape(-1) ** 2)
    parts = [_noise_size_part(np.concatenate(squares), kurtosis)]
    if members.rows:
        odds = min(math.exp(min(float(ratios.max()), 700.0)), MAX_STATED_ODDS)
        bound = None if guarantee is None else guarantee.odds()
        name = "largest factor on the odds of a member, by this release's own noise"
        parts.insert(0, FindingPart(name=name, value=odds, facts={"bound": bound}))
    return tuple(parts)


def _noise_size_part(squares: NDArray[np.float64], kurtosis: float) -> FindingPart:
    """The size of the noise against the stated one: below 1, and every number above it
    is worse than it looks; far above 1, and this is not the table that was measured.
    """
    mean = float(squares.mean())
    half = 1.96 * math.sqrt((kurtosis - 1) / len(squares))
    # The interval is that of a true ratio of 1, so a sound release lies in it.
    facts: dict[str, Fact] = {
        "expected_low": math.sqrt(max(0.0, 1 - half)),
        "expected_high": math.sqrt(1 + half),
    }
    name = "size of this release's noise, as a share of the stated one"
    return FindingPart(name=name, value=math.sqrt(mean), facts=facts)


def likelihood_ratios(
    measurement: Measurement,
    exact: NDArray[np.int64],
    records: Records,
    *,
    inside: bool,
) -> Scores:
    """log P(values | with the person) − log P(values | without), for each record;
    `exact` are the counts of the table itself.

    `inside`: the person is among those counted in `exact`; otherwise they would come on
    top.
    """
    noise = _noise_of(measurement, exact).reshape(-1)
    scale = float(measurement.scale)
    contributions = [
        row_contributions(axis, records.codes[name])
        for axis, name in zip(measurement.maps, measurement.clique, strict=True)
    ]
    if not any(isinstance(axis, Centring) for axis in measurement.maps):
        # One cell alone moves, by one.
        cells = np.zeros(records.rows, np.int64)
        for contribution in contributions:
            cells = cells * contribution.shape[1] + contribution.argmax(axis=1)
        return _log_odds(measurement.law, scale, noise[cells], 1.0, inside=inside)
    ratios = np.empty(records.rows)
    for i in range(records.rows):
        moved = np.ones(1)
        for contribution in contributions:
            moved = np.multiply.outer(moved, contribution[i]).reshape(-1)
        terms = _log_odds(measurement.law, scale, noise, moved, inside=inside)
        ratios[i] = terms.sum()
    return ratios


def row_contributions(axis: AxisMap, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """What one row adds along an axis, for each of some codes: rows × the axis after
    its map.
    """
    return np.asarray(axis.matrix()[:, np.asarray(codes, np.int64)].T)


def apply_maps(maps: Sequence[AxisMap], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The exact answers of a measurement."""
    for axis, each in enumerate(maps):
        if isinstance(each, Partition | Centring):
            mapped = np.tensordot(each.matrix(), counts, (1, axis))
            counts = np.moveaxis(mapped, 0, axis)
    return counts


def _noise_of(measurement: Measurement, exact: NDArray[np.int64]) -> Scores:
    answers = apply_maps(measurement.maps, exact)
    return (measurement.values - answers).astype(np.float64)


def _log_odds(
    law: Law,
    scale: float,
    noise: Scores,
    moved: float | NDArray[np.float64],
    *,
    inside: bool,
) -> Scores:
    """log P(rest | with) − log P(rest | without) of each cell, from the noise there."""
    with_, without = (noise, noise + moved) if inside else (noise - moved, noise)
    if law is Law.DISCRETE_LAPLACE:
        return np.asarray((np.abs(without) - np.abs(with_)) / scale)
    return np.asarray((without**2 - with_**2) / (2 * scale**2))
