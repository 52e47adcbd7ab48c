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


def test_clusters_are_shown_with_their_rows(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = ("--schema", schema, "--epsilon", 1, "--budget", 2)
    done = shell("toolbox", "cluster", people, "age", "--clusters", 2, *words)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].split() == ["age", "rows"]
    refused = shell("toolbox", "cluster", people, "sex", "--clusters", 2, *words)
    assert refused.code == 1
    assert "only numbers" in refused.err


def test_itemsets_are_free_when_asked_again(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = ("--top", 2, "--schema", schema, "--epsilon", 1, "--budget", 2)
    done = shell("toolbox", "itemsets", people, "sex", *words)
    assert done.code == 0, done.err
    assert "sex=" in done.out
    assert "Free" in shell("toolbox", "itemsets", people, "sex", *words).out
    refused = shell("toolbox", "itemsets", people, "age", *words)
    assert refused.code == 1
    assert "items are labels" in refused.err
