"""Options of an algorithm on the command line: they reach the run, and what is wrong
with them is said before a file is opened.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kit.cli import Shell, spent
from understudy import Schema
from understudy.curator.discovery.shares import discovery_shares


def test_options_reach_the_run_and_its_release(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = (
        "--synthesizer",
        "mst",
        "--set",
        "singles=1/3",
        "--set",
        "size_aware=false",
    )
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        *words,
        "-o",
        "out.csv",
        "--json",
    )
    assert done.code == 0, done.err
    assert done.json["options"]["singles"] == "1/3"
    assert done.json["options"]["size_aware"] is False


def test_a_plan_takes_the_same(shell: Shell, schema: Path) -> None:
    """Half of the budget for single columns shows in their shares."""
    schema.write_text(schema.read_text().replace("max: 90}", "max: 90, bins: 32}"))
    shares = []
    for part in ("1/4", "1/2"):
        words = ("--synthesizer", "mst", "--set", f"singles={part}")
        planned = shell("plan", schema, "--epsilon", 1, *words, "--json").json
        shares.append(
            sum(m["share"] for m in planned["marginals"] if len(m["columns"]) == 1)
        )
    assert shares == [pytest.approx(0.25, rel=0.02), pytest.approx(0.5, rel=0.02)]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--set", "round=3"), 1, "Did you mean `rounds`?"),
        (("--set", "rounds=many"), 1, "`rounds` takes a whole number"),
        (("--set", "rounds=0"), 1, "must be at least 1"),
        (("--set", "rounds"), 2, "write OPTION=VALUE"),
        (("--set", "rounds=3", "--set", "rounds=4"), 2, "`rounds` is set twice"),
    ],
)
def test_what_is_wrong_is_said_before_anything_happens(
    words, code, said, shell: Shell, people: Path, tmp_path: Path
) -> None:
    done = shell(
        "synthesize",
        people,
        "--epsilon",
        1,
        "--synthesizer",
        "aim",
        *words,
        "-o",
        "out.csv",
    )
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert not (tmp_path / "out.csv").exists()
    assert spent(tmp_path / "people.csv.ledger") == 0


def test_what_a_run_had_no_room_for_is_reported(
    shell: Shell, people: Path, schema: Path
) -> None:
    words = ("--synthesizer", "mst", "--set", "limit=20", "--json")
    told = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        *words,
        "-o",
        "out.csv",
    ).json
    assert [
        note
        for note in told["left_out"]
        if note.startswith("Not modelled together, for size (more than 20 cells): ")
        and "age" in note
    ]
    shares = {stage["stage"]: stage["share"] for stage in told["stages"]}
    # A part of what bins cost is shown as measured: their counts are kept.
    for_open, for_bins = discovery_shares(Schema.load(schema))
    assert (for_open, for_bins > 0) == (0, True)
    assert shares["selection"] == pytest.approx(0.1 * float(1 - for_bins), rel=0.02)


def test_the_option_that_help_names_is_one_of_the_default_algorithm(
    shell: Shell, schema: Path
) -> None:
    told = (
        " ".join(shell("plan", "--help").out.split()),
        shell("plan", schema, "--epsilon", 1, "--set", "cells").err,
    )
    named = [re.search(r"such as (\w+=\w+)", text) for text in told]
    assert all(named)
    for example in named:
        assert example is not None
        assert shell("plan", schema, "--epsilon", 1, "--set", example[1]).code == 0
