"""What is measured outright, without asking first how far it is from a model.

Two columns have one pair, and nothing is to be chosen: the whole budget goes to it, if
its sums tell of its columns as well as a first look at them would.

A pair of columns with two values is one number, the difference of differences; three
others are known from its columns. How far it is from a model is the size of that number
less what the model expects, so to ask for a distance costs as much as to ask for the
number, and tells less. Where all columns are of that kind and a round of distances
tells more of noise than of pairs, all numbers are asked for at once, with the parts of
the budget that make them most exact (synthesizers/published/residual.py). That plan is
for numbers taken at their word; a fit draws those of pairs towards what is expected of
them as far as noise hides them, so their noise counts less, and columns get more. Of
very many pairs, or at a very small ε, noise would hide the numbers too, and they are
not worth it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from understudy.measurements import Clique
from understudy.synthesizers.adaptive.contrasts import AxisMaps
from understudy.synthesizers.base import CuratorProtocol
from understudy.synthesizers.shared.residual_plan import (
    REWEIGHTING_SWEEPS,
    ResidualPlan,
)

MIN_SIGNAL_SHARE = 0.3
"""The share of what distances differ by that must not be noise for them to be worth
following.
"""

MAX_UNSELECTED_NOISE_SHARE, MAX_UNSELECTED_PAIRS = 1.0, 1000
"""The noise of a distance, as a share of all rows, above which numbers tell nothing
either, and the most that are asked for at once.
"""

SHRUNK_PAIR_NOISE_WEIGHT = 0.5
"""What the noise of a pair counts, in parts of what it would if no number were drawn
anywhere.
"""


def pair_covers_columns(
    pair: Clique, sizes: Mapping[str, int], looks: Mapping[str, float], power: float
) -> bool:
    """Whether the sums of a pair with the whole budget have no more noise than columns
    with these parts of it.

    >>> small, large = {"a": 8, "b": 20}, {"a": 80, "b": 200}
    >>> [pair_covers_columns(("a", "b"), sizes, {"a": 0.04, "b": 0.06}, 0.5) for sizes in (small, large)]
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
    """The parts of what is left that these pairs and their columns get, if each pair is
    one number; columns `had` a part already.

    Nothing if they are not.
    """
    sizes = {n for pair in pairs for n in curator.schema.sizes(pair)}
    if (
        sizes != {2}
        or any(pair not in maps for pair in pairs)
        or not 1 < len(pairs) <= MAX_UNSELECTED_PAIRS
    ):
        return {}
    plan = ResidualPlan.of(
        curator.schema, pairs, set(pairs), curator.neighbours, curator.accounting
    ).minimise_l1_error(REWEIGHTING_SWEEPS)
    parts = {
        q.clique: float(part)
        for q, part in zip(plan.questions, plan.parts, strict=True)
        if q.clique and part > 0
    }
    columns = sum(part for clique, part in parts.items() if len(clique) == 1)
    rest = max(1 - float(had) / columns, 0.0) if columns else 0.0
    return {
        c: part * (rest if len(c) == 1 else SHRUNK_PAIR_NOISE_WEIGHT)
        for c, part in parts.items()
        if len(c) > 1 or rest > 0
    }
