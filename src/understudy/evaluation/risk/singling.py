"""Singling out and linkability: two ways of finding somebody that data-protection law
names.

Article 29 Working Party, "Opinion 05/2014 on anonymisation techniques"; Giomi et al.,
2023.

Singling out: a condition that fits exactly one synthetic row, on a few random columns,
is tried on the real table. It singles somebody out if exactly one person fits.
Linkability: somebody's values are split into two halves; if the nearest synthetic rows
to both halves include the same row, the halves are linked. Both are run on the holdout
too, on as many rows, for a rare value is rare everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.evaluation.risk.classes import equivalence_classes
from understudy.evaluation.risk.holdout import require_holdout
from understudy.evaluation.risk.neighbours import NeighbourSpace
from understudy.evaluation.risk.rates import Rate, Risk
from understudy.findings import Finding, FindingPart, Unavailable
from understudy.tables import Records

CONDITION_COLUMNS = 3
"""Columns of one condition."""

CONDITION_COLUMN_SETS = 20
"""Random sets of columns that conditions are about."""


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
    control = require_holdout(members, control, synthetic)
    # Equal sizes: whether exactly one person fits depends on how many there are.
    size = min(members.rows, control.rows)
    here, there = members.sample(size, rng), control.sample(size, rng)
    known = min(known, len(columns))
    tried, hits, misses = 0, 0, 0
    fresh = np.ones(synthetic.rows, bool)
    # Each synthetic row gives one condition at most, so that attacks do not repeat one
    # another.
    for chosen in _draw_column_sets(columns, known, rng):
        classes = equivalence_classes(chosen, synthetic, here, there)
        total = int(max(ids.max(initial=-1) for ids in classes)) + 1
        in_release = classes[0]
        release_sizes, here_sizes, there_sizes = (
            np.bincount(ids, minlength=total) for ids in classes
        )
        is_alone = release_sizes[in_release] == 1
        usable = rng.permutation(np.flatnonzero(is_alone & fresh))
        # Every set of columns gets its share of the attacks.
        most = min(attacks - tried, max(1, attacks // CONDITION_COLUMN_SETS))
        usable = usable[:most]
        fresh[usable] = False
        tried += len(usable)
        hits += int((here_sizes[in_release[usable]] == 1).sum())
        misses += int((there_sizes[in_release[usable]] == 1).sum())
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
    control = require_holdout(members, control, synthetic)
    if len(columns) < 2:
        raise Unavailable("it takes two columns to link")
    risks: list[tuple[str, Risk]] = []
    for _ in range(splits):
        order = [columns[i] for i in rng.permutation(len(columns))]
        middle = len(order) // 2
        halves = tuple(sorted(order[:middle])), tuple(sorted(order[middle:]))
        spaces = [NeighbourSpace(synthetic, half) for half in halves]
        rates = [_link_rate(spaces, people, near) for people in (members, control)]
        name = " | ".join(", ".join(half) for half in halves)
        risks.append((name, Risk(*rates)))
    risks.sort(key=lambda each: -each[1].value)
    parts = tuple(
        FindingPart(name=name, value=risk.value, facts=risk.facts())
        for name, risk in risks
    )
    _, worst = risks[0]
    return worst.to_finding(
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


def _link_rate(spaces: Sequence[NeighbourSpace], people: Records, near: int) -> Rate:
    """For how many people both halves of the columns lead to a row in common."""
    first, second = (space.nearest(people, near) for space in spaces)
    is_linked = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
    return Rate(int(is_linked.sum()), people.rows)


def _draw_column_sets(
    columns: Sequence[str], known: int, rng: np.random.Generator
) -> list[list[str]]:
    # A dict keeps the order of the draws, and no set of columns twice.
    drawn = {
        tuple(sorted(rng.choice(len(columns), known, replace=False).tolist())): None
        for _ in range(CONDITION_COLUMN_SETS)
    }
    return [[columns[i] for i in places] for places in drawn]
