"""From noisy distances to the distances that gains are computed from.

A noisy L1 distance between a marginal and the model contains its noise, the errors of
the marginal's columns and pairs, and what the marginal itself adds. These functions
remove the first two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from understudy.measurements import Clique, Distance, Measurements
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL, noise_variance
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.estimates.shrinkage import shrink_to_mean, signal_share
from understudy.schema import Schema
from understudy.synthesizers.adaptive.constants import (
    EXPECTED_DISTANCE_SPREAD,
    MAX_HIDDEN_SIGNAL_SHARE,
    MIN_CHANCE_SHARE,
    MIN_SPREAD_TO_MEAN,
)
from understudy.synthesizers.adaptive.gains import Array


def distance_noise(distances: Iterable[Distance]) -> float:
    """The noise variance of distances that were asked in one round, in rows²."""
    one = next(iter(distances))
    return noise_variance(one.law, one.scale) / one.grid**2


def distance_signal_share(distances: Sequence[Distance]) -> float:
    """The share of the variance of noisy distances that is not noise; 0 of none."""
    if not distances:
        return 0.0
    values = np.array([float(d) for d in distances])
    return signal_share(float(values.var()), distance_noise(distances))


def would_distances_inform(noise: float, rows: float) -> bool:
    """Whether at least half of the variance of distances would be signal, if they were
    asked with this noise: their spread is assumed to be EXPECTED_DISTANCE_SPREAD.

    >>> would_distances_inform(90.0, 1_000.0), would_distances_inform(110.0, 1_000.0)
    (True, False)
    """
    # Decided before anything is paid, so the spread can only be assumed.
    spread = EXPECTED_DISTANCE_SPREAD * max(rows, 1e-9)
    return signal_share(spread**2 + noise**2, noise**2) > 1 / 2


def shrink_distances(distances: Mapping[Clique, Distance]) -> dict[Clique, float]:
    """Noisy distances shrunk to their mean by their signal share, none negative.

    The largest of many noisy distances would otherwise be large by chance. The mean is
    noisy as well: its own standard error is subtracted from it.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> noise = Law.ROUNDED_GAUSSIAN, Fraction(30), Cost(Accounting.GDP, Fraction(1))
    >>> answers = {"a": 100, "b": 163, "c": -80}
    >>> noisy = {(n,): Distance((n,), d, 1, *noise) for n, d in answers.items()}
    >>> {name: round(d) for (name,), d in shrink_distances(noisy).items()}
    {'a': 79, 'b': 137, 'c': 0}
    """
    if not distances:
        return {}
    noise = distance_noise(distances.values())
    values = np.array([float(d) for d in distances.values()])
    mean = float(values.mean())
    certain_mean = max(mean - math.sqrt(noise / values.size), 0.0)
    shrunk = shrink_to_mean(values, noise) + (certain_mean - mean)
    return {
        clique: max(float(distance), 0.0)
        for clique, distance in zip(distances, shrunk, strict=True)
    }


def column_errors(
    schema: Schema, measurements: Measurements, names: Iterable[str]
) -> dict[str, float]:
    """The mean L1 error of each measured column, from the noise of every measurement
    that informs it.
    """
    # Pooled, because pairs and triples inform their columns as well.
    pooled = PooledResiduals.of(schema, measurements)
    errors: dict[str, float] = {}
    for name in names:
        variance = pooled.variance((name,))
        if np.all(np.isfinite(variance)):
            errors[name] = MEAN_ABS_NORMAL * float(np.sqrt(variance).sum())
    return errors


def subtract_inner_errors(
    distances: Mapping[Clique, float],
    errors: Mapping[str, float],
    pairs: Mapping[Clique, float] | None = None,
) -> dict[Clique, float]:
    """Distances without what the errors of columns, and distances of pairs, explain.

    They are orthogonal to what the marginal itself adds, so squares are subtracted.

    >>> subtract_inner_errors({("a", "b"): 50.0}, {"a": 30.0, "b": 0.0})
    {('a', 'b'): 40.0}
    """
    inner: dict[Clique, float] = {(name,): error for name, error in errors.items()}
    inner |= pairs or {}
    own: dict[Clique, float] = {}
    for clique, distance in distances.items():
        explained = 0.0
        for order in range(1, len(clique)):
            explained += sum(
                inner.get(c, 0.0) ** 2 for c in combinations(clique, order)
            )
        own[clique] = math.sqrt(max(distance**2 - explained, 0.0))
    return own


def floor_at_chance(
    distances: Mapping[Clique, float], expected: Mapping[Clique, Array]
) -> dict[Clique, float]:
    """Distances of which those with expected counts are at least MIN_CHANCE_SHARE of
    what chance alone makes: finite rows are never as even as a model.

    >>> distances = {("a", "b"): 0.0, ("b", "c"): 90.0}
    >>> floored = floor_at_chance(distances, {("a", "b"): np.full((2, 2), 25.0)})
    >>> {r: round(d) for r, d in floored.items()}
    {('a', 'b'): 6, ('b', 'c'): 90}
    """
    floored = dict(distances)
    for clique in distances.keys() & expected.keys():
        table = expected[clique]
        # With the smaller marginals known, Π(1 − 1/n) of the cells are free.
        free = math.prod(1 - 1 / size for size in table.shape)
        deviations = float(np.sqrt(np.maximum(table, 0)).sum())
        chance = MIN_CHANCE_SHARE * MEAN_ABS_NORMAL * math.sqrt(free) * deviations
        floored[clique] = max(distances[clique], chance)
    return floored


def are_pairs_hidden(
    answers: Sequence[Distance], distances: Sequence[float], clear: float
) -> bool:
    """Whether pairs may differ in how far they are from the model, and noise above
    `clear` hides which are far.

    Pairs that are all about as far are worth about the same, and a better look is not
    needed. If noise hides even that, a second round costs less than assuming that
    nothing is there: the spread is taken at two standard errors above its estimate.
    """
    if not answers:
        return False
    noise = distance_noise(answers)
    variance = float(np.var([float(d) for d in answers]))
    # The sample variance of n normal numbers has a relative standard error of √(2/n).
    doubt = 2 * noise * math.sqrt(2 / len(answers))
    possible_spread = math.sqrt(max(variance - noise + doubt, 0.0))
    return (
        math.sqrt(noise) > clear
        and signal_share(variance, noise) < MAX_HIDDEN_SIGNAL_SHARE
        and possible_spread > MIN_SPREAD_TO_MEAN * float(np.mean(distances))
    )
