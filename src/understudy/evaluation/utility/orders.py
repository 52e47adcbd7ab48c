"""Marginals of one, two and three columns: the distance of each from the original's, as
total variation and as L1.

L1 is the sum of the absolute differences of shares, from 0 to 2; total variation (TVD)
is half of it. Both are shown because papers use both. Of very many triples a stated
number is drawn.
"""

from __future__ import annotations

from itertools import combinations, islice
from math import comb

import numpy as np

from understudy.evaluation.utility.marginals import CountableTable, marginal_distances
from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.measurements import Clique
from understudy.schema import Schema

ORDER_TITLES = {1: "Columns", 2: "Pairs", 3: "Triples"}
MAX_COMPARED_TRIPLES = 200
"""Triples that are drawn, if there are more."""


def choose_cliques(
    schema: Schema, order: int, *, most: int | None, rng: np.random.Generator
) -> list[Clique]:
    """Every clique of that many columns, or `most` of them drawn evenly without
    repetition.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=tuple(Boolean(name=name) for name in "abc"))
    >>> choose_cliques(schema, 2, most=None, rng=np.random.default_rng(0))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    names = list(schema)
    total = comb(len(names), order)
    if most is None or total <= most:
        return list(combinations(names, order))
    # By rank, so that not all combinations are held at once.
    ranks = set(rng.choice(total, most, replace=False).tolist())
    return [
        clique
        for rank, clique in enumerate(islice(combinations(names, order), total))
        if rank in ranks
    ]


def assess_marginals(
    real: CountableTable,
    synthetic: CountableTable,
    schema: Schema,
    order: int,
    *,
    most: int | None = MAX_COMPARED_TRIPLES,
    rng: np.random.Generator | None = None,
) -> Finding:
    """Mean total variation distance of all marginals of an order; below order three
    every one of them is compared.
    """
    if len(schema) < order:
        raise Unavailable(f"the table has fewer than {order} columns")
    chosen = choose_cliques(
        schema,
        order,
        most=most if order > 2 else None,
        rng=rng or np.random.default_rng(0),
    )
    # Farthest first, so the first one is the largest.
    found = marginal_distances(real, synthetic, schema, chosen)
    mean = sum(gap.distance for gap in found) / len(found)
    parts = tuple(
        FindingPart(
            name=" × ".join(gap.clique),
            columns=gap.clique,
            value=gap.distance,
            facts={"l1": 2 * gap.distance},
        )
        for gap in found
    )
    return Finding(
        name=f"tvd_{order}",
        title=f"{ORDER_TITLES.get(order, f'{order} columns')}, total variation",
        family="marginals",
        value=mean,
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        note="The share of rows that would have to change; L1 is twice this.",
        parts=parts,
        facts={
            "l1": 2 * mean,
            "cliques": len(found),
            "of": comb(len(schema), order),
            "largest": found[0].distance,
        },
    )
