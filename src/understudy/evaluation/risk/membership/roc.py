"""The ROC curve of a membership attack, beside what the guarantee allows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.holdout import NO_HOLDOUT
from understudy.evaluation.risk.rates import MembershipBound, Rate
from understudy.findings import BetterDirection, Fact, Finding, FindingPart, Unavailable
from understudy.tables import Records

REPORTED_FALSE_POSITIVE_RATES = (0.01, 0.1)

Scores = NDArray[np.float64]


def area_under_roc(members: Scores, control: Scores) -> float:
    """The chance that a member scores higher than one of the control, ties counted
    half.

    >>> area_under_roc(np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    0.875
    """
    ranked = np.sort(control)
    below = np.searchsorted(ranked, members, "left")
    not_above = np.searchsorted(ranked, members, "right")
    return float((below + not_above).sum() / (2 * len(members) * len(control)))


def roc_finding(
    name: str,
    title: str,
    members: Scores,
    control: Scores,
    *,
    guarantee: MembershipBound | None,
    facts: Mapping[str, Fact],
    note: str,
    further_parts: tuple[FindingPart, ...] = (),
) -> Finding:
    """The area under the ROC curve with its interval, and true positives at small
    false-positive rates, each beside the guarantee's bound.
    """
    area = area_under_roc(members, control)
    half = 1.96 * _area_deviation(area, len(members), len(control))
    rates = [
        _true_positive_part(members, control, rate, guarantee)
        for rate in REPORTED_FALSE_POSITIVE_RATES
    ]
    bound = None if guarantee is None else guarantee.area()
    return Finding(
        name=name,
        title=title,
        family="membership",
        value=area,
        better=BetterDirection.LOWER,
        best=0.5,
        worst=1.0,
        baseline=0.5,
        interval=(max(0.0, area - half), min(1.0, area + half)),
        note=note,
        parts=(*rates, *further_parts),
        facts={
            "bound": bound,
            **facts,
            "members": len(members),
            "control": len(control),
        },
    )


def check_group_sizes(members: Records, control: Records) -> None:
    """Refuse an attack without at least two people on either side."""
    if min(members.rows, control.rows) < 2:
        raise Unavailable(NO_HOLDOUT)


def _area_deviation(area: float, members: int, control: int) -> float:
    """Hanley, McNeil, "The meaning and use of the area under a ROC curve", 1982."""
    two_members = area / (2 - area)
    two_controls = 2 * area**2 / (1 + area)
    variance = (
        area * (1 - area)
        + (members - 1) * (two_members - area**2)
        + (control - 1) * (two_controls - area**2)
    ) / (members * control)
    # At an area of 1 the formula gives 0; no finite sample is as sure as that.
    return float(np.sqrt(max(variance, 1 / (4 * members * control))))


def _true_positive_part(
    members: Scores, control: Scores, rate: float, guarantee: MembershipBound | None
) -> FindingPart:
    """True positives at the threshold that lets this share of the control through."""
    label = f"true positives at {rate:.0%} false positives"
    if len(control) * rate < 1:
        needed = round(1 / rate)
        reason = f"it takes at least {needed} people in the control"
        return FindingPart(name=label, reason=reason)
    # The threshold that lets no more of the control through than the rate says.
    passed = int(np.floor(len(control) * rate))
    threshold = np.sort(control)[-passed]
    hits = Rate(int((members > threshold).sum()), len(members))
    low, high = hits.interval()
    bound = None if guarantee is None else guarantee.true_positive_rate(rate)
    facts: dict[str, Fact] = {"low": low, "high": high, "bound": bound}
    return FindingPart(name=label, value=hits.value, facts=facts)
