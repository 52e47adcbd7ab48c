"""A table with canaries in it, and a way to run commands on it as a shell would."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.accounting.ledger import Ledger
from understudy.cli.root import run

CANARY = "canary-7f3a"
"""Stands in three cells of every table here; no message may show it."""

SCHEMA = """\
columns:
  age: {type: integer, min: 18, max: 90}
  sex: {type: categorical, values: [F, M]}
  smoker: {type: boolean}
  note: {type: text}
"""


@dataclass(frozen=True)
class Result:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Shell = Callable[..., Result]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    """Run a command line in the test's own directory, in a pipe."""
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> Result:
        capfd.readouterr()
        code = run([str(word) for word in words])
        out, err = capfd.readouterr()
        assert CANARY not in out
        assert CANARY not in err
        assert err.count("\n") <= 1, "an error is one line"
        return Result(code, out, err)

    return call


def write_people(folder: Path) -> Path:
    """1,500 rows, with cells that should never be seen again."""
    rng = np.random.default_rng(11)
    rows = [
        f"{a},{s},{k},{t}"
        for a, s, k, t in zip(
            rng.integers(18, 91, 1_500),
            rng.choice(["F", "M"], 1_500),
            rng.choice(["yes", "no"], 1_500),
            rng.choice(["fine", "tired"], 1_500),
            strict=True,
        )
    ]
    rows[3], rows[40], rows[700] = f"{CANARY},F,yes,fine", f"33,{CANARY},no,fine", f"44,M,{CANARY},{CANARY}"
    path = folder / "people.csv"
    path.write_text("age,sex,smoker,note\n" + "\n".join(rows) + "\n")
    return path


def write_schema(folder: Path) -> Path:
    """What is public about it."""
    path = folder / "people.yaml"
    path.write_text(SCHEMA)
    return path


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return write_people(tmp_path)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    return write_schema(tmp_path)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release, its table and its account."""
    folder = tmp_path_factory.mktemp("made")
    words = ["synthesize", write_people(folder), "--schema", write_schema(folder), "--epsilon", 1]
    words += ["-o", folder / "first.csv", "--release", folder / "r.understudy"]
    assert run([str(word) for word in words]) == 0
    return folder


@pytest.fixture
def release(made: Path, shell: Shell, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "r.understudy"


def spent(path: Path) -> float:
    """ε on an account; 0 where there is none."""
    if not path.exists():
        return 0.0
    with Ledger.open(path) as account:
        return float(account.totals().epsilon)
