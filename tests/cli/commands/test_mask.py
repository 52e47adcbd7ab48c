"""`understudy mask`: copies, their risk, and no promise that does not hold."""

from __future__ import annotations

from pathlib import Path

from kit.cli import Shell


def test_the_command_masks_and_says_that_it_is_no_differential_privacy(
    people: Path, schema: Path, shell: Shell
) -> None:
    words = ("mask", people, "--schema", schema, "--replace", "age", "-o", "masked")
    facts = shell(*words, "--json").json
    assert 0 < facts["mean_match_chance"] < 1
    assert "without differential privacy" in facts["guarantee"]
    again = shell(*words)
    assert again.code == 1
    assert "is there already" in again.err


def test_a_column_that_is_not_there_is_named(people: Path, shell: Shell) -> None:
    done = shell("mask", people, "--replace", "agee", "-o", "masked")
    assert done.code == 1
    assert "agee" in done.err


def test_tuning_writes_copies_within_the_target(
    people: Path, schema: Path, shell: Shell
) -> None:
    words = ("mask", people, "--schema", schema, "--replace", "sex", "--copies", 2)
    files = ("--picture", "tuning.svg", "--risk-list", "risks.csv", "-o", "masked")
    facts = shell(*words, "--tune", "--risk-target", 0.9, *files, "--json").json
    chosen = facts["tuning"]["recommended"]
    assert chosen["risk"] <= 0.9
    # The copies that were measured are those that were written.
    assert facts["true_match_rate"] == chosen["unique_rate"]
    assert facts["mean_match_chance"] == chosen["mean_chance"]
    assert (people.parent / "tuning.svg").read_text().startswith("<svg")
    assert "found_for_certain" in (people.parent / "risks.csv").read_text()


def test_masks_of_ordered_labels_are_for_da_mi(
    people: Path, schema: Path, shell: Shell
) -> None:
    words = ("mask", people, "--schema", schema, "--replace", "sex", "--alpha", 9)
    refused = shell(*words, "-o", "masked")
    assert refused.code == 1
    assert "da-mi" in refused.err
    near = shell(*words, "--method", "da-mi", "-o", "masked", "--json").json
    far = shell(*words, "--alpha", 0, "--method", "da-mi", "-o", "far", "--json").json
    assert near["mean_match_chance"] > far["mean_match_chance"]


def test_a_picture_without_tuning_is_refused(people: Path, shell: Shell) -> None:
    done = shell("mask", people, "--replace", "age", "--picture", "x.svg", "-o", "m")
    assert done.code == 2
    assert "--tune" in done.err


def test_a_formula_without_tuning_is_refused(people: Path, shell: Shell) -> None:
    words = ("mask", people, "--replace", "age", "--formula", "visits ~ age")
    done = shell(*words, "-o", "masked")
    assert done.code == 2
    assert "--formula is for --tune" in done.err
    assert not (people.parent / "masked").exists()
