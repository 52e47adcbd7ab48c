"""`understudy doctor`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from understudy.cli.root import run
from understudy.workflow.readiness import DISTRIBUTIONS_BY_USE, check_readiness

PROJECT = tomllib.loads(
    (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]


def test_what_is_ready_has_versions_and_what_is_missing_a_remedy(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DISTRIBUTIONS_BY_USE, "nothing", ("sql", ("no-such-thing",)))
    assert run(["doctor"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].split()[4:6] == ["ready", "duckdb"]
    assert lines[-1].split()[:4] == ["nothing", "missing", "pip", "install"]


def test_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    found = {each["use"]: each for each in json.loads(capfd.readouterr().out)}
    assert found["PostgreSQL"]["ready"] is True
    assert found["PostgreSQL"]["extra"] == "postgres"


def test_spark_needs_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    spark = next(each for each in check_readiness() if each.use == "Spark")
    assert not spark.ready


def test_it_knows_every_extra_of_a_user_and_what_is_in_it() -> None:
    stated = PROJECT["optional-dependencies"]
    for extra, distributions in DISTRIBUTIONS_BY_USE.values():
        if extra:
            listed = " ".join(stated[extra])
            assert all(name in listed for name in distributions)
    named = {extra for extra, _ in DISTRIBUTIONS_BY_USE.values()}
    assert named - {""} == set(stated) - {"bench"}
