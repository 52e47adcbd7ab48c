"""Attribute disclosure: what a release tells about people whose other values are known.

Two attacks. The first takes the synthetic row nearest to somebody and reads the secret off it. The second asks for certainty: every
synthetic row with somebody's quasi-identifiers has the same secret, and it is the true one (DiSCO: Raab, Nowok, Dibben, "Practical
privacy metrics for synthetic data", 2024). Both are run on people in the data and on people who were not; what is right for these too is
statistics, not a leak.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.classes import classes
from understudy.evaluation.risk.neighbours import Space, within
from understudy.evaluation.risk.rates import Rate, Risk
from understudy.findings import Finding, Part, Unavailable
from understudy.tables import Records


def attribute_inference(
    members: Records,
    control: Records | None,
    synthetic: Records,
    secrets: Sequence[str],
    known: Sequence[str] | None = None,
) -> Finding:
    """How much better a secret is read off the nearest synthetic row for members than for the control; the worst secret is the value."""
    if not secrets:
        raise Unavailable("there is no secret to guess; give a column the role “sensitive”")
    _check(members, control, synthetic)
    assert control is not None
    parts: list[Part] = []
    found: dict[str, Risk] = {}
    for secret in secrets:
        aux = tuple(name for name in (known or members.codes) if name != secret)
        if not aux:
            parts.append(Part(name=secret, columns=(secret,), reason="nothing else is known about anybody"))
            continue
        space = Space(synthetic, aux)
        rates = []
        for people in (members, control):
            rows = synthetic.take(space.nearest(people)[:, 0])
            rates.append(Rate(int(within(rows, people, secret).sum()), people.rows))
        guess = int(np.bincount(synthetic.codes[secret]).argmax())
        naive = float(np.mean(members.codes[secret] == guess))
        risk = Risk(*rates)
        found[secret] = risk
        facts = {**risk.facts(), "most_frequent": naive}
        parts.append(Part(name=secret, columns=(secret,), value=risk.value, facts=facts))
    return _worst(
        "attribute_inference",
        "Attribute inference by the nearest synthetic row",
        parts,
        found,
        "(members − control)/(1 − control): what the release adds for those who were in it. The worst secret counts.",
    )


def certain(people: Records, synthetic: Records, quasi: Sequence[str], secret: str) -> NDArray[np.bool_]:
    """Whose class in the synthetic table has one value of the secret only, and the true one."""
    here, there = classes(quasi, people, synthetic)
    total = int(max(here.max(initial=-1), there.max(initial=-1))) + 1
    low, high = np.full(total, np.iinfo(np.int64).max), np.full(total, -1)
    values = synthetic.codes[secret].astype(np.int64)
    np.minimum.at(low, there, values)
    np.maximum.at(high, there, values)
    mine = people.codes[secret].astype(np.int64)
    return np.asarray((low[here] == high[here]) & (low[here] == mine))


def disclosive(
    members: Records, control: Records | None, synthetic: Records, quasi: Sequence[str], secrets: Sequence[str]
) -> Finding:
    """DiSCO for members, less what it is for the control; the worst secret is the value."""
    secrets = [secret for secret in secrets if secret not in quasi]
    if not secrets or not quasi:
        raise Unavailable("it takes a quasi-identifier and a sensitive column; give columns these roles")
    _check(members, control, synthetic)
    assert control is not None
    parts: list[Part] = []
    found: dict[str, Risk] = {}
    for secret in secrets:
        rates = [
            Rate(int(certain(people, synthetic, quasi, secret).sum()), people.rows) for people in (members, control)
        ]
        inside = float(certain(members, members, quasi, secret).mean())
        risk = Risk(*rates)
        found[secret] = risk
        facts = {**risk.facts(), "in_the_original": inside}
        parts.append(Part(name=secret, columns=(secret,), value=risk.value, facts=facts))
    return _worst(
        "disco",
        "Secrets that a class of synthetic rows tells for certain (DiSCO)",
        parts,
        found,
        "(members − control)/(1 − control). “in the original”: how often the real table itself would tell.",
    )


def _check(members: Records, control: Records | None, synthetic: Records) -> None:
    if control is None or not control.rows:
        raise Unavailable("it needs a holdout: rows of the same kind that the release was not made from")
    if not members.rows or not synthetic.rows:
        raise Unavailable("one of the tables has no rows")


def _worst(name: str, title: str, parts: list[Part], found: dict[str, Risk], note: str) -> Finding:
    if not found:
        raise Unavailable(parts[0].reason)
    ranked = tuple(sorted(parts, key=lambda part: -(part.value if part.value is not None else -9.0)))
    worst = found[ranked[0].name]
    return worst.finding(name, title, family="attribute", note=note, parts=ranked, worst_of=len(found))
