"""Lost columns: labels or bounds were to be learned, and nothing exceeded the noise."""

from __future__ import annotations

from understudy.releases.evidence import Evidence

_EARLIER_LOST_NOTE = "no bounds stood out of the noise, so its values are lost"
"""How a column was marked before schemas had a mark of their own for it. Such a column
is sampled as it always was, and the card still has to call it lost.
"""


def is_lost_column(evidence: Evidence, name: str) -> bool:
    """Whether what was in a column is lost, by its mark in the release's schema."""
    column = evidence.schema[name]
    return column.is_lost or column.note == _EARLIER_LOST_NOTE


def lost_columns(evidence: Evidence) -> list[str]:
    """The columns whose labels or bounds were to be learned and could not be."""
    return [name for name in evidence.schema if is_lost_column(evidence, name)]
