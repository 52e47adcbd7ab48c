"""Membership by density: the score of somebody is p_synthetic(x)/p_reference(x) on
cliques of columns, as a mean of logarithms.

The reference rows are neither members nor control.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.membership.roc import check_group_sizes, roc_finding
from understudy.evaluation.risk.rates import MembershipBound
from understudy.findings import Finding, Unavailable
from understudy.measurements import Clique
from understudy.schema import Schema
from understudy.tables import Records

MAX_DENSITY_CLIQUES = 100
MAX_CELL_INDEX = 2**62
"""Cells of a clique beyond which their numbers do not fit 64 bits."""


def density_ratios(
    schema: Schema,
    synthetic: Records,
    reference: Records,
    people: Records,
    cliques: Sequence[Clique],
) -> NDArray[np.float64]:
    """Mean over cliques of log p_synthetic/p_reference at each person's cell."""
    # The same small share is added to every cell of both tables, so that a cell in
    # neither says nothing, whatever their sizes.
    small = 0.5 / min(synthetic.rows, reference.rows)
    total = np.zeros(people.rows)
    for clique in cliques:
        sizes = schema.sizes(clique)
        cells = _cell_numbers(people, clique, sizes)
        for sign, rows in ((1, synthetic), (-1, reference)):
            counts = _count_at(cells, _cell_numbers(rows, clique, sizes))
            total += sign * np.log(counts / rows.rows + small)
    return total / len(cliques)


def _cell_numbers(
    rows: Records, clique: Clique, sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    codes = [rows.codes[name].astype(np.int64) for name in clique]
    return np.asarray(np.ravel_multi_index(codes, sizes))


def _count_at(
    cells: NDArray[np.int64], occupied: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How often each cell occurs among the occupied ones."""
    values, counts = np.unique(occupied, return_counts=True)
    at = np.minimum(np.searchsorted(values, cells), len(values) - 1)
    return np.where(values[at] == cells, counts[at], 0)


def attack_by_density(
    schema: Schema,
    synthetic: Records,
    members: Records,
    holdout: Records,
    *,
    cliques: Sequence[Clique] | None = None,
    rng: np.random.Generator,
    guarantee: MembershipBound | None = None,
) -> Finding:
    """Density ratio on cliques; half of the holdout is the reference, the other half
    the control.
    """
    if holdout.rows < 4:
        raise Unavailable(
            "it needs a holdout of some rows: one half as reference, the other as"
            " control"
        )
    order = rng.permutation(holdout.rows)
    half = len(order) // 2
    reference, control = holdout.take(order[:half]), holdout.take(order[half:])
    check_group_sizes(members, control)
    if not synthetic.rows:
        raise Unavailable("the synthetic table has no rows")
    chosen = _choose_cliques(schema, cliques or [], rng)
    scores = [
        density_ratios(schema, synthetic, reference, people, chosen)
        for people in (members, control)
    ]
    return roc_finding(
        "membership_density",
        "Membership by density ratio on cliques",
        *scores,
        guarantee=guarantee,
        facts={
            "cliques": len(chosen),
            "measured_cliques": bool(cliques),
            "reference": reference.rows,
        },
        note=(
            "0.5 is a coin. If the release remembers its members, synthetic rows are"
            " denser at their cells than other rows are."
        ),
    )


def _choose_cliques(
    schema: Schema, measured: Sequence[Clique], rng: np.random.Generator
) -> list[Clique]:
    """The measured cliques, or all columns and pairs; a sample if they are many."""
    candidates = [clique for clique in measured if clique]
    if not candidates:
        candidates = [*((name,) for name in schema), *combinations(schema, 2)]
    countable = [
        clique
        for clique in dict.fromkeys(candidates)
        if np.prod(schema.sizes(clique), dtype=np.float64) < MAX_CELL_INDEX
    ]
    if len(countable) <= MAX_DENSITY_CLIQUES:
        return countable
    sample = np.sort(rng.choice(len(countable), MAX_DENSITY_CLIQUES, replace=False))
    return [countable[i] for i in sample]
