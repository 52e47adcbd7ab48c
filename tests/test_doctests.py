"""Every example in a docstring runs and shows what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import understudy

MODULES = sorted(
    m.name for m in pkgutil.walk_packages(understudy.__path__, "understudy.")
)
FLAGS = doctest.ELLIPSIS


@pytest.mark.parametrize("name", ["understudy", *MODULES])
def test_examples_of(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert failed == 0
