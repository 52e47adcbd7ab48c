"""Why each marginal was measured, on the command line: free, and part of the release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kit.cli import Shell, spent
from kit.releases.builders import release as small_release
from kit.releases.decisions import FAR_PAIR
from understudy.releases.explanation.explanation import Explanation
from understudy.releases.explanation.rendering import NO_DECISIONS


def test_an_explanation_costs_nothing(
    shell: Shell, release: Path, tmp_path: Path
) -> None:
    done = shell("explain", release)
    assert done.code == 0, done.err
    assert "candidates were measured." in done.out.splitlines()[0]
    assert "expected gain" in done.out
    assert spent(tmp_path / "people.csv.ledger") == 1.0


def test_a_program_gets_json_and_a_picture_is_drawn(
    shell: Shell, release: Path, tmp_path: Path
) -> None:
    done = shell("explain", release, "--json", "-o", "gains.svg")
    decisions = done.json["decisions"]
    assert ["age", "sex"] in [decision["clique"] for decision in decisions]
    assert (tmp_path / "gains.svg").read_text().startswith("<svg")
    assert "→ gains.svg" in shell("explain", release, "-o", "gains.svg").out


def test_a_run_explains_itself(shell: Shell, people: Path, schema: Path) -> None:
    words = ("synthesize", people, "--schema", schema, "--epsilon", 1, "-o", "o.csv")
    done = shell(*words, "--release", "o.understudy", "--explain")
    assert done.code == 0, done.err
    assert done.out == shell("explain", "o.understudy").out


def test_a_resumed_run_explains_the_same(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = ("synthesize", people, "--schema", schema, "--epsilon", 1, "-o", "o.csv")
    first = shell(*words, "--explain", "--json").json
    again = shell(*words, "--explain", "--json", "--resume", first["run"]).json
    assert first["explanation"]["decisions"]
    assert again["explanation"] == first["explanation"]
    assert "explanation" not in shell(*words, "--json").json


def test_a_synthesizer_without_decisions_says_so(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = ("synthesize", people, "--schema", schema, "--epsilon", 1, "-o", "o.csv")
    done = shell(*words, "--synthesizer", "independent", "--explain")
    assert done.out == f"{NO_DECISIONS}\n"


def test_control_characters_of_a_file_are_shown_and_not_sent(
    shell: Shell, tmp_path: Path
) -> None:
    odd = replace(FAR_PAIR, stage="forest\x1b[2J")
    explained = replace(small_release(), explanation=Explanation.of([odd]))
    explained.save(tmp_path / "odd.understudy")
    for words in ((), ("--json",)):
        done = shell("explain", "odd.understudy", *words)
        assert done.code == 0, done.err
        assert "\x1b" not in done.out
        assert "[2J" in done.out


def test_nonsense_is_refused_in_one_line(shell: Shell, release: Path) -> None:
    for arguments in (
        ("explain", "missing.understudy"),
        ("explain", release, "-o", "gains.png"),
        ("explain", release, "-o", "nowhere/gains.svg"),
    ):
        done = shell(*arguments)
        assert done.code == 1
        assert len(done.err.strip().splitlines()) == 1
