"""Success rates of attacks, against a control, with confidence.

A guess can be right because the release betrays somebody, or because anybody would
guess so. People who were not in the data (the holdout) show the second. What is left,
(p − c)/(1 − c), is the share of those whom the control could not be guessed of (Giomi,
Boenisch, Wehmeyer, Tasnádi, "A unified framework for quantifying privacy risk in
synthetic data", 2023). Intervals are Wilson's; that of the difference takes the far end
of each, so it covers at least as often as it says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import ndtri

from understudy.findings import BetterDirection, Fact, Finding, FindingPart


@dataclass(frozen=True)
class Rate:
    """So many successes out of so many attacks.

    >>> [round(end, 4) for end in Rate(5, 10).interval()]
    [0.2366, 0.7634]
    """

    successes: int
    attacks: int

    def __post_init__(self) -> None:
        assert 0 <= self.successes <= self.attacks, "no more successes than attacks"
        assert self.attacks, "a rate is of at least one attack"

    @property
    def value(self) -> float:
        """The share."""
        return self.successes / self.attacks

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson's interval; it stays inside 0 and 1 whatever the share."""
        z = float(-ndtri((1 - confidence) / 2))
        n, p = self.attacks, self.value
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low = 0.0 if self.successes == 0 else max(0.0, middle - half)
        return low, 1.0 if self.successes == n else min(1.0, middle + half)


@dataclass(frozen=True)
class Risk:
    """An attack on members, the same on the control, and what is left.

    >>> Risk(Rate(75, 100), Rate(50, 100)).value
    0.5
    """

    members: Rate
    control: Rate

    @property
    def value(self) -> float:
        """What is left once the control's rate is taken off; 0 where the control is
        always guessed.
        """
        return residual_risk(self.members.value, self.control.value)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval that holds it at least this often."""
        (low, high), (below, above) = (
            self.members.interval(confidence),
            self.control.interval(confidence),
        )
        return residual_risk(low, above), residual_risk(high, below)

    def facts(self) -> dict[str, Fact]:
        """What it was computed from."""
        return {
            "members": self.members.value,
            "control": self.control.value,
            "attacks": self.members.attacks,
            "control_attacks": self.control.attacks,
            "low": self.interval()[0],
            "high": self.interval()[1],
        }

    def to_finding(
        self,
        name: str,
        title: str,
        *,
        family: str,
        note: str,
        parts: tuple[FindingPart, ...] = (),
        facts: Mapping[str, Fact] | None = None,
        worst_of: int = 1,
    ) -> Finding:
        """The finding a page shows. Where it is the worst of several, its interval is
        widened for the choice.

        >>> risk = Risk(Rate(75, 100), Rate(50, 100))
        >>> one, three = (risk.to_finding("x", "X", family="identity", note="", worst_of=n).interval for n in (1, 3))
        >>> three[0] < one[0] and one[1] < three[1]
        True
        """
        return Finding(
            name=name,
            title=title,
            family=family,
            value=self.value,
            better=BetterDirection.LOWER,
            best=0.0,
            worst=1.0,
            baseline=self.control.value,
            interval=self.interval(1 - 0.05 / worst_of),
            note=note,
            parts=parts,
            facts=facts or {},
        )


def residual_risk(attack: float, control: float) -> float:
    """(attack − control)/(1 − control); 0 where the control is always right, for then
    nothing was left to learn.

    >>> residual_risk(1.0, 1.0), residual_risk(0.2, 0.6) < 0
    (0.0, True)
    """
    return 0.0 if control >= 1 else (attack - control) / (1 - control)


def max_true_positive_rate(
    epsilon: float, delta: float, false_positives: float
) -> float:
    """The largest true-positive rate any attack can have against an (ε, δ)-private
    release at this false-positive rate.

    >>> round(max_true_positive_rate(1.0, 0.0, 0.01), 4), max_true_positive_rate(50.0, 0.0, 0.5)
    (0.0272, 1.0)
    """
    up = math.exp(min(epsilon, 700.0)) * false_positives + delta
    other = 1 - math.exp(-epsilon) * (1 - delta - false_positives)
    return max(0.0, min(1.0, up, other))
