"""Contrasts: a column of two values is asked for as a difference, so that no noise is
spent on sums that are known already.

A marginal of a column with two values and others says two things: how many rows the
others' cells have in all, and how the two values differ in them. The first is what
smaller marginals say, and they were asked. Of the difference alone, D = x₀ − x₁, one
row changes every number by no more than it does a count, and there are half as many: at
the same price its noise is √2 times less than that of a difference of two noisy counts,
for each such column. In general centring an axis of n values saves the factor √(1 −
1/n) (Xiao, He, Zhang, Kifer, "Optimal and scalable matrix mechanism for noisy marginals
under convex privacy constraints", 2023); for more than two values the sums that are
lost would be missed about as much, so only columns of two are asked that way. So are
they by themselves once the total is known, which all columns say.

It holds for Gaussian noise when a row is added or removed. When one is replaced the
difference changes by two, and Laplace noise counts both numbers of a contrast: nothing
is saved. What is impossible carries no noise in a plain marginal, and a difference
knows nothing of it.
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
    """How to ask for those of these marginals that have a contrast, where the total is
    known; the others are asked for as they are.

    >>> from understudy.schema import Boolean, Integer
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False), Integer(name="visits", min=0, max=9, nullable=False)))
    >>> contrast_maps(schema, [("smoker",), ("visits",), ("smoker", "visits")], Neighbours.ADD_REMOVE, Accounting.GDP)
    {('smoker',): (Centring(size=2),), ('smoker', 'visits'): (Centring(size=2), Identity(size=10))}
    """
    if neighbours is not Neighbours.ADD_REMOVE or accounting is Accounting.PURE:
        return {}
    found: dict[Clique, AxisMaps] = {}
    for clique in cliques:
        sizes = schema.sizes(clique)
        if CONTRAST_COLUMN_CODES in sizes and schema.zeros(clique) is None:
            found[clique] = tuple(
                Centring(n) if n == CONTRAST_COLUMN_CODES else Identity(n)
                for n in sizes
            )
    return found


def contrast_columns(clique: Clique, maps: Sequence[AxisMap]) -> frozenset[str]:
    """The columns of which differences are asked: an answer tells of a smaller marginal
    only if that holds all of them.

    >>> contrast_columns(("smoker", "visits"), (Centring(2), Identity(10)))
    frozenset({'smoker'})
    """
    return frozenset(
        name for name, m in zip(clique, maps, strict=True) if isinstance(m, Centring)
    )


def contrast_noise_ratio(maps: Sequence[AxisMap]) -> float:
    """The deviation of noise in rows, as a share of what a plain marginal would have at
    the same price.

    >>> round(contrast_noise_ratio((Centring(2), Identity(10))) ** 2, 3), contrast_noise_ratio((Identity(2), Identity(10)))
    (0.5, 1.0)
    """
    return math.sqrt(math.prod(1 - 1 / m.size for m in maps if isinstance(m, Centring)))
