"""The finding of match risk: how likely an intruder who knows somebody's
quasi-identifiers picks the right row, over all copies together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.matching import (
    Matches,
    QuasiIdentifiers,
    RiskLevel,
    assign_risk_groups,
    average_copies,
    match_radii,
    match_targets,
)
from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.schema import Lattice
from understudy.tables import Records

ALIGNED_MATCH_NOTE = "Mean chance of picking the right row."
UNALIGNED_MATCH_NOTE = (
    "Mean of 1/s over the s rows that match; rows stand for nobody, so a match is no"
    " person."
)


def assess_reidentification(
    real: Records,
    copies: Sequence[Records],
    quasi: Sequence[str],
    *,
    radius: Mapping[str, float] | None = None,
    least: int = 5,
    population: Records | None = None,
) -> Finding:
    """Match risk over the copies, with the parts for low-, medium- and high-risk
    records among the `population`.

    Copies whose keys are the real table's are aligned by them; then the value is the
    mean of I_i. Otherwise it is the mean belief 1/s.
    """
    _refuse_unmatchable([real, *copies], quasi)
    used, aligned = _align_copies(real, copies)
    radii = match_radii(real.schema, quasi, radius)
    targets = QuasiIdentifiers.of(real, quasi)
    tables = [QuasiIdentifiers.of(copy, quasi) for copy in used]
    matches = match_targets(targets, tables, radii, aligned=aligned)
    # Without keys nobody can say which match is right, only what an intruder believes.
    risk = matches.own if aligned else matches.belief
    others = None if population is None else QuasiIdentifiers.of(population, quasi)
    levels = assign_risk_groups(targets, radii, least=least, population=others)
    parts = [_risk_level_part(level, risk, levels) for level in reversed(RiskLevel)]
    title, note = "Match risk on quasi-identifiers", ALIGNED_MATCH_NOTE
    if not aligned:
        title, note = f"{title}: an intruder's belief", UNALIGNED_MATCH_NOTE
    numbers = [name for name in quasi if isinstance(real.schema[name], Lattice)]
    return Finding(
        name="match_risk",
        title=title,
        family="identity",
        value=float(risk.mean()),
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        note=note,
        parts=tuple(parts),
        facts={
            "aligned": aligned,
            "copies": len(copies),
            "matched": float(np.mean(matches.belief > 0)),
            **_aligned_match_facts(targets, tables, radii, matches, aligned=aligned),
            "quasi_identifiers": list(quasi),
            "radius": dict(zip(numbers, radii.tolist(), strict=True)),
            "least": least,
        },
    )


def _refuse_unmatchable(tables: Sequence[Records], quasi: Sequence[str]) -> None:
    if not quasi:
        raise Unavailable(
            "no column is a quasi-identifier; give one the role “quasi_identifier”"
        )
    if any(not table.rows for table in tables):
        raise Unavailable("one of the tables has no rows")


def _align_copies(
    real: Records, copies: Sequence[Records]
) -> tuple[list[Records], bool]:
    """The copies in the order of the real rows, if all of them can be; else as they
    are.
    """
    aligned = [align_rows(real, copy) for copy in copies]
    in_order = [copy for copy in aligned if copy is not None]
    if len(in_order) == len(copies):
        return in_order, True
    return list(copies), False


def _risk_level_part(
    level: RiskLevel, risk: NDArray[np.float64], levels: NDArray[np.int64]
) -> FindingPart:
    """The mean match risk of the records at one level."""
    inside = levels == level
    name, count = f"{level.name.lower()} risk", int(inside.sum())
    if not count:
        return FindingPart(name=name, value=0.0, facts={"records": 0})
    return FindingPart(
        name=name,
        value=float(risk[inside].mean()),
        facts={"records": count, "share": float(inside.mean())},
    )


def _aligned_match_facts(
    targets: QuasiIdentifiers,
    tables: Sequence[QuasiIdentifiers],
    radii: NDArray[np.float64],
    matches: Matches,
    *,
    aligned: bool,
) -> dict[str, float | None]:
    """Expected matches and match rates, which only aligned copies have."""
    facts: dict[str, float | None] = dict.fromkeys(
        (
            "expected_matches",
            "true_match_rate",
            "false_match_rate",
            "averaged_true_match_rate",
            "averaged_expected_matches",
        )
    )
    if aligned:
        facts["expected_matches"] = matches.expected_count
        facts["true_match_rate"] = matches.true_rate
        facts["false_match_rate"] = matches.false_rate
    if aligned and len(tables) > 1:
        # A second attack on several copies takes their mean, which moves less from the
        # truth than any of them.
        joint = match_targets(targets, [average_copies(tables)], radii)
        facts["averaged_true_match_rate"] = joint.true_rate
        facts["averaged_expected_matches"] = joint.expected_count
    return facts


def align_rows(real: Records, copy: Records) -> Records | None:
    """The copy's rows in the order of the real ones, by key; None if the keys are not
    the same.
    """
    if real.keys is None or copy.keys is None or len(real.keys) != len(copy.keys):
        return None
    here, there = np.argsort(real.keys), np.argsort(copy.keys)
    if not np.array_equal(real.keys[here], copy.keys[there]):
        return None
    # A key that occurs twice says not which of its rows stands for whom.
    if np.any(np.diff(real.keys[here]) == 0):
        return None
    order = np.empty(len(here), np.int64)
    order[here] = there
    return copy.take(order)
