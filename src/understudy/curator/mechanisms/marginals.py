"""Noisy marginals: the counts of a clique's cells, through an integer map on each axis,
plus exact noise on every cell.

Why it is private. A row lies in one cell of a marginal, so it adds one column of A = ⊗
maps to the answer. Add/remove: the answer moves by at most max_rows times A's largest
column norm. Replace: by at most max_rows times the largest distance of two columns.
Those norms are computed exactly in `accounting.sensitivity`, the scale from them is
rounded up, and the price is that of the rounded scale. Several marginals of one request
are answered by independent noise and priced one by one; their prices add up.

An exchanged id may have fewer rows, or none that count, so where the unit is an id the
larger of both relations' norms is assumed under replace.

Structural zeros (`Schema.zeros`) are declared, not observed: rows in them are not
counted and no noise is drawn for them. A replaced row may then leave a counted cell for
one that is not, so there too the larger of both is assumed.

Sensitivity checked by brute force in tests/curator/mechanisms/test_marginals.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost, Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import price
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.curator.context import MechanismContext, split_amount
from understudy.curator.payment import NoisyAnswer
from understudy.errors import Refused
from understudy.measurements import AxisMap, Clique, Identity, Measurement, Measurements
from understudy.schema import Schema
from understudy.schema.predicates.rules import BrokenRowPolicy

MarginalPlan = tuple[Clique, tuple[AxisMap, ...], Fraction, Cost]
"""A marginal, the maps of its axes, the scale of its noise, and its privacy cost."""

MAX_ANSWER_CELLS = 1 << 26
"""Cells of one answer: 8 bytes each, and a ledger holds 10⁹ bytes of it. Beyond, an
answer would be paid for and then lost.
"""


def measure_marginals(
    context: MechanismContext,
    schema: Schema,
    cliques: Sequence[Clique],
    *,
    amount: Fraction,
    weights: Sequence[float] | None = None,
    maps: Sequence[tuple[AxisMap, ...]] | None = None,
) -> Measurements:
    """Measure every clique once, for at most `amount` in all."""
    if not cliques:
        return Measurements()
    axes_of_clique = maps or [_identity_axes(schema, clique) for clique in cliques]
    amounts = split_amount(amount, weights, len(cliques))
    plans: list[MarginalPlan] = []
    for clique, axes, part in zip(cliques, axes_of_clique, amounts, strict=True):
        # The sensitivity is computed from the maps: they must be those applied.
        if tuple(m.size for m in axes) != schema.sizes(clique):
            raise Refused(
                f"{', '.join(clique)}: its maps do not fit its columns. Nothing was"
                " spent"
            )
        sensitivity = _clique_sensitivity(context, schema, clique, axes)
        scale = context.scale(part, sensitivity)
        cost = price(context.law, scale, sensitivity, context.accounting)
        plans.append((clique, axes, scale, cost))
    measured: list[Measurement] = []
    for batch in split_plans(plans):
        measured += _measure_batch(context, schema, batch)
    return Measurements(tuple(measured))


def _identity_axes(schema: Schema, clique: Clique) -> tuple[AxisMap, ...]:
    return tuple(Identity(size) for size in schema.sizes(clique))


def split_plans(plans: Sequence[MarginalPlan]) -> list[list[MarginalPlan]]:
    """Marginals in batches whose answers fit into the ledger, in order; their number of
    cells is public, and so is how they are split.
    """
    batches: list[list[MarginalPlan]] = []
    cells_left = 0
    for plan in plans:
        clique, axes, *_ = plan
        cells = math.prod(m.out for m in axes)
        if cells > MAX_ANSWER_CELLS:
            raise Refused(
                f"{', '.join(clique)}: its {cells:,} cells are more than one answer may"
                f" have ({MAX_ANSWER_CELLS:,}). Ask for fewer columns at once, or"
                " coarser bins. Nothing was asked"
            )
        if cells > cells_left:
            batches.append([])
            cells_left = MAX_ANSWER_CELLS
        batches[-1].append(plan)
        cells_left -= cells
    return batches


def _measure_batch(
    context: MechanismContext,
    schema: Schema,
    plans: Sequence[MarginalPlan],
) -> list[Measurement]:
    total = sum((cost for *_, cost in plans), Cost(context.accounting, Fraction(0)))
    request = {
        "mechanism": "marginals",
        "law": context.law,
        "cliques": [[c, repr(a), s] for c, a, s, _ in plans],
    }

    def count_cliques() -> list[NDArray[np.int64]]:
        return context.table.counts([clique for clique, *_ in plans])

    def draw_answers(tables: list[NDArray[np.int64]]) -> NoisyAnswer:
        answers: NoisyAnswer = {}
        for i, (plan, counts) in enumerate(zip(plans, tables, strict=True)):
            clique, axes, scale, _ = plan
            answers[f"{i}"] = _draw_noisy_counts(
                context,
                schema,
                clique,
                axes,
                scale,
                counts,
            )
        return answers

    answer = context.payments.pay(request, total, count_cliques, draw_answers)
    measured = []
    for i, (clique, axes, scale, cost) in enumerate(plans):
        values = answer[f"{i}"].astype(np.int64, copy=False)
        measured.append(Measurement(clique, axes, values, context.law, scale, cost))
    return measured


def _clique_sensitivity(
    context: MechanismContext,
    schema: Schema,
    clique: Clique,
    axes: tuple[AxisMap, ...],
) -> Sensitivity:
    moved = marginal_sensitivity(axes, context.neighbours, max_rows=context.max_rows)
    whole = schema.unit.id is None and schema.broken is not BrokenRowPolicy.DROP
    agreed = whole and schema.zeros(clique) is None
    if context.neighbours is Neighbours.ADD_REMOVE or agreed:
        return moved
    # A replaced unit may leave no counted row behind: then it was removed.
    gone = marginal_sensitivity(axes, Neighbours.ADD_REMOVE, max_rows=context.max_rows)
    return Sensitivity(
        l1=max(moved.l1, gone.l1),
        l2_squared=max(moved.l2_squared, gone.l2_squared),
        l0=max(moved.l0, gone.l0),
        linf=max(moved.linf, gone.linf),
    )


def _draw_noisy_counts(
    context: MechanismContext,
    schema: Schema,
    clique: Clique,
    axes: tuple[AxisMap, ...],
    scale: Fraction,
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    zeros = schema.zeros(clique)
    exact = counts if zeros is None else np.where(zeros, 0, counts)
    for axis, map_ in enumerate(axes):
        if not isinstance(map_, Identity):
            exact = np.moveaxis(
                np.tensordot(map_.matrix(), exact, axes=(1, axis)),
                0,
                axis,
            )
    # asarray, because numpy makes a sum of arrays without axes a scalar.
    noisy = np.asarray(context.add_noise(np.asarray(exact, order="C"), scale))
    # Through other maps a cell sums several, possible ones among them: it keeps noise.
    if zeros is not None and all(isinstance(m, Identity) for m in axes):
        noisy[zeros] = 0
    return noisy
