"""Success rates of attacks, against a control, with confidence.

A guess can be right because the release betrays somebody, or because anybody would
guess so. People who were not in the table (the holdout) measure the second. With success
rates p on members and c on the control, the risk is (p − c)/(1 − c): of what the control
leaves open, the share that the release gives away (Giomi, Boenisch, Wehmeyer, Tasnádi,
"A unified framework for quantifying privacy risk in synthetic data", 2023). Intervals
are Wilson's; that of the difference takes the far end of each, so it covers at least as
often as it says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import expit, ndtr, ndtri

from understudy.findings import BetterDirection, Fact, Finding, FindingPart


@dataclass(frozen=True)
class Rate:
    """Successes out of attacks.

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
        shrinkage = 1 + z * z / n
        middle = (p + z * z / (2 * n)) / shrinkage
        half = z / shrinkage * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        # At 0 and 1 the ends are exact; rounding would put them a little inside.
        low = 0.0 if self.successes == 0 else max(0.0, middle - half)
        high = 1.0 if self.successes == n else min(1.0, middle + half)
        return low, high


@dataclass(frozen=True)
class Risk:
    """An attack on members, the same on the control, and the residual risk.

    >>> Risk(Rate(75, 100), Rate(50, 100)).value
    0.5
    """

    members: Rate
    control: Rate

    @property
    def value(self) -> float:
        """The residual risk; 0 if the control is always guessed."""
        return residual_risk(self.members.value, self.control.value)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval that holds it at least this often."""
        low, high = self.members.interval(confidence)
        control_low, control_high = self.control.interval(confidence)
        return residual_risk(low, control_high), residual_risk(high, control_low)

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
        >>> one, three = (
        ...     risk.to_finding("x", "X", family="identity", note="", worst_of=n).interval
        ...     for n in (1, 3)
        ... )
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


@dataclass(frozen=True)
class MembershipBound:
    """What a guarantee allows the best membership attack: (ε, δ), and μ where the run
    was accounted in Gaussian privacy, which is the tighter of the two.

    `delta` may lie outside the Gaussian account (thresholds), so it is added to it.

    >>> pure = MembershipBound(1.0, 0.0)
    >>> round(pure.true_positive_rate(0.01), 4), round(pure.area(), 4)
    (0.0272, 0.7311)
    >>> round(MembershipBound(1.0, 1e-9, mu=0.182).area(), 4)
    0.5512
    """

    epsilon: float
    delta: float
    mu: float | None = None

    def true_positive_rate(self, false_positives: float) -> float:
        """The largest true-positive rate of any attack at this false-positive rate."""
        bound = max_true_positive_rate(self.epsilon, self.delta, false_positives)
        if self.mu is None:
            return bound
        gaussian = float(ndtr(ndtri(false_positives) + self.mu)) + self.delta
        return min(bound, gaussian)

    def area(self) -> float:
        """The largest area under the ROC curve of any attack.

        The curve of (ε, δ) is two lines that meet at α = (1 − δ)/(1 + e^ε), and its
        area is e^ε α + δ (1 + α) (Kairouz, Oh, Viswanath, 2015); that of μ-GDP is
        Φ(μ/√2) (Dong, Roth, Su, 2022).
        """
        meeting = (1 - self.delta) * float(expit(-self.epsilon))
        above = (1 - self.delta) * float(expit(self.epsilon))
        bound = min(1.0, above + self.delta * (1 + meeting))
        if self.mu is None:
            return bound
        return min(bound, float(ndtr(self.mu / math.sqrt(2))) + self.delta)

    def odds(self) -> float:
        """The largest factor on anybody's odds, but for a chance of about δ."""
        return math.exp(min(self.epsilon, 700.0))


def max_true_positive_rate(
    epsilon: float, delta: float, false_positives: float
) -> float:
    """The largest true-positive rate any attack can have against an (ε, δ)-private
    release at this false-positive rate.

    >>> (
    ...     round(max_true_positive_rate(1.0, 0.0, 0.01), 4),
    ...     max_true_positive_rate(50.0, 0.0, 0.5),
    ... )
    (0.0272, 1.0)
    """
    # The two lines of the trade-off curve; exp(700) is near the largest double.
    from_below = math.exp(min(epsilon, 700.0)) * false_positives + delta
    from_above = 1 - math.exp(-epsilon) * (1 - delta - false_positives)
    return max(0.0, min(1.0, from_below, from_above))
