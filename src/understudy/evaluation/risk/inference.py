"""Attribute disclosure: what a release reveals of people whose other values are known.

Two attacks. The first takes the synthetic row nearest to somebody and reads the secret
off it. The second asks for certainty: every synthetic row with somebody's
quasi-identifiers has the same secret, and it is the true one (DiSCO: Raab, Nowok,
Dibben, "Practical privacy metrics for synthetic data", 2024). Both are run on people in
the table and on people who were not; what is right for these too is statistics, not a
leak.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.classes import equivalence_classes
from understudy.evaluation.risk.holdout import require_holdout
from understudy.evaluation.risk.neighbours import NeighbourSpace, is_right_guess
from understudy.evaluation.risk.rates import Rate, Risk
from understudy.findings import Fact, Finding, FindingPart, Unavailable
from understudy.tables import Records


def assess_attribute_inference(
    members: Records,
    control: Records | None,
    synthetic: Records,
    secrets: Sequence[str],
    known: Sequence[str] | None = None,
) -> Finding:
    """How much better a secret is read off the nearest synthetic row for members than
    for the control; the worst secret is the value.
    """
    if not secrets:
        raise Unavailable(
            "there is no secret to guess; give a column the role “sensitive”"
        )
    control = require_holdout(members, control, synthetic)
    parts: list[FindingPart] = []
    risks: dict[str, Risk] = {}
    for secret in secrets:
        others = tuple(name for name in known or members.codes if name != secret)
        if not others:
            reason = "nothing else is known about anybody"
            parts.append(FindingPart(name=secret, columns=(secret,), reason=reason))
            continue
        # The secret itself is not among what the attacker knows.
        space = NeighbourSpace(synthetic, others)
        risks[secret] = Risk(
            _nearest_row_rate(space, members, secret),
            _nearest_row_rate(space, control, secret),
        )
        # What somebody would guess who knows the release and nothing of the target.
        guess = int(np.bincount(synthetic.codes[secret]).argmax())
        naive = float(np.mean(members.codes[secret] == guess))
        parts.append(_secret_part(secret, risks[secret], most_frequent=naive))
    return _worst_finding(
        "attribute_inference",
        "Attribute inference by the nearest synthetic row",
        parts,
        risks,
        "(members − control)/(1 − control): what the release adds for those who were in"
        " it. The worst secret counts.",
    )


def is_disclosed_for_certain(
    people: Records, synthetic: Records, quasi: Sequence[str], secret: str
) -> NDArray[np.bool_]:
    """Whose class in the synthetic table has one value of the secret only, and the true
    one.
    """
    here, there = equivalence_classes(quasi, people, synthetic)
    total = int(max(here.max(initial=-1), there.max(initial=-1))) + 1
    # One value only: the smallest and the largest of a class are the same. An empty
    # class has neither, and its ends cross.
    low, high = np.full(total, np.iinfo(np.int64).max), np.full(total, -1)
    values = synthetic.codes[secret].astype(np.int64)
    np.minimum.at(low, there, values)
    np.maximum.at(high, there, values)
    truth = people.codes[secret].astype(np.int64)
    return np.asarray((low[here] == high[here]) & (low[here] == truth))


def assess_disco(
    members: Records,
    control: Records | None,
    synthetic: Records,
    quasi: Sequence[str],
    secrets: Sequence[str],
) -> Finding:
    """DiSCO for members, less what it is for the control; the worst secret is the
    value.
    """
    secrets = [secret for secret in secrets if secret not in quasi]
    if not secrets or not quasi:
        raise Unavailable(
            "it takes a quasi-identifier and a sensitive column; give columns these"
            " roles"
        )
    control = require_holdout(members, control, synthetic)
    parts: list[FindingPart] = []
    risks: dict[str, Risk] = {}
    for secret in secrets:
        risks[secret] = Risk(
            _certainty_rate(members, synthetic, quasi, secret),
            _certainty_rate(control, synthetic, quasi, secret),
        )
        # What the real table would give away, had it been published.
        own = _certainty_rate(members, members, quasi, secret)
        parts.append(_secret_part(secret, risks[secret], in_the_original=own.value))
    return _worst_finding(
        "disco",
        "Secrets that a class of synthetic rows reveals for certain (DiSCO)",
        parts,
        risks,
        "(members − control)/(1 − control). “in the original”: how often the real table"
        " itself would.",
    )


def _nearest_row_rate(space: NeighbourSpace, people: Records, secret: str) -> Rate:
    nearest = space.rows.take(space.nearest(people)[:, 0])
    right = int(is_right_guess(nearest, people, secret).sum())
    return Rate(right, people.rows)


def _certainty_rate(
    people: Records, rows: Records, quasi: Sequence[str], secret: str
) -> Rate:
    disclosed = is_disclosed_for_certain(people, rows, quasi, secret)
    return Rate(int(disclosed.sum()), people.rows)


def _secret_part(secret: str, risk: Risk, **facts: Fact) -> FindingPart:
    return FindingPart(
        name=secret,
        columns=(secret,),
        value=risk.value,
        facts={**risk.facts(), **facts},
    )


def _worst_finding(
    name: str, title: str, parts: list[FindingPart], risks: dict[str, Risk], note: str
) -> Finding:
    """The finding of several secrets; its value and interval are of the worst one."""
    if not risks:
        raise Unavailable(parts[0].reason)

    def rank(part: FindingPart) -> float:
        # Parts without a number come last; a risk is never below −1.
        return 9.0 if part.value is None else -part.value

    ranked = tuple(sorted(parts, key=rank))
    worst = risks[ranked[0].name]
    return worst.to_finding(
        name, title, family="attribute", note=note, parts=ranked, worst_of=len(risks)
    )
