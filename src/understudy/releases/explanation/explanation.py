"""The explanation of a release: which marginals its synthesizer considered, what it
expected of each, and what it decided.

Privacy: decisions are computed from answers that were charged (decisions.py), so the
explanation is post-processing and is part of what is released. It holds no answer that
the account does not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from understudy.decisions import Decision
from understudy.releases.explanation.picture import draw_gains
from understudy.releases.explanation.rendering import (
    explanation_html,
    explanation_lines,
    explanation_sentence,
)

MAX_REJECTED_PER_STAGE = 300
"""Candidates of a stage that are kept although they were not measured: a table of 450
columns has 100,000 pairs, and a reader looks at those that came close.
"""


@dataclass(frozen=True)
class Explanation:
    """Why each marginal was measured, or was not.

    `decisions` are in the order of the stages, measured ones first and then by expected
    gain. `left_out` says how many further candidates of a stage, none of them measured,
    are not listed.

    >>> from understudy.decisions import Verdict
    >>> far = 410.0, 402.5, 0.09, 350.0, 0.6
    >>> strong = Decision("forest", ("age", "sex"), *far, Verdict.MEASURED)
    >>> near = 12.0, 3.1, 0.0001, 0.0, 0.0
    >>> weak = Decision("forest", ("age", "zip"), *near, Verdict.LATER)
    >>> print(Explanation.of([weak, strong]).sentence())
    1 of 2 candidates was measured.
    >>> [decision.clique for decision in Explanation.of([weak, strong])]
    [('age', 'sex'), ('age', 'zip')]
    """

    decisions: tuple[Decision, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, decisions: Sequence[Decision]) -> Explanation:
        """The explanation of a run that decided this: everything that was measured, and
        the strongest MAX_REJECTED_PER_STAGE others of each stage.
        """
        kept: list[Decision] = []
        left_out: dict[str, int] = {}
        for stage in dict.fromkeys(decision.stage for decision in decisions):
            of_stage = [decision for decision in decisions if decision.stage == stage]
            # A file has no spelling for NaN and infinity, and a release that was paid
            # for must not fail to be saved because of them.
            written = sorted(filter(_is_finite, of_stage), key=_rank)
            measured = [decision for decision in written if decision.is_measured]
            rejected = [decision for decision in written if not decision.is_measured]
            shown = [*measured, *rejected[:MAX_REJECTED_PER_STAGE]]
            kept += shown
            if len(shown) < len(of_stage):
                left_out[stage] = len(of_stage) - len(shown)
        return cls(tuple(kept), left_out)

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that decided something, in order."""
        return tuple(dict.fromkeys(decision.stage for decision in self.decisions))

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def __len__(self) -> int:
        return len(self.decisions)

    def sentence(self) -> str:
        """How many candidates there were, and how many of them were measured."""
        return explanation_sentence(self.decisions, self.left_out)

    def lines(self) -> list[str]:
        """The explanation as aligned text: the strongest candidates of each stage, and
        how many there are besides.
        """
        return explanation_lines(self.decisions, self.left_out)

    def rows(self) -> list[dict[str, object]]:
        """One dictionary for each decision, as a data frame takes them."""
        return [
            {
                "stage": decision.stage,
                "clique": list(decision.clique),
                "noisy_distance": decision.noisy_distance,
                "distance": decision.distance,
                "prior_variance": decision.prior_variance,
                "gain": decision.gain,
                "part": decision.part,
                "verdict": decision.verdict.value,
            }
            for decision in self.decisions
        ]

    def to_dict(self) -> dict[str, object]:
        """As JSON and a release file have it."""
        return {"decisions": self.rows(), "left_out": dict(self.left_out)}

    def to_svg(self) -> str:
        """A picture: the expected gain of the strongest candidates of every stage, with
        what was measured in colour.
        """
        return draw_gains(self.decisions)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return explanation_html(self.decisions, self.left_out, self.to_svg())


def _is_finite(decision: Decision) -> bool:
    numbers = (
        decision.noisy_distance or 0.0,
        decision.distance,
        decision.prior_variance,
        decision.gain,
        decision.part,
    )
    return all(map(math.isfinite, numbers))


def _rank(decision: Decision) -> tuple[bool, float, float, float]:
    """Measured ones first, then by gain; what gains nothing, by its distance."""
    strength = (-decision.gain, -decision.part, -decision.distance)
    return (not decision.is_measured, *strength)
