"""Algorithms on private rows on the command line."""

from __future__ import annotations

from pathlib import Path

from kit.cli import Shell


def test_a_regression_is_charged_once(shell: Shell, people: Path, schema: Path) -> None:
    words = ("--schema", schema, "--epsilon", 1, "--budget", 2)
    done = shell("toolbox", "regress", people, "age ~ sex", *words)
    assert done.code == 0, done.err
    assert "Intercept" in done.out
    assert "Charged:" in done.out
    facts = shell("toolbox", "regress", people, "age ~ sex", *words, "--json").json
    assert facts["cost"] is None
    assert facts["coefficients"][0]["name"] == "Intercept"
    refused = shell("toolbox", "regress", people, "sex ~ age", *words)
    assert refused.code == 1
    assert "Nothing was spent" in refused.err
