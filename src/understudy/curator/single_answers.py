"""Answers of mechanisms that are no noisy sums: charge, then count and draw, then store,
then answer. What was drawn before is handed out again and not drawn anew.

Why it is private: nothing is drawn here but by the mechanism that is handed in, which
states its neighbours and its sensitivity; its price is on disk before it sees the table,
and its answer is stored before anybody sees it. The order is that of questions.py, for
the same reason: an analyst must not be able to repeat what failed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from understudy.accounting.cost import Cost
from understudy.accounting.questions.question_run import QuestionCharge
from understudy.curator.context import TableProtocol
from understudy.curator.interrupts import hold_signals
from understudy.curator.questions import QuestionRunProtocol
from understudy.errors import Refused
from understudy.noise.samplers import MAX_NOISE_SCALE


class SingleMechanism(Protocol):
    """A mechanism with a price that answers once."""

    @property
    def cost(self) -> Cost:
        """What an answer costs."""

    @property
    def noise_scales(self) -> Sequence[Fraction]:
        """Those of the noise that is drawn from the run's samplers."""

    def describe(self) -> Mapping[str, object]:
        """Everything that the answer depends on but the rows and the noise."""

    def draw(self, table: TableProtocol) -> bytes:
        """An answer, as it is stored."""


class StoredPayload(Protocol):
    """An answer that a run has kept."""

    @property
    def payload(self) -> bytes:
        """As it was stored."""


class RecallingRun(QuestionRunProtocol, Protocol):
    """A run that says what it has kept."""

    def find_answers(self, digest: str) -> Sequence[StoredPayload]:
        """Every released answer to a question."""


def draw_single_answer(
    mechanism: SingleMechanism,
    *,
    table: TableProtocol,
    run: RecallingRun,
    facts: Mapping[str, str] | None,
    following: Cost | None = None,
    analyst: str = "",
    purpose: str = "",
) -> tuple[bytes, Cost | None]:
    """The answer, and what was charged for it; `facts` name the table. Refused before
    the charge if what is to follow it would find no room.
    """
    described = [dict(mechanism.describe()), dict(facts or {})]
    text = json.dumps(described, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()
    stored = run.find_answers(digest)
    if stored:
        run.charge_together([], recalled=[digest], analyst=analyst)
        return stored[-1].payload, None
    if any(scale > MAX_NOISE_SCALE for scale in mechanism.noise_scales):
        raise Refused(
            "This needs noise wider than any that is drawn (2^50). Use a larger ε, a"
            " smaller sensitivity or a coarser step. Nothing was spent"
        )
    whole = mechanism.cost if following is None else mechanism.cost + following
    run.refuse_unaffordable(whole, analyst=analyst)
    charge = QuestionCharge(mechanism.cost, digest)
    (step,) = run.charge_together([charge], analyst=analyst, purpose=purpose)
    # A signal between drawing and storing would lose an answer that is paid for.
    with hold_signals():
        payload = mechanism.draw(table)
        run.store(step, digest, payload)
    return payload, mechanism.cost
