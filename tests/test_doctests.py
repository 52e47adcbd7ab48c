"""Every example in a docstring runs and shows what it says."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import understudy

FLAGS = doctest.ELLIPSIS


def modules_with_examples() -> list[str]:
    """Every module whose text has a prompt; no other can have an example."""
    found = pkgutil.walk_packages(understudy.__path__, "understudy.")
    names = ["understudy", *sorted(module.name for module in found)]
    return [name for name in names if ">>>" in read_source(name)]


def read_source(name: str) -> str:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text()


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert failed == 0
    assert tried > 0
