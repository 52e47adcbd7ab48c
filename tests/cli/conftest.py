"""A table with canaries in it, and a way to run commands on it as a shell would."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kit.cli import CANARY, Result, Shell, write_people, write_schema
from understudy.cli.root import run


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Shell:
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
    words = [
        "synthesize",
        write_people(folder),
        "--schema",
        write_schema(folder),
        "--epsilon",
        1,
    ]
    words += ["-o", folder / "first.csv", "--release", folder / "r.understudy"]
    assert run([str(word) for word in words]) == 0
    return folder


@pytest.fixture
def release(made: Path, shell: Shell, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "r.understudy"
