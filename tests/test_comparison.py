"""The page that compares synthesizers shows the numbers that its command wrote, and all
of them.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent
NUMBERS = json.loads((ROOT / "docs" / "comparison.json").read_text())


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("compare_script", ROOT / "scripts" / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_and_the_plot_are_those_of_the_numbers(script):
    page = (ROOT / "docs" / "comparison.md").read_text()
    assert script.MARKS.search(page)[0] == script.table(NUMBERS)
    assert (ROOT / "docs" / "images" / "comparison.svg").read_text() == script.picture(
        NUMBERS
    )


def test_other_numbers_would_show(script):
    other = json.loads(json.dumps(NUMBERS))
    other["mst"]["1"]["pairs"] *= 2
    assert script.table(other) != script.table(NUMBERS)
    assert script.picture(other) != script.picture(NUMBERS)


def test_the_plot_has_a_row_and_all_marks_for_each_that_ran(script):
    """It is drawn by hand, so its marks are counted."""
    svg = "{http://www.w3.org/2000/svg}"
    drawn = ElementTree.fromstring(script.picture(NUMBERS))
    ran = [name for name, runs in NUMBERS.items() if runs["1"] != "refused"]
    words = [text.text for text in drawn.iter(f"{svg}text")]
    assert all(words.count(name) == 1 for name in ran)
    triangles = sum(1 for _ in drawn.iter(f"{svg}path"))
    assert triangles == len(script.EPSILONS) * len(ran) + 1  # and one in the legend
    assert not re.search(r"https?://(?!www\.w3\.org)", script.picture(NUMBERS))


def test_one_run_gives_a_number_for_each_measure(script):
    found = script.measured(1, ["independent", "histogram"])
    assert found["histogram"] == dict.fromkeys(script.EPSILONS, "refused")
    for run in found["independent"].values():
        assert set(run) == {*script.ORDERS, "seconds"}
        assert 0 < run["columns"] < run["pairs"] < run["triples"] < 1
    assert (
        found["independent"]["10"]["columns"] < found["independent"]["0.1"]["columns"]
    )
