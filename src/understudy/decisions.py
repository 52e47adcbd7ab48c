"""Decisions: why a synthesizer measured one marginal and not another.

A synthesizer that compares candidates posts what it decided of each; whoever waits for
the run collects that around the call, as notices are (notices.py). The contract of
`Synthesizer.measure` stays as it is: decisions change nothing of what is measured.

Privacy: a decision is computed from answers that were charged, from the schema and from
the options. It is post-processing and may leave with the release. A resumed run replays
the stored answers, and therefore decides the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum

from understudy.measurements import Clique


class Verdict(Enum):
    """What became of a candidate in a stage."""

    MEASURED = "measured"
    NO_GAIN = "its noise would exceed its gain"
    INFORMED = "larger marginals inform it"
    NO_ROOM = "no room in the junction tree"
    LATER = "left to a later stage"


@dataclass(frozen=True)
class Decision:
    """Why a candidate was measured in a stage, or was not.

    `noisy_distance` is the paid answer (None if it was not asked), `distance` what gains
    are computed from, `prior_variance` its τ². `part` is the part of the budget that was
    left when the stage allocated it. `gain` is in rows, and includes what larger
    marginals that are measured say of it.
    """

    stage: str
    clique: Clique
    noisy_distance: float | None
    distance: float
    prior_variance: float
    gain: float
    part: float
    verdict: Verdict

    @property
    def is_measured(self) -> bool:
        """Whether the stage measured it."""
        return self.verdict is Verdict.MEASURED


DecisionSink = Callable[[Sequence[Decision]], None]
"""Called with the decisions of a run, in the order in which they were made."""


def ignore_decisions(decisions: Sequence[Decision]) -> None:
    """A sink that keeps nothing."""


_DECISION_SINK: ContextVar[DecisionSink] = ContextVar(
    "decisions", default=ignore_decisions
)


@contextmanager
def collect_decisions(sink: DecisionSink) -> Iterator[None]:
    """While this lasts, decisions that are posted go to `sink`.

    >>> posted = []
    >>> with collect_decisions(posted.extend):
    ...     post_decisions(
    ...         [Decision("forest", ("a", "b"), 9.0, 8.0, 0.1, 5.0, 0.3, Verdict.MEASURED)]
    ...     )
    >>> [(decision.clique, decision.verdict.value) for decision in posted]
    [(('a', 'b'), 'measured')]
    """
    token = _DECISION_SINK.set(sink)
    try:
        yield
    finally:
        _DECISION_SINK.reset(token)


def post_decisions(decisions: Sequence[Decision]) -> None:
    """Hand decisions to whoever collects them; without a collector they are dropped."""
    _DECISION_SINK.get()(decisions)
