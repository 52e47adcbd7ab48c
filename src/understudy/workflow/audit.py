"""Audit a synthesizer as configured: how much privacy loss can be proven from outside,
beside what is claimed.

White-box: a made-up table and its neighbour, the real synthesizer asking the real
curator, every question heard many times on both (`workflow.hearing`). One run: canaries
in a copy of the custodian's own table (`risk.audit_canaries`). Neither spends anything:
answers come from a practice run and are thrown away. The second reads real rows, so the
look is noted in the dataset's ledger and its result is internal, not private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import cast

import numpy as np

from understudy.accounting.budget import DEFAULT_DELTA, Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.curator import (
    Curator,
    CuratorView,
    MechanismContext,
    Payments,
    TableProtocol,
)
from understudy.curator.simulation.canaries import EncodedRows, TableWithCanaries
from understudy.errors import Refused
from understudy.evaluation.risk.audit import (
    FALSE_ALARM_RATE,
    AuditVerdict,
    format_rounded_down,
    loss_by_spread,
    loss_lower_bound,
)
from understudy.evaluation.risk.audit_canaries import (
    CanaryGuesses,
    choose_best_guesses,
    score_canaries,
)
from understudy.schema import Boolean, Categorical, Schema
from understudy.synthesizers import (
    Progress,
    Synthesizer,
    Workload,
    ignore_progress,
    make,
)
from understudy.tables import Table
from understudy.workflow.account import open_ledger
from understudy.workflow.audit_harness import AuditHarness, UnchargedRun
from understudy.workflow.measure import filter_for
from understudy.workflow.open import open_source, schema_for, without_notes
from understudy.workflow.preflight import check_schema
from understudy.workflow.synthesize import DEFAULT_SYNTHESIZER

DEFAULT_AUDIT_RUNS = 50_000
"""Answers to each question on either table."""

DEFAULT_CANARIES = 500

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
"""The made-up table's columns. On counts, one row moves an answer as far as it can on
any table; small ones are heard quickly.
"""

INTERNAL_AUDIT_NOTE = (
    "internal, not private: one practice run with canaries in a copy of the real rows;"
    " its answers were thrown away"
)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What was claimed and what was proven. `canaries` is there where a table was
    given.
    """

    synthesizer: str
    budget: Budget
    neighbours: Neighbours
    runs: int
    questions: int
    verdict: AuditVerdict
    unheard: tuple[str, ...] = ()
    canaries: CanaryGuesses | None = None

    @property
    def violated(self) -> bool:
        """Whether either audit refutes the claim."""
        one_run = self.canaries is not None and self.canaries.epsilon > float(
            self.budget.epsilon
        )
        return self.verdict.is_violated or one_run

    def sentences(self) -> list[str]:
        """What a person reads."""
        told = [f"white-box: {self.verdict.sentence()}"]
        if self.verdict.epsilon_by_spread is not None:
            told.append(
                "spread of the noise, its law taken as stated: at least"
                f" {format_rounded_down(self.verdict.epsilon_by_spread)} of"
                f" {self.verdict.claimed_epsilon:.2f}"
            )
        if self.unheard:
            told.append(
                "not judged, for want of a score:"
                f" {', '.join(sorted(set(self.unheard)))}"
            )
        if self.canaries is not None:
            one = self.canaries
            end = (
                "VIOLATION"
                if one.epsilon > float(self.budget.epsilon)
                else "no violation"
            )
            told.append(
                f"one run: claimed {float(self.budget.epsilon):.2f}, measured at least"
                f" {format_rounded_down(one.epsilon)}, {end} at 1e-6 ({one.right} of"
                f" {one.guesses} guesses right, {one.canaries:,} canaries)"
            )
        return told


def audit(
    data: object = None,
    schema: Schema | str | Path | None = None,
    *,
    synthesizer: str | Synthesizer = DEFAULT_SYNTHESIZER,
    epsilon: object,
    delta: object = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    accounting: Accounting | str | None = None,
    runs: int = DEFAULT_AUDIT_RUNS,
    canaries: int = DEFAULT_CANARIES,
    ledger: str | Path | None = None,
    seed: int | None = None,
    alpha: float = FALSE_ALARM_RATE,
    progress: Progress = ignore_progress,
) -> Audit:
    """Lower bounds on what a synthesizer loses at this budget, beside the claim. Spends
    nothing.

    With `data` also by one run on a copy of it with canaries in it; that look is noted
    in its ledger. `seed` decides where canaries go and which are in, never the noise.

    >>> audit(synthesizer="independent", epsilon=4, delta=0, runs=2_000).violated
    False
    """
    method = synthesizer if isinstance(synthesizer, Synthesizer) else make(synthesizer)
    relation, chosen = (
        Neighbours(neighbours),
        Accounting(accounting) if accounting else None,
    )
    budget = Budget.of(epsilon, DEFAULT_DELTA if delta is None else delta)
    if runs < 100:
        raise Refused(
            "An audit needs at least 100 answers to each question: use more runs."
            " Nothing was spent"
        )
    filter = filter_for(budget, AUDIT_SCHEMA, method, chosen)
    check_schema(AUDIT_SCHEMA, method, filter, budget.epsilon)
    once: Callable[[], CanaryGuesses] | None = None
    if data is not None:
        once = _prepare_canary_run(
            data,
            schema,
            method,
            budget,
            relation,
            chosen,
            canaries,
            ledger,
            np.random.default_rng(seed),
            alpha,
            progress,
        )
    verdict, heard = audit_white_box(
        method, budget, filter, relation, runs=runs, alpha=alpha, progress=progress
    )
    return Audit(
        synthesizer=method.name,
        budget=budget,
        neighbours=relation,
        runs=runs,
        questions=heard.questions,
        verdict=verdict,
        unheard=tuple(heard.unheard),
        canaries=None if once is None else once(),
    )


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
    """The verdict on a made-up table and its neighbour, and the hearing it rests on."""
    hearing = AuditHarness(
        schema=AUDIT_SCHEMA, neighbours=relation, times=runs, progress=progress
    )
    if method.reads_rows:
        here, there = worst_neighbours(relation)
        room = hearing.room(here, there, filter, epsilon=budget.epsilon)
        method.measure(
            CuratorView(Curator(room, AUDIT_SCHEMA)),
            Workload.of_order(AUDIT_SCHEMA),
            ignore_progress,
        )
    progress("hearing", 1.0)
    threshold_delta = float(filter.delta)
    total, measure = float(filter.total), filter.accounting
    claimed = sqrt(total) if measure is Accounting.GDP else total
    if not method.reads_rows:
        claimed, measured, spread = 0.0, 0.0, 0.0
    else:
        measured = loss_lower_bound(
            hearing.here, hearing.there, measure, delta=threshold_delta, alpha=alpha / 2
        )
        spread = loss_by_spread(hearing.spreads, measure, alpha=alpha / 2)
    return (
        AuditVerdict(
            accounting=measure,
            claimed=claimed,
            measured=measured,
            by_spread=spread,
            claimed_epsilon=float(budget.epsilon) if method.reads_rows else 0.0,
            delta=float(budget.delta)
            - (threshold_delta if measure is not Accounting.PURE else 0.0),
            alpha=alpha,
        ),
        hearing,
    )


def worst_neighbours(relation: Neighbours) -> tuple[EncodedRows, EncodedRows]:
    """Two neighbours that differ in one row: one row more in a crowded cell, or one
    that moved to the opposite cell.
    """
    colour = np.repeat(np.array([0, 2]), CROWDED_CELL_ROWS)
    smoker = np.repeat(np.array([0, 1]), CROWDED_CELL_ROWS)
    here = {"colour": colour, "smoker": smoker}
    if relation is Neighbours.ADD_REMOVE:
        there = {"colour": np.append(colour, 2), "smoker": np.append(smoker, 1)}
    else:
        there = {"colour": np.append(colour[1:], 2), "smoker": np.append(smoker[1:], 1)}
    return EncodedRows(AUDIT_SCHEMA, here), EncodedRows(AUDIT_SCHEMA, there)


def _prepare_canary_run(
    data: object,
    schema: Schema | str | Path | None,
    method: Synthesizer,
    budget: Budget,
    relation: Neighbours,
    accounting: Accounting | None,
    canaries: int,
    ledger: str | Path | None,
    rng: np.random.Generator,
    alpha: float,
    progress: Progress,
) -> Callable[[], CanaryGuesses]:
    """Everything that can be refused is, and the look is noted; then the one run on a
    copy with canaries.
    """
    if canaries < 20:
        raise Refused("One run needs at least 20 canaries. Nothing was spent")
    source = open_source(data)
    described = without_notes(schema_for(source, schema))
    if not described.is_closed:
        name = next(n for n in described if not described[n].is_closed)
        raise Refused(
            f"{name}: canaries need to know which values there are. Declare this"
            " column's domain in a schema (understudy describe drafts one). Nothing"
            " was spent"
        )
    filter = filter_for(budget, described, method, accounting)
    check_schema(described, method, filter, budget.epsilon)
    with open_ledger(
        ledger, source, dataset=None, neighbours=relation, schema=described
    ) as book:
        book.note("audit", INTERNAL_AUDIT_NOTE)

    def run_canaries() -> CanaryGuesses:
        progress("canaries", 0.0)
        table = Table(source, described)
        coins = rng.random(canaries) < 0.5
        planted = {
            n: rng.integers(0, described.codecs[n].size, canaries) for n in described
        }
        others = None
        rows = {name: codes[coins] for name, codes in planted.items()}
        if relation is Neighbours.REPLACE:
            others = {
                n: rng.integers(0, described.codecs[n].size, canaries)
                for n in described
            }
            rows = {
                name: np.where(coins, planted[name], others[name]) for name in planted
            }
        room = MechanismContext(
            table=cast(
                TableProtocol, TableWithCanaries(table, EncodedRows(described, rows))
            ),
            payments=Payments(UnchargedRun(), filter),
            neighbours=relation,
            accounting=filter.accounting,
            epsilon=budget.epsilon,
            max_rows=described.unit.max_rows,
        )
        measured = method.measure(
            CuratorView(Curator(room, described)),
            Workload.of_order(described),
            ignore_progress,
        )
        progress("canaries", 0.8)
        cliques = list(dict.fromkeys(m.clique for m in measured))
        base = dict(zip(cliques, table.counts(cliques), strict=True))
        found = score_canaries(measured, base, planted, others)
        progress("canaries", 1.0)
        return choose_best_guesses(found, coins, delta=float(budget.delta), alpha=alpha)

    return run_canaries
