"""Contrasts: a column of two values is measured as a difference, so that no noise is spent
on sums that are known already.

A marginal of a column with two values and others says two things: the sums over the two
values, and their difference D = x₀ − x₁. The sums are what smaller marginals say, and
they were measured. One row changes D by no more than it does a count, and D has half as
many numbers: at the same cost its noise is √2 times smaller than that of a difference of
two noisy counts, for each such column. In general, centring an axis of n values saves
the factor √(1 − 1/n) (Xiao, He, Zhang, Kifer, "Optimal and scalable matrix mechanism for
noisy marginals under convex privacy constraints", 2023). With more than two values the
lost sums cost about as much as is saved, so only columns of two are asked that way. By
themselves they are too, once the total is known, which every column informs.

This holds for Gaussian noise when a row is added or removed. When one is replaced the
difference changes by two, and Laplace noise counts both numbers of a contrast: nothing
is saved. Impossible cells carry no noise in a plain marginal, and a difference has no
such cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.measurements import AxisMap, Centring, Clique, Identity
from understudy.schema import Schema
from understudy.synthesizers.adaptive.constants import CONTRAST_COLUMN_CODES

AxisMaps = tuple[AxisMap, ...]


def contrast_maps(
    schema: Schema,
    cliques: Iterable[Clique],
    neighbours: Neighbours,
    accounting: Accounting,
) -> dict[Clique, AxisMaps]:
    """How to ask for those of these marginals that have a contrast, if the total is
    known; the others are asked as they are.

    >>> from understudy.schema import Boolean, Integer
    >>> smoker = Boolean(name="smoker", nullable=False)
    >>> visits = Integer(name="visits", min=0, max=9, nullable=False)
    >>> schema, cliques = Schema(columns=(smoker, visits)), [("visits",), ("smoker", "visits")]
    >>> contrast_maps(schema, cliques, Neighbours.ADD_REMOVE, Accounting.GDP)
    {('smoker', 'visits'): (Centring(size=2), Identity(size=10))}
    """
    # Elsewhere a contrast is as sensitive as the counts that it replaces.
    if neighbours is not Neighbours.ADD_REMOVE or accounting is Accounting.PURE:
        return {}
    maps: dict[Clique, AxisMaps] = {}
    for clique in cliques:
        sizes = schema.sizes(clique)
        if CONTRAST_COLUMN_CODES in sizes and schema.zeros(clique) is None:
            maps[clique] = tuple(
                Centring(n) if n == CONTRAST_COLUMN_CODES else Identity(n)
                for n in sizes
            )
    return maps


def contrast_columns(clique: Clique, maps: Sequence[AxisMap]) -> frozenset[str]:
    """The columns whose differences are asked: an answer informs a smaller marginal only
    if that holds all of them.

    >>> contrast_columns(("smoker", "visits"), (Centring(2), Identity(10)))
    frozenset({'smoker'})
    """
    return frozenset(
        name for name, m in zip(clique, maps, strict=True) if isinstance(m, Centring)
    )


def contrast_noise_ratio(maps: Sequence[AxisMap]) -> float:
    """The standard deviation of the noise in rows, relative to that of a plain marginal
    at the same cost.

    >>> [round(contrast_noise_ratio((m, Identity(10))) ** 2, 3) for m in (Centring(2), Identity(2))]
    [0.5, 1.0]
    """
    return math.sqrt(math.prod(1 - 1 / m.size for m in maps if isinstance(m, Centring)))
