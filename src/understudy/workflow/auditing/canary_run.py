"""Audit by one run: canaries in a copy of the custodian's own table, half of them chosen
by coins, and guesses of which from the answers (evaluation/risk/audit_canaries.py).

The run is charged nothing and its answers are thrown away. It reads real rows, so it is
recorded in the dataset's ledger and its result is internal, not private.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.accounting.budget import Budget
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
from understudy.evaluation.risk.audit_canaries import (
    CanaryGuesses,
    choose_best_guesses,
    score_canaries,
)
from understudy.measurements import Measurements
from understudy.schema import Schema
from understudy.synthesizers import Progress, Synthesizer, Workload, ignore_progress
from understudy.tables import Table, TableSource, describe_rows
from understudy.workflow.account import open_ledger
from understudy.workflow.auditing.audit_harness import UnchargedRun
from understudy.workflow.measure import filter_for
from understudy.workflow.open import (
    TableLike,
    open_source,
    schema_for,
    without_notes,
)
from understudy.workflow.preflight import check_schema

DEFAULT_CANARIES = 500

MIN_CANARIES = 20
"""Below this even perfect guesses prove next to nothing at the rate of false alarms."""

INTERNAL_AUDIT_NOTE = (
    "internal, not private: one simulated run with canaries in a copy of the real rows;"
    " its answers were thrown away"
)


@dataclass(frozen=True, kw_only=True)
class CanaryRun:
    """One run with canaries, checked and recorded in the ledger, ready to be made."""

    source: TableSource
    schema: Schema
    method: Synthesizer
    budget: Budget
    filter: Filter
    neighbours: Neighbours
    canaries: int

    @classmethod
    def prepare(
        cls,
        data: TableLike,
        schema: Schema | str | Path | None,
        method: Synthesizer,
        budget: Budget,
        *,
        neighbours: Neighbours,
        accounting: Accounting | None,
        canaries: int,
        ledger: str | Path | None,
    ) -> CanaryRun:
        """Refuse what can be refused, and record in the ledger that rows are read."""
        if canaries < MIN_CANARIES:
            raise Refused(
                f"One run needs at least {MIN_CANARIES} canaries. Nothing was spent"
            )
        source = open_source(data, schema=schema)
        described = without_notes(schema_for(source, schema))
        for name in described:
            if not described[name].is_closed:
                raise Refused(
                    f"{name}: canaries need to know which values there are. Declare"
                    " this column's domain in a schema (understudy describe drafts"
                    " one). Nothing was spent"
                )
        privacy_filter = filter_for(budget, described, method, accounting)
        check_schema(described, method, privacy_filter, budget.epsilon)
        with open_ledger(
            ledger, source, dataset=None, neighbours=neighbours, schema=described
        ) as account:
            # Before the run, so that even an interrupted one is on record.
            account.note("audit", INTERNAL_AUDIT_NOTE)
        return cls(
            source=source,
            schema=described,
            method=method,
            budget=budget,
            filter=privacy_filter,
            neighbours=neighbours,
            canaries=canaries,
        )

    def make_guesses(
        self, rng: Generator, *, alpha: float, progress: Progress
    ) -> CanaryGuesses:
        """Make the run, and guess from its answers which canaries were in."""
        progress("canaries", 0.0)
        table = describe_rows(self.source, self.schema)
        coins = rng.random(self.canaries) < 0.5
        canaries = self._draw_rows(rng)
        others = None
        rows = {name: codes[coins] for name, codes in canaries.items()}
        if self.neighbours is Neighbours.REPLACE:
            # Every canary has a stand-by: which of the two is in is what is guessed.
            others = self._draw_rows(rng)
            rows = {
                name: np.where(coins, canaries[name], others[name]) for name in canaries
            }
        measured = self._measure(table, EncodedRows(self.schema, rows))
        progress("canaries", 0.8)
        cliques = list(dict.fromkeys(m.clique for m in measured))
        # Scores compare answers with the counts without canaries: the auditor may know
        # all other rows.
        counts = dict(zip(cliques, table.counts(cliques), strict=True))
        scores = score_canaries(measured, counts, canaries, others)
        progress("canaries", 1.0)
        return choose_best_guesses(
            scores, coins, delta=float(self.budget.delta), alpha=alpha
        )

    def _draw_rows(self, rng: Generator) -> dict[str, NDArray[np.int64]]:
        """Rows whose values are drawn from the schema's domains, column by column."""
        return {
            name: rng.integers(0, self.schema.codecs[name].size, self.canaries)
            for name in self.schema
        }

    def _measure(self, table: Table, canaries: EncodedRows) -> Measurements:
        """What the synthesizer measures on the table with canaries; nothing is charged."""
        context = MechanismContext(
            table=cast(TableProtocol, TableWithCanaries(table, canaries)),
            payments=Payments(UnchargedRun(), self.filter),
            neighbours=self.neighbours,
            accounting=self.filter.accounting,
            epsilon=self.budget.epsilon,
            max_rows=self.schema.unit.max_rows,
        )
        view = CuratorView(Curator(context, self.schema))
        return self.method.measure(
            view, Workload.of_order(self.schema), ignore_progress
        )
