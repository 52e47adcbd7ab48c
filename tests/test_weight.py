"""What the core weighs is counted over everything it brings."""

from __future__ import annotations

from importlib.metadata import Distribution
from pathlib import Path

import pytest

from kit.scripts import load_script

weight = load_script("weight")


def test_the_core_stays_light(capsys: pytest.CaptureFixture[str]) -> None:
    assert weight.main() == 0
    assert "opendp" not in capsys.readouterr().out


def test_what_a_requirement_requires_counts_too() -> None:
    closure = weight.collect_closure({"rich"})
    assert {"rich", "markdown-it-py", "mdurl", "pygments"} <= set(closure)


def test_extras_and_other_platforms_do_not_count() -> None:
    lines = ["numpy>=2", "x; extra == 'studio'", "y; sys_platform == 'none'"]
    assert list(weight.list_requirements(lines)) == ["numpy"]


def test_a_heavy_requirement_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight, "FOUNDATION", set())
    assert weight.main() == 1


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    info = tmp_path / "thing-1.dist-info"
    info.mkdir()
    (tmp_path / "thing.py").write_bytes(b"x" * 1000)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
    (info / "RECORD").write_text("thing.py,,1000\nthing.pyc,,9\ngone.py,,5\n")
    assert weight.sum_bytes(Distribution.at(info)) == 1000
