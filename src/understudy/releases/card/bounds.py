"""The 95 % bound on the L1 error of one marginal of a release, and of rows sampled from
it.

The mathematics is in models/uncertainty/measured_bound.py and, for released distances
and for noise that is not Gaussian, in models/uncertainty/intervals.py.
"""

from __future__ import annotations

from dataclasses import replace

from understudy.measurements import Clique
from understudy.models.uncertainty.intervals import (
    BOUND_CONFIDENCE,
    ErrorBound,
    distance_bound,
    supported_bound,
)
from understudy.models.uncertainty.measured_bound import measured_bound
from understudy.releases.evidence import Evidence


def marginal_error_bound(evidence: Evidence, clique: Clique) -> ErrorBound | None:
    """The bound that the measurements give for a marginal; None if they give none.

    If all of the marginal was measured and a distance was released besides, there are
    two bounds, and the smaller one is taken. Rows are whole, which adds the error of
    sampling the release's default number of them.
    """
    pooled = evidence.least_squares
    distance = evidence.released_distance(clique)
    is_supported = pooled.is_measured(clique)
    if not is_supported and distance is None:
        return None
    # The smaller of two bounds holds if both do, so each of them gets half of the error
    # probability (union bound).
    is_double = is_supported and distance is not None
    confidence = (1 + BOUND_CONFIDENCE) / 2 if is_double else BOUND_CONFIDENCE
    table = evidence.marginal(clique)
    bounds = []
    if is_supported:
        bound_measured = measured_bound if evidence.is_gaussian else supported_bound
        bounds.append(bound_measured(pooled, clique, table, confidence=confidence))
    if distance is not None:
        bounds.append(distance_bound(distance, table, confidence=confidence))
    smallest = min(bounds, key=lambda bound: bound.rows)
    rows = smallest.rows + evidence.sampling_error(clique)
    return replace(smallest, rows=rows, supported=is_supported)


def error_share(bound: ErrorBound, evidence: Evidence) -> float:
    """The share of rows in a wrong cell that an L1 bound in rows allows: a row in a
    wrong cell is counted twice, where it is and where it should be.
    """
    return bound.rows / (2 * evidence.rows)
