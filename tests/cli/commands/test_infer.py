"""Regressions from a release on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.cli import Shell


@pytest.fixture
def release(shell: Shell, people: Path, schema: Path, tmp_path: Path) -> Path:
    path = tmp_path / "people.understudy"
    done = shell(
        "synthesize",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        "--synthesizer",
        "independent",
        "--workload",
        "model=age~sex",
        "-o",
        tmp_path / "people-synthetic.csv",
        "--release",
        path,
    )
    assert done.code == 0, done.err
    return path


def test_a_model_is_bought_and_inferred(shell: Shell, release: Path) -> None:
    done = shell("infer", release, "age ~ sex")
    assert done.code == 0, done.err
    assert "measured" in done.out
    assert "\N{COMBINING LONG STROKE OVERLAY}" in done.out
    facts = shell("infer", release, "age ~ sex", "--json").json
    assert facts["coefficients"][0]["basis"] == "measured"
    assert facts["unmeasured"] == []


def test_what_was_not_measured_is_refused_unless_assumed(
    shell: Shell, release: Path
) -> None:
    done = shell("infer", release, "age ~ smoker")
    assert done.code != 0
    assert "did not measure age × smoker" in done.err
    assert "assume" in done.err
    wide = shell("infer", release, "age ~ smoker", "--assume", 1)
    assert wide.code == 0, wide.err
    assert "modelled" in wide.out
