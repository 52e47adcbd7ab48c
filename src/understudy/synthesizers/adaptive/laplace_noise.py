"""For which tables Laplace noise serves better than Gaussian noise.

With k marginals that share a budget evenly, Laplace noise grows with k and Gaussian noise
with √k; but one marginal has less Laplace noise: at ε = 1 and δ = 1e-9 a standard
deviation of 1.4 rows instead of 5.5. So a table of few columns, which has few marginals,
is known better by a pure run, and so is one of few cells, which are counted at once and
inform every marginal. At a large ε integer Laplace noise is mostly zero.

`prefers_laplace` follows from sizes, ε and δ alone. A plan says it together with the
price: a Gaussian run protects a person better except in the rarest cases, so the choice
is the owner's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

from understudy.accounting.law import Law
from understudy.models.estimates.noise_moments import noise_variance
from understudy.synthesizers.adaptive.constants import (
    MAX_FEW_COLUMNS,
    MAX_LAPLACE_RATIO_PAIRS,
    MAX_LAPLACE_RATIO_TABLE,
    MAX_WHOLE_TABLE_COLUMNS,
)


def has_few_columns(sizes: Iterable[int], largest: int) -> bool:
    """Whether a table with columns of these sizes has few of them, or few cells.

    >>> (has_few_columns([50] * 6, 100_000), has_few_columns([2] * 12, 100_000),
    ...     has_few_columns([50] * 7, 100_000), has_few_columns([2] * 13, 100_000))
    (True, True, False, False)
    """
    listed = list(sizes)
    if len(listed) <= MAX_FEW_COLUMNS:
        return True
    return len(listed) <= MAX_WHOLE_TABLE_COLUMNS and math.prod(listed) <= largest


def prefers_laplace(
    sizes: Sequence[int], epsilon: float, gaussian: float, largest: int
) -> bool:
    """Whether Laplace noise serves columns of these sizes better than Gaussian noise.

    `epsilon` is that of the whole budget for one row, `gaussian` the noise variance
    that it buys for one marginal.

    >>> tables = [5] * 2, [5] * 4, [5] * 5, [2] * 8
    >>> [prefers_laplace(sizes, 1.0, 30.2, 100_000) for sizes in tables]
    [True, True, False, True]
    """
    if not has_few_columns(sizes, largest):
        return False
    pairs = [a * b for a, b in combinations(sizes, 2)] or [math.prod(sizes)]
    # Variances add up with the number of pairs for Gaussian noise, ε is divided by it for
    # Laplace noise.
    gaussian_on_pairs = len(pairs) * gaussian
    laplace_on_pairs = laplace_variance(epsilon / len(pairs))
    if laplace_on_pairs <= MAX_LAPLACE_RATIO_PAIRS * gaussian_on_pairs:
        return True
    table = math.prod(sizes)
    cells_per_pair_cell = table / (sum(pairs) / len(pairs))
    laplace_summed = laplace_variance(epsilon) * cells_per_pair_cell
    return (
        table <= largest
        and laplace_summed <= MAX_LAPLACE_RATIO_TABLE * gaussian_on_pairs
    )


def laplace_variance(epsilon: float) -> float:
    """The variance of integer Laplace noise, P(k) ∝ exp(−ε·|k|).

    >>> round(laplace_variance(0.1), 1), round(laplace_variance(10), 6)
    (199.8, 9.1e-05)
    """
    if epsilon <= 0:
        return math.inf
    return noise_variance(Law.DISCRETE_LAPLACE, 1 / epsilon)
