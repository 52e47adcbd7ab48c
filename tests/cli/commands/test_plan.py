"""A plan reads a schema and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kit.cli import Shell


def test_a_plan_in_words(shell: Shell, schema: Path, tmp_path: Path) -> None:
    before = sorted(p.name for p in tmp_path.iterdir())
    done = shell("plan", schema, "--epsilon", 1, "--rows", 1500)
    assert done.code == 0, done.err
    assert "adaptive would spend ε = 1.00, δ = 1e-9" in done.out
    assert "No data was touched and nothing was spent." in done.out
    assert "age" in done.out
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_plan_is_what_the_run_then_does(
    shell: Shell, people: Path, schema: Path
) -> None:
    schema.write_text(
        schema.read_text().replace("max: 90}", "max: 90, bins: 32}")
    )  # how many a run would find is its answer
    planned = shell(
        "plan", schema, "--epsilon", 1, "--synthesizer", "independent", "--json"
    ).json
    shell(
        "synthesize",
        people,
        "--synthesizer",
        "independent",
        "--schema",
        schema,
        "--epsilon",
        1,
        "-o",
        "out.csv",
        "--release",
        "r.understudy",
    )
    from understudy.releases import Release

    measured = Release.load("r.understudy").measurements
    assert {tuple(m["columns"]): m["cells"] for m in planned["marginals"]} == {
        m.clique: m.values.size for m in measured
    }
    assert sum(m["share"] for m in planned["marginals"]) == pytest.approx(1)


def test_expected_errors_need_a_number_of_rows(shell: Shell, schema: Path) -> None:
    assert all(
        m["expected_distance"] is None
        for m in shell("plan", schema, "--epsilon", 1, "--json").json["marginals"]
    )
    told = shell("plan", schema, "--epsilon", 1, "--rows", 1500, "--json").json
    found = {tuple(m["columns"]): m["expected_distance"] for m in told["marginals"]}
    assert all(found[name,] is not None for name in ("age", "smoker"))
    assert all(
        distance is None or 0 < distance <= 1 for distance in found.values()
    )  # noise may well hide a table
    # Of what is asked for by differences alone, and not of all its parts, counts have
    # no noise to be told.
    assert [m["deviation"] is None for m in told["marginals"]] == [
        distance is None for distance in found.values()
    ]


def test_warnings_are_said(shell: Shell, schema: Path) -> None:
    assert "ε = 5.00 is above 1" in shell("plan", schema, "--epsilon", 5).out


@pytest.mark.parametrize(
    "words",
    [
        ["--epsilon", "x"],
        ["--epsilon", "1", "--delta", "7"],
        ["--epsilon", "1", "--synthesizer", "magic"],
    ],
)
def test_bad_words_are_one_line(shell: Shell, schema: Path, words: list[str]) -> None:
    done = shell("plan", schema, *words)
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("understudy: ")


def test_the_outlook_names_groups_time_and_what_it_means(
    shell: Shell, schema: Path
) -> None:
    done = shell("plan", schema, "--epsilon", 1, "--rows", 1500)
    assert "smallest group that survives the noise" in done.out
    assert "this machine would need about" in done.out
    assert "guesses right at most 54 times in 100" in done.out


def test_the_epsilon_for_an_accuracy(shell: Shell, schema: Path) -> None:
    found = shell("plan", schema, "--accuracy", 0.05, "--rows", 1500, "--json").json
    assert found["noise"] <= 0.05
    assert 0.001 <= found["epsilon"] < 10
    assert found["accuracy"] == 0.05


def test_the_first_line_says_which_epsilon_was_found(
    shell: Shell, schema: Path
) -> None:
    words = ["--rows", 1500, "--synthesizer", "independent"]
    first = shell("plan", schema, "--accuracy", 0.025, *words).out.splitlines()[0]
    said = re.fullmatch(
        r"ε = (\S+) is the smallest found, .* by at most 2\.5 % .*: here (\S+) % \(columns alone .*",
        first,
    )
    assert said is not None
    assert float(said[2]) <= 2.5
    assert shell("plan", schema, "--epsilon", said[1], *words).out.startswith(
        "independent would spend"
    )


def test_either_an_epsilon_or_an_accuracy(shell: Shell, schema: Path) -> None:
    assert shell("plan", schema).code == 2
    assert shell("plan", schema, "--epsilon", 1, "--accuracy", 0.1).code == 2
    assert "--rows" in shell("plan", schema, "--accuracy", 0.1).err


def test_the_table_names_each_marginal_once_and_says_what_moved_by_noise_is(
    shell: Shell, schema: Path
) -> None:
    lines = shell("plan", schema, "--epsilon", 10, "--rows", 1500).out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("marginal "))
    end = next(
        i
        for i, line in enumerate(lines)
        if line.startswith("moved by noise: the share of rows")
    )
    named = [line.split("  ")[0] for line in lines[start + 1 : end]]
    assert len(set(named)) == len(named) > 4
    assert "e+0" not in "".join(lines[start:end])
