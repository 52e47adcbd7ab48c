"""Figures are well-formed, escape hostile text, and carry their labels."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from understudy.attacks.finding import AttackFinding, Bar, Bars, Curve, Curves
from understudy.attacks.svg import (
    _separate_labels,
    figure_to_svg,
    finding_to_html,
)

HOSTILE = "<script>alert('x')</script> & \"quoted\""
BARS = Bars(
    title=HOSTILE, axis="people", bars=(Bar(HOSTILE, 3), Bar("b", 0, "none", safe=True))
)
LOG = Bars(
    title="log", axis="tables", bars=(Bar("one", 1), Bar("many", 123_456)), log=True
)
LINES = Curves(
    title="lines",
    x="x",
    y="y",
    curves=(
        Curve("a", ((0, 0), (1, 2))),
        Curve("bound", ((0, 1), (1, 1)), dashed=True),
    ),
)


@pytest.mark.parametrize("figure", [BARS, LOG, LINES], ids=["bars", "log", "lines"])
def test_well_formed_and_labelled(figure):
    text = figure_to_svg(figure)
    root = ElementTree.fromstring(text)
    told = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert figure.title in told
    for part in figure.bars if isinstance(figure, Bars) else figure.curves:
        assert part.label in told
    assert "<script" not in text
    wide = float(root.get("width"))
    for node in root.iter("{http://www.w3.org/2000/svg}rect"):
        if node.get("x"):
            assert float(node.get("x")) + float(node.get("width")) <= wide


def test_a_page_loads_nothing_and_escapes():
    text = finding_to_html(
        AttackFinding(name="x", title=HOSTILE, text=(HOSTILE,), figure=BARS, facts={})
    )
    assert "<script" not in text
    assert "src=" not in text
    assert "&lt;script&gt;" in text


def test_labels_do_not_overlap():
    placed = _separate_labels([10, 11, 10, 80])
    assert all(
        b - a >= 18 for a, b in zip(sorted(placed), sorted(placed)[1:], strict=False)
    )
