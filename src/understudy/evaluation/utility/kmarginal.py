"""The k-marginal score, and the sample of the real table that would score the same.

SDNist (Task, Bhagat, Howarth, "SDNist: deidentified data report tool", NIST 2023):
score = 500 · (2 − mean L1) over pairs of columns, all of them below 30 columns and 200
drawn ones from there on; 1000 if the tables agree, 0 if they have nothing in common.

The sub-sampling equivalent is the share f of rows such that a random sample of f · n
real rows scores the same in expectation. No sample is drawn: the count of one cell in a
sample of m rows without replacement is hypergeometric, and its mean absolute deviation
is known in closed form (De Moivre's argument; Diaconis, Zabell, "Closed form summation
for classical distributions", 1991):

    E|X − μ| = 2 · ν (N − K − m + ν) / N · P[X = ν],   ν = ⌊μ⌋ + 1,  μ = mK/N.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from understudy.evaluation.utility.marginals import (
    CountableTable,
    marginal_distances,
    occurring_cells,
)
from understudy.evaluation.utility.orders import choose_cliques
from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.schema import Schema

ALL_PAIRS_BELOW_COLUMNS = 30
MAX_SCORED_PAIRS = 200
MAX_KMARGINAL_SCORE = 1000


def score_of_distance(mean_l1: float) -> float:
    """The score of a mean L1 distance.

    >>> score_of_distance(0.0), score_of_distance(2.0)
    (1000.0, 0.0)
    """
    return 500.0 * (2.0 - mean_l1)


def assess_kmarginal(
    real: CountableTable,
    synthetic: CountableTable,
    schema: Schema,
    *,
    rng: np.random.Generator | None = None,
) -> Finding:
    """The score over pairs, with the sub-sampling equivalent among its facts."""
    if len(schema) < 2:
        raise Unavailable("the table has fewer than two columns")
    most = None if len(schema) < ALL_PAIRS_BELOW_COLUMNS else MAX_SCORED_PAIRS
    cliques = choose_cliques(schema, 2, most=most, rng=rng or np.random.default_rng(0))
    found = marginal_distances(real, synthetic, schema, cliques)
    # L1 is twice the total variation distance.
    mean_l1 = 2 * sum(gap.distance for gap in found) / len(found)
    counts = [occurring_cells(real, clique, schema)[1] for clique in cliques]
    share = equivalent_share(counts, mean_l1)
    parts = tuple(
        FindingPart(
            name=" × ".join(gap.clique),
            columns=gap.clique,
            value=score_of_distance(2 * gap.distance),
        )
        for gap in found
    )
    return Finding(
        name="kmarginal",
        title="k-marginal score",
        family="marginals",
        value=score_of_distance(mean_l1),
        better=BetterDirection.HIGHER,
        best=float(MAX_KMARGINAL_SCORE),
        worst=0.0,
        note=(
            "1000 is the original itself. A plain sample of the real rows scores as"
            " well at the share named “equivalent share”."
        ),
        parts=parts,
        facts={"pairs": len(found), "equivalent_share": share},
    )


def equivalent_share(
    counts: list[NDArray[np.int64]], mean_l1: float, *, halvings: int = 40
) -> float | None:
    """The share of real rows whose plain sample has this expected mean L1 distance; 1
    if only the whole table is as close, None if even a single row would be closer.
    """
    rows = int(counts[0].sum())
    if rows == 0:
        return None
    if mean_l1 <= expected_sample_l1(counts, rows):
        return 1.0
    if mean_l1 >= expected_sample_l1(counts, 1):
        return None
    # More rows are closer, so the first number that is close enough is found by halving.
    low, high = 1, rows
    for _ in range(halvings):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        if expected_sample_l1(counts, middle) <= mean_l1:
            high = middle
        else:
            low = middle
    return high / rows


def expected_sample_l1(counts: list[NDArray[np.int64]], sample: int) -> float:
    """Expected L1 distance between a table's marginal and that of a sample without
    replacement, mean over marginals.

    >>> (
    ...     round(expected_sample_l1([np.array([1, 1])], 1), 12),
    ...     expected_sample_l1([np.array([3, 5])], 8),
    ... )
    (1.0, 0.0)
    """
    deviations = [float(sampling_deviation(cells, sample).sum()) for cells in counts]
    return sum(deviations) / sample / len(counts)


def sampling_deviation(cells: NDArray[np.int64], sample: int) -> NDArray[np.float64]:
    """E|X − EX| for the count X of each cell in a sample without replacement.

    >>> sampling_deviation(np.array([1, 3]), 2).round(12).tolist()
    [0.5, 0.5]
    """
    rows = cells.sum()
    counted = cells.astype(np.float64)
    # A sample holds no more of a cell than there are, and no fewer than must be in it.
    most = np.minimum(counted, sample)
    least = np.maximum(sample - (rows - counted), 0)
    # Whole division, so that a mean that is a whole number is not rounded below itself.
    above = (cells * sample // rows).astype(np.float64) + 1
    inside = (above <= most) & (above >= least)
    nu = np.where(inside, above, most)
    rest = rows - counted - sample + nu
    log_chance = (
        _log_choose(counted, nu)
        + _log_choose(rows - counted, sample - nu)
        - _log_choose(float(rows), float(sample))
    )
    deviation = 2 * nu * rest / rows * np.exp(log_chance)
    return np.asarray(np.where(inside, deviation, 0.0))


def _log_choose(
    n: NDArray[np.float64] | float, k: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    chosen, rest = np.asarray(k), np.asarray(n) - k
    logs = gammaln(np.asarray(n) + 1.0) - gammaln(chosen + 1.0) - gammaln(rest + 1.0)
    return np.asarray(logs, np.float64)
