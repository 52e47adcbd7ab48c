"""Risk groups: whom an intruder would find first. Every real record is at low, medium
or high risk, by how many others look like it.

Low: at least k others have the same labels and numbers within the radius. Medium: at
least k have the same labels, but not numbers as near. High: not even that. This is about
the real table and its quasi-identifiers, whatever the release; the match risk of each
group says what a release makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from understudy.evaluation.risk.matching import (
    QuasiIdentifiers,
    RiskLevel,
    assign_risk_groups,
    match_radii,
)
from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.schema import Lattice
from understudy.tables import Records

MIN_SIMILAR_RECORDS = 5
"""Others that have to look like somebody before their risk is not high."""


def assess_risk_groups(
    targets: Records,
    quasi: Sequence[str],
    *,
    population: Records | None = None,
    radius: Mapping[str, float] | None = None,
    least: int = MIN_SIMILAR_RECORDS,
) -> Finding:
    """The share of records at high risk, with how many are in each group.

    >>> import numpy as np
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    >>> people = Records(schema, {"smoker": np.array([0] * 9 + [1], np.uint8)}, {})
    >>> [
    ...     (part.name, part.facts["records"])
    ...     for part in assess_risk_groups(people, ["smoker"]).parts
    ... ]
    [('high risk', 1), ('medium risk', 0), ('low risk', 9)]
    """
    if not quasi:
        raise Unavailable(
            "no column is a quasi-identifier; give one the role “quasi_identifier”"
        )
    if not targets.rows:
        raise Unavailable("the real table has no rows")
    radii = match_radii(targets.schema, quasi, radius)
    # Look-alikes are counted in the population if there is one: in a sample people seem
    # rarer than they are.
    everybody = None if population is None else QuasiIdentifiers.of(population, quasi)
    levels = assign_risk_groups(
        QuasiIdentifiers.of(targets, quasi), radii, least=least, population=everybody
    )
    shares = {level: float((levels == level).mean()) for level in RiskLevel}
    numbers = [name for name in quasi if isinstance(targets.schema[name], Lattice)]
    return Finding(
        name="risk_groups",
        title="Real records at high risk",
        family="identity",
        value=shares[RiskLevel.HIGH],
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        note=(
            f"Fewer than {least} others have the same labels. Medium: {least} have, but"
            f" not numbers as near. Low: {least} match in both. It says whom to think"
            " of, not what the release reveals."
        ),
        parts=tuple(
            FindingPart(
                name=f"{level.name.lower()} risk",
                value=shares[level],
                facts={"records": int((levels == level).sum())},
            )
            for level in reversed(RiskLevel)
        ),
        facts={
            "records": targets.rows,
            "of": targets.rows if population is None else population.rows,
            "least": least,
            "quasi_identifiers": list(quasi),
            "radius": dict(zip(numbers, radii.tolist(), strict=True)),
        },
    )
