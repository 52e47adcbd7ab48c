"""What a report shows of risk groups: how many real records are at low, medium and high
risk, and how easily each is matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.findings import Assessment
from understudy.reports.chart import share_bar

RISK_GROUP_WORDS = {
    "low": "at least {} with the same labels and numbers nearby",
    "medium": "at least {} with the same labels, but not with numbers nearby",
    "high": "fewer than {} with the same labels",
}
"""Who belongs to a group."""


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
    """All of them, from low to high, and the columns they are told by."""

    groups: tuple[RiskGroupSummary, ...]
    columns: tuple[str, ...]
    guessed: bool

    @property
    def drawn(self) -> str:
        """The picture."""
        return share_bar(
            [(group.name, group.share) for group in self.groups],
            title="real records by risk group",
        )

    def sentence(self) -> str:
        """All of it in one line."""
        counts = ", ".join(f"{group.size:,} {group.name}" for group in self.groups)
        return (
            f"Risk groups of the real records, by {', '.join(self.columns)}: {counts}."
        )


def groups_of(risk: Assessment | None) -> RiskGroupSummaries | None:
    """The risk groups of an assessment, where they were told apart.

    >>> groups_of(None) is None
    True
    """
    if risk is None or "risk_groups" not in risk or not risk["risk_groups"].is_computed:
        return None
    finding = risk["risk_groups"]
    beliefs = (
        {part.name: part for part in risk["match_risk"].parts}
        if "match_risk" in risk
        else {}
    )
    found = []
    for part in reversed(finding.parts):
        match, size = beliefs.get(part.name), part.facts["records"]
        assert isinstance(size, int)
        attacked = match is not None and match.facts.get("records") != 0
        found.append(
            RiskGroupSummary(
                name=part.name.split()[0],
                words=RISK_GROUP_WORDS[part.name.split()[0]].format(
                    finding.facts["least"]
                ),
                size=size,
                share=part.value or 0.0,
                match_risk=match.value if match is not None and attacked else None,
            )
        )
    columns = finding.facts["quasi_identifiers"]
    assert isinstance(columns, Sequence)
    return RiskGroupSummaries(
        tuple(found),
        tuple(str(name) for name in columns),
        bool(risk.facts.get("quasi_guessed")),
    )
