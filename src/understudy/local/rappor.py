"""RAPPOR: cohorts with Bloom filters, decoded by least squares on a list of candidates.

Erlingsson, Pihur, Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal
response", 2014. The permanent response carries the whole ε and is kept by the client;
each report is a fresh instantaneous response of it (a one stays with probability ¾, a
zero becomes a one with probability ½).

The intervals hold if every frequent value is among the candidates: others are read as
whatever candidates share their bits.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from understudy.errors import Refused
from understudy.local.counting import Counts
from understudy.local.estimates import Floats, FrequencyTable, check_reports
from understudy.local.reports import INSTANTANEOUS_ONE, INSTANTANEOUS_ZERO
from understudy_client import CollectionPlan


def estimate_rappor(
    plan: CollectionPlan, counts: Counts, candidates: tuple[str, ...], level: float
) -> FrequencyTable:
    """Shares of candidate values from the counts of each cohort's bits."""
    cohort_reports = counts[:, -1].astype(np.float64)
    reports = int(cohort_reports.sum())
    check_reports(reports)
    design = design_matrix(plan, candidates)
    if np.linalg.matrix_rank(design) < len(candidates):
        raise Refused("more candidates than the plan's cohorts and bits can tell apart")
    zero, one = bit_probabilities(plan)
    noise = counts[:, :-1] - zero * cohort_reports[:, None]
    # In a cohort, a value that everybody has sets its bits for all its members.
    target = (noise / (one - zero)).ravel()
    decoder: Floats = np.linalg.pinv(design * _spread(plan)).astype(np.float64)
    shares = decoder @ target / reports
    variance = _rappor_variance(plan, design, decoder, cohort_reports, shares)
    reach = special.ndtri((1 + level) / 2) * np.sqrt(variance)
    return FrequencyTable(
        candidates, shares, shares - reach, shares + reach, level, reports
    )


def design_matrix(plan: CollectionPlan, candidates: tuple[str, ...]) -> Floats:
    """Which bits of which cohort each candidate sets: cohorts × bits rows."""
    rows, width, hashes = (plan.sizes[name] for name in ("rows", "width", "hashes"))
    design = np.zeros((rows, width, len(candidates)))
    for column, value in enumerate(candidates):
        for function in range(rows * hashes):
            place = plan.hash_value(value, function, width)
            design[function // hashes, place, column] = 1.0
    return design.reshape(rows * width, len(candidates))


def bit_probabilities(plan: CollectionPlan) -> tuple[float, float]:
    """That the report of a zero bit and of a one bit of the Bloom filter is a one."""
    root = plan.root_ratio(2 * plan.sizes["hashes"])
    keep = float(root / (root + 1))
    step = INSTANTANEOUS_ONE - INSTANTANEOUS_ZERO
    return INSTANTANEOUS_ZERO + (1 - keep) * step, INSTANTANEOUS_ZERO + keep * step


def _spread(plan: CollectionPlan) -> float:
    """The part of respondents that is expected in one cohort."""
    return 1 / plan.sizes["rows"]


def _rappor_variance(
    plan: CollectionPlan,
    design: Floats,
    decoder: Floats,
    cohort_reports: Floats,
    shares: Floats,
) -> Floats:
    """Variance of the shares: of the coins, and of who is in which cohort."""
    zero, one = bit_probabilities(plan)
    reports = cohort_reports.sum()
    # A bit of a report has variance below ¼, whatever the values are.
    per_bit = np.repeat(cohort_reports, plan.sizes["width"]) / 4 / (one - zero) ** 2
    coins = decoder**2 @ per_bit
    rows = plan.sizes["rows"]
    # What one respondent with value v adds to each estimate, if in cohort j.
    parts = decoder.reshape(len(decoder), rows, -1)
    bits = design.reshape(rows, -1, len(decoder))
    added = np.einsum("cjb,jbv->cvj", parts, bits)
    assignment = added.var(axis=2) @ (np.maximum(shares, 0) * reports)
    sampling = np.maximum(shares * (1 - shares), 0) * reports
    total: Floats = (coins + assignment + sampling) / reports**2
    return total
