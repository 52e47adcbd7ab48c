"""White-box audit: a made-up table and its neighbour, the real synthesizer asking the
real curator, every question answered many times on both (workflow/auditing/audit_harness.py).

No real row takes part, and nothing is spent.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, CuratorView
from understudy.curator.simulation.canaries import EncodedRows
from understudy.evaluation.risk.audit import (
    FALSE_ALARM_RATE,
    AuditVerdict,
    loss_lower_bound,
)
from understudy.evaluation.risk.noise_spread import loss_by_spread
from understudy.schema import Boolean, Categorical, Schema
from understudy.synthesizers import Progress, Synthesizer, Workload, ignore_progress
from understudy.workflow.auditing.audit_harness import AuditHarness

DEFAULT_AUDIT_RUNS = 50_000
"""Answers to each question on either table."""

CROWDED_CELL_ROWS = 500
"""Rows in each of two opposite cells of the made-up table: enough for a cell to pass
any threshold.
"""

AUDIT_SCHEMA = Schema(
    columns=(
        Categorical(name="colour", values=("red", "green", "blue"), nullable=False),
        Boolean(name="smoker", nullable=False),
    )
)
"""The made-up table's columns. One row moves a count as far on it as on any table, and
small marginals are answered quickly.
"""


def audit_white_box(
    method: Synthesizer,
    budget: Budget,
    filter: Filter,
    relation: Neighbours,
    *,
    runs: int = DEFAULT_AUDIT_RUNS,
    alpha: float = FALSE_ALARM_RATE,
    progress: Progress = ignore_progress,
) -> tuple[AuditVerdict, AuditHarness]:
    """The verdict on a made-up table and its neighbour, and the harness it rests on."""
    harness = AuditHarness(
        schema=AUDIT_SCHEMA, neighbours=relation, times=runs, progress=progress
    )
    if not method.reads_rows:
        # Nothing is asked of the rows: nothing can be lost.
        progress("audit", 1.0)
        return _state_verdict(filter, budget, 0.0, 0.0, 0.0, alpha), harness
    here, there = worst_neighbours(relation)
    context = harness.make_context(here, there, filter, epsilon=budget.epsilon)
    view = CuratorView(Curator(context, AUDIT_SCHEMA))
    method.measure(view, Workload.of_order(AUDIT_SCHEMA), ignore_progress)
    progress("audit", 1.0)
    total, accounting = float(filter.total), filter.accounting
    claimed = sqrt(total) if accounting is Accounting.GDP else total
    # Two tests share the rate of false alarms.
    measured = loss_lower_bound(
        harness.here,
        harness.there,
        accounting,
        delta=float(filter.delta),
        alpha=alpha / 2,
    )
    spread = loss_by_spread(harness.spreads, accounting, alpha=alpha / 2)
    verdict = _state_verdict(filter, budget, claimed, measured, spread, alpha)
    return verdict, harness


def _state_verdict(
    filter: Filter,
    budget: Budget,
    claimed: float,
    measured: float,
    spread: float | None,
    alpha: float,
) -> AuditVerdict:
    # Thresholds have a δ of their own, which the conversion of the rest cannot use.
    threshold_delta = 0.0
    if filter.accounting is not Accounting.PURE:
        threshold_delta = float(filter.delta)
    return AuditVerdict(
        accounting=filter.accounting,
        claimed=claimed,
        measured=measured,
        by_spread=spread,
        claimed_epsilon=float(budget.epsilon) if claimed else 0.0,
        delta=float(budget.delta) - threshold_delta,
        alpha=alpha,
    )


def worst_neighbours(relation: Neighbours) -> tuple[EncodedRows, EncodedRows]:
    """Two neighbours that differ in one row: one row more in a crowded cell, or one
    that moved to the opposite cell.
    """
    colour = np.repeat(np.array([0, 2]), CROWDED_CELL_ROWS)
    smoker = np.repeat(np.array([0, 1]), CROWDED_CELL_ROWS)
    here = {"colour": colour, "smoker": smoker}
    # Under replace the row that enters takes the place of one that leaves.
    first_kept = 0 if relation is Neighbours.ADD_REMOVE else 1
    there = {
        "colour": np.append(colour[first_kept:], 2),
        "smoker": np.append(smoker[first_kept:], 1),
    }
    return EncodedRows(AUDIT_SCHEMA, here), EncodedRows(AUDIT_SCHEMA, there)
