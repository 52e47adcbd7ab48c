"""The part of a workload that one model can hold."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.measurements import Clique
from understudy.models.inference.junction_tree import forecast_cells
from understudy.notices import post_notice
from understudy.schema import Schema
from understudy.synthesizers.base import Workload
from understudy.synthesizers.budget_split import (
    holdable_cliques,
    too_large_notice,
    varying_columns,
)


def holdable_workload(
    schema: Schema, workload: Workload, limit: int
) -> dict[Clique, float]:
    """The part of a workload that one model can hold, with weights; a column that
    nothing else covers stands for itself.

    Columns with a single code tell nothing and are dropped from every clique.
    """
    names = varying_columns(schema)
    wanted = weigh_cliques(workload, names)
    sizes = schema.column_sizes
    if max(map(len, wanted), default=0) > 2 and forecast_cells(wanted, sizes) > limit:
        wanted = weigh_cliques(Workload.of_order(schema, 2), names)
    kept, left_out = holdable_cliques(schema, wanted, limit)
    if left_out:
        post_notice(too_large_notice(limit, left_out))
    covered = {name for clique in kept for name in clique}
    # A column that was not asked for gets the least weight, not none: rows need it.
    least = min(wanted.values(), default=1.0)
    alone: dict[Clique, float] = {
        (name,): least for name in names if name not in covered
    }
    return {clique: wanted[clique] for clique in kept} | alone


def weigh_cliques(workload: Workload, names: Sequence[str]) -> dict[Clique, float]:
    """The workload's cliques without all other columns, in the order of these; the
    weights of equal ones are added up.

    >>> weigh_cliques(Workload((("b", "a"), ("a", "b", "c")), (1.0, 2.0)), ["a", "b"])
    {('a', 'b'): 3.0}
    """
    found: dict[Clique, float] = {}
    for clique, weight in zip(workload.cliques, workload.weights, strict=True):
        kept = tuple(name for name in names if name in clique)
        if kept and weight > 0:
            found[kept] = found.get(kept, 0.0) + weight
    return found
