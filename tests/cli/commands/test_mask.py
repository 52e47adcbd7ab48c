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
