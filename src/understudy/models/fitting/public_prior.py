"""A public table as a prior, weighted by its paid distance from the truth.

A public table has been scaled to this table's number of rows, and its noisy L1 distance
from the truth was paid for (`EstimateDistance.public`). Each of its cells is then an
estimate with an error of known size: over k cells, rows that are too many in some and
too few in others have a mean square of at most d²/2k at distance d. The estimate enters
a fit as one more term with that variance. It is no measurement: bounds and intervals do
not use it, and where it is far off, its variance is large and it has no weight.

Distances of many marginals are shrunk to their mean first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from understudy.measurements import EstimateDistance, Identity, Measurements
from understudy.models.estimates.loss_terms import MIN_TERM_VARIANCE, Term
from understudy.models.estimates.noise_moments import noise_variance
from understudy.models.estimates.shrinkage import shrink_to_mean
from understudy.schema import Schema


def prior_terms(schema: Schema, measurements: Measurements) -> list[Term]:
    """Every public marginal as a term of a fit, with the variance that its paid
    distance suggests.

    >>> from understudy.schema import Boolean
    >>> prior_terms(Schema(columns=(Boolean(name="smoker"),)), Measurements())
    []
    """
    public = [gap for gap in measurements.gaps if gap.public]
    terms: list[Term] = []
    for gap, distance in zip(public, _shrink_distances(public), strict=True):
        clique = gap.distance.clique
        order = [clique.index(name) for name in schema if name in clique]
        table = (gap.estimate / gap.distance.grid).transpose(order)
        # Half of the distance are rows too many, half rows too few: Σ error² ≤ d²/2.
        variance = distance**2 / (2 * table.size)
        maps = tuple(Identity(size) for size in table.shape)
        names = tuple(clique[i] for i in order)
        terms.append(Term(names, maps, table, max(variance, MIN_TERM_VARIANCE)))
    return terms


def _shrink_distances(gaps: Sequence[EstimateDistance]) -> list[float]:
    """Noisy distances shrunk to their mean, none smaller than its standard error."""
    if not gaps:
        return []
    values = np.array([float(gap.distance) for gap in gaps])
    one = gaps[0].distance
    noise = noise_variance(one.law, one.scale) / one.grid**2
    least = math.sqrt(noise / len(gaps))
    return [max(float(d), least) for d in shrink_to_mean(values, noise)]
