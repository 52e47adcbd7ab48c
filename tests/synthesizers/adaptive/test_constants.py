"""Every constant of `adaptive` and its fit is declared once and listed on its page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from understudy.models.fitting import constants as fit_constants
from understudy.models.fitting.constant_table import ConstantKind
from understudy.models.fitting.constants import FIT_CONSTANTS
from understudy.synthesizers.adaptive import constants as adaptive_constants
from understudy.synthesizers.adaptive.constants import ADAPTIVE_CONSTANTS

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "synthesizers" / "adaptive.md").read_text()
ROWS = [*ADAPTIVE_CONSTANTS.rows, *FIT_CONSTANTS.rows]


@pytest.mark.parametrize("constant", ROWS, ids=lambda constant: constant.name)
def test_the_page_lists_it(constant):
    row = (
        f"| `{constant.name}` | {constant.text} | {constant.kind.value} |"
        f" {constant.unit} | {constant.why} |"
    )
    assert row in PAGE, "run scripts/constants_table.py"


@pytest.mark.parametrize(
    ("module", "table"),
    [(adaptive_constants, ADAPTIVE_CONSTANTS), (fit_constants, FIT_CONSTANTS)],
)
def test_names_and_values_agree_with_the_module(module, table):
    names = [name for name in vars(module) if re.fullmatch(r"[A-Z][A-Z0-9_]+", name)]
    declared = {row.name: row.value for row in table.rows}
    assert set(names) - {"ADAPTIVE_CONSTANTS", "FIT_CONSTANTS"} == set(declared)
    assert all(getattr(module, name) is declared[name] for name in declared)
    assert len(declared) == len(table.rows)


def test_every_constant_is_used():
    """Outside its own module, in the two rooms or where others share the fit."""
    used: set[str] = set()
    for path in (ROOT / "src" / "understudy").rglob("*.py"):
        if path.name != "constants.py":
            nodes = ast.walk(ast.parse(path.read_text()))
            used |= {node.id for node in nodes if isinstance(node, ast.Name)}
    inner = {"MAX_PRIOR_VARIANCE"}  # the end of a grid in the same module
    assert {row.name for row in ROWS} - inner <= used


def test_a_reason_is_a_sentence():
    for row in ROWS:
        assert row.why.endswith("."), row.name
        assert row.unit, row.name
        assert isinstance(row.kind, ConstantKind)
