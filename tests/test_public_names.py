"""The public surface is small, stated here, documented, and loaded only when used."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import UnionType

import pytest

import understudy
from kit.scripts import ROOT

NAMES = {
    # verbs
    "audit", "describe", "evaluate", "plan", "synthesize", "compare", "load_release", "reconcile", "sign_off",
    # estimates out of several copies
    "mask", "MaskGrid", "MaskStrength", "RiskStrengths", "tune_mask", "analyse", "combine", "load_copies", "SyntheticCopies",
    # tables for every unit of a hierarchy
    "census", "plan_census", "load_census", "save_census", "CensusRelease",
    # questions under a budget
    "ask", "ask_online", "price", "try_question", "session", "connect", "Query", "PublicTable", "AnswerTable", "bins", "cases", "correlation", "count", "count_distinct", "covariance",
    "histogram", "mean", "median", "quantile", "select", "share", "stddev", "total", "variance",
    # algorithms as questions
    "regress", "cluster", "find_itemsets", "smooth_median", "propose_median", "measure_graph",
    # and one that asks nothing, of a release
    "cluster_release",
    # what a table looks like
    "Schema", "Unit", "Role", "Boolean", "Categorical", "Date", "Datetime", "Identifier", "Integer", "Real", "Text", "Time",
    # what is paid
    "Budget", "Accounting", "Ledger", "Neighbours",
    # how a run is kept and watched, and who attacks its release
    "RunOptions", "Intruder",
    # what comes out
    "Guarantee", "Notice", "Plan", "Release", "Report", "SignOff",
    # what goes wrong
    "UnderstudyError", "errors",
    # what a table may be, and which algorithms there are
    "TableLike", "DatabaseTable", "synthesizers", "select_public_cliques",
    # answers that respondents randomise themselves
    "local",
}  # fmt: skip


def test_the_surface_is_what_it_is() -> None:
    assert set(understudy.__all__) == NAMES
    assert set(dir(understudy)) == NAMES | {"__version__"}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_loads_and_has_an_example(name: str) -> None:
    found = getattr(understudy, name)
    assert found.__doc__, f"{name} says nothing about itself"
    if not inspect.ismodule(found) and not isinstance(found, UnionType):
        examples = doctest.DocTestFinder(exclude_empty=True).find(found, name)
        assert any(test.examples for test in examples), f"{name} has no example"


def test_there_is_no_other_name() -> None:
    with pytest.raises(AttributeError):
        _ = understudy.nonsense  # type: ignore[attr-defined]


def test_importing_loads_nothing() -> None:
    code = "import sys, understudy; print([m for m in ('numpy', 'duckdb', 'scipy', 'click', 'yaml') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_version_is_the_package_s() -> None:
    project = tomllib.loads(
        (Path(__file__).resolve().parent.parent / "pyproject.toml").read_text()
    )["project"]
    assert understudy.__version__ == project["version"]


ROOMS_FROM_INSIDE = {"contributing-tour.md"}
"""Pages for those who change the package, who import its modules."""

PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.name not in ROOMS_FROM_INSIDE
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_import_public_names_alone(page: Path) -> None:
    """What a page imports is exported by the package or by a room of it."""
    imports = re.findall(
        r"^from (understudy(?:\.\w+)*) import ([\w, ]+)$",
        page.read_text(),
        flags=re.MULTILINE,
    )
    for room, names in imports:
        module = importlib.import_module(room)
        # `us.errors` is a public module: all it defines is exported.
        exported = set(vars(module) if module is understudy.errors else module.__all__)
        assert {name.strip() for name in names.split(",")} <= exported, room
