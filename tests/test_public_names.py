"""The public surface is small, stated here, documented, and loaded only when used."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path
from types import UnionType

import pytest

import understudy

NAMES = {
    # verbs
    "audit", "describe", "evaluate", "plan", "synthesize", "compare", "load_release", "reconcile", "sign_off",
    # estimates out of several copies
    "mask", "MaskGrid", "MaskStrength", "RiskStrengths", "tune_mask", "analyse", "combine", "load_copies", "SyntheticCopies",
    # tables for every unit of a hierarchy
    "census", "plan_census", "CensusRelease",
    # questions under a budget
    "ask", "price", "try_question", "session", "connect", "Query", "PublicTable", "AnswerTable", "bins", "correlation", "count", "count_distinct", "covariance",
    "histogram", "mean", "median", "quantile", "select", "share", "stddev", "total", "variance",
    # algorithms as questions
    "regress", "cluster", "find_itemsets", "smooth_median", "propose_median", "measure_graph",
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
