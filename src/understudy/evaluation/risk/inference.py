"""Attribute disclosure: what a release tells about people whose other values are known.

Two attacks. The first takes the synthetic row nearest to somebody and reads the secret
off it. The second asks for certainty: every synthetic row with somebody's
quasi-identifiers has the same secret, and it is the true one (DiSCO: Raab, Nowok,
Dibben, "Practical privacy metrics for synthetic data", 2024). Both are run on people in
the data and on people who were not; what is right for these too is statistics, not a
leak.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.classes import equivalence_classes
from understudy.evaluation.risk.neighbours import NeighbourSpace, is_right_guess
from understudy.evaluation.risk.rates import Rate, Risk
from understudy.findings import Finding, FindingPart, Unavailable
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
    _check_tables(members, control, synthetic)
    assert control is not None
    parts: list[FindingPart] = []
    found: dict[str, Risk] = {}
    for secret in secrets:
        aux = tuple(name for name in known or members.codes if name != secret)
        if not aux:
            parts.append(
                FindingPart(
                    name=secret,
                    columns=(secret,),
                    reason="nothing else is known about anybody",
                )
            )
            continue
        space = NeighbourSpace(synthetic, aux)
        rates = []
        for people in (members, control):
            rows = synthetic.take(space.nearest(people)[:, 0])
            rates.append(
                Rate(int(is_right_guess(rows, people, secret).sum()), people.rows)
            )
        guess = int(np.bincount(synthetic.codes[secret]).argmax())
        naive = float(np.mean(members.codes[secret] == guess))
        risk = Risk(*rates)
        found[secret] = risk
        facts = {**risk.facts(), "most_frequent": naive}
        parts.append(
            FindingPart(name=secret, columns=(secret,), value=risk.value, facts=facts)
        )
    return _worst_finding(
        "attribute_inference",
        "Attribute inference by the nearest synthetic row",
        parts,
        found,
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
    low, high = np.full(total, np.iinfo(np.int64).max), np.full(total, -1)
    values = synthetic.codes[secret].astype(np.int64)
    np.minimum.at(low, there, values)
    np.maximum.at(high, there, values)
    mine = people.codes[secret].astype(np.int64)
    return np.asarray((low[here] == high[here]) & (low[here] == mine))


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
    _check_tables(members, control, synthetic)
    assert control is not None
    parts: list[FindingPart] = []
    found: dict[str, Risk] = {}
    for secret in secrets:
        rates = [
            Rate(
                int(is_disclosed_for_certain(people, synthetic, quasi, secret).sum()),
                people.rows,
            )
            for people in (members, control)
        ]
        inside = float(is_disclosed_for_certain(members, members, quasi, secret).mean())
        risk = Risk(*rates)
        found[secret] = risk
        facts = {**risk.facts(), "in_the_original": inside}
        parts.append(
            FindingPart(name=secret, columns=(secret,), value=risk.value, facts=facts)
        )
    return _worst_finding(
        "disco",
        "Secrets that a class of synthetic rows tells for certain (DiSCO)",
        parts,
        found,
        "(members − control)/(1 − control). “in the original”: how often the real table"
        " itself would tell.",
    )


def _check_tables(
    members: Records, control: Records | None, synthetic: Records
) -> None:
    if control is None or not control.rows:
        raise Unavailable(
            "it needs a holdout: rows of the same kind that the release was not made"
            " from"
        )
    if not members.rows or not synthetic.rows:
        raise Unavailable("one of the tables has no rows")


def _worst_finding(
    name: str, title: str, parts: list[FindingPart], found: dict[str, Risk], note: str
) -> Finding:
    if not found:
        raise Unavailable(parts[0].reason)
    ranked = tuple(
        sorted(
            parts, key=lambda part: -(part.value if part.value is not None else -9.0)
        )
    )
    worst = found[ranked[0].name]
    return worst.to_finding(
        name, title, family="attribute", note=note, parts=ranked, worst_of=len(found)
    )
