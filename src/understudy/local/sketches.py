"""Count Mean Sketch and its Hadamard version: shares of values of an open vocabulary.

Apple's Differential Privacy Team, "Learning with privacy at scale", 2017. The mean and
variance printed there are not right: Pan, "Count-mean sketch as an optimized framework
for frequency estimation with local differential privacy", 2024 (arXiv 2406.03785). Here
a row of the sketch, with a hash function and respondents of its own, gives an unbiased
estimate, and the spread of the rows gives an interval, collisions included. With few
reports most rows are empty and their spread says little; the number of reports that
support a value is binomial then, as in a pure protocol. The interval is the hull of both.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from scipy import special

from understudy.local.counting import Counts, transform_hadamard
from understudy.local.estimates import (
    Floats,
    FrequencyTable,
    check_reports,
    estimate_shares,
)
from understudy.local.support import SupportProbabilities
from understudy_client import CollectionPlan


def estimate_sketch(
    plan: CollectionPlan, counts: Counts, candidates: tuple[str, ...], level: float
) -> FrequencyTable:
    """Shares of candidate values from the counts of a sketch."""
    sketch, row_reports = _unbias_rows(plan, counts)
    reports = int(row_reports.sum())
    check_reports(reports)
    rows, width = sketch.shape
    row = np.arange(rows)
    places = _hash_candidates(plan, candidates)
    # Another value falls into the cell with probability 1/width: taken off.
    in_cell = sketch[row, places] - row_reports / width
    by_row = in_cell * width / (width - 1) / reports
    shares = by_row.sum(axis=1)
    # Rows are independent: the variance of their sum is the sum of their variances.
    deviation = sqrt(rows) * by_row.std(axis=1, ddof=1)
    reach = special.stdtrit(rows - 1, (1 + level) / 2) * deviation
    support = sketch_support(plan)
    # A whole number, but for rounding.
    supporting = np.rint(reports * (float(support.q) + support.gap * shares))
    pure = estimate_shares(
        candidates, supporting.astype(np.int64), reports, support, level
    )
    return replace(
        pure,
        shares=shares,
        low=np.minimum(pure.low, shares - reach),
        high=np.maximum(pure.high, shares + reach),
    )


def sketch_support(plan: CollectionPlan) -> SupportProbabilities:
    """That a report supports its own value, and any other, over all hash functions."""
    width = plan.sizes["width"]
    if plan.mechanism == "hcms":
        keep = plan.ratio / (plan.ratio + 1)
        return SupportProbabilities(keep, (1 + (2 * keep - 1) / width) / 2)
    keep = plan.root_ratio(2) / (plan.root_ratio(2) + 1)
    return SupportProbabilities(keep, 1 - keep + (2 * keep - 1) / width)


def _hash_candidates(plan: CollectionPlan, candidates: tuple[str, ...]) -> Counts:
    rows, width = plan.sizes["rows"], plan.sizes["width"]
    places = [
        plan.hash_value(value, row, width)
        for value in candidates
        for row in range(rows)
    ]
    return np.array(places, dtype=np.int64).reshape(len(candidates), rows)


def _unbias_rows(plan: CollectionPlan, counts: Counts) -> tuple[Floats, Floats]:
    """For every row and place, an unbiased number of respondents of the row whose value
    is hashed to the place; and the reports of each row.
    """
    if plan.mechanism == "hcms":
        signed = (counts[:, :, 0] - counts[:, :, 1]).astype(np.float64)
        keep = float(plan.ratio / (plan.ratio + 1))
        row_reports = counts.sum(axis=(1, 2)).astype(np.float64)
        return transform_hadamard(signed) / (2 * keep - 1), row_reports
    root = plan.root_ratio(2)
    keep = float(root / (root + 1))
    ones, row_reports = counts[:, :-1], counts[:, -1].astype(np.float64)
    return (ones - (1 - keep) * row_reports[:, None]) / (2 * keep - 1), row_reports


def sketch_variance(plan: CollectionPlan, shares: Floats, respondents: int) -> Floats:
    """Variance of the estimated share of each value, over randomisation and over the
    choice of hash functions.

    >>> from fractions import Fraction
    >>> plan = CollectionPlan("x", "cms", Fraction(2), sizes={"rows": 16, "width": 8})
    >>> shares = np.array([0.25, 0.5, 0.25])
    >>> round(float(sketch_variance(plan, shares, 2000)[0]) * 2000**2)
    13767
    """
    rows, width = plan.sizes["rows"], plan.sizes["width"]
    counts = shares * respondents
    if plan.mechanism == "hcms":
        scale = float((plan.ratio + 1) / (plan.ratio - 1))
        noise = respondents * scale**2 - counts - (respondents - counts) / width
    else:
        root = float(plan.root_ratio(2))
        noise = np.full(len(shares), respondents * root / (root - 1) ** 2)
    spread = (1 - 1 / width) / width
    others = respondents - counts
    pairs = (counts**2).sum() - counts**2
    collisions = others * spread * (1 - 1 / rows) + pairs * spread / rows
    total: Floats = (width / (width - 1)) ** 2 * (noise + collisions)
    return total / respondents**2
