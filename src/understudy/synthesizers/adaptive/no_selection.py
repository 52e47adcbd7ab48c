"""Marginals that are measured without a noisy distance, because nothing is to be chosen.

Two columns have one pair: the whole budget goes to it if its sums inform the columns as
well as a first measurement of them would.

A pair of columns with two values is one number, the difference of differences; the other
three follow from its columns. Its distance from a model is the absolute difference of
two such numbers, so a noisy distance costs as much as the number and says less. If all
columns are of that kind and a round of distances is mostly noise, all numbers are asked
at once, with the parts of the budget that make them most exact
(synthesizers/published/residual.py). That plan is for unbiased numbers; the fit shrinks
those of pairs, so their noise counts less, and columns get more. With very many pairs,
or at a very small ε, noise would hide the numbers too, and they are not asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from understudy.measurements import Clique
from understudy.synthesizers.adaptive.constants import (
    MAX_UNSELECTED_PAIRS,
    SHRUNK_PAIR_NOISE_WEIGHT,
)
from understudy.synthesizers.adaptive.contrasts import AxisMaps
from understudy.synthesizers.base import CuratorProtocol
from understudy.synthesizers.shared.residual_plan import (
    REWEIGHTING_SWEEPS,
    ResidualPlan,
)


def pair_covers_columns(
    pair: Clique, sizes: Mapping[str, int], looks: Mapping[str, float], power: float
) -> bool:
    """Whether the sums of a pair with the whole budget have no more noise than columns
    with these parts of it.

    >>> looks, small, large = {"a": 0.04, "b": 0.06}, {"a": 8, "b": 20}, {"a": 80, "b": 200}
    >>> [pair_covers_columns(("a", "b"), sizes, looks, 0.5) for sizes in (small, large)]
    [True, False]
    """
    a, b = pair
    return all(
        math.sqrt(sizes[other]) <= looks[name] ** -power
        for name, other in ((a, b), (b, a))
    )


def binary_pair_parts(
    curator: CuratorProtocol,
    pairs: Mapping[Clique, float],
    maps: Mapping[Clique, AxisMaps],
    had: Fraction,
) -> dict[Clique, float]:
    """The parts of the budget left for these pairs and their columns, if each pair is
    one number; none otherwise.

    `had` is the share that columns were measured with before.
    """
    are_few = 1 < len(pairs) <= MAX_UNSELECTED_PAIRS
    if not (are_few and _are_single_numbers(curator, pairs, maps)):
        return {}
    planned = _plan_parts(curator, pairs)
    column_part = sum(part for r, part in planned.items() if len(r) == 1)
    # Columns have a part of what the plan gives them already.
    rest = max(1 - float(had) / column_part, 0.0) if column_part else 0.0
    factors = {1: rest, 2: SHRUNK_PAIR_NOISE_WEIGHT}
    parts = {r: part * factors[len(r)] for r, part in planned.items()}
    return {r: part for r, part in parts.items() if part > 0}


def _are_single_numbers(
    curator: CuratorProtocol,
    pairs: Mapping[Clique, float],
    maps: Mapping[Clique, AxisMaps],
) -> bool:
    """Whether every pair is of two binary columns, and so has one contrast."""
    columns = dict.fromkeys(name for pair in pairs for name in pair)
    are_binary = all(curator.schema.sizes((name,)) == (2,) for name in columns)
    return are_binary and all(pair in maps for pair in pairs)


def _plan_parts(
    curator: CuratorProtocol, pairs: Mapping[Clique, float]
) -> dict[Clique, float]:
    """The parts of the budget by which the L1 error of the pairs is smallest."""
    plan = ResidualPlan.of(
        curator.schema, pairs, set(pairs), curator.neighbours, curator.accounting
    ).minimise_l1_error(REWEIGHTING_SWEEPS)
    return {
        question.clique: float(part)
        for question, part in zip(plan.questions, plan.parts, strict=True)
        if question.clique and part > 0
    }
