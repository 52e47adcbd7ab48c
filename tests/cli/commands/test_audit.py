"""`understudy audit`: a sentence, JSON, and exit code 1 where a promise is broken."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from kit.cli import Shell, spent
from understudy.curator import MechanismContext


def test_it_reads_as_a_sentence(shell: Shell) -> None:
    done = shell(
        "audit",
        "--synthesizer",
        "mst",
        "--epsilon",
        10,
        "--delta",
        "1e-6",
        "--runs",
        400,
    )
    assert done.code == 0, done.err
    assert "white-box: claimed 10.00, measured at least " in done.out
    assert "no violation at 1e-6" in done.out
    assert done.out.endswith("Nothing was read and nothing was spent.\n")


def test_the_default_synthesizer_is_audited_as_configured(shell: Shell) -> None:
    done = shell("audit", "--epsilon", 10, "--delta", "1e-6", "--runs", 200)
    assert done.code == 0, done.err
    assert done.out.startswith("adaptive, ε = 10.00, δ = 1e-6, add_remove: ")
    plain = shell(
        "audit",
        "--synthesizer",
        "independent",
        "--set",
        "equal=true",
        "--epsilon",
        10,
        "--runs",
        200,
    )
    assert plain.code == 0, plain.err
    wrong = shell("audit", "--set", "colour=red", "--epsilon", 10)
    assert wrong.code == 1
    assert 'adaptive: there is no option "colour"' in wrong.err


def test_json_and_a_file(shell: Shell, people: Path, schema: Path) -> None:
    done = shell(
        "audit",
        people,
        "--schema",
        schema,
        "--epsilon",
        1,
        "--runs",
        200,
        "--canaries",
        50,
        "--json",
    )
    assert done.code == 0, done.err
    assert done.json["violated"] is False
    assert done.json["one_run"]["internal"] is True
    assert done.json["one_run"]["canaries"] == 50
    assert 0 <= done.json["white_box"]["epsilon"] <= 1
    assert spent(Path(f"{people}.ledger")) == 0


def test_a_broken_promise_ends_with_one(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(self: MechanismContext, exact: np.ndarray, scale: Fraction) -> np.ndarray:
        return exact + self.draw(self.law, scale / 2, exact.shape)

    monkeypatch.setattr(MechanismContext, "add_noise", half)
    done = shell(
        "audit", "--synthesizer", "independent", "--epsilon", 10, "--runs", 400
    )
    assert done.code == 1
    assert "VIOLATION at 1e-6" in done.out
    assert "Do not release" in done.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--epsilon", "0"], 1),
        (["--epsilon", "1", "--synthesizer", "magic"], 1),
        (["--epsilon", "1", "--schema", "people.yaml"], 2),
        (["none.csv", "--epsilon", "1"], 1),
        (["--epsilon", "1", "--runs", "3"], 2),
    ],
)
def test_refusals_are_one_line(shell: Shell, words: list[str], code: int) -> None:
    done = shell("audit", *words)
    assert done.code == code
    assert done.out == ""
    assert done.err.startswith("understudy: ")
