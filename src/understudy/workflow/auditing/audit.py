"""Audit a synthesizer as configured: how much privacy loss can be proven from outside,
beside what is claimed.

White-box on a made-up table (workflow/auditing/white_box_audit.py), and by one run with canaries
in a copy of the custodian's own (workflow/auditing/canary_run.py). Neither spends anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy.accounting.budget import Budget, Number
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.evaluation.risk.audit import (
    FALSE_ALARM_RATE,
    AuditVerdict,
    format_rounded_down,
)
from understudy.evaluation.risk.audit_canaries import CanaryGuesses
from understudy.schema import Schema
from understudy.synthesizers import Progress, Synthesizer, ignore_progress
from understudy.workflow.auditing.canary_run import DEFAULT_CANARIES, CanaryRun
from understudy.workflow.auditing.white_box_audit import (
    AUDIT_SCHEMA,
    DEFAULT_AUDIT_RUNS,
    audit_white_box,
)
from understudy.workflow.measure import filter_for
from understudy.workflow.notebook_progress import choose_progress
from understudy.workflow.open import TableLike, member_of
from understudy.workflow.preflight import (
    check_schema,
    choose_synthesizer,
    parse_budget,
)
from understudy.workflow.synthesize import DEFAULT_SYNTHESIZER

MIN_AUDIT_RUNS = 100
"""Below this no number of answers tells two tables apart at the rate of false alarms."""


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
    not_judged: tuple[str, ...] = ()
    """Mechanisms without a score: what their answers give away is not judged."""
    canaries: CanaryGuesses | None = None

    @property
    def is_violated(self) -> bool:
        """Whether either audit refutes the claim."""
        return self.verdict.is_violated or self._is_refuted_by_canaries

    @property
    def _is_refuted_by_canaries(self) -> bool:
        if self.canaries is None:
            return False
        return self.canaries.epsilon > float(self.budget.epsilon)

    def to_dict(self) -> dict[str, object]:
        """The audit for a program."""
        verdict = self.verdict
        one_run = None
        if self.canaries is not None:
            one_run = {
                "internal": True,
                "canaries": self.canaries.canaries,
                "guesses": self.canaries.guesses,
                "right": self.canaries.right,
                "epsilon": self.canaries.epsilon,
            }
        return {
            "synthesizer": self.synthesizer,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "neighbours": str(self.neighbours),
            "violated": self.is_violated,
            "alpha": verdict.alpha,
            "white_box": {
                "questions": self.questions,
                "runs": self.runs,
                "not_judged": list(self.not_judged),
                "accounting": str(verdict.accounting),
                "claimed": verdict.claimed,
                "measured": verdict.measured,
                "measured_by_spread": verdict.by_spread,
                "epsilon": verdict.epsilon,
                "epsilon_by_spread": verdict.epsilon_by_spread,
                "violated": verdict.is_violated,
            },
            "one_run": one_run,
            "sentences": self.sentences(),
        }

    def sentences(self) -> list[str]:
        """What a person reads."""
        lines = [f"white-box: {self.verdict.sentence()}"]
        if self.verdict.epsilon_by_spread is not None:
            lines.append(
                "spread of the noise, its law taken as stated: at least"
                f" {format_rounded_down(self.verdict.epsilon_by_spread)} of"
                f" {self.verdict.claimed_epsilon:.2f}"
            )
        if self.not_judged:
            mechanisms = ", ".join(sorted(set(self.not_judged)))
            lines.append(f"not judged, for want of a score: {mechanisms}")
        if self.canaries is not None:
            found = self.canaries
            end = "VIOLATION" if self._is_refuted_by_canaries else "no violation"
            lines.append(
                f"one run: claimed {float(self.budget.epsilon):.2f}, measured at least"
                f" {format_rounded_down(found.epsilon)}, {end} at 1e-6 ({found.right}"
                f" of {found.guesses} guesses right, {found.canaries:,} canaries)"
            )
        return lines


def audit(
    data: TableLike | None = None,
    schema: Schema | str | Path | None = None,
    *,
    synthesizer: str | Synthesizer = DEFAULT_SYNTHESIZER,
    options: Mapping[str, object] | None = None,
    epsilon: Number,
    delta: Number | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    accounting: Accounting | str | None = None,
    runs: int = DEFAULT_AUDIT_RUNS,
    canaries: int = DEFAULT_CANARIES,
    ledger: str | Path | None = None,
    seed: int | None = None,
    alpha: float = FALSE_ALARM_RATE,
    progress: Progress = ignore_progress,
) -> Audit:
    """Lower bounds on the privacy loss of a synthesizer at this budget, beside the
    claim. Spends nothing.

    With `data` also by one run on a copy of it with canaries; that run is recorded in
    its ledger. `seed` decides what canaries are and which are in, never the noise.

    >>> audit(synthesizer="independent", epsilon=4, delta=0, runs=2_000).is_violated
    False
    """
    method = choose_synthesizer(synthesizer, options)
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    asked = member_of(Accounting, accounting, "accounting") if accounting else None
    budget = parse_budget(epsilon, delta)
    progress = choose_progress(progress)
    if runs < MIN_AUDIT_RUNS:
        raise Refused(
            f"An audit needs at least {MIN_AUDIT_RUNS} answers to each question: use"
            " more runs. Nothing was spent"
        )
    privacy_filter = filter_for(budget, AUDIT_SCHEMA, method, asked)
    check_schema(AUDIT_SCHEMA, method, privacy_filter, budget.epsilon)
    # All refusals before the long white-box audit, the canary run itself after it.
    canary_run = None
    if data is not None:
        # Recorded in the ledger here, before any row is read.
        canary_run = CanaryRun.prepare(
            data,
            schema,
            method,
            budget,
            neighbours=relation,
            accounting=asked,
            canaries=canaries,
            ledger=ledger,
        )
    verdict, harness = audit_white_box(
        method,
        budget,
        privacy_filter,
        relation,
        runs=runs,
        alpha=alpha,
        progress=progress,
    )
    guesses = None
    if canary_run is not None:
        rng = np.random.default_rng(seed)
        guesses = canary_run.make_guesses(rng, alpha=alpha, progress=progress)
    return Audit(
        synthesizer=method.name,
        budget=budget,
        neighbours=relation,
        runs=runs,
        questions=harness.questions,
        verdict=verdict,
        not_judged=tuple(harness.not_judged),
        canaries=guesses,
    )
