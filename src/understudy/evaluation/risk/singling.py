"""Singling out and linkability: two ways of finding somebody that data-protection law
names.

Article 29 Working Party, "Opinion 05/2014 on anonymisation techniques"; Giomi et al.,
2023.

Singling out: a condition that fits exactly one synthetic row, on a few random columns,
is tried on the real table. It singles somebody out where exactly one person fits.
Linkability: somebody's values are split into two halves; where the nearest synthetic
rows to both halves include the same row, the halves are linked. Both are run on the
holdout too, on as many rows, for a rare value is rare everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.evaluation.risk.classes import equivalence_classes
from understudy.evaluation.risk.neighbours import NeighbourSpace
from understudy.evaluation.risk.rates import Rate, Risk
from understudy.findings import Finding, FindingPart, Unavailable
from understudy.tables import Records

CONDITION_COLUMNS = 3
CONDITION_COLUMN_SETS = 20
"""Sets of columns that conditions are about."""


def assess_singling_out(
    members: Records,
    control: Records | None,
    synthetic: Records,
    columns: Sequence[str],
    *,
    rng: np.random.Generator,
    attacks: int = 2000,
    known: int = CONDITION_COLUMNS,
) -> Finding:
    """Conditions on a few columns that one synthetic row fits, tried on members and on
    the control.
    """
    control = _require_control(members, control, synthetic)
    size = min(members.rows, control.rows)
    here, there = members.sample(size, rng), control.sample(size, rng)
    known = min(known, len(columns))
    tried, hits, misses = 0, 0, 0
    fresh = np.ones(synthetic.rows, bool)
    # Each synthetic row gives one condition at most, so that attacks do not repeat one
    # another.
    for chosen in _draw_column_sets(columns, known, rng):
        in_release, in_here, in_there = equivalence_classes(
            chosen, synthetic, here, there
        )
        total = (
            int(max(ids.max(initial=-1) for ids in (in_release, in_here, in_there))) + 1
        )
        counts = [
            np.bincount(ids, minlength=total) for ids in (in_release, in_here, in_there)
        ]
        usable = rng.permutation(np.flatnonzero((counts[0][in_release] == 1) & fresh))
        usable = usable[
            : min(attacks - tried, max(1, attacks // CONDITION_COLUMN_SETS))
        ]
        fresh[usable] = False
        tried += len(usable)
        hits += int((counts[1][in_release[usable]] == 1).sum())
        misses += int((counts[2][in_release[usable]] == 1).sum())
    if not tried:
        raise Unavailable("no condition on so few columns fits a single synthetic row")
    risk = Risk(Rate(hits, tried), Rate(misses, tried))
    return risk.to_finding(
        "singling_out",
        f"Singling out on {known} columns",
        family="identity",
        note=(
            "(members − control)/(1 − control) over conditions that fit exactly one"
            " synthetic row."
        ),
        facts={**risk.facts(), "rows": size},
    )


def assess_linkability(
    members: Records,
    control: Records | None,
    synthetic: Records,
    columns: Sequence[str],
    *,
    rng: np.random.Generator,
    near: int = 1,
    splits: int = 3,
) -> Finding:
    """Halves of somebody's columns whose nearest synthetic rows coincide, for members
    and for the control; the worst split is the value.
    """
    control = _require_control(members, control, synthetic)
    if len(columns) < 2:
        raise Unavailable("it takes two columns to link")
    found: list[tuple[str, Risk]] = []
    for _ in range(splits):
        order = [columns[i] for i in rng.permutation(len(columns))]
        one, two = (
            tuple(sorted(order[: len(order) // 2])),
            tuple(sorted(order[len(order) // 2 :])),
        )
        rates = []
        for people in (members, control):
            first, second = (
                NeighbourSpace(synthetic, half).nearest(people, near)
                for half in (one, two)
            )
            linked = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
            rates.append(Rate(int(linked.sum()), people.rows))
        risk = Risk(*rates)
        found.append((f"{', '.join(one)} | {', '.join(two)}", risk))
    found.sort(key=lambda each: -each[1].value)
    parts = tuple(
        FindingPart(name=name, value=risk.value, facts=risk.facts())
        for name, risk in found
    )
    return found[0][1].to_finding(
        "linkability",
        "Linkability of two halves of the columns",
        family="identity",
        note=(
            "(members − control)/(1 − control): both halves of somebody lead to the"
            " same synthetic row. The worst of some random splits."
        ),
        parts=parts,
        facts={"near": near},
        worst_of=splits,
    )


def _draw_column_sets(
    columns: Sequence[str], known: int, rng: np.random.Generator
) -> list[list[str]]:
    drawn = {
        tuple(sorted(rng.choice(len(columns), known, replace=False).tolist())): None
        for _ in range(CONDITION_COLUMN_SETS)
    }
    return [[columns[i] for i in places] for places in drawn]


def _require_control(
    members: Records, control: Records | None, synthetic: Records
) -> Records:
    if control is None or not control.rows:
        raise Unavailable(
            "it needs a holdout: rows of the same kind that the release was not made"
            " from"
        )
    if not members.rows or not synthetic.rows:
        raise Unavailable("one of the tables has no rows")
    return control
