"""The whole assessment: mixed types and missing cells, an identical copy, an empty
table, a missing extra.
"""

from __future__ import annotations

import json
import sys

import pytest

from kit.people import SCHEMA, made, table
from understudy.evaluation.utility import assess_utility
from understudy.findings import INTERNAL_MARKING

FORMULAS = {"income ~ age": "gaussian", "married ~ age": "logit"}


def test_a_copy_of_the_original_is_perfect() -> None:
    rows = made(300, 1)
    found = assess_utility(table(rows), table(rows), SCHEMA, formulas=FORMULAS)
    for finding in found:
        if finding.best is not None and finding.family not in ("tasks", "propensity"):
            assert finding.value == pytest.approx(finding.best, abs=1e-9), finding.name
    assert found["propensity_logistic"].value == pytest.approx(0, abs=1e-9)
    assert found["kmarginal"].value == 1000


def test_every_family_is_there_and_json_holds_it() -> None:
    stages = []
    found = assess_utility(
        table(made(300, 1)),
        table(made(250, 2, related=False)),
        SCHEMA,
        formulas=["income ~ age"],
        progress=lambda stage, done: stages.append((stage, done)),
    )
    assert set(found.families) == {
        "marginals", "queries", "dependence", "counts", "constraints", "propensity", "estimates", "tasks",
    }  # fmt: skip
    assert not [finding.name for finding in found if not finding.is_computed]
    assert (
        json.loads(json.dumps(found.to_dict(), allow_nan=False))["marking"]
        == INTERNAL_MARKING
    )
    assert [done for _, done in stages] == sorted(done for _, done in stages)
    assert stages[-1] == ("done", 1.0)
    assert found.facts["rows_synthetic"] == 250


def test_the_same_seed_gives_the_same_numbers() -> None:
    here, there = table(made(200, 1)), table(made(200, 2))
    one, two = (
        assess_utility(here, there, SCHEMA, seed=4, targets=["married"])
        for _ in range(2)
    )
    assert [finding.value for finding in one] == [finding.value for finding in two]


def test_an_empty_table_is_no_reason_to_stop() -> None:
    found = assess_utility(table(made(100, 1)), table([]), SCHEMA, formulas=FORMULAS)
    assert found["tvd_1"].value == 1
    reasons = dict(found.not_computed)
    assert "no rows" in reasons["Range queries"]
    assert "ten rows" in reasons["Propensity score U_p, CART"]
    assert not found["tasks"].is_computed


def test_without_the_extra_the_rest_is_computed_and_the_remedy_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # None in the place of a module makes every way to import it fail.
    hidden = ("sklearn", "statsmodels")
    loaded = [name for name in sys.modules if name.split(".")[0] in hidden]
    for name in {*hidden, *loaded}:
        monkeypatch.setitem(sys.modules, name, None)
    found = assess_utility(
        table(made(100, 1)), table(made(100, 2)), SCHEMA, formulas=["income ~ age"]
    )
    assert found["tvd_2"].is_computed
    assert found["propensity_logistic"].is_computed
    for name in ("propensity_cart", "estimates_1", "tasks"):
        assert 'pip install "understudy-dp[evaluate]"' in found[name].reason
