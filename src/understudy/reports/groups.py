"""What a report shows of risk groups: how many real records are at low, medium and high
risk, and how easily each is matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.findings import Assessment, Fact, FindingPart
from understudy.reports.bars import share_bar
from understudy.svg import Markup

RISK_GROUP_WORDS = {
    "low": "at least {} with the same labels and numbers nearby",
    "medium": "at least {} with the same labels, but not with numbers nearby",
    "high": "fewer than {} with the same labels",
}
"""Which records belong to a group, by how many others look like them."""


@dataclass(frozen=True)
class RiskGroupSummary:
    """A group of real records, what puts them there, and the mean match risk of those
    that were attacked.
    """

    name: str
    words: str
    size: int
    share: float
    match_risk: float | None


@dataclass(frozen=True)
class RiskGroupSummaries:
    """All groups, from low to high, and the columns that define them."""

    groups: tuple[RiskGroupSummary, ...]
    columns: tuple[str, ...]
    guessed: bool

    @property
    def figure(self) -> Markup:
        """One bar in parts."""
        shares = [(group.name, group.share) for group in self.groups]
        return share_bar(shares, title="real records by risk group")

    def sentence(self) -> str:
        """All of it in one line."""
        counts = ", ".join(f"{group.size:,} {group.name}" for group in self.groups)
        return (
            f"Risk groups of the real records, by {', '.join(self.columns)}: {counts}."
        )


def groups_of(risk: Assessment | None) -> RiskGroupSummaries | None:
    """The risk groups of an assessment, if they were computed.

    >>> groups_of(None) is None
    True
    """
    if risk is None or "risk_groups" not in risk or not risk["risk_groups"].is_computed:
        return None
    finding = risk["risk_groups"]
    matches = {}
    if "match_risk" in risk:
        matches = {part.name: part for part in risk["match_risk"].parts}
    # A finding lists its worst part first; a page shows the groups from low to high.
    groups = [
        _summarise_group(part, matches.get(part.name), finding.facts["least"])
        for part in reversed(finding.parts)
    ]
    # Facts are JSON, so their types are checked here and not by the type checker.
    columns = finding.facts["quasi_identifiers"]
    assert isinstance(columns, Sequence)
    return RiskGroupSummaries(
        tuple(groups),
        tuple(str(name) for name in columns),
        bool(risk.facts.get("quasi_guessed")),
    )


def _summarise_group(
    part: FindingPart, match: FindingPart | None, least: Fact
) -> RiskGroupSummary:
    """One group; `match` is the match risk of those of its records that were attacked."""
    name, size = part.name.split()[0], part.facts["records"]
    assert isinstance(size, int)
    was_attacked = match is not None and match.facts.get("records") != 0
    return RiskGroupSummary(
        name=name,
        words=RISK_GROUP_WORDS[name].format(least),
        size=size,
        share=part.value or 0.0,
        match_risk=match.value if match is not None and was_attacked else None,
    )
