"""The whole assessment of risk: a copy, independent rows, no holdout, roles."""

from __future__ import annotations

import json

import numpy as np

from kit.people import SCHEMA, made, table
from understudy.evaluation.risk import assess_risk
from understudy.evaluation.risk.assessment import resolve_roles
from understudy.evaluation.risk.intruder import Intruder
from understudy.findings import INTERNAL_MARKING
from understudy.schema import Boolean, Role, Schema

NAMES = (
    "match_risk", "risk_groups", "uniqueness", "linkage", "scoreboard", "singling_out", "linkability", "attribute_inference", "disco",
    "membership_measurements", "membership_density", "membership_shadows", "k_anonymity", "l_diversity",
)  # fmt: skip


def test_identity_attribute_and_membership_are_kept_apart() -> None:
    rows = made(400, 1)
    found = assess_risk(table(rows), table(rows), SCHEMA, holdout=table(made(400, 2)))
    assert tuple(finding.name for finding in found) == NAMES
    assert found.families == ("identity", "attribute", "membership", "measures")
    assert found["singling_out"].value == 1
    assert found["attribute_inference"].interval[0] > 0.5
    assert (
        json.loads(json.dumps(found.to_dict(), allow_nan=False))["marking"]
        == INTERNAL_MARKING
    )
    assert found.facts["roles_guessed"] is True


def test_independent_rows_are_at_the_baseline() -> None:
    found = assess_risk(
        table(made(500, 1)), table(made(500, 3)), SCHEMA, holdout=table(made(500, 2))
    )
    for name in (
        "singling_out",
        "linkability",
        "attribute_inference",
        "disco",
        "scoreboard",
    ):
        low, high = found[name].interval
        assert low < 0.03, name
        assert high > -0.03, name
    assert 0.4 < found["membership_density"].value < 0.6


def test_without_a_holdout_what_needs_one_is_listed() -> None:
    stages = []
    found = assess_risk(
        table(made(100, 1)),
        table(made(100, 2)),
        SCHEMA,
        progress=lambda s, d: stages.append(d),
    )
    missing = {
        finding.name: finding.reason for finding in found if not finding.is_computed
    }
    assert set(missing) == {
        "linkage", "scoreboard", "singling_out", "linkability", "attribute_inference", "disco",
        "membership_measurements", "membership_density", "membership_shadows",
    }  # fmt: skip
    assert all(
        "holdout" in missing[name]
        for name in ("scoreboard", "singling_out", "disco", "membership_density")
    )
    assert stages[-1] == 1.0


def test_several_copies_are_matched_together() -> None:
    copies = [table(made(100, seed)) for seed in (2, 3, 4)]
    found = assess_risk(
        table(made(100, 1)),
        copies,
        SCHEMA,
        intruder=Intruder(
            quasi=["age", "sex"], sensitive=["school"], radius={"age": 2}
        ),
    )
    assert found["match_risk"].facts["copies"] == 3
    assert found["match_risk"].facts["radius"] == {"age": 2.0}
    assert found.facts["roles_guessed"] is False


def test_roles_are_declared_or_guessed() -> None:
    declared = Schema(
        columns=(
            Boolean(name="a", role=Role.QUASI_IDENTIFIER),
            Boolean(name="b"),
            Boolean(name="c", role=Role.SENSITIVE),
        )
    )
    assert resolve_roles(declared) == (["a"], ["c"], False)
    assert resolve_roles(declared, quasi=["b"]) == (["b"], ["c"], False)
    plain = Schema(columns=tuple(Boolean(name=name) for name in "abc"))
    assert resolve_roles(plain) == (["a", "b"], ["c"], True)
    assert resolve_roles(Schema(columns=(Boolean(name="a"),))) == (["a"], [], True)


def test_empty_tables_are_no_reason_to_stop() -> None:
    found = assess_risk(
        table(made(50, 1)), table([]), SCHEMA, holdout=table(made(50, 2))
    )
    assert found["k_anonymity"].is_computed
    assert "no rows" in found["match_risk"].reason
    assert np.isfinite(found["uniqueness"].value)
