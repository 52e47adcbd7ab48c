"""`understudy mask`: copies, their risk, and no promise that does not hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--picture", "x.svg"), "--picture is for --tune"),
        (("--formula", "visits ~ age"), "--formula is for --tune"),
        (("--tune", "--full"), "--full is not for --tune"),
        (("--tune", "--imputations", 3), "--imputations is not for --tune"),
        (("--tune", "--keep-labels", 0.5), "--keep-labels is not for --tune"),
        (("--column-method", "age"), "--column-method names a column"),
        (("--predictors", "age="), "--predictors names a column"),
        (("--radius", "agee=2"), 'column "agee" is no number'),
    ],
)
def test_what_would_be_passed_over_is_refused(
    people: Path, schema: Path, shell: Shell, words: tuple[object, ...], said: str
) -> None:
    masked = ("mask", people, "--schema", schema, "--replace", "age", "-o", "masked")
    done = shell(*masked, *words)
    assert done.code in (1, 2)
    # A terminal may fold the line.
    assert said in " ".join(done.err.split())
    assert not (people.parent / "masked").exists()


def test_methods_and_predictors_of_single_columns(
    people: Path, schema: Path, shell: Shell
) -> None:
    words = ("mask", people, "--schema", schema, "--column-method", "age=norm")
    plain = (*words, "--replace", "age", "--predictors", "age=sex", "-o", "masked")
    assert shell(*plain, "--no-risk").code == 0
    document = json.loads((people.parent / "masked" / "copies.json").read_text())
    assert document["replaced"] == [{"column": "age", "method": "norm"}]
    late = shell(*words, "--replace", "sex,age", "--predictors", "sex=age", "-o", "m")
    assert late.code == 1
    assert "cannot be predicted" in " ".join(late.err.split())
