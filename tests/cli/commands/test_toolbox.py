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


def test_a_list_of_counts_is_answered_online(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = ("--failures", 1, "--schema", schema, "--epsilon", 1, "--budget", 2)
    question = "SELECT COUNT(*) FROM people WHERE age > 40"
    done = shell("toolbox", "online", people, question, question, *words)
    assert done.code == 0, done.err
    assert "of 1 failures used up" in done.out
    assert "Charged:" in done.out
    facts = shell(
        "toolbox", "online", people, question, question, *words, "--json"
    ).json
    assert facts["cost"] is None
    assert len(facts["counts"]) == 2
    refused = shell("toolbox", "online", people, "SELECT AVG(age) FROM people", *words)
    assert refused.code == 1
    assert "counts of rows alone" in refused.err


def test_a_median_is_shown_without_its_noise(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = ("--schema", schema, "--epsilon", 1, "--budget", 3, "--private-keys")
    done = shell("toolbox", "median", people, "age", *words)
    assert done.code == 0, done.err
    assert "secret" in done.out
    # The usual account is that of Gaussian noise, and this noise is none.
    assert "a pure ε of 0.14" in done.out
    pure = (*words, "--ledger", "pure.ledger", "--accounting", "pure")
    assert "a pure ε" not in shell("toolbox", "median", people, "age", *pure).out
    tested = shell("toolbox", "median", people, "age", "--propose", 30, *words)
    assert tested.code == 0, tested.err
    assert "median of age" in tested.out or "did not pass" in tested.out


def test_the_edges_of_a_graph_are_counted(shell: Shell, tmp_path: Path) -> None:
    edges, schema = tmp_path / "edges.csv", tmp_path / "edges.yaml"
    edges.write_text("a,b\n" + "\n".join(f"{i},{i + 1}" for i in range(50)))
    schema.write_text(
        "columns:\n"
        "  a: {type: integer, min: 0, max: 50}\n"
        "  b: {type: integer, min: 0, max: 50}\n"
    )
    words = ("--source", "a", "--target", "b", "--schema", schema, "--epsilon", 1)
    done = shell("toolbox", "graph", edges, "edges", *words, "--budget", 3)
    assert done.code == 0, done.err
    assert "Private for one edge" in done.out
    assert "a pure ε" not in done.out
    triangles = shell("toolbox", "graph", edges, "triangles", *words)
    assert "a pure ε of 0.15" in triangles.out
    facts = shell("toolbox", "graph", edges, "degrees", *words, "--json").json
    assert len(facts["values"]) == 51
    refused = shell("toolbox", "graph", edges, "stars", *words)
    assert refused.code == 1


def test_clusters_of_a_release_cost_nothing(
    shell: Shell, people: Path, schema: Path
) -> None:
    paid = ["--schema", schema, "--epsilon", "1", "--release", "r.understudy"]
    assert shell("synthesize", people, *paid, "-o", "rows.csv").code == 0
    words = ["toolbox", "cluster-release", "r.understudy", "age", "--clusters", 2]
    done = shell(*words)
    assert done.code == 0
    assert "Free" in done.out
    found = shell(*words, "--json").json
    assert len(found["centres"]) == 2
    assert found["cost"] is None
